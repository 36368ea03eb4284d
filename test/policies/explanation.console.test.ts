import { describe, expect, it } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makePolicyInput,
  readInvalidFields,
  readStatusAndCode,
  UNKNOWN_ID,
} from '../support/console.ts';
import { createKeyedAccount, expectSuccess, makeAllow, makeDeny, storePolicy } from '../support/signed.ts';

const company = await createOwnedCompany();

const simulateAccess = (type: string, id: string, ...checks: [action: string, resource: string][]) =>
  company.as.post('/v1/policies/simulate', {
    json: { principal: { type, id }, checks: checks.map(([action, resource]) => ({ action, resource })) },
  });
const makeUserArn = (id: string) => `arn:svc:users::${company.id}:user/${id}`;
const makeDecision = (kind: string, otherFields: object = {}) => ({
  kind,
  policy_id: null,
  sid: null,
  group_id: null,
  ...otherFields,
});

/** Creates a user whom one policy allows, one policy denies, and a legacy role allows actions, each through its own group. */
async function createMixedUser() {
  const sid = 'People';
  const allowingPolicy = await expectSuccess(
    company.as.post('/v1/policies', {
      json: makePolicyInput([{ ...makeAllow('users:*'), sid }, makeAllow('groups:list')]),
    }),
  );
  const denyingPolicy = await expectSuccess(
    company.as.post('/v1/policies', {
      json: makePolicyInput([{ ...makeDeny('users:get'), resources: [makeUserArn(company.owner.id)] }]),
    }),
  );
  const [allowed, denied] = [await createConsoleGroup(company), await createConsoleGroup(company)];
  await expectSuccess(company.as.post(`/v1/groups/${allowed._id}/policies/${allowingPolicy._id}`));
  await expectSuccess(company.as.post(`/v1/groups/${denied._id}/policies/${denyingPolicy._id}`));
  const legacyGroup = await createConsoleGroup(company, {
    roles: [{ name: 'Reader', target: 'permissions', actions: ['read'] }],
    permissionIds: [await createPermission(company, { target: { company_id: company.id, service_name: 'concepts' } })],
  });
  const user = await createAllowedUser(company);
  const { group_ids } = await expectSuccess(company.as.put(`/v1/users/${user.id}/groups`, { json: { group_ids: [] } }));
  expect(group_ids).toEqual([]);
  await addToGroups(company, user.id, allowed._id, denied._id, legacyGroup._id);
  return { ...user, sid, allowing: allowingPolicy, denying: denyingPolicy, allowed, denied, legacy: legacyGroup };
}

