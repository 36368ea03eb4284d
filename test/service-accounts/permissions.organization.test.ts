import { beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../src/kernel/actions.ts';
import { ALL_ACTIONS } from '../../src/kernel/actions.ts';
import { accountEndpoints } from '../../src/modules/accounts/routes.organization.ts';
import { groupMemberEndpoints } from '../../src/modules/groups/routes.members.organization.ts';
import { organizationGroupEndpoints } from '../../src/modules/groups/routes.organization.ts';
import { apiKeyEndpoints } from '../../src/modules/service-accounts/routes.keys.organization.ts';
import { serviceAccountEndpoints } from '../../src/modules/service-accounts/routes.organization.ts';
import { organizationUserEndpoints } from '../../src/modules/users/routes.organization.ts';
import { call } from '../support/api.ts';
import { allow, aRobotThat, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

/** Every route of document 1 with the permission it needs, as the specification lists them. */
const ROUTES: [method: 'get' | 'post' | 'patch' | 'delete', path: string, permission: Action | 'administrator'][] = [
  ['get', '/accounts', 'accounts:ListAccounts'],
  ['post', '/accounts', 'accounts:CreateAccount'],
  ['get', '/accounts/{id}', 'accounts:GetAccount'],
  ['patch', '/accounts/{id}', 'accounts:UpdateAccount'],
  ['delete', '/accounts/{id}', 'accounts:DeleteAccount'],
  ['get', '/service-accounts', 'service-accounts:ListServiceAccounts'],
  ['post', '/service-accounts', 'service-accounts:CreateServiceAccount'],
  ['get', '/service-accounts/{id}', 'service-accounts:GetServiceAccount'],
  ['patch', '/service-accounts/{id}', 'service-accounts:UpdateServiceAccount'],
  ['delete', '/service-accounts/{id}', 'service-accounts:DeleteServiceAccount'],
  ['post', '/service-accounts/{id}/keys', 'service-accounts:IssueKey'],
  ['get', '/service-accounts/{id}/keys', 'service-accounts:ListKeys'],
  ['delete', '/service-accounts/{id}/keys/{key_id}', 'service-accounts:RevokeKey'],
  ['get', '/groups', 'groups:ListGroups'],
  ['post', '/groups', 'groups:CreateGroup'],
  ['get', '/groups/{id}', 'groups:GetGroup'],
  ['patch', '/groups/{id}', 'groups:UpdateGroup'],
  ['delete', '/groups/{id}', 'groups:DeleteGroup'],
  ['post', '/groups/{id}/bindings', 'groups:AddMember'],
  ['get', '/groups/{id}/bindings', 'groups:GetGroup'],
  ['delete', '/groups/{id}/bindings/{binding_id}', 'groups:RemoveMember'],
  ['post', '/groups/{id}/policies/{policy_id}', 'groups:AttachPolicy'],
  ['delete', '/groups/{id}/policies/{policy_id}', 'groups:DetachPolicy'],
  ['get', '/users', 'users:ListUsers'],
  ['post', '/users', 'users:CreateUser'],
  ['get', '/users/{id}', 'users:GetUser'],
  ['patch', '/users/{id}', 'users:UpdateUser'],
  ['delete', '/users/{id}', 'users:DeleteUser'],
  ['get', '/admin/deleted/accounts', 'administrator'],
  ['post', '/admin/restore/account/{id}', 'administrator'],
];

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const concrete = (path: string): string => path.replaceAll(/\{\w+\}/g, '0'.repeat(24));

describe('permissions', () => {
  it('are asked for on every route of these modules, and on no other', () => {
    const declared = [
      ...accountEndpoints,
      ...serviceAccountEndpoints,
      ...apiKeyEndpoints,
      ...organizationGroupEndpoints,
      ...groupMemberEndpoints,
      ...organizationUserEndpoints,
    ].map(({ contract }) => [contract.method, contract.path, contract.access]);
    expect(declared.toSorted()).toEqual(ROUTES.toSorted());
  });

  describe.each(ROUTES)('%s %s', (method, path, permission) => {
    const others = ALL_ACTIONS.filter((action) => action !== permission);

    it('lets nobody in without a signature', async () => {
      const { status, body } = await call(method.toUpperCase(), concrete(path));
      expect([status, body.error, body.details.reason]).toEqual([401, 'Unauthorized', 'missing_header']);
    });

    it('refuses one who may do everything else, before it looks at the request', async () => {
      const robot = await aRobotThat(company, allow(...others));
      const bad = method === 'get' ? `${concrete(path)}?page=0` : concrete(path);
      const { status, body } = await robot.as[method](bad, method === 'get' ? {} : { json: { name: 7 } });
      expect([status, body.error]).toEqual([403, 'Forbidden']);
      if (permission !== 'administrator') expect(body.details).toMatchObject({ action: permission });
    });

    it('lets one in who may do exactly this', async () => {
      const robot =
        permission === 'administrator' ? signed(company.apiKey) : (await aRobotThat(company, allow(permission))).as;
      const { status } = await robot[method](concrete(path), method === 'get' ? {} : { json: {} });
      expect([200, 201, 204, 404, 422]).toContain(status);
    });
  });

  it('of one resource reach that one only', async () => {
    const mine = await aRobotThat(company, {
      effect: 'Allow',
      actions: ['accounts:*'],
      resources: [`arn:svc:accounts::${company.id}:account/${company.accountId}`],
    });
    expect((await mine.as.get(`/accounts/${company.accountId}`)).status).toBe(200);
    expect((await mine.as.get(`/accounts/${'0'.repeat(24)}`)).status).toBe(403);
    expect((await mine.as.get('/accounts')).status).toBe(403);
  });
});
