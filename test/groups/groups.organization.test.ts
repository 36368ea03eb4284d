import { beforeAll, describe, expect, it } from 'vitest';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import type { Caller } from '../support/api.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aUser, bind, must, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let other: Company;
let admin: Caller;

beforeAll(async () => {
  [company, other] = await Promise.all([aCompany(), aCompany()]);
  admin = signed(company.apiKey);
});

let names = 0;
const aName = () => `Team ${names++}`;
const NOWHERE = '0'.repeat(24);
const READ_ONLY = managedPolicyNamed('ReadOnly').id;
const theGlobalGroup = async (name: string) =>
  (await must(admin.get('/groups?quantity=100'))).results.find((group: { name: string }) => group.name === name);

describe('a group', () => {
  it('is made without members', async () => {
    const json = { name: aName(), description: 'Who reads' };
    const { status, body } = await admin.post('/groups', { json });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...json,
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      organization_id: company.id,
      attached_policies: [],
      member_count: 0,
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
      deleted_at: null,
    });
    expect((await admin.get(`/groups/${body.id}`)).body).toEqual(body);
  });

  it('may have a name whose slug is taken, or that gives no slug', async () => {
    for (const name of ['Ação São João', 'acao sao joao', 'ACAO-SAO-JOAO', '日本語', '한국어', '---']) {
      expect((await admin.post('/groups', { json: { name } })).status).toBe(201);
    }
  });

  it('is refused a name that another group has', async () => {
    const name = aName();
    const { id } = await must(admin.post('/groups', { json: { name } }));
    expect((await admin.post('/groups', { json: { name } })).status).toBe(409);
    const { id: second } = await must(admin.post('/groups', { json: { name: aName() } }));
    const renamed = await admin.patch(`/groups/${second}`, { json: { name } });
    expect([renamed.status, renamed.body.error]).toEqual([409, 'AlreadyExists']);
    await must(admin.delete(`/groups/${id}`));
    expect((await admin.patch(`/groups/${second}`, { json: { name } })).body.name).toBe(name);
  });

  it('keeps the fields that a change does not send', async () => {
    const before = await must(admin.post('/groups', { json: { name: aName(), description: 'Old' } }));
    const after = await must(admin.patch(`/groups/${before.id}`, { json: { description: 'New' } }));
    expect(after).toEqual({ ...before, description: 'New', updated_at: expect.any(String) });
  });

  it.each([
    ['no name', {}, 'name'],
    ['a list for a description', { name: 'A', description: [] }, 'description'],
  ])('is refused with %s', async (_what, json, field) => {
    const { status, body } = await admin.post('/groups', { json });
    expect([status, body.details]).toEqual([422, [expect.objectContaining({ field, message: expect.any(String) })]]);
  });

  it('is neither deleted nor renamed when it is global', async () => {
    for (const name of ['administrators', 'viewers']) {
      const { id, member_count, attached_policies } = await theGlobalGroup(name);
      expect(attached_policies).toHaveLength(1);
      for (const { status, body } of [
        await admin.delete(`/groups/${id}`),
        await admin.patch(`/groups/${id}`, { json: { name: aName() } }),
      ]) {
        expect([status, body.error]).toEqual([409, 'AlreadyExists']);
      }
      expect(await theGlobalGroup(name)).toMatchObject({ member_count, attached_policies });
    }
  });

  it('is deleted with its memberships, but not its members and policies', async () => {
    const policyId = await aPolicy(company, [allow('users:ListUsers')]);
    const groupId = await aGroup(company, policyId);
    const [user, robot] = await Promise.all([aUser(company), aServiceAccount(company, [groupId])]);
    const binding = await bind(company, groupId, user.id);
    expect((await robot.as.get('/users')).status).toBe(200);
    expect((await admin.delete(`/groups/${groupId}`)).status).toBe(204);

    expect((await robot.as.get('/users')).status).toBe(403);
    expect((await admin.get(`/users/${user.id}`)).status).toBe(200);
    for (const { status } of [
      await admin.get(`/groups/${groupId}`),
      await admin.patch(`/groups/${groupId}`, { json: { name: aName() } }),
      await admin.get(`/groups/${groupId}/bindings`),
      await admin.delete(`/groups/${groupId}/bindings/${binding.id}`),
      await admin.post(`/groups/${groupId}/policies/${policyId}`),
      await admin.delete(`/groups/${groupId}/policies/${policyId}`),
    ]) {
      expect(status).toBe(404);
    }
    const again = await admin.delete(`/groups/${groupId}`);
    expect([again.status, again.body.error]).toEqual([400, 'AlreadyDeleted']);
    expect((await admin.post(`/groups/${await aGroup(company)}/policies/${policyId}`)).status).toBe(204);
  });
});

