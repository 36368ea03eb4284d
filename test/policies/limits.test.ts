import { beforeEach, describe, expect, it } from 'vitest';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { ApiResponse } from '../support/api.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { createConsoleGroup, makePolicyInput } from '../support/console.ts';
import { createRacingEnv } from '../support/race.ts';
import {
  bindUser,
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  storePolicy,
} from '../support/signed.ts';

let company: Company;
beforeEach(async () => {
  company = await createOwnedCompany();
});

const KIB_BYTES = 1024;
const measureBytes = (statements: PolicyStatement[]) =>
  new TextEncoder().encode(JSON.stringify({ version: '2024-01-01', statements })).length;

/** Returns the statements of a document of exactly the given number of bytes. */
function makeStatements(bytes: number): PolicyStatement[] {
  const makeStatement = (fillerBytes: number): PolicyStatement => ({
    ...makeAllow('users:list'),
    resources: Array.from({ length: Math.ceil(fillerBytes / 500) }, (_, at) =>
      `arn:svc:${at}:`.padEnd(Math.min(500, fillerBytes - at * 500), 'x'),
    ),
  });
  let fillerBytes = bytes - 2 * KIB_BYTES;
  for (let round = 0; round < 10; round += 1) fillerBytes += bytes - measureBytes([makeStatement(fillerBytes)]);
  const statements = [makeStatement(fillerBytes)];
  expect(measureBytes(statements)).toBe(bytes);
  return statements;
}

const createPolicies = (count: number, bytes = 20 * KIB_BYTES) =>
  Promise.all(Array.from({ length: count }, () => storePolicy(company, makeStatements(bytes))));

const expectRefused = ({ status, body }: ApiResponse, code: 'POLICY_LIMIT_EXCEEDED' | 'AlreadyExists') => {
  expect([status, body.error]).toEqual([409, code]);
  expect(body.message).toMatch(/at most/i);
};

it('a policy document has at most 20 KiB', async () => {
  const { as } = company;
  const createAnswer = await as.post('/v1/policies', { json: makePolicyInput(makeStatements(20 * KIB_BYTES)) });
  expect(createAnswer.status).toBe(201);
  const tooLarge = makePolicyInput(makeStatements(20 * KIB_BYTES + 1));
  expectRefused(await as.post('/v1/policies', { json: tooLarge }), 'POLICY_LIMIT_EXCEEDED');
  const { document } = tooLarge;
  expectRefused(await as.put(`/v1/policies/${createAnswer.body._id}`, { json: { document } }), 'POLICY_LIMIT_EXCEEDED');
});

describe('a group', () => {
  it('has at most 50 policies, on both APIs, also if another policy is attached meanwhile', async () => {
    const group = await createConsoleGroup(company);
    const ids = await createPolicies(51, 3 * KIB_BYTES);
    const makePath = (id: string) => `/v1/groups/${group._id}/policies/${id}`;
    for (const id of ids.slice(0, 49)) await expectSuccess(company.as.post(makePath(id)));
    const racingEnv = createRacingEnv(/^insert into "group_policies"/, () =>
      expectSuccess(company.as.post(makePath(ids[49] as string))),
    );
    expectRefused(await company.as.post(makePath(ids[50] as string), { env: racingEnv.env }), 'POLICY_LIMIT_EXCEEDED');
    expect(racingEnv.hasRun()).toBe(true);
    const organizationAnswer = await createSignedCaller(company.apiKey).post(
      `/groups/${group._id}/policies/${ids[50]}`,
    );
    expectRefused(organizationAnswer, 'AlreadyExists');
    // An attached policy may be attached again, and another after one is detached.
    expect((await company.as.post(makePath(ids[0] as string))).status).toBe(204);
    await expectSuccess(company.as.delete(makePath(ids[0] as string)));
    expect((await company.as.post(makePath(ids[50] as string))).status).toBe(204);
  });
});

describe('the policy documents of one principal', () => {
  /** Creates two groups whose documents have 240 and 20 KiB: together 4 KiB more than a principal may have. */
  const createTwoGroups = async () => {
    const [large, small] = [
      await createPolicyGroup(company, ...(await createPolicies(12))),
      await createPolicyGroup(company, ...(await createPolicies(1))),
    ];
    return { large, small };
  };

  it('have at most 256 KiB when the principal is put into a group', async () => {
    const { large, small } = await createTwoGroups();
    const user = await createGrouplessUser(company);
    await bindUser(company, large, user.id);
    const json = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    expectRefused(
      await createSignedCaller(company.apiKey).post(`/groups/${small}/bindings`, { json }),
      'AlreadyExists',
    );
    const addToGroups = (ids: string[]) => company.as.post(`/v1/users/${user.id}/groups`, { json: { group_ids: ids } });
    expectRefused(await addToGroups([small]), 'POLICY_LIMIT_EXCEEDED');
    const serviceAccount = await createKeyedAccount(company, [large]);
    const accountBinding = {
      principal_type: 'service_account',
      principal_id: serviceAccount.id,
      account_id: serviceAccount.accountId,
    };
    expectRefused(
      await createSignedCaller(company.apiKey).post(`/groups/${small}/bindings`, { json: accountBinding }),
      'AlreadyExists',
    );
    expect((await company.as.put(`/v1/users/${user.id}/groups`, { json: { group_ids: [small] } })).status).toBe(200);
  });

  it('have at most 256 KiB when a user is invited into groups', async () => {
    const { large, small } = await createTwoGroups();
    const json = { email: `invited@${company.slug}.test`, group_ids: [large, small] };
    expectRefused(await company.as.post('/v1/users/invite', { json }), 'POLICY_LIMIT_EXCEEDED');
  });

  it('have at most 256 KiB when a policy is attached or made longer', async () => {
    const { large } = await createTwoGroups();
    const [first, second] = await createPolicies(2, 10 * KIB_BYTES);
    const otherGroup = await createPolicyGroup(company, first as string);
    const user = await createGrouplessUser(company);
    await bindUser(company, large, user.id);
    await bindUser(company, otherGroup, user.id);
    const attachPolicy = (groupId: string) => company.as.post(`/v1/groups/${groupId}/policies/${second}`);
    expectRefused(await attachPolicy(otherGroup), 'POLICY_LIMIT_EXCEEDED');
    expect((await attachPolicy(await createPolicyGroup(company))).status).toBe(204);
    const changeSize = (bytes: number) =>
      company.as.put(`/v1/policies/${first}`, { json: { document: makePolicyInput(makeStatements(bytes)).document } });
    expectRefused(await changeSize(17 * KIB_BYTES), 'POLICY_LIMIT_EXCEEDED');
    expect((await changeSize(16 * KIB_BYTES)).status).toBe(200);
  });

  it('have at most 256 KiB when the principal is put into another group meanwhile', async () => {
    const { large, small } = await createTwoGroups();
    const user = await createGrouplessUser(company);
    const addToGroup = (id: string, env?: Record<string, string>) =>
      company.as.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [id] }, env });
    const racingEnv = createRacingEnv(/^insert into "group_bindings"/, () => expectSuccess(addToGroup(large)));
    expectRefused(await addToGroup(small, racingEnv.env), 'POLICY_LIMIT_EXCEEDED');
    expect(racingEnv.hasRun()).toBe(true);
  });
});
