import { beforeAll, describe, expect, it } from 'vitest';
import { actionOf } from '../../src/http/endpoint.ts';
import { type Action, ALL_ACTIONS } from '../../src/kernel/actions.ts';
import type { LegacyAction } from '../../src/kernel/legacy.ts';
import { consoleGroupEndpoints } from '../../src/modules/groups/routes.console.ts';
import { userGroupEndpoints } from '../../src/modules/groups/routes.of-users.console.ts';
import { invitationEndpoints } from '../../src/modules/invitations/routes.console.ts';
import { permissionEndpoints } from '../../src/modules/legacy-permissions/routes.console.ts';
import { policyEndpoints } from '../../src/modules/policies/routes.console.ts';
import { consoleUserEndpoints } from '../../src/modules/users/routes.console.ts';
import { call, type Sending } from '../support/api.ts';
import { aConsoleGroup, enter, NOBODY } from '../support/console.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

type Legacy = [target: string, action: LegacyAction];

/** Every route of these modules with the permission it needs, and the legacy one that grants it too. */
const ROUTES: [method: 'get' | 'post' | 'put' | 'delete', path: string, permission: Action | null, legacy?: Legacy][] =
  [
    ['get', '/v1/users', 'users:list', ['users', 'read']],
    ['get', '/v1/users/{id}', 'users:get', ['users', 'read']],
    ['post', '/v1/users/invite', 'users:invite', ['users', 'update']],
    ['post', '/v1/users/{id}/activate', 'users:activate', ['users', 'update']],
    ['post', '/v1/users/{id}/deactivate', 'users:deactivate', ['users', 'update']],
    ['post', '/v1/users/{id}/groups', 'users:assign_groups', ['users', 'update']],
    ['put', '/v1/users/{id}/groups', 'users:assign_groups', ['users', 'update']],
    ['delete', '/v1/users/{id}/groups', 'users:remove_groups', ['users', 'update']],
    ['get', '/v1/groups', 'groups:list', ['groups', 'read']],
    ['get', '/v1/groups/{id}', 'groups:get', ['groups', 'read']],
    ['post', '/v1/groups', 'groups:create', ['groups', 'create']],
    ['put', '/v1/groups/{id}', 'groups:update', ['groups', 'update']],
    ['delete', '/v1/groups/{id}', 'groups:delete', ['groups', 'delete']],
    ['post', '/v1/groups/{id}/permissions', 'groups:update', ['groups', 'update']],
    ['put', '/v1/groups/{id}/permissions', 'groups:update', ['groups', 'update']],
    ['delete', '/v1/groups/{id}/permissions', 'groups:update', ['groups', 'update']],
    ['post', '/v1/groups/{id}/policies/{policy_id}', 'groups:attach_policy', ['groups', 'update']],
    ['delete', '/v1/groups/{id}/policies/{policy_id}', 'groups:detach_policy', ['groups', 'update']],
    ['get', '/v1/permissions', 'permissions:list', ['permissions', 'read']],
    ['get', '/v1/permissions/{id}', 'permissions:get', ['permissions', 'read']],
    ['post', '/v1/permissions', 'permissions:create', ['permissions', 'create']],
    ['put', '/v1/permissions/{id}', 'permissions:update', ['permissions', 'update']],
    ['delete', '/v1/permissions/{id}', 'permissions:delete', ['permissions', 'delete']],
    ['get', '/v1/policies', 'policies:list'],
    ['get', '/v1/policies/{id}', 'policies:get'],
    ['post', '/v1/policies', 'policies:create'],
    ['put', '/v1/policies/{id}', 'policies:update'],
    ['delete', '/v1/policies/{id}', 'policies:delete'],
    ['post', '/v1/policies/{id}/clone', 'policies:create'],
    ['post', '/v1/policies/simulate', 'policies:get'],
    ['get', '/v1/policies/actions', null],
    ['get', '/v1/auth/permissions', null],
  ];

const GUARDED = ROUTES.flatMap(([method, path, permission, legacy]) =>
  permission === null ? [] : [[method, path, permission, legacy] as const],
);

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const concrete = (path: string): string => path.replaceAll(/\{\w+\}/g, NOBODY);
/** A request that nothing is right about. */
const bad = (method: string, path: string): [path: string, sending: Sending] =>
  method === 'get' ? [`${concrete(path)}?page=0`, {}] : [concrete(path), { json: { name: 7 } }];
/** What a request that is let in may answer. */
const LET_IN = [200, 404, 422];

describe('permissions', () => {
  it('are asked for on every route of these modules, and on no other', () => {
    const declared = [
      ...consoleUserEndpoints,
      ...userGroupEndpoints,
      ...invitationEndpoints.filter(({ contract }) => contract.access !== 'public'),
      ...consoleGroupEndpoints,
      ...permissionEndpoints,
      ...policyEndpoints,
    ];
    const asked = declared.map(({ contract: { method, path, access } }) => [method, path, actionOf(access)]);
    expect(asked.toSorted()).toEqual(ROUTES.map(([method, path, permission]) => [method, path, permission]).toSorted());
    for (const { contract } of declared) expect(contract.access).not.toBe('public');
  });

  it.each(ROUTES)('%s %s is for nobody without a token', async (method, path) => {
    const { status, body } = await call(method.toUpperCase(), concrete(path));
    expect([status, body.error]).toEqual([401, 'UNAUTHORIZED']);
  });

  describe.each(GUARDED)('%s %s', (method, path, permission, legacy) => {
    it('refuses one who may do everything else, before it looks at the request', async () => {
      const others = ALL_ACTIONS.filter((action) => action !== permission);
      const { as } = await aUser(company, { can: others });
      const { status, body } = await as[method](...bad(method, path));
      expect([status, body.error, body.details.action]).toEqual([403, 'FORBIDDEN', permission]);
    });

    it('lets one in who may do exactly this', async () => {
      const { as } = await aUser(company, { can: [permission] });
      expect((await as[method](...bad(method, path))).status).toBeOneOf(LET_IN);
    });

    it('refuses one who may do everything, except this', async () => {
      const { as } = await aUser(company, { can: ['*'], denied: [permission] });
      expect((await as[method](...bad(method, path))).status).toBe(403);
    });

    it.runIf(legacy)('lets one in by a role or permission of the former model, and by that alone', async () => {
      const [target, action] = legacy as Legacy;
      const others = (['read', 'create', 'update', 'delete'] as const).filter((other) => other !== action);
      const granted = await aUser(company);
      const refused = await aUser(company);
      await enter(
        company,
        granted.id,
        (await aConsoleGroup(company, { roles: [{ name: 'R', target, actions: [action] }] }))._id,
      );
      await enter(
        company,
        refused.id,
        (await aConsoleGroup(company, { roles: [{ name: 'R', target, actions: others }] }))._id,
      );
      expect((await granted.as[method](...bad(method, path))).status).toBeOneOf(LET_IN);
      expect((await refused.as[method](...bad(method, path))).status).toBe(403);
    });
  });
});
