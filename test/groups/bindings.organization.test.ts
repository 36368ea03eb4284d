import { beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../src/permissions/actions.ts';
import type { Caller } from '../support/api.ts';
import { sendOvertaken } from '../support/rival.ts';
import {
  aGroup,
  allow,
  aServiceAccount,
  aServiceAccountThat,
  aUser,
  bind,
  deny,
  must,
  signed,
} from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let other: Company;
let admin: Caller;

beforeAll(async () => {
  [company, other] = await Promise.all([aCompany(), aCompany()]);
  admin = signed(company.apiKey);
});

const UNKNOWN_ID = '0'.repeat(24);

describe('the binding of a member to a group', () => {
  it('puts a user into a group within an account, and is returned', async () => {
    const [groupId, user] = await Promise.all([aGroup(company), aUser(company)]);
    const json = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    const { status, body } = await admin.post(`/groups/${groupId}/bindings`, { json });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...json,
      id: expect.any(String),
      group_id: groupId,
      created_at: expect.stringMatching(/Z$/),
    });
    expect((await must(admin.get(`/groups/${groupId}/bindings`))).results).toEqual([body]);
  });

  it('is made for each account, and counts a member once', async () => {
    const [groupId, user, { id: second }] = await Promise.all([
      aGroup(company),
      aUser(company),
      must(admin.post('/accounts', { json: { name: 'Second' } })),
    ]);
    await bind(company, groupId, user.id);
    await bind(company, groupId, user.id, second);
    await aServiceAccount(company, [groupId]);
    expect((await admin.get(`/groups/${groupId}`)).body.member_count).toBe(2);
    const listed = (await must(admin.get('/groups?quantity=100'))).results;
    expect(listed.find((group: { id: string }) => group.id === groupId).member_count).toBe(2);
    const filtered = await must(admin.get(`/groups/${groupId}/bindings?account_id=${second}`));
    expect([filtered.total, filtered.results[0].account_id]).toEqual([1, second]);
    expect((await must(admin.get(`/groups/${groupId}/bindings?quantity=1&page=3`))).results).toHaveLength(1);
  });

  it('counts no member whom the caller may not see', async () => {
    const groupId = await aGroup(company);
    const [hidden, shown] = [await aUser(company), await aUser(company)];
    const robot = await aServiceAccount(company, [groupId]);
    for (const { id } of [hidden, shown]) await bind(company, groupId, id);
    const on = (action: Action, resource: string) => ({ ...deny(action), resources: [`arn:svc:${resource}`] });
    const limited = await aServiceAccountThat(
      company,
      allow('groups:*', 'users:*', 'service-accounts:*'),
      on('users:GetUser', `users::${company.id}:user/${hidden.id}`),
      on('service-accounts:GetServiceAccount', `service-accounts::${company.id}:service-account/${robot.id}`),
    );
    expect((await must(limited.as.get(`/groups/${groupId}/bindings`))).total).toBe(1);
    expect((await must(limited.as.get(`/groups/${groupId}`))).member_count).toBe(1);
    const listed = (await must(limited.as.get('/groups?quantity=100'))).results;
    expect(listed.find((group: { id: string }) => group.id === groupId).member_count).toBe(1);
    const renamed = await must(limited.as.patch(`/groups/${groupId}`, { json: { name: 'Counted by few' } }));
    expect(renamed.member_count).toBe(1);
    expect((await must(admin.get(`/groups/${groupId}`))).member_count).toBe(3);
  });

  it('is refused for a service account within any but its own account', async () => {
    const [groupId, robot, { id: elsewhere }] = await Promise.all([
      aGroup(company),
      aServiceAccount(company),
      must(admin.post('/accounts', { json: { name: 'Elsewhere' } })),
    ]);
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: elsewhere };
    const { status, body } = await admin.post(`/groups/${groupId}/bindings`, { json });
    expect([status, body.error, body.details[0].field]).toEqual([422, 'ValidationError', 'account_id']);
  });

  it('is refused when a group, principal or account does not exist', async () => {
    const [groupId, user, robot] = await Promise.all([aGroup(company), aUser(company), aServiceAccount(company)]);
    const good = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    for (const [field, wrong] of [
      ['principal_id', { principal_id: UNKNOWN_ID }],
      ['principal_id', { principal_id: 'nobody' }],
      ['principal_id', { principal_id: other.owner.id }],
      ['principal_id', { principal_id: robot.id }],
      ['principal_id', { principal_type: 'service_account' }],
      ['account_id', { account_id: UNKNOWN_ID }],
      ['account_id', { account_id: other.accountId }],
    ] as const) {
      const { status, body } = await admin.post(`/groups/${groupId}/bindings`, { json: { ...good, ...wrong } });
      expect([status, body.error, body.details.field]).toEqual([404, 'NotFound', field]);
    }
    for (const missing of ['principal_type', 'principal_id', 'account_id']) {
      const { status, body } = await admin.post(`/groups/${groupId}/bindings`, {
        json: { ...good, [missing]: undefined },
      });
      expect([status, body.details[0].field]).toEqual([422, missing]);
    }
    expect((await admin.post(`/groups/${UNKNOWN_ID}/bindings`, { json: good })).status).toBe(404);
  });

  it('is removed once, and then not found', async () => {
    const [groupId, user] = await Promise.all([aGroup(company), aUser(company)]);
    const { id } = await bind(company, groupId, user.id);
    const elsewhere = await aGroup(company);
    expect((await admin.delete(`/groups/${elsewhere}/bindings/${id}`)).status).toBe(404);
    expect((await admin.delete(`/groups/${groupId}/bindings/${id}`)).status).toBe(204);
    expect((await admin.delete(`/groups/${groupId}/bindings/${id}`)).status).toBe(404);
    await bind(company, groupId, user.id);
  });

  it('never outlives its group, even if it is made while the group is deleted', async () => {
    const [groupId, user] = [await aGroup(company), await aUser(company)];
    const rival = () => bind(company, groupId, user.id);
    const answer = await sendOvertaken(/^update "groups"/, rival, (env) => admin.delete(`/groups/${groupId}`, { env }));
    expect(answer.status).toBe(204);
    expect((await must(admin.get(`/users?account_id=${company.accountId}&quantity=100`))).results).not.toContainEqual(
      expect.objectContaining({ id: user.id }),
    );
  });
});
