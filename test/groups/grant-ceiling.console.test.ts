import { beforeAll, describe, expect, it } from 'vitest';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
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
import { allow, aPolicy, deny, must, aUser as unboundUser } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

/** Nobody gives what they lack: somebody who manages all people, groups and permissions, and may see nothing else. */
const MANAGER_ACTIONS = ['users:*', 'groups:*', 'permissions:*', 'policies:*'];
const WIDER_ACTION = 'visualizations:get';

let company: Company;
let manager: { id: string; as: Caller };
beforeAll(async () => {
  company = await aCompany();
  manager = await aUser(company, { can: MANAGER_ACTIONS });
});

function expectRefused(answer: ApiResponse, action?: string): void {
  expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
  expect(answer.body.details).toEqual({ action: action ?? expect.any(String), resource: expect.any(String) });
}

/** A group with one policy of these statements. */
async function createGroupOf(...statements: Parameters<typeof aPolicy>[1]): Promise<string> {
  const { _id } = await createConsoleGroup(company);
  await must(company.as.post(`/v1/groups/${_id}/policies/${await aPolicy(company, statements)}`));
  return _id;
}

const putMembership = (as: Caller, method: 'post' | 'put' | 'delete', userId: string, ...group_ids: string[]) =>
  as[method](`/v1/users/${userId}/groups`, { json: { group_ids } });
const listGroups = async (id: string): Promise<string[]> => (await must(company.as.get(`/v1/users/${id}`))).group_ids;

/** One group for each source of access that is wider than the manager's. */
const createWiderGroups = async (): Promise<string[]> => [
  (await readGlobalGroups(company)).administrators,
  (await readGlobalGroups(company)).viewers,
  await createGroupOf(allow(WIDER_ACTION)),
  (await createConsoleGroup(company, { roles: [{ name: 'R', target: 'visualizations', actions: ['read'] }] }))._id,
  (await createConsoleGroup(company, { roles: [{ name: 'R', target: '*', actions: ['read'] }] }))._id,
  (await createConsoleGroup(company, { permissionIds: [await createPermission(company, makeWidePermission())] }))._id,
];
const makeWidePermission = () => ({ target: { company_id: company.id, service_name: 'visualizations' } });

describe('a membership of a group that may do more than the caller', () => {
  it('is refused, whatever gives the group more, for others and oneself', async () => {
    const { id } = await unboundUser(company);
    const before = await listGroups(manager.id);
    for (const group of await createWiderGroups()) {
      for (const method of ['post', 'put'] as const) {
        expectRefused(await putMembership(manager.as, method, id, group));
        expectRefused(await putMembership(manager.as, method, manager.id, ...before, group));
      }
    }
    expect([await listGroups(id), await listGroups(manager.id)]).toEqual([[], before]);
  });

  it('is refused together with a membership of a weaker group', async () => {
    const { id } = await unboundUser(company);
    const narrow = await createGroupOf(allow('users:list'));
    expectRefused(
      await putMembership(manager.as, 'post', id, narrow, await createGroupOf(allow(WIDER_ACTION))),
      WIDER_ACTION,
    );
    expect(await listGroups(id)).toEqual([]);
  });

  it('is accepted if the group may do no more, and from administrators', async () => {
    const { id } = await unboundUser(company);
    const narrow = await createGroupOf(allow('users:list', 'groups:*'), deny('visualizations:*'));
    expect((await putMembership(manager.as, 'post', id, narrow)).status).toBe(200);
    const admin = await aUser(company, { can: ['*'] });
    for (const group of await createWiderGroups())
      expect((await putMembership(admin.as, 'post', id, group)).status).toBe(200);
  });

  it('stays when a user with it gets other groups', async () => {
    const { id } = await unboundUser(company);
    const wide = await createGroupOf(allow(WIDER_ACTION));
    const narrow = await createGroupOf(allow('users:list'));
    await addToGroups(company, id, wide);
    expect((await putMembership(manager.as, 'put', id, wide, narrow)).body.group_ids).toEqual(
      [wide, narrow].toSorted(),
    );
    expect((await putMembership(manager.as, 'post', id, wide)).status).toBe(200);
    expect((await putMembership(manager.as, 'put', id, narrow)).body.group_ids).toEqual([narrow]);
    expectRefused(await putMembership(manager.as, 'post', id, wide), WIDER_ACTION);
  });

  it('is refused by an invitation, and nobody is invited', async () => {
    const invite = (as: Caller, email: string, ...group_ids: string[]) =>
      as.post('/v1/users/invite', { json: { email, group_ids } });
    let count = 0;
    for (const group of await createWiderGroups()) {
      count += 1;
      const email = `climber-${count}@${company.slug}.test`;
      expectRefused(await invite(manager.as, email, await createGroupOf(allow('users:list')), group));
      expect(listMailsTo(email)).toEqual([]);
      expect(readStatusAndCode(await invite(manager.as, email))).toEqual([201, undefined]);
      expectRefused(await invite(manager.as, email, group));
      expect(listMailsTo(email)).toHaveLength(1);
    }
  });
});

