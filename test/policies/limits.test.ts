import { beforeEach, describe, expect, it } from 'vitest';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { ApiResponse } from '../support/api.ts';
import { createConsoleGroup, makePolicyInput } from '../support/console.ts';
import { createRivalEnv } from '../support/rival.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aUser, bind, must, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
beforeEach(async () => {
  company = await aCompany();
});

const KIB = 1024;
const measureBytes = (statements: PolicyStatement[]) =>
  new TextEncoder().encode(JSON.stringify({ version: '2024-01-01', statements })).length;

/** Statements of a document of exactly so many bytes. */
function makeStatements(bytes: number): PolicyStatement[] {
  const statement = (filler: number): PolicyStatement => ({
    ...allow('users:list'),
    resources: Array.from({ length: Math.ceil(filler / 500) }, (_, at) =>
      `arn:svc:${at}:`.padEnd(Math.min(500, filler - at * 500), 'x'),
    ),
  });
  let filler = bytes - 2 * KIB;
  for (let rounds = 0; rounds < 10; rounds += 1) filler += bytes - measureBytes([statement(filler)]);
  const statements = [statement(filler)];
  expect(measureBytes(statements)).toBe(bytes);
  return statements;
}

const createPolicies = (count: number, bytes = 20 * KIB) =>
  Promise.all(Array.from({ length: count }, () => aPolicy(company, makeStatements(bytes))));

const expectRefused = ({ status, body }: ApiResponse, code: 'POLICY_LIMIT_EXCEEDED' | 'AlreadyExists') => {
  expect([status, body.error]).toEqual([409, code]);
  expect(body.message).toMatch(/at most/i);
};

describe('a policy document', () => {
  it('has at most 20 KiB', async () => {
    const { as } = company;
    const made = await as.post('/v1/policies', { json: makePolicyInput(makeStatements(20 * KIB)) });
    expect(made.status).toBe(201);
    const tooLarge = makePolicyInput(makeStatements(20 * KIB + 1));
    expectRefused(await as.post('/v1/policies', { json: tooLarge }), 'POLICY_LIMIT_EXCEEDED');
    const { document } = tooLarge;
    expectRefused(await as.put(`/v1/policies/${made.body._id}`, { json: { document } }), 'POLICY_LIMIT_EXCEEDED');
  });
});

describe('a group', () => {
  it('has at most 50 policies, on both APIs, also if another is attached meanwhile', async () => {
    const group = await createConsoleGroup(company);
    const ids = await createPolicies(51, 3 * KIB);
    const path = (id: string) => `/v1/groups/${group._id}/policies/${id}`;
    for (const id of ids.slice(0, 49)) await must(company.as.post(path(id)));
    const rival = createRivalEnv(/^insert into "group_policies"/, () => must(company.as.post(path(ids[49] as string))));
    expectRefused(await company.as.post(path(ids[50] as string), { env: rival.env }), 'POLICY_LIMIT_EXCEEDED');
    expect(rival.hasRun()).toBe(true);
    const onOther = await signed(company.apiKey).post(`/groups/${group._id}/policies/${ids[50]}`);
    expectRefused(onOther, 'AlreadyExists');
    // An attached policy may be attached again, and another after one is detached.
    expect((await company.as.post(path(ids[0] as string))).status).toBe(204);
    await must(company.as.delete(path(ids[0] as string)));
    expect((await company.as.post(path(ids[50] as string))).status).toBe(204);
  });
});

describe('the policy documents of one principal', () => {
  /** Two groups whose documents have 240 and 20 KiB: together 4 KiB more than may reach one. */
  const twoGroups = async () => {
    const [large, small] = [
      await aGroup(company, ...(await createPolicies(12))),
      await aGroup(company, ...(await createPolicies(1))),
    ];
    return { large, small };
  };

  it('have at most 256 KiB when somebody is put into a group', async () => {
    const { large, small } = await twoGroups();
    const user = await aUser(company);
    await bind(company, large, user.id);
    const json = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    expectRefused(await signed(company.apiKey).post(`/groups/${small}/bindings`, { json }), 'AlreadyExists');
    const add = (ids: string[]) => company.as.post(`/v1/users/${user.id}/groups`, { json: { group_ids: ids } });
    expectRefused(await add([small]), 'POLICY_LIMIT_EXCEEDED');
    const robot = await aServiceAccount(company, [large]);
    const ofRobot = { principal_type: 'service_account', principal_id: robot.id, account_id: robot.accountId };
    expectRefused(await signed(company.apiKey).post(`/groups/${small}/bindings`, { json: ofRobot }), 'AlreadyExists');
    expect((await company.as.put(`/v1/users/${user.id}/groups`, { json: { group_ids: [small] } })).status).toBe(200);
  });

  it('have at most 256 KiB when somebody is invited into groups', async () => {
    const { large, small } = await twoGroups();
    const json = { email: `invited@${company.slug}.test`, group_ids: [large, small] };
    expectRefused(await company.as.post('/v1/users/invite', { json }), 'POLICY_LIMIT_EXCEEDED');
  });

  it('have at most 256 KiB when a policy is attached or made longer', async () => {
    const { large } = await twoGroups();
    const [first, second] = await createPolicies(2, 10 * KIB);
    const other = await aGroup(company, first as string);
    const user = await aUser(company);
    await bind(company, large, user.id);
    await bind(company, other, user.id);
    const attach = (groupId: string) => company.as.post(`/v1/groups/${groupId}/policies/${second}`);
    expectRefused(await attach(other), 'POLICY_LIMIT_EXCEEDED');
    expect((await attach(await aGroup(company))).status).toBe(204);
    const change = (bytes: number) =>
      company.as.put(`/v1/policies/${first}`, { json: { document: makePolicyInput(makeStatements(bytes)).document } });
    expectRefused(await change(17 * KIB), 'POLICY_LIMIT_EXCEEDED');
    expect((await change(16 * KIB)).status).toBe(200);
  });

  it('have at most 256 KiB when somebody is put into another group meanwhile', async () => {
    const { large, small } = await twoGroups();
    const user = await aUser(company);
    const add = (id: string, env?: Record<string, string>) =>
      company.as.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [id] }, ...(env && { env }) });
    const rival = createRivalEnv(/^insert into "group_bindings"/, () => must(add(large)));
    expectRefused(await add(small, rival.env), 'POLICY_LIMIT_EXCEEDED');
    expect(rival.hasRun()).toBe(true);
  });
});
