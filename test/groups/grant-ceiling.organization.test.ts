import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiResponse, Caller } from '../support/api.ts';
import {
  aGroup,
  allow,
  aPolicy,
  aServiceAccountThat,
  aUser,
  bind,
  deny,
  must,
  type ServiceAccount,
  signed,
} from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

/** Nobody gives what they lack: a manager of groups who may otherwise only see users. */
let company: Company;
let admin: Caller;
let manager: ServiceAccount;

beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
  manager = await aServiceAccountThat(company, allow('groups:*', 'users:ListUsers', 'users:GetUser'));
});

function expectRefused({ status, body }: ApiResponse, action?: string): void {
  expect([status, body.error]).toEqual([403, 'Forbidden']);
  expect(body.details).toEqual({ action: action ?? expect.any(String), resource: expect.any(String) });
}

const joinGroup = (caller: Caller, groupId: string, principalType: 'user' | 'service_account', principalId: string) =>
  caller.post(`/groups/${groupId}/bindings`, {
    json: { principal_type: principalType, principal_id: principalId, account_id: company.accountId },
  });

describe('the addition of a member', () => {
  it('is refused for a group that may do more than the caller, also for oneself', async () => {
    const { results } = await must(admin.get('/groups?order_by=name'));
    const administrators = results.find((group: { name: string }) => group.name === 'administrators').id;
    const user = await aUser(company);
    expectRefused(await joinGroup(manager.as, administrators, 'user', user.id));
    expectRefused(await joinGroup(manager.as, administrators, 'service_account', manager.id));
    expect((await manager.as.get('/accounts')).status).toBe(403);
  });

  it('is accepted for a group that may do no more', async () => {
    const groupId = await aGroup(company, await aPolicy(company, [allow('users:ListUsers')]));
    const user = await aUser(company);
    expect((await joinGroup(manager.as, groupId, 'user', user.id)).status).toBe(201);
  });
});

describe('the removal of a Deny', () => {
  const FORBIDDEN = 'users:DeleteUser';

  it('is refused if the caller may not do that: by detachment, removal of a member or deletion of the group', async () => {
    const denial = await aPolicy(company, [allow('users:ListUsers'), deny(FORBIDDEN)]);
    const groupId = await aGroup(company, denial);
    const { id: binding } = await bind(company, groupId, (await aUser(company)).id);
    expectRefused(await manager.as.delete(`/groups/${groupId}/policies/${denial}`), FORBIDDEN);
    expectRefused(await manager.as.delete(`/groups/${groupId}/bindings/${binding}`), FORBIDDEN);
    expectRefused(await manager.as.delete(`/groups/${groupId}`), FORBIDDEN);
    expect((await admin.get(`/groups/${groupId}`)).body).toMatchObject({
      attached_policies: [denial],
      member_count: 1,
    });
  });

  it('is accepted if the caller may do what it denies, and if nothing is denied', async () => {
    const denial = await aPolicy(company, [deny('users:ListUsers')]);
    const plain = await aPolicy(company, [allow('accounts:*')]);
    const groupId = await aGroup(company, denial, plain);
    const { id: binding } = await bind(company, groupId, (await aUser(company)).id);
    for (const path of [`/bindings/${binding}`, `/policies/${denial}`, `/policies/${plain}`, '']) {
      expect((await manager.as.delete(`/groups/${groupId}${path}`)).status).toBe(204);
    }
  });
});