describe('an attached policy', () => {
  it('is shown, attached once however often, and detached once', async () => {
    const own = await aPolicy(company, [allow('users:ListUsers')]);
    const groupId = await aGroup(company, own, READ_ONLY);
    expect((await admin.post(`/groups/${groupId}/policies/${own}`)).status).toBe(204);
    const attached = async () => (await must(admin.get(`/groups/${groupId}`))).attached_policies.sort();
    expect(await attached()).toEqual([READ_ONLY, own].sort());
    expect((await admin.delete(`/groups/${groupId}/policies/${own}`)).status).toBe(204);
    expect((await admin.delete(`/groups/${groupId}/policies/${own}`)).status).toBe(404);
    expect(await attached()).toEqual([READ_ONLY]);
  });

  it('is refused when it is neither the organization’s nor a managed one', async () => {
    const groupId = await aGroup(company);
    const foreign = await aPolicy(other, [allow('users:ListUsers')]);
    for (const policyId of [NOWHERE, 'nonsense', foreign]) {
      const { status, body } = await admin.post(`/groups/${groupId}/policies/${policyId}`);
      expect([status, body.error, body.details.field]).toEqual([404, 'NotFound', 'policy_id']);
      expect((await admin.delete(`/groups/${groupId}/policies/${policyId}`)).status).toBe(404);
    }
  });

  it('takes effect on the next request of the group’s members', async () => {
    const groupId = await aGroup(company);
    const robot = await aServiceAccount(company, [groupId]);
    expect((await robot.as.get('/users')).status).toBe(403);
    await must(admin.post(`/groups/${groupId}/policies/${READ_ONLY}`));
    expect((await robot.as.get('/users')).status).toBe(200);
    await must(admin.delete(`/groups/${groupId}/policies/${READ_ONLY}`));
    expect((await robot.as.get('/users')).status).toBe(403);
  });
});

describe('the id of a group', () => {
  it('is not found when it is another organization’s', async () => {
    const foreign = await aGroup(other);
    const stranger = await aUser(other);
    const { id: binding } = await bind(other, foreign, stranger.id);
    const json = { principal_type: 'user', principal_id: company.owner.id, account_id: company.accountId };
    for (const id of [foreign, NOWHERE, 'x', '%00'].map(encodeURIComponent)) {
      for (const { status, body } of [
        await admin.get(`/groups/${id}`),
        await admin.patch(`/groups/${id}`, { json: { name: aName() } }),
        await admin.delete(`/groups/${id}`),
        await admin.get(`/groups/${id}/bindings`),
        await admin.post(`/groups/${id}/bindings`, { json }),
        await admin.delete(`/groups/${id}/bindings/${binding}`),
        await admin.post(`/groups/${id}/policies/${READ_ONLY}`),
        await admin.delete(`/groups/${id}/policies/${READ_ONLY}`),
      ]) {
        expect([status, body.error]).toEqual([404, 'NotFound']);
      }
    }
    expect((await signed(other.apiKey).get(`/groups/${foreign}/bindings`)).body.total).toBe(1);
  });
});
