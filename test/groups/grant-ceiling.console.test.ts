import { describe, expect, it } from 'vitest';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  makePermissionInput,
  makePolicyInput,
  readGlobalGroups,
  readStatusAndCode,
} from '../support/console.ts';
import { listMailsTo } from '../support/mail.ts';
import {
  expectSuccess,
  makeAllow,
  makeDeny,
  storePolicy,
  createGrouplessUser as unboundUser,
} from '../support/signed.ts';

/** Actions of a manager of all users, groups and permissions who may see nothing else. Callers grant only what they have. */
const MANAGER_ACTIONS = ['users:*', 'groups:*', 'permissions:*', 'policies:*'];
const WIDER_ACTION = 'visualizations:get';

const company = await createOwnedCompany();
const manager: { id: string; as: Caller } = await createAllowedUser(company, { can: MANAGER_ACTIONS });

function expectRefused(answer: ApiResponse, action?: string): void {
  expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
  expect(answer.body.details).toEqual({ action: action ?? expect.any(String), resource: expect.any(String) });
}

async function createGroupWithPolicy(...statements: Parameters<typeof storePolicy>[1]): Promise<string> {
  const { _id } = await createConsoleGroup(company);
  await expectSuccess(company.as.post(`/v1/groups/${_id}/policies/${await storePolicy(company, statements)}`));
  return _id;
}

const putMembership = (as: Caller, method: 'post' | 'put' | 'delete', userId: string, ...group_ids: string[]) =>
  as[method](`/v1/users/${userId}/groups`, { json: { group_ids } });
const listGroups = async (id: string): Promise<string[]> =>
  (await expectSuccess(company.as.get(`/v1/users/${id}`))).group_ids;

/** Creates one group for each source of access that exceeds the manager's access. */
const createWiderGroups = async (): Promise<string[]> => [
  (await readGlobalGroups(company)).administrators,
  (await readGlobalGroups(company)).viewers,
  await createGroupWithPolicy(makeAllow(WIDER_ACTION)),
  (await createConsoleGroup(company, { roles: [{ name: 'R', target: 'visualizations', actions: ['read'] }] }))._id,
  (await createConsoleGroup(company, { roles: [{ name: 'R', target: '*', actions: ['read'] }] }))._id,
  (await createConsoleGroup(company, { permissionIds: [await createPermission(company, makeWidePermission())] }))._id,
];
const makeWidePermission = () => ({ target: { company_id: company.id, service_name: 'visualizations' } });

describe('a membership of a group that may do more than the caller', () => {
  it('is refused, whatever gives the group more, for others and for the caller', async () => {
    const { id } = await unboundUser(company);
    const groupsBefore = await listGroups(manager.id);
    for (const group of await createWiderGroups()) {
      for (const method of ['post', 'put'] as const) {
        expectRefused(await putMembership(manager.as, method, id, group));
        expectRefused(await putMembership(manager.as, method, manager.id, ...groupsBefore, group));
      }
    }
    expect([await listGroups(id), await listGroups(manager.id)]).toEqual([[], groupsBefore]);
  });

  it('is refused together with a membership of a weaker group', async () => {
    const { id } = await unboundUser(company);
    const narrowGroup = await createGroupWithPolicy(makeAllow('users:list'));
    expectRefused(
      await putMembership(manager.as, 'post', id, narrowGroup, await createGroupWithPolicy(makeAllow(WIDER_ACTION))),
      WIDER_ACTION,
    );
    expect(await listGroups(id)).toEqual([]);
  });

  it('is accepted if the group may do no more, and from administrators', async () => {
    const { id } = await unboundUser(company);
    const narrowGroup = await createGroupWithPolicy(makeAllow('users:list', 'groups:*'), makeDeny('visualizations:*'));
    expect((await putMembership(manager.as, 'post', id, narrowGroup)).status).toBe(200);
    const admin = await createAllowedUser(company, { can: ['*'] });
    for (const group of await createWiderGroups())
      expect((await putMembership(admin.as, 'post', id, group)).status).toBe(200);
  });

  it('stays when a user who has it gets other groups', async () => {
    const { id } = await unboundUser(company);
    const wideGroup = await createGroupWithPolicy(makeAllow(WIDER_ACTION));
    const narrowGroup = await createGroupWithPolicy(makeAllow('users:list'));
    await addToGroups(company, id, wideGroup);
    expect((await putMembership(manager.as, 'put', id, wideGroup, narrowGroup)).body.group_ids).toEqual(
      [wideGroup, narrowGroup].toSorted(),
    );
    expect((await putMembership(manager.as, 'post', id, wideGroup)).status).toBe(200);
    expect((await putMembership(manager.as, 'put', id, narrowGroup)).body.group_ids).toEqual([narrowGroup]);
    expectRefused(await putMembership(manager.as, 'post', id, wideGroup), WIDER_ACTION);
  });

  it('is refused in an invitation, and nobody is invited', async () => {
    const invite = (as: Caller, email: string, ...group_ids: string[]) =>
      as.post('/v1/users/invite', { json: { email, group_ids } });
    let count = 0;
    for (const group of await createWiderGroups()) {
      const email = `climber-${++count}@${company.slug}.test`;
      expectRefused(await invite(manager.as, email, await createGroupWithPolicy(makeAllow('users:list')), group));
      expect(listMailsTo(email)).toEqual([]);
      expect(readStatusAndCode(await invite(manager.as, email))).toEqual([201, undefined]);
      expectRefused(await invite(manager.as, email, group));
      expect(listMailsTo(email)).toHaveLength(1);
    }
  });
});