describe('a policy simulation', () => {
  it('names the deciding rule: a Deny, an Allow, a legacy grant, or nothing', async () => {
    const user = await createMixedUser();
    const { status, body } = await simulateAccess(
      'user',
      user.id,
      ['users:get', makeUserArn(company.owner.id)],
      ['users:get', makeUserArn(user.id)],
      ['users:list', '*'],
      ['permissions:list', '*'],
      ['concepts:get', '*'],
      ['accounts:ListAccounts', '*'],
    );
    expect(status).toBe(200);
    const allowedBy = { policy_id: user.allowing._id, sid: user.sid, group_id: user.allowed._id };
    expect(body.results.map(({ allowed, decided_by }: Record<string, unknown>) => [allowed, decided_by])).toEqual([
      [false, makeDecision('deny', { policy_id: user.denying._id, group_id: user.denied._id })],
      [true, makeDecision('allow', allowedBy)],
      [true, makeDecision('allow', allowedBy)],
      [true, makeDecision('legacy', { group_id: user.legacy._id })],
      [true, makeDecision('legacy', { group_id: user.legacy._id })],
      [false, makeDecision('none')],
    ]);
    expect(body.results[0]).toMatchObject({ action: 'users:get', resource: makeUserArn(company.owner.id) });
  });

  it('names no policy and no group that the caller may not see', async () => {
    const user = await createMixedUser();
    const { as } = await createAllowedUser(company, {
      can: ['policies:get', 'policies:list'],
      denied: ['policies:get', 'groups:get'],
      deniedArns: [user.denying.arn, `arn:svc:groups::${company.id}:group/${user.allowed._id}`],
    });
    const resource = makeUserArn(company.owner.id);
    const checks = ['users:get', 'users:list', 'permissions:list'].map((action) => ({ action, resource }));
    const json = { principal: { type: 'user', id: user.id }, checks };
    const { results } = await expectSuccess(as.post('/v1/policies/simulate', { json }));
    const visibleDecisions = [
      makeDecision('deny', { group_id: user.denied._id }),
      makeDecision('allow', { policy_id: user.allowing._id, sid: user.sid }),
      makeDecision('legacy', { group_id: user.legacy._id }),
    ];
    expect(results.map(({ decided_by }: Record<string, unknown>) => decided_by)).toEqual(visibleDecisions);
    const allowedPrincipals = await expectSuccess(
      as.post('/v1/policies/who-can?per_page=100', { json: { action: 'users:list', resource } }),
    );
    expect(allowedPrincipals.records).toContainEqual(
      expect.objectContaining({ principal: expect.objectContaining({ id: user.id }), decided_by: visibleDecisions[1] }),
    );
  });

  it('gives the same decisions as real requests get', async () => {
    const user = await createMixedUser();
    const policyId = getManagedPolicyByName('ReadOnly').id;
    const requests: [path: string, action: string, resource: string][] = [
      ['/v1/users', 'users:list', makeUserArn('*')],
      [`/v1/users/${user.id}`, 'users:get', makeUserArn(user.id)],
      [`/v1/users/${company.owner.id}`, 'users:get', makeUserArn(company.owner.id)],
      ['/v1/groups', 'groups:list', `arn:svc:groups::${company.id}:group/*`],
      ['/v1/permissions', 'permissions:list', `arn:svc:permissions::${company.id}:permission/*`],
      ['/v1/policies', 'policies:list', `arn:svc:iam::${company.id}:policy/*`],
      [`/v1/policies/${policyId}`, 'policies:get', 'arn:svc:iam:::policy/managed/ReadOnly'],
    ];
    const { body } = await simulateAccess(
      'user',
      user.id,
      ...requests.map(([, action, on]) => [action, on] as [string, string]),
    );
    const simulatedDecisions = body.results.map(({ allowed }: { allowed: boolean }) => allowed);
    const actualDecisions = [];
    for (const [path] of requests) actualDecisions.push((await user.as.get(path)).status === 200);
    expect(simulatedDecisions).toEqual(actualDecisions);
    expect(new Set(actualDecisions)).toEqual(new Set([true, false]));
  });

  it('names ownership as what decides for the owner', async () => {
    const { body } = await simulateAccess('user', company.owner.id, ['company:update_sso', '*']);
    expect(body.results[0]).toMatchObject({ allowed: true, decided_by: makeDecision('owner') });
  });

  it('considers the groups of a service account in its own account', async () => {
    const group = await createConsoleGroup(company);
    await expectSuccess(company.as.post(`/v1/groups/${group._id}/policies/${getManagedPolicyByName('ReadOnly').id}`));
    const serviceAccount = await createKeyedAccount(company, [group._id]);
    const { body } = await simulateAccess(
      'service_account',
      serviceAccount.id,
      ['accounts:ListAccounts', '*'],
      ['accounts:CreateAccount', '*'],
    );
    expect(body.results.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([true, false]);
    expect((await serviceAccount.as.get('/accounts')).status).toBe(200);
  });

  it('is answered 404 for a principal that does not exist in the company', async () => {
    const other = await createOwnedCompany();
    const serviceAccount = await createKeyedAccount(other);
    for (const [type, id, code] of [
      ['user', other.owner.id, 'USER_NOT_FOUND'],
      ['user', UNKNOWN_ID, 'USER_NOT_FOUND'],
      ['user', (await createKeyedAccount(company)).id, 'USER_NOT_FOUND'],
      ['service_account', serviceAccount.id, 'SERVICE_ACCOUNT_NOT_FOUND'],
      ['service_account', company.owner.id, 'SERVICE_ACCOUNT_NOT_FOUND'],
    ] as const) {
      expect(readStatusAndCode(await simulateAccess(type, id, ['users:list', '*']))).toEqual([404, code]);
    }
  });

  it.each([
    [[], 'checks'],
    [[{ action: 'users:fly', resource: '*' }], 'checks.0.action'],
    [[{ action: 'users:*', resource: '*' }], 'checks.0.action'],
    [[{ action: 'users:list', resource: 'users' }], 'checks.0.resource'],
    [Array.from({ length: 101 }, () => ({ action: 'users:list', resource: '*' })), 'checks'],
  ])('with the checks %j is not valid', async (checks, field) => {
    const json = { principal: { type: 'user', id: UNKNOWN_ID }, checks };
    expect(readInvalidFields(await company.as.post('/v1/policies/simulate', { json }))).toEqual([
      422,
      'VALIDATION_ERROR',
      field,
    ]);
  });
});

describe('the access of the caller', () => {
  it('is returned with its policies and every action allowed on all resources', async () => {
    const user = await createMixedUser();
    await expectSuccess(company.as.post(`/v1/groups/${user.denied._id}/policies/${user.allowing._id}`));
    const { status, body } = await user.as.get('/v1/auth/permissions');
    expect([status, body]).toEqual([
      200,
      {
        user_id: user.id,
        company_id: company.id,
        is_owner: false,
        policies: expect.any(Array),
        actions: expect.any(Array),
      },
    ]);
    expect(body.policies).toHaveLength(2);
    expect(body.policies).toContainEqual({
      _id: user.allowing._id,
      arn: user.allowing.arn,
      name: user.allowing.name,
      type: 'inline',
      group_ids: [user.allowed._id, user.denied._id].toSorted(),
    });
    const services = ['users', 'permissions', 'concepts'];
    const getResourceType = (action: string) => action.split(':')[0] as string;
    expect(new Set(body.actions.map(getResourceType))).toEqual(new Set([...services, 'groups']));
    expect(body.actions).toEqual(
      expect.arrayContaining(['users:get', 'users:DeleteUser', 'groups:list', 'permissions:list']),
    );
    expect(body.actions).not.toContain('groups:get');

    const hidingGroup = await createConsoleGroup(company);
    const statements = [
      { ...makeDeny('groups:get'), resources: [`arn:svc:groups::${company.id}:group/${user.allowed._id}`] },
      { ...makeDeny('policies:get'), resources: [user.denying.arn] },
    ];
    await expectSuccess(
      company.as.post(`/v1/groups/${hidingGroup._id}/policies/${await storePolicy(company, statements)}`),
    );
    await addToGroups(company, user.id, hidingGroup._id);
    const { policies } = await expectSuccess(user.as.get('/v1/auth/permissions'));
    expect(policies).toHaveLength(2);
    expect(policies).toContainEqual(expect.objectContaining({ _id: user.allowing._id, group_ids: [user.denied._id] }));
    expect(policies).not.toContainEqual(expect.objectContaining({ _id: user.denying._id }));
    expect(body.actions).not.toContain('permissions:create');
  });

  it('allows everything for the owner, and nothing for a new user', async () => {
    const { body } = await company.as.get('/v1/auth/permissions');
    expect(body).toMatchObject({ user_id: company.owner.id, is_owner: true, actions: ALL_ACTIONS });
    expect(body.policies).toMatchObject([
      {
        _id: getManagedPolicyByName('FullAdmin').id,
        name: 'FullAdmin',
        type: 'managed',
        arn: 'arn:svc:iam:::policy/managed/FullAdmin',
      },
    ]);
    const user = await createAllowedUser(company);
    await expectSuccess(company.as.put(`/v1/users/${user.id}/groups`, { json: { group_ids: [] } }));
    expect((await user.as.get('/v1/auth/permissions')).body).toMatchObject({ policies: [], actions: [] });
  });
});