describe('the removal of a Deny', () => {
  it('is refused to those who may not do what it denies, when a member leaves the group', async () => {
    const denying = await createGroupOf(allow('users:list'), deny(WIDER_ACTION));
    const { id } = await unboundUser(company);
    await addToGroups(company, id, denying);
    for (const answer of [
      await putMembership(manager.as, 'delete', id, denying),
      await putMembership(manager.as, 'put', id),
      await manager.as.delete(`/v1/groups/${denying}`),
    ]) {
      expectRefused(answer, WIDER_ACTION);
    }
    expect(await listGroups(id)).toEqual([denying]);
    expect((await putMembership(company.as, 'put', id)).body.group_ids).toEqual([]);
  });

  it('is refused to the users whom it binds', async () => {
    const bound = await aUser(company, { can: [...MANAGER_ACTIONS, WIDER_ACTION] });
    const denying = await createGroupOf(deny(WIDER_ACTION));
    await addToGroups(company, bound.id, denying);
    const own = (await listGroups(bound.id)).filter((id) => id !== denying);
    const [policy] = (await must(company.as.get(`/v1/groups/${denying}`))).attached_policies;
    for (const answer of [
      await putMembership(bound.as, 'delete', bound.id, denying),
      await putMembership(bound.as, 'put', bound.id, ...own),
      await bound.as.delete(`/v1/groups/${denying}`),
      await bound.as.delete(`/v1/groups/${denying}/policies/${policy}`),
    ]) {
      expectRefused(answer, WIDER_ACTION);
    }
    expect((await bound.as.get('/v1/visualizations/x')).status).toBe(403);
  });

  it('is allowed if the caller may do what is denied', async () => {
    const denying = await createGroupOf(deny('users:list'));
    const { id } = await unboundUser(company);
    await addToGroups(company, id, denying);
    expect((await putMembership(manager.as, 'delete', id, denying)).body.group_ids).toEqual([]);
  });
});

describe('roles and legacy permissions that allow more than the caller may', () => {
  const wideTargets = () => [
    { target: { company_id: company.id }, actions: ['read'] },
    { target: { company_id: company.id, service_name: 'visualizations' }, actions: ['read'] },
    { target: { company_id: company.id, service_name: 'accounts', service_id: '*' }, actions: ['*'] },
  ];

  it('cannot be given to a new group', async () => {
    const wide = await createPermission(company, makeWidePermission());
    const create = (json: object) =>
      manager.as.post('/v1/groups', { json: makeGroupInput(json as Record<string, unknown>) });
    for (const target of ['visualizations', '*']) {
      expectRefused(await create({ roles: [{ name: 'R', target, actions: ['read'] }] }));
    }
    expectRefused(await create({ permissionIds: [wide] }), WIDER_ACTION.replace('get', 'list'));
    expect((await create({ roles: [{ name: 'R', target: 'users', actions: ['*'] }] })).status).toBe(201);
  });

  it('cannot be added to a group, but stay where they are', async () => {
    const wide = await createPermission(company, makeWidePermission());
    const narrow = await createPermission(company);
    const { _id } = await createConsoleGroup(company, { permissionIds: [wide] });
    const { _id: other } = await createConsoleGroup(company);
    const change = (method: 'post' | 'put', id: string, ...permissionIds: string[]) =>
      manager.as[method](`/v1/groups/${id}/permissions`, { json: { permissionIds } });
    for (const method of ['post', 'put'] as const) {
      expectRefused(await change(method, other, narrow, wide));
      expect((await change(method, _id, narrow, wide)).body.permissionIds).toEqual([wide, narrow].toSorted());
    }
    expect((await must(company.as.get(`/v1/groups/${other}`))).permissionIds).toEqual([]);
  });

  it('cannot be created', async () => {
    for (const rest of wideTargets()) {
      expectRefused(await manager.as.post('/v1/permissions', { json: makePermissionInput(company, rest) }));
    }
    expect((await manager.as.post('/v1/permissions', { json: makePermissionInput(company) })).status).toBe(201);
  });

  it('cannot be made by changing weaker ones; stronger ones can be kept and narrowed', async () => {
    const narrow = await createPermission(company);
    for (const json of wideTargets()) expectRefused(await manager.as.put(`/v1/permissions/${narrow}`, { json }));
    const wide = await createPermission(company, { ...makeWidePermission(), actions: ['read', 'update'] });
    const change = (json: object) => manager.as.put(`/v1/permissions/${wide}`, { json });
    expect((await change({ name: 'Another name' })).status).toBe(200);
    expectRefused(await change({ actions: ['read', 'update', 'delete'] }), 'visualizations:delete');
    expect((await change({ actions: ['read'] })).status).toBe(200);
    expectRefused(await change({ actions: ['update'] }), 'visualizations:update');
  });
});