describe('the removal of a Deny', () => {
  it('is refused to callers who may not do what it denies, when a member leaves the group', async () => {
    const denyingGroup = await createGroupWithPolicy(makeAllow('users:list'), makeDeny(WIDER_ACTION));
    const { id } = await unboundUser(company);
    await addToGroups(company, id, denyingGroup);
    for (const answer of [
      await putMembership(manager.as, 'delete', id, denyingGroup),
      await putMembership(manager.as, 'put', id),
      await manager.as.delete(`/v1/groups/${denyingGroup}`),
    ]) {
      expectRefused(answer, WIDER_ACTION);
    }
    expect(await listGroups(id)).toEqual([denyingGroup]);
    expect((await putMembership(company.as, 'put', id)).body.group_ids).toEqual([]);
  });

  it('is refused to the users whom the Deny binds', async () => {
    const boundUser = await createAllowedUser(company, { can: [...MANAGER_ACTIONS, WIDER_ACTION] });
    const denyingGroup = await createGroupWithPolicy(makeDeny(WIDER_ACTION));
    await addToGroups(company, boundUser.id, denyingGroup);
    const ownGroups = (await listGroups(boundUser.id)).filter((id) => id !== denyingGroup);
    const [policy] = (await expectSuccess(company.as.get(`/v1/groups/${denyingGroup}`))).attached_policies;
    for (const answer of [
      await putMembership(boundUser.as, 'delete', boundUser.id, denyingGroup),
      await putMembership(boundUser.as, 'put', boundUser.id, ...ownGroups),
      await boundUser.as.delete(`/v1/groups/${denyingGroup}`),
      await boundUser.as.delete(`/v1/groups/${denyingGroup}/policies/${policy}`),
    ]) {
      expectRefused(answer, WIDER_ACTION);
    }
    expect((await boundUser.as.get('/v1/visualizations/x')).status).toBe(403);
  });

  it('is allowed if the caller may do what is denied', async () => {
    const denyingGroup = await createGroupWithPolicy(makeDeny('users:list'));
    const { id } = await unboundUser(company);
    await addToGroups(company, id, denyingGroup);
    expect((await putMembership(manager.as, 'delete', id, denyingGroup)).body.group_ids).toEqual([]);
  });
});

describe('roles and legacy permissions that allow more than the caller may', () => {
  const makeWideGrants = () => [
    { target: { company_id: company.id }, actions: ['read'] },
    { target: { company_id: company.id, service_name: 'visualizations' }, actions: ['read'] },
    { target: { company_id: company.id, service_name: 'accounts', service_id: '*' }, actions: ['*'] },
  ];

  it('cannot be given to a new group', async () => {
    const widePermission = await createPermission(company, makeWidePermission());
    const createGroup = (json: object) =>
      manager.as.post('/v1/groups', { json: makeGroupInput(json as Record<string, unknown>) });
    for (const target of ['visualizations', '*']) {
      expectRefused(await createGroup({ roles: [{ name: 'R', target, actions: ['read'] }] }));
    }
    expectRefused(await createGroup({ permissionIds: [widePermission] }), WIDER_ACTION.replace('get', 'list'));
    expect((await createGroup({ roles: [{ name: 'R', target: 'users', actions: ['*'] }] })).status).toBe(201);
  });

  it('cannot be added to a group, but stay in a group that has them', async () => {
    const widePermission = await createPermission(company, makeWidePermission());
    const narrowPermission = await createPermission(company);
    const { _id } = await createConsoleGroup(company, { permissionIds: [widePermission] });
    const { _id: otherGroupId } = await createConsoleGroup(company);
    const changePermissions = (method: 'post' | 'put', id: string, ...permissionIds: string[]) =>
      manager.as[method](`/v1/groups/${id}/permissions`, { json: { permissionIds } });
    for (const method of ['post', 'put'] as const) {
      expectRefused(await changePermissions(method, otherGroupId, narrowPermission, widePermission));
      expect((await changePermissions(method, _id, narrowPermission, widePermission)).body.permissionIds).toEqual(
        [widePermission, narrowPermission].toSorted(),
      );
    }
    expect((await expectSuccess(company.as.get(`/v1/groups/${otherGroupId}`))).permissionIds).toEqual([]);
  });

  it('cannot be created', async () => {
    for (const wideGrant of makeWideGrants()) {
      expectRefused(await manager.as.post('/v1/permissions', { json: makePermissionInput(company, wideGrant) }));
    }
    expect((await manager.as.post('/v1/permissions', { json: makePermissionInput(company) })).status).toBe(201);
  });

  it('cannot be made by changing weaker ones; existing stronger ones can be kept and narrowed', async () => {
    const narrowPermission = await createPermission(company);
    for (const json of makeWideGrants())
      expectRefused(await manager.as.put(`/v1/permissions/${narrowPermission}`, { json }));
    const widePermission = await createPermission(company, { ...makeWidePermission(), actions: ['read', 'update'] });
    const changePermission = (json: object) => manager.as.put(`/v1/permissions/${widePermission}`, { json });
    expect((await changePermission({ name: 'Another name' })).status).toBe(200);
    expectRefused(await changePermission({ actions: ['read', 'update', 'delete'] }), 'visualizations:delete');
    expect((await changePermission({ actions: ['read'] })).status).toBe(200);
    expectRefused(await changePermission({ actions: ['update'] }), 'visualizations:update');
  });
});

