import { describe, expect, it } from 'vitest';
import type { ApiResponse, Caller } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import {
  bindUser,
  createAllowedAccount,
  createGrouplessUser,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
  storePolicy,
} from '../support/signed.ts';

/** The company of `manager`, who may manage groups, and otherwise only read users. */
const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);
const manager = await createAllowedAccount(company, makeAllow('groups:*', 'users:ListUsers', 'users:GetUser'));

function expectRefused({ status, body }: ApiResponse, action?: string): void {
  expect([status, body.error]).toEqual([403, 'Forbidden']);
  expect(body.details).toEqual({ action: action ?? expect.any(String), resource: expect.any(String) });
}

const joinGroup = (caller: Caller, groupId: string, principalType: 'user' | 'service_account', principalId: string) =>
  caller.post(`/groups/${groupId}/bindings`, {
    json: { principal_type: principalType, principal_id: principalId, account_id: company.accountId },
  });

describe('the addition of a member', () => {
  it('is refused for a group that may do more than the caller, also if the caller is the new member', async () => {
    const { results } = await expectSuccess(admin.get('/groups?order_by=name'));
    const administrators = results.find((group: { name: string }) => group.name === 'administrators').id;
    const user = await createGrouplessUser(company);
    expectRefused(await joinGroup(manager.as, administrators, 'user', user.id));
    expectRefused(await joinGroup(manager.as, administrators, 'service_account', manager.id));
    expect((await manager.as.get('/accounts')).status).toBe(403);
  });

  it('is accepted for a group that may do no more than the caller', async () => {
    const groupId = await createPolicyGroup(company, await storePolicy(company, [makeAllow('users:ListUsers')]));
    const user = await createGrouplessUser(company);
    expect((await joinGroup(manager.as, groupId, 'user', user.id)).status).toBe(201);
  });
});

describe('the removal of a Deny', () => {
  const FORBIDDEN_ACTION = 'users:DeleteUser';

  it('is refused to a caller who may not take the denied action: by detachment, removal of a member or deletion of the group', async () => {
    const denyPolicy = await storePolicy(company, [makeAllow('users:ListUsers'), makeDeny(FORBIDDEN_ACTION)]);
    const groupId = await createPolicyGroup(company, denyPolicy);
    const { id: binding } = await bindUser(company, groupId, (await createGrouplessUser(company)).id);
    expectRefused(await manager.as.delete(`/groups/${groupId}/policies/${denyPolicy}`), FORBIDDEN_ACTION);
    expectRefused(await manager.as.delete(`/groups/${groupId}/bindings/${binding}`), FORBIDDEN_ACTION);
    expectRefused(await manager.as.delete(`/groups/${groupId}`), FORBIDDEN_ACTION);
    expect((await admin.get(`/groups/${groupId}`)).body).toMatchObject({
      attached_policies: [denyPolicy],
      member_count: 1,
    });
  });

  it('is accepted if the caller may take the denied action, and removals are accepted if nothing is denied', async () => {
    const denyPolicy = await storePolicy(company, [makeDeny('users:ListUsers')]);
    const allowPolicy = await storePolicy(company, [makeAllow('accounts:*')]);
    const groupId = await createPolicyGroup(company, denyPolicy, allowPolicy);
    const { id: binding } = await bindUser(company, groupId, (await createGrouplessUser(company)).id);
    for (const path of [`/bindings/${binding}`, `/policies/${denyPolicy}`, `/policies/${allowPolicy}`, '']) {
      expect((await manager.as.delete(`/groups/${groupId}${path}`)).status).toBe(204);
    }
  });
});
