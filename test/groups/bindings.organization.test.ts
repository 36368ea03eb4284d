import { describe, expect, it } from 'vitest';
import type { Action } from '../../src/permissions/actions.ts';
import type { Caller } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import {
  bindUser,
  createAllowedAccount,
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
} from '../support/signed.ts';

const [company, other] = await Promise.all([createOwnedCompany(), createOwnedCompany()]);
const admin = createSignedCaller(company.apiKey);

const UNKNOWN_ID = '0'.repeat(24);

describe('the binding of a member to a group', () => {
  it('puts a user into a group within an account, and is returned', async () => {
    const [groupId, user] = await Promise.all([createPolicyGroup(company), createGrouplessUser(company)]);
    const json = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    const { status, body } = await admin.post(`/groups/${groupId}/bindings`, { json });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...json,
      id: expect.any(String),
      group_id: groupId,
      created_at: expect.stringMatching(/Z$/),
    });
    expect((await expectSuccess(admin.get(`/groups/${groupId}/bindings`))).results).toEqual([body]);
  });

  it('is made for each account, and the group counts the member once', async () => {
    const [groupId, user, { id: second }] = await Promise.all([
      createPolicyGroup(company),
      createGrouplessUser(company),
      expectSuccess(admin.post('/accounts', { json: { name: 'Second' } })),
    ]);
    await bindUser(company, groupId, user.id);
    await bindUser(company, groupId, user.id, second);
    await createKeyedAccount(company, [groupId]);
    expect((await admin.get(`/groups/${groupId}`)).body.member_count).toBe(2);
    const listedGroups = (await expectSuccess(admin.get('/groups?quantity=100'))).results;
    expect(listedGroups.find((group: { id: string }) => group.id === groupId).member_count).toBe(2);
    const filteredBindings = await expectSuccess(admin.get(`/groups/${groupId}/bindings?account_id=${second}`));
    expect([filteredBindings.total, filteredBindings.results[0].account_id]).toEqual([1, second]);
    expect((await expectSuccess(admin.get(`/groups/${groupId}/bindings?quantity=1&page=3`))).results).toHaveLength(1);
  });

  it('is not counted if the caller may not see the member', async () => {
    const groupId = await createPolicyGroup(company);
    const [hidden, shown] = [await createGrouplessUser(company), await createGrouplessUser(company)];
    const keyedAccount = await createKeyedAccount(company, [groupId]);
    for (const { id } of [hidden, shown]) await bindUser(company, groupId, id);
    const makeDenyOn = (action: Action, resource: string) => ({
      ...makeDeny(action),
      resources: [`arn:svc:${resource}`],
    });
    const limitedAccount = await createAllowedAccount(
      company,
      makeAllow('groups:*', 'users:*', 'service-accounts:*'),
      makeDenyOn('users:GetUser', `users::${company.id}:user/${hidden.id}`),
      makeDenyOn(
        'service-accounts:GetServiceAccount',
        `service-accounts::${company.id}:service-account/${keyedAccount.id}`,
      ),
    );
    expect((await expectSuccess(limitedAccount.as.get(`/groups/${groupId}/bindings`))).total).toBe(1);
    expect((await expectSuccess(limitedAccount.as.get(`/groups/${groupId}`))).member_count).toBe(1);
    const listedGroups = (await expectSuccess(limitedAccount.as.get('/groups?quantity=100'))).results;
    expect(listedGroups.find((group: { id: string }) => group.id === groupId).member_count).toBe(1);
    const renamedGroup = await expectSuccess(
      limitedAccount.as.patch(`/groups/${groupId}`, { json: { name: 'Counted by few' } }),
    );
    expect(renamedGroup.member_count).toBe(1);
    expect((await expectSuccess(admin.get(`/groups/${groupId}`))).member_count).toBe(3);
  });

  it('is not found if the caller may not see the member or the account', async () => {
    const [groupId, hidden, user, { id: hiddenAccount }] = await Promise.all([
      createPolicyGroup(company),
      createGrouplessUser(company),
      createGrouplessUser(company),
      expectSuccess(admin.post('/accounts', { json: { name: 'Kept from some' } })),
    ]);
    const { id: hiddenBinding } = await bindUser(company, groupId, hidden.id);
    const { id: seenBinding } = await bindUser(company, groupId, user.id, hiddenAccount);
    const limitedAccount = await createAllowedAccount(
      company,
      makeAllow('*'),
      { ...makeDeny('users:GetUser'), resources: [`arn:svc:users::${company.id}:user/${hidden.id}`] },
      { ...makeDeny('accounts:GetAccount'), resources: [`arn:svc:accounts::${company.id}:account/${hiddenAccount}`] },
    );
    const path = `/groups/${groupId}/bindings`;
    const json = { principal_type: 'user', principal_id: user.id, account_id: hiddenAccount };
    const { status, body } = await limitedAccount.as.post(path, { json });
    expect([status, body.details]).toEqual([404, { field: 'account_id', reason: 'not_found' }]);
    for (const list of [path, '/users', '/service-accounts']) {
      const listInAccount = async (as: Caller) =>
        (await expectSuccess(as.get(`${list}?account_id=${hiddenAccount}`))).total;
      expect([list, await listInAccount(limitedAccount.as)]).toEqual([list, 0]);
      if (list !== '/service-accounts') expect([list, await listInAccount(admin)]).toEqual([list, 1]);
    }
    expect((await limitedAccount.as.delete(`${path}/${hiddenBinding}`)).status).toBe(404);
    expect((await limitedAccount.as.delete(`${path}/${seenBinding}`)).status).toBe(204);
    expect((await admin.delete(`${path}/${hiddenBinding}`)).status).toBe(204);
  });

  it('is refused for a service account within any account but its own', async () => {
    const [groupId, robot, { id: elsewhere }] = await Promise.all([
      createPolicyGroup(company),
      createKeyedAccount(company),
      expectSuccess(admin.post('/accounts', { json: { name: 'Elsewhere' } })),
    ]);
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: elsewhere };
    const { status, body } = await admin.post(`/groups/${groupId}/bindings`, { json });
    expect([status, body.error, body.details[0].field]).toEqual([422, 'ValidationError', 'account_id']);
  });

  it('is refused when a group, principal or account does not exist', async () => {
    const [groupId, user, robot] = await Promise.all([
      createPolicyGroup(company),
      createGrouplessUser(company),
      createKeyedAccount(company),
    ]);
    const validBinding = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    for (const [field, wrong] of [
      ['principal_id', { principal_id: UNKNOWN_ID }],
      ['principal_id', { principal_id: 'nobody' }],
      ['principal_id', { principal_id: other.owner.id }],
      ['principal_id', { principal_id: robot.id }],
      ['principal_id', { principal_type: 'service_account' }],
      ['account_id', { account_id: UNKNOWN_ID }],
      ['account_id', { account_id: other.accountId }],
    ] as const) {
      const { status, body } = await admin.post(`/groups/${groupId}/bindings`, { json: { ...validBinding, ...wrong } });
      expect([status, body.error, body.details.field]).toEqual([404, 'NotFound', field]);
    }
    expect((await admin.post(`/groups/${UNKNOWN_ID}/bindings`, { json: validBinding })).status).toBe(404);
  });

  it('is removed once, and then not found', async () => {
    const [groupId, user] = await Promise.all([createPolicyGroup(company), createGrouplessUser(company)]);
    const { id } = await bindUser(company, groupId, user.id);
    const otherGroupId = await createPolicyGroup(company);
    expect((await admin.delete(`/groups/${otherGroupId}/bindings/${id}`)).status).toBe(404);
    expect((await admin.delete(`/groups/${groupId}/bindings/${id}`)).status).toBe(204);
    expect((await admin.delete(`/groups/${groupId}/bindings/${id}`)).status).toBe(404);
    await bindUser(company, groupId, user.id);
  });

  it('never outlives its group, even if it is made while the group is deleted', async () => {
    const [groupId, user] = [await createPolicyGroup(company), await createGrouplessUser(company)];
    const bindConcurrently = () => bindUser(company, groupId, user.id);
    const answer = await sendDuringRace(/^update "groups"/, bindConcurrently, (env) =>
      admin.delete(`/groups/${groupId}`, { env }),
    );
    expect(answer.status).toBe(204);
    expect(
      (await expectSuccess(admin.get(`/users?account_id=${company.accountId}&quantity=100`))).results,
    ).not.toContainEqual(expect.objectContaining({ id: user.id }));
  });
});