describe('policies that allow more than the caller may', () => {
  const FULL_ADMIN = getManagedPolicyByName('FullAdmin').id;
  const createPolicy = (as: Caller, ...statements: Parameters<typeof storePolicy>[1]) =>
    as.post('/v1/policies', { json: makePolicyInput(statements) });

  it('cannot be attached to a group', async () => {
    const { _id } = await createConsoleGroup(company);
    expectRefused(await manager.as.post(`/v1/groups/${_id}/policies/${FULL_ADMIN}`));
    expectRefused(
      await manager.as.post(`/v1/groups/${_id}/policies/${await storePolicy(company, [makeAllow(WIDER_ACTION)])}`),
      WIDER_ACTION,
    );
    expect((await expectSuccess(company.as.get(`/v1/groups/${_id}`))).attached_policies).toEqual([]);
  });

  it('cannot be created or cloned', async () => {
    expectRefused(await createPolicy(manager.as, makeAllow('*')));
    expectRefused(await createPolicy(manager.as, makeAllow('users:list'), makeAllow(WIDER_ACTION)), WIDER_ACTION);
    for (const id of [FULL_ADMIN, await storePolicy(company, [makeAllow(WIDER_ACTION)])]) {
      expectRefused(await manager.as.post(`/v1/policies/${id}/clone`, { json: { name: 'Mine' } }));
    }
    expect((await createPolicy(manager.as, makeAllow('users:*'), makeDeny('*'))).status).toBe(201);
    const { id } = getManagedPolicyByName('UserManager');
    expect((await manager.as.post(`/v1/policies/${id}/clone`, { json: { name: 'Mine' } })).status).toBe(201);
    expect((await manager.as.get('/v1/policies?per_page=100')).body.records).not.toContainEqual(
      expect.objectContaining({ name: 'FullAdmin', type: 'inline' }),
    );
  });

  it('cannot be made by changing other policies, whether attached or not', async () => {
    const groupId = await createGroupWithPolicy(makeAllow('users:list'));
    const [attached] = (await expectSuccess(company.as.get(`/v1/groups/${groupId}`))).attached_policies;
    const detachedPolicy = await storePolicy(company, [makeAllow('users:list')]);
    for (const id of [attached, detachedPolicy]) {
      const changePolicies = (...statements: Parameters<typeof storePolicy>[1]) =>
        manager.as.put(`/v1/policies/${id}`, { json: { document: makePolicyInput(statements).document } });
      expectRefused(await changePolicies(makeAllow('*')));
      expectRefused(await changePolicies(makeAllow('users:list'), makeAllow(WIDER_ACTION)), WIDER_ACTION);
      expect((await changePolicies(makeAllow('users:list', 'groups:get'))).status).toBe(200);
    }
  });

  it('can be kept and narrowed, but their Deny statements cannot', async () => {
    const id = await storePolicy(company, [makeAllow('visualizations:*'), makeDeny('visualizations:delete')]);
    const changePolicy = (json: object) => manager.as.put(`/v1/policies/${id}`, { json });
    const makeDocument = (...statements: Parameters<typeof storePolicy>[1]) => makePolicyInput(statements).document;
    expect((await changePolicy({ description: 'Seen by the manager.' })).status).toBe(200);
    expectRefused(
      await changePolicy({ document: makeDocument(makeAllow('visualizations:*')) }),
      'visualizations:delete',
    );
    expectRefused(
      await changePolicy({ document: makeDocument(makeDeny('visualizations:share')) }),
      'visualizations:delete',
    );
    const narrowedDocument = makeDocument(makeAllow(WIDER_ACTION), makeDeny('visualizations:*'));
    expect((await changePolicy({ document: narrowedDocument })).body.document).toEqual(narrowedDocument);
    expectRefused(await changePolicy({ document: makeDocument(makeAllow(WIDER_ACTION)) }));
    expectRefused(await changePolicy({ document: makeDocument(makeAllow('users:list')) }));
  });

  it('can be created by administrators', async () => {
    const { as } = await createAllowedUser(company, { can: ['*'] });
    expect((await createPolicy(as, makeAllow('*'))).status).toBe(201);
    expect((await as.post(`/v1/policies/${FULL_ADMIN}/clone`, { json: { name: 'Admin too' } })).status).toBe(201);
  });
});
