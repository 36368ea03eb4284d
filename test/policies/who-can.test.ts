import { beforeAll, describe, expect, it } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import type { Caller } from '../support/api.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makePolicyInput,
  readInvalidFields,
} from '../support/console.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aServiceAccountThat, deny, must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});

interface AllowedPrincipal {
  principal: { type: string; id: string; name: string };
  decided_by: Record<string, unknown>;
}

const whoCan = async (action: string, resource = '*', as: Caller = company.as): Promise<AllowedPrincipal[]> =>
  (await must(as.post('/v1/policies/who-can?per_page=100', { json: { action, resource } }))).records;

const listIds = (able: AllowedPrincipal[]): string[] => able.map(({ principal }) => principal.id);

/** A user in groups with these policies. */
async function createUserWith(...policyIds: string[]): Promise<{ id: string; as: Caller; groupId: string }> {
  const user = await aUser(company, { can: [] });
  const group = await createConsoleGroup(company);
  for (const id of policyIds) await must(company.as.post(`/v1/groups/${group._id}/policies/${id}`));
  await addToGroups(company, user.id, group._id);
  return { ...user, groupId: group._id };
}

describe('the list of who can do something', () => {
  it('has everybody whom the evaluator allows it, with what decides, and nobody else', async () => {
    const reading = await aPolicy(company, [{ ...allow('concepts:list'), sid: 'Reads' }]);
    const denying = await aPolicy(company, [deny('concepts:list')]);
    const able = await createUserWith(reading);
    const denied = await createUserWith(reading, denying);
    const deactivated = await createUserWith(reading);
    await must(company.as.post(`/v1/users/${deactivated.id}/deactivate`));
    const invited = await must(
      company.as.post('/v1/users/invite', { json: { email: 'who@example.com', group_ids: [able.groupId] } }),
    );
    const byRole = await aUser(company, { can: [] });
    const legacy = await createConsoleGroup(company, { roles: [{ name: 'R', target: 'concepts', actions: ['read'] }] });
    await addToGroups(company, byRole.id, legacy._id);
    const robot = await aServiceAccountThat(company, allow('concepts:*'));
    const found = await whoCan('concepts:list');
    expect(listIds(found)).toEqual(expect.arrayContaining([company.owner.id, able.id, byRole.id, robot.id]));
    for (const id of [denied.id, deactivated.id, invited._id]) expect(listIds(found)).not.toContain(id);
    const by = (id: string) => found.find(({ principal }) => principal.id === id)?.decided_by;
    expect(by(company.owner.id)).toMatchObject({ kind: 'owner' });
    expect(by(able.id)).toEqual({ kind: 'allow', policy_id: reading, sid: 'Reads', group_id: able.groupId });
    expect(by(byRole.id)).toEqual({ kind: 'legacy', policy_id: null, sid: null, group_id: legacy._id });
    expect(found.map(({ principal }) => principal.type)).toEqual(
      found.map(({ principal }) => principal.type).toSorted((a, b) => (a < b ? 1 : -1)),
    );
  });

  it('agrees with a simulation of each principal, for many actions', async () => {
    const other = await aCompany();
    const arn = `arn:svc:users::${other.id}:user/*`;
    const user = await aUser(other, { can: ['users:*', 'groups:list'] });
    const robot = await aServiceAccountThat(other, allow('users:get', 'dashboards:*'));
    for (const resource of ['*', arn, 'arn:svc:']) {
      for (const action of ALL_ACTIONS.filter((_, at) => at % 9 === 0 || ALL_ACTIONS[at] === 'mcp:connect')) {
        const { records } = await must(other.as.post('/v1/policies/who-can', { json: { action, resource } }));
        for (const [type, id] of [
          ['user', other.owner.id],
          ['user', user.id],
          ['service_account', robot.id],
        ] as const) {
          const json = { principal: { type, id }, checks: [{ action, resource }] };
          const [{ allowed, decided_by }] = (await must(other.as.post('/v1/policies/simulate', { json }))).results;
          const told = (records as AllowedPrincipal[]).find(({ principal }) => principal.id === id);
          expect([action, resource, id, told?.decided_by]).toEqual([
            action,
            resource,
            id,
            allowed ? decided_by : undefined,
          ]);
        }
      }
    }
  });

  it('is decided by a Deny before an Allow, and by an Allow before legacy roles and permissions', async () => {
    const layers = {
      permission: await createConsoleGroup(company, {
        permissionIds: [
          await createPermission(company, {
            target: { company_id: company.id, service_name: 'ontology' },
            actions: ['delete'],
          }),
        ],
      }),
      role: await createConsoleGroup(company, { roles: [{ name: 'R', target: 'ontology', actions: ['delete'] }] }),
      allow: await createConsoleGroup(company),
      deny: await createConsoleGroup(company),
    };
    for (const [group, statement] of [
      [layers.allow, allow('ontology:delete')],
      [layers.deny, deny('ontology:delete')],
    ] as const)
      await must(company.as.post(`/v1/groups/${group._id}/policies/${await aPolicy(company, [statement])}`));
    const { permission, role, allow: allowing, deny: denying } = layers;
    for (const [groups, decidedBy] of [
      [[permission], { kind: 'legacy', group_id: permission._id }],
      [[role], { kind: 'legacy', group_id: role._id }],
      [[permission, role, allowing], { kind: 'allow', group_id: allowing._id }],
      [[permission, role, allowing, denying], undefined],
    ] as const) {
      const { id } = await aUser(company, { can: [] });
      await addToGroups(company, id, ...groups.map(({ _id }) => _id));
      const told = (await whoCan('ontology:delete')).find(({ principal }) => principal.id === id)?.decided_by;
      if (decidedBy) expect(told).toMatchObject(decidedBy);
      else expect(told).toBeUndefined();
    }
  });

  it('takes the resource `**` as everything, and `arn:*` as everything with an ARN', async () => {
    const [all, named] = [
      await createUserWith(await aPolicy(company, [{ ...allow('webhooks:list'), resources: ['**'] }])),
      await createUserWith(await aPolicy(company, [{ ...allow('webhooks:list'), resources: ['arn:*'] }])),
    ];
    const found = async (resource: string) =>
      listIds(await whoCan('webhooks:list', resource)).filter((id) => [all.id, named.id].includes(id));
    expect(await found('*')).toEqual([all.id]);
    expect((await found('arn:svc:')).toSorted()).toEqual([all.id, named.id].toSorted());
  });

  it('has users by their groups in any account, and service accounts while they are active', async () => {
    const second = await must(admin.post('/accounts', { json: { name: 'Second who can' } }));
    const groupId = await aGroup(company, await aPolicy(company, [allow('semantic:list')]));
    const user = await aUser(company, { can: [] });
    const json = { principal_type: 'user', principal_id: user.id, account_id: second.id };
    await must(admin.post(`/groups/${groupId}/bindings`, { json }));
    const robot = await aServiceAccount(company, [groupId]);
    expect(listIds(await whoCan('semantic:list'))).toEqual(expect.arrayContaining([user.id, robot.id]));
    await must(admin.patch(`/service-accounts/${robot.id}`, { json: { is_active: false } }));
    expect(listIds(await whoCan('semantic:list'))).not.toContain(robot.id);
  });

  it('has everybody without a Deny for mcp:connect, which needs no Allow', async () => {
    const [free, kept] = [await createUserWith(), await createUserWith(await aPolicy(company, [deny('mcp:connect')]))];
    const found = await whoCan('mcp:connect');
    expect(listIds(found)).toContain(free.id);
    expect(listIds(found)).not.toContain(kept.id);
    expect(found.find(({ principal }) => principal.id === free.id)?.decided_by).toMatchObject({ kind: 'none' });
  });

  it('is answered in pages, with the total', async () => {
    const other = await aCompany();
    const groupId = await aGroup(other, managedPolicyNamed('KnowledgeManager').id);
    for (let made = 0; made < 5; made += 1) {
      await must(
        other.as.post(`/v1/users/${(await aUser(other, { can: [] })).id}/groups`, { json: { group_ids: [groupId] } }),
      );
    }
    const json = { action: 'concepts:delete', resource: '*' };
    const page = async (number: number) =>
      must(other.as.post(`/v1/policies/who-can?page=${number}&per_page=3`, { json }));
    const [first, second, third] = [await page(1), await page(2), await page(3)];
    expect(new Set([first, second, third].map(({ total }) => total)).size).toBe(1);
    const all = [first, second, third].flatMap(({ records }) => listIds(records));
    expect(new Set(all).size).toBe(Math.min(9, first.total));
    expect(first.total).toBeGreaterThanOrEqual(6);
  });

  it('has nobody whom the caller may not see', async () => {
    const user = await createUserWith(await aPolicy(company, [allow('ontology:list')]));
    const statements = [allow('policies:list'), { ...deny('users:get'), resources: [`arn:svc:users::*/${user.id}`] }];
    const { id } = await aUser(company, { can: [] });
    await addToGroups(company, id, await aGroup(company, await aPolicy(company, statements)));
    expect(listIds(await whoCan('ontology:list'))).toContain(user.id);
    const watcher = await aUser(company, { can: ['policies:list'] });
    const hiding = await createConsoleGroup(company);
    await must(company.as.post(`/v1/groups/${hiding._id}/policies/${await aPolicy(company, statements)}`));
    await addToGroups(company, watcher.id, hiding._id);
    expect(listIds(await whoCan('ontology:list', '*', watcher.as))).not.toContain(user.id);
  });

  it('is refused to callers who may not list policies, and for invalid resources and actions', async () => {
    const { as } = await aUser(company, { can: ['policies:get'] });
    const json = { action: 'users:list', resource: '*' };
    expect((await as.post('/v1/policies/who-can', { json })).status).toBe(403);
    const wrong = await company.as.post('/v1/policies/who-can', { json: { ...json, resource: 'users' } });
    expect(readInvalidFields(wrong)).toEqual([422, 'VALIDATION_ERROR', 'resource']);
    const unknown = await company.as.post('/v1/policies/who-can', { json: { ...json, action: 'users:fly' } });
    expect(readInvalidFields(unknown)).toEqual([422, 'VALIDATION_ERROR', 'action']);
  });
});