describe('policies that allow more than the caller may', () => {
  const FULL_ADMIN = managedPolicyNamed('FullAdmin').id;
  const create = (as: Caller, ...statements: Parameters<typeof aPolicy>[1]) =>
    as.post('/v1/policies', { json: makePolicyInput(statements) });

  it('cannot be attached to a group', async () => {
    const { _id } = await createConsoleGroup(company);
    expectRefused(await manager.as.post(`/v1/groups/${_id}/policies/${FULL_ADMIN}`));
    expectRefused(
      await manager.as.post(`/v1/groups/${_id}/policies/${await aPolicy(company, [allow(WIDER_ACTION)])}`),
      WIDER_ACTION,
    );
    expect((await must(company.as.get(`/v1/groups/${_id}`))).attached_policies).toEqual([]);
  });

  it('cannot be created or cloned', async () => {
    expectRefused(await create(manager.as, allow('*')));
    expectRefused(await create(manager.as, allow('users:list'), allow(WIDER_ACTION)), WIDER_ACTION);
    for (const id of [FULL_ADMIN, await aPolicy(company, [allow(WIDER_ACTION)])]) {
      expectRefused(await manager.as.post(`/v1/policies/${id}/clone`, { json: { name: 'Mine' } }));
    }
    expect((await create(manager.as, allow('users:*'), deny('*'))).status).toBe(201);
    const { id } = managedPolicyNamed('UserManager');
    expect((await manager.as.post(`/v1/policies/${id}/clone`, { json: { name: 'Mine' } })).status).toBe(201);
    expect((await manager.as.get('/v1/policies?per_page=100')).body.records).not.toContainEqual(
      expect.objectContaining({ name: 'FullAdmin', type: 'inline' }),
    );
  });

  it('cannot be made by changing others, attached or not', async () => {
    const groupId = await createGroupOf(allow('users:list'));
    const [attached] = (await must(company.as.get(`/v1/groups/${groupId}`))).attached_policies;
    const detached = await aPolicy(company, [allow('users:list')]);
    for (const id of [attached, detached]) {
      const change = (...statements: Parameters<typeof aPolicy>[1]) =>
        manager.as.put(`/v1/policies/${id}`, { json: { document: makePolicyInput(statements).document } });
      expectRefused(await change(allow('*')));
      expectRefused(await change(allow('users:list'), allow(WIDER_ACTION)), WIDER_ACTION);
      expect((await change(allow('users:list', 'groups:get'))).status).toBe(200);
    }
  });

  it('can be kept and narrowed, but their Deny statements cannot', async () => {
    const id = await aPolicy(company, [allow('visualizations:*'), deny('visualizations:delete')]);
    const change = (json: object) => manager.as.put(`/v1/policies/${id}`, { json });
    const document = (...statements: Parameters<typeof aPolicy>[1]) => makePolicyInput(statements).document;
    expect((await change({ description: 'Seen by the manager.' })).status).toBe(200);
    expectRefused(await change({ document: document(allow('visualizations:*')) }), 'visualizations:delete');
    expectRefused(await change({ document: document(deny('visualizations:share')) }), 'visualizations:delete');
    const narrowed = document(allow(WIDER_ACTION), deny('visualizations:*'));
    expect((await change({ document: narrowed })).body.document).toEqual(narrowed);
    expectRefused(await change({ document: document(allow(WIDER_ACTION)) }));
    expectRefused(await change({ document: document(allow('users:list')) }));
  });

  it('can be created by administrators', async () => {
    const { as } = await aUser(company, { can: ['*'] });
    expect((await create(as, allow('*'))).status).toBe(201);
    expect((await as.post(`/v1/policies/${FULL_ADMIN}/clone`, { json: { name: 'Admin too' } })).status).toBe(201);
  });
});