describe('a comparison of policy documents', () => {
  const compare = (before: object[], after: object[]) =>
    company.as.post('/v1/policies/compare', { json: { before: { documents: before }, after: { documents: after } } });
  const documentOf = (...statements: Parameters<typeof makePolicyInput>[0]) => makePolicyInput(statements).document;

  it('finds two spellings of the same access equal', async () => {
    const arn = `arn:svc:users::${company.id}:user/`;
    const one = documentOf(
      { ...allow('users:get'), resources: [`${arn}*`, `${arn}a*`, '*', '**'] },
      { ...deny('users:get'), resources: [`${arn}x`] },
    );
    const two = [
      documentOf({ ...deny('users:get'), resources: [`${arn}x`] }),
      documentOf({ ...allow('users:get'), resources: ['*'] }),
    ];
    expect((await compare([one], two)).body).toEqual({ equal: true, gains: [], losses: [] });
    expect((await compare([], [])).body).toEqual({ equal: true, gains: [], losses: [] });
    const everything = [documentOf(allow('*'))];
    const named = [documentOf({ ...allow('*'), resources: ['arn:*'] })];
    const { body } = await compare(everything, named);
    expect(body.losses).toHaveLength(ALL_ACTIONS.length - 1);
    expect(body.losses[0].resource).toBe('*');
    expect((await compare(named, [documentOf({ ...allow('*:*'), resources: ['arn:svc:*'] })])).body.equal).toBe(true);
  });

  it('names a shortest resource for each action that differs', async () => {
    const arn = `arn:svc:concepts::${company.id}:concept/`;
    const before = [documentOf({ ...allow('concepts:*'), resources: [`${arn}*`] })];
    const after = [
      documentOf({ ...allow('concepts:get'), resources: [`${arn}*`, 'arn:svc:concepts::*'] }, deny('concepts:get')),
    ];
    const { body } = await compare(before, after);
    expect(body.gains).toEqual([]);
    expect(body.losses).toContainEqual({ action: 'concepts:get', resource: arn });
    expect(body.losses).toHaveLength(5);
  });

  it('is refused for patterns that are too complex to compare', async () => {
    const many = { ...allow('users:list'), resources: [`arn:svc:${'*a'.repeat(200)}`] };
    expect((await compare([documentOf(many)], [documentOf(many)])).body.equal).toBe(true);
    const ends = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `arn:svc:*${letter}*q`);
    const hostile = documentOf(allow('users:list'), { ...deny('users:list'), resources: ends });
    const { status, body } = await compare(
      [hostile],
      [
        documentOf(
          { ...allow('users:list'), resources: ['*'] },
          { ...deny('users:list'), resources: [`arn:svc:${'*z'.repeat(200)}`] },
        ),
      ],
    );
    expect([status, body.error]).toEqual([422, 'ACCESS_TOO_COMPLEX']);
  });
});
