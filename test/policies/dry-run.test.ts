import { env } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
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
} from '../support/console.ts';
import {
  createAllowedAccount,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
  storePolicy,
} from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

type WriteMethod = 'post' | 'put' | 'delete';
type RequestOptions = { json?: unknown; headers?: Record<string, string> };
interface AccessWitness {
  principal: { type: string; id: string; name: string };
  action: string;
  resource: string;
}

const requestDryRun = (
  as: Caller,
  method: WriteMethod,
  path: string,
  requestOptions: RequestOptions = {},
): Promise<ApiResponse> => as[method](`${path}?dry_run=true`, requestOptions);

const COMPARED_TABLES = [
  'users',
  'invitations',
  'groups',
  'group_bindings',
  'group_policies',
  'group_permissions',
  'policies',
  'permissions',
  'user_counts',
  'account_users',
];
/** The tables of pending messages, which the background Worker empties. */
const PENDING_TABLES = ['events', 'outbox', 'mail_requests'];

/** Reads the company's rows in `COMPARED_TABLES` and `PENDING_TABLES`, to compare them with the rows at another time. */
async function readStoredRows(): Promise<{ rows: string; pendingRows: string[] }> {
  const selectCompanyRows = (table: string) =>
    env.CONTROL_DB.prepare(`select * from ${table} where company_id = ?`).bind(company.id);
  const tableRows = await env.CONTROL_DB.batch([...COMPARED_TABLES, ...PENDING_TABLES].map(selectCompanyRows));
  const rows = tableRows.map(({ results }) =>
    results.map((row) => JSON.stringify({ ...(row as object), last_login_at: null })),
  );
  return {
    rows: JSON.stringify(rows.slice(0, COMPARED_TABLES.length)),
    pendingRows: rows.slice(COMPARED_TABLES.length).flat(),
  };
}

async function expectUnchanged(rowsBefore: Awaited<ReturnType<typeof readStoredRows>>): Promise<void> {
  const { rows, pendingRows } = await readStoredRows();
  expect(rows).toBe(rowsBefore.rows);
  expect(pendingRows.filter((row) => !rowsBefore.pendingRows.includes(row))).toEqual([]);
}

/** Asks the evaluator, by as few requests as it takes. @returns each check with `allowed` */
async function simulateChecks({ type, id }: AccessWitness['principal'], checks: Omit<AccessWitness, 'principal'>[]) {
  const decidedChecks: { action: string; resource: string; allowed: boolean }[] = [];
  for (let at = 0; at < checks.length; at += 100) {
    const json = { principal: { type, id }, checks: checks.slice(at, at + 100) };
    decidedChecks.push(...(await expectSuccess(company.as.post('/v1/policies/simulate', { json }))).results);
  }
  return decidedChecks;
}

/** Returns for each witness whether the evaluator allows it, principal by principal. */
async function evaluateWitnesses(witnesses: AccessWitness[]): Promise<boolean[]> {
  const decisions: boolean[] = [];
  for (const ownWitnesses of Map.groupBy(witnesses, ({ principal }) => principal.id).values()) {
    const [{ principal }] = ownWitnesses as [AccessWitness];
    const checks = ownWitnesses.map(({ action, resource }) => ({ action, resource }));
    decisions.push(...(await simulateChecks(principal, checks)).map(({ allowed }) => allowed));
  }
  return decisions;
}

/** Returns whether each principal may do each action on everything, and on some resources. */
async function listAllAccess(
  principals: AccessWitness['principal'][],
  resources: string[],
): Promise<Map<string, boolean>> {
  const accessByKey = new Map<string, boolean>();
  const checks = resources.flatMap((resource) => ALL_ACTIONS.map((action) => ({ action, resource })));
  for (const principal of principals) {
    for (const { action, resource, allowed } of await simulateChecks(principal, checks))
      accessByKey.set(`${principal.id} ${action} ${resource}`, allowed);
  }
  return accessByKey;
}

/**
 * Makes a dry run of a write, then the write itself. Expects that the dry run changes nothing, that each reported gain and loss
 * comes about, and that nobody gains or loses anything else. @returns the reported gains and losses
 */
async function tryWrite(
  principals: AccessWitness['principal'][],
  as: Caller,
  method: WriteMethod,
  path: string,
  requestOptions: RequestOptions = {},
): Promise<{ gains: AccessWitness[]; losses: AccessWitness[] }> {
  const rowsBefore = await readStoredRows();
  const { status, body } = await requestDryRun(as, method, path, requestOptions);
  expect([path, status, body]).toEqual([
    path,
    200,
    { gains: expect.any(Array), losses: expect.any(Array), truncated: false },
  ]);
  await expectUnchanged(rowsBefore);
  const resources = ['*', `arn:svc:users::${company.id}:user/*`, 'arn:svc:x'];
  const accessBefore = await listAllAccess(principals, resources);
  expect(await evaluateWitnesses(body.gains)).toEqual(body.gains.map(() => false));
  expect(await evaluateWitnesses(body.losses)).toEqual(body.losses.map(() => true));
  await expectSuccess(as[method](path, requestOptions));
  expect(await evaluateWitnesses(body.gains)).toEqual(body.gains.map(() => true));
  expect(await evaluateWitnesses(body.losses)).toEqual(body.losses.map(() => false));
  for (const [key, isAllowed] of await listAllAccess(principals, resources)) {
    if (isAllowed === accessBefore.get(key)) continue;
    const [id, action] = key.split(' ');
    const reportedWitnesses: AccessWitness[] = isAllowed ? body.gains : body.losses;
    expect(reportedWitnesses.map((witness) => `${witness.principal.id} ${witness.action}`)).toContain(
      `${id} ${action}`,
    );
  }
  return body;
}

/** Creates a user in a group that allows something and denies something. */
async function createMember() {
  const { id, as } = await createAllowedUser(company, { can: [] });
  const { name } = await expectSuccess(company.as.get(`/v1/users/${id}`));
  await expectSuccess(company.as.put(`/v1/users/${id}/groups`, { json: { group_ids: [] } }));
  const group = await createConsoleGroup(company, { roles: [{ name: 'Reader', target: 'groups', actions: ['read'] }] });
  const policy = await storePolicy(company, [
    makeAllow('users:*'),
    { ...makeDeny('users:delete'), resources: ['arn:svc:users:*'] },
  ]);
  await expectSuccess(company.as.post(`/v1/groups/${group._id}/policies/${policy}`));
  await addToGroups(company, id, group._id);
  return { principal: { type: 'user', id, name }, as, group: group._id as string, policy };
}

const formatWitnesses = (witnesses: AccessWitness[]) =>
  witnesses.map(({ action, resource }) => `${action} ${resource}`);

describe('a dry run of a change of access', () => {
  it('lists the access that a changed policy gives and takes, as requests then confirm', async () => {
    const { principal, as, policy } = await createMember();
    const document = { version: '2024-01-01', statements: [makeAllow('policies:list', 'users:list')] };
    expect((await as.get('/v1/policies')).status).toBe(403);
    const { gains, losses } = await tryWrite([principal], company.as, 'put', `/v1/policies/${policy}`, {
      json: { document },
    });
    expect(formatWitnesses(gains)).toEqual(['policies:list *']);
    expect(formatWitnesses(losses)).toContain('users:get *');
    expect(formatWitnesses(losses)).toContain('users:delete *');
    expect(formatWitnesses(losses)).not.toContain('users:list *');
    expect(gains[0]?.principal).toEqual(principal);
    expect((await as.get('/v1/policies')).status).toBe(200);
  });

  it('lists the access that attaching and detaching a policy gives and takes, on both APIs', async () => {
    const { principal, group } = await createMember();
    const readOnly = getManagedPolicyByName('ReadOnly').id;
    const attachedDiff = await tryWrite([principal], company.as, 'post', `/v1/groups/${group}/policies/${readOnly}`);
    expect(formatWitnesses(attachedDiff.gains)).toContain('policies:list *');
    expect(attachedDiff.losses).toEqual([]);
    const detachedDiff = await tryWrite([principal], admin, 'delete', `/groups/${group}/policies/${readOnly}`);
    expect(formatWitnesses(detachedDiff.losses)).toEqual(formatWitnesses(attachedDiff.gains));
    const denyingPolicy = await storePolicy(company, [makeDeny('users:get', 'mcp:connect')]);
    const deniedDiff = await tryWrite([principal], admin, 'post', `/groups/${group}/policies/${denyingPolicy}`);
    expect(formatWitnesses(deniedDiff.losses)).toEqual(['users:get *', 'mcp:connect *']);
    const freedDiff = await tryWrite(
      [principal],
      company.as,
      'delete',
      `/v1/groups/${group}/policies/${denyingPolicy}`,
    );
    expect(formatWitnesses(freedDiff.gains)).toEqual(['users:get *', 'mcp:connect *']);
  });

  it('lists nothing for policies that are created, copied or deleted while unattached', async () => {
    const { principal } = await createMember();
    const emptyDiff = { gains: [], losses: [], truncated: false };
    const json = makePolicyInput([makeAllow('*')]);
    expect(await tryWrite([principal], company.as, 'post', '/v1/policies', { json })).toEqual(emptyDiff);
    const id = await storePolicy(company, [makeAllow('*')]);
    const copyRequest = { json: { name: 'A copy that is tried' } };
    expect(await tryWrite([principal], company.as, 'post', `/v1/policies/${id}/clone`, copyRequest)).toEqual(emptyDiff);
    expect(await tryWrite([principal], company.as, 'delete', `/v1/policies/${id}`)).toEqual(emptyDiff);
  });

  it('lists the access that creating and deleting a group gives and takes, on both APIs', async () => {
    const [one, other] = [await createMember(), await createMember()];
    const json = makeGroupInput({ roles: [{ name: 'All', target: '*', actions: ['*'] }] });
    expect((await tryWrite([one.principal], company.as, 'post', '/v1/groups', { json })).gains).toEqual([]);
    const groupRequest = { json: { name: 'Made by a program that tries' } };
    expect((await tryWrite([one.principal], admin, 'post', '/groups', groupRequest)).gains).toEqual([]);
    const deletionAnswer = await tryWrite([one.principal], company.as, 'delete', `/v1/groups/${one.group}`);
    expect(formatWitnesses(deletionAnswer.losses)).toContain('groups:list *');
    expect(formatWitnesses(deletionAnswer.losses)).toContain('users:delete *');
    const apiDeletionDiff = await tryWrite([other.principal], admin, 'delete', `/groups/${other.group}`);
    expect(formatWitnesses(apiDeletionDiff.losses)).toEqual(formatWitnesses(deletionAnswer.losses));
  });

  it('lists the access that legacy permissions, and groups that have them, give and take', async () => {
    const { principal, group } = await createMember();
    const permissionRequest = { json: makePermissionInput(company) };
    expect((await tryWrite([principal], company.as, 'post', '/v1/permissions', permissionRequest)).gains).toEqual([]);
    const id = await createPermission(company, { target: { company_id: company.id, service_name: 'concepts' } });
    const path = `/v1/groups/${group}/permissions`;
    const ids = { json: { permissionIds: [id] } };
    expect(formatWitnesses((await tryWrite([principal], company.as, 'post', path, ids)).gains)).toEqual([
      'concepts:list *',
      'concepts:get *',
    ]);
    const emptiedDiff = await tryWrite([principal], company.as, 'put', path, { json: { permissionIds: [] } });
    expect(formatWitnesses(emptiedDiff.losses)).toEqual(['concepts:list *', 'concepts:get *']);
    await tryWrite([principal], company.as, 'put', path, ids);
    await tryWrite([principal], company.as, 'delete', path, ids);
    await tryWrite([principal], company.as, 'post', path, ids);
    const changedDiff = await tryWrite([principal], company.as, 'put', `/v1/permissions/${id}`, {
      json: { actions: ['delete'] },
    });
    expect([formatWitnesses(changedDiff.gains), formatWitnesses(changedDiff.losses)]).toEqual([
      ['concepts:delete *'],
      ['concepts:list *', 'concepts:get *'],
    ]);
    expect(
      formatWitnesses((await tryWrite([principal], company.as, 'delete', `/v1/permissions/${id}`)).losses),
    ).toEqual(['concepts:delete *']);
  });

  it('lists the loss of an action only if no other role still grants it', async () => {
    const { principal, policy, group } = await createMember();
    const json = { document: { version: '2024-01-01', statements: [makeAllow('groups:list', 'users:list')] } };
    await expectSuccess(company.as.put(`/v1/policies/${policy}`, { json }));
    // `groups:list` is the role's, too.
    const detachedDiff = await tryWrite([principal], company.as, 'delete', `/v1/groups/${group}/policies/${policy}`);
    expect([detachedDiff.gains, formatWitnesses(detachedDiff.losses)]).toEqual([[], ['users:list *']]);
    const { losses } = await tryWrite([principal], company.as, 'delete', `/v1/groups/${group}`);
    expect(formatWitnesses(losses)).toContain('groups:list *');
    expect(formatWitnesses(losses)).not.toContain('users:list *');
  });

  it('lists the access that entering and leaving groups gives and takes', async () => {
    const [one, other] = [await createMember(), await createMember()];
    const path = `/v1/users/${one.principal.id}/groups`;
    const denyingGroup = await createConsoleGroup(company);
    await expectSuccess(
      company.as.post(
        `/v1/groups/${denyingGroup._id}/policies/${await storePolicy(company, [makeDeny('groups:list')])}`,
      ),
    );
    const enteredDiff = await tryWrite([one.principal, other.principal], company.as, 'post', path, {
      json: { group_ids: [denyingGroup._id] },
    });
    expect([formatWitnesses(enteredDiff.gains), formatWitnesses(enteredDiff.losses)]).toEqual([[], ['groups:list *']]);
    const writeResult = await tryWrite([one.principal], company.as, 'delete', path, {
      json: { group_ids: [denyingGroup._id] },
    });
    expect(formatWitnesses(writeResult.gains)).toEqual(['groups:list *']);
    const replacedDiff = await tryWrite([one.principal], company.as, 'put', path, {
      json: { group_ids: [denyingGroup._id] },
    });
    expect(formatWitnesses(replacedDiff.losses)).toContain('users:list *');
  });

  it('lists no loss if a user stays bound to the group in another account', async () => {
    const { principal, group } = await createMember();
    const secondAccount = await expectSuccess(admin.post('/accounts', { json: { name: 'Second of a trial' } }));
    const json = { principal_type: 'user', principal_id: principal.id, account_id: secondAccount.id };
    expect((await tryWrite([principal], admin, 'post', `/groups/${group}/bindings`, { json })).gains).toEqual([]);
    const { results } = await expectSuccess(admin.get(`/groups/${group}/bindings`));
    const [firstPath, lastPath] = results.map(({ id }: { id: string }) => `/groups/${group}/bindings/${id}`);
    expect((await tryWrite([principal], admin, 'delete', firstPath)).losses).toEqual([]);
    expect(formatWitnesses((await tryWrite([principal], admin, 'delete', lastPath)).losses)).toContain('groups:list *');
  });

  it('lists the gains of service accounts, as for users', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const groupId = await createPolicyGroup(company, getManagedPolicyByName('PolicyManager').id);
    const { name } = await expectSuccess(admin.get(`/service-accounts/${serviceAccount.id}`));
    const principal = { type: 'service_account', id: serviceAccount.id, name };
    const json = { principal_type: 'service_account', principal_id: serviceAccount.id, account_id: company.accountId };
    const { gains } = await tryWrite([principal], admin, 'post', `/groups/${groupId}/bindings`, { json });
    expect(gains).toContainEqual({ principal, action: 'policies:list', resource: '*' });
  });

  it('lists nothing for an invitation, and invites nobody', async () => {
    const groupId = await createPolicyGroup(company, getManagedPolicyByName('FullAdmin').id);
    const json = { email: 'tried@example.com', group_ids: [groupId] };
    const rowsBefore = await readStoredRows();
    const errorSpy = vi.spyOn(console, 'error');
    const { status, body } = await requestDryRun(company.as, 'post', '/v1/users/invite', { json });
    expect([status, body]).toEqual([200, { gains: [], losses: [], truncated: false }]);
    expect(errorSpy).not.toHaveBeenCalled();
    errorSpy.mockRestore();
    await expectUnchanged(rowsBefore);
  });

  it('lists nothing for deactivated users', async () => {
    const { principal, group } = await createMember();
    await expectSuccess(company.as.post(`/v1/users/${principal.id}/deactivate`));
    const { body } = await requestDryRun(company.as, 'delete', `/v1/groups/${group}`);
    expect(body).toEqual({ gains: [], losses: [], truncated: false });
  });

  it('names nobody whom the caller may not see', async () => {
    const { principal, group } = await createMember();
    const statements = [
      makeAllow('*'),
      { ...makeDeny('users:get'), resources: [`arn:svc:users::${company.id}:user/${principal.id}`] },
    ];
    const { as } = await createAllowedAccount(company, ...statements);
    const path = `/groups/${group}/policies/${await storePolicy(company, [makeAllow('concepts:list')])}`;
    expect((await requestDryRun(admin, 'post', path)).body.gains).toHaveLength(1);
    expect((await requestDryRun(as, 'post', path)).body.gains).toEqual([]);
  });

  it('lists at most a thousand gains', async () => {
    const group = await createConsoleGroup(company);
    for (let member = 0; member < 9; member += 1)
      await addToGroups(company, (await createAllowedUser(company)).id, group._id);
    const path = `/v1/groups/${group._id}/policies/${getManagedPolicyByName('FullAdmin').id}`;
    const { body } = await requestDryRun(company.as, 'post', path);
    expect([body.gains.length, body.losses.length, body.truncated]).toEqual([1000, 0, true]);
  });

  it('is refused with the same error as the write', async () => {
    const { group, policy, principal } = await createMember();
    const takenPolicy = await expectSuccess(
      company.as.post('/v1/policies', { json: makePolicyInput([makeAllow('users:list')]) }),
    );
    const permission = await createPermission(company);
    const missingId = '0'.repeat(24);
    const limitedUser = await createAllowedUser(company, {
      can: ['policies:create', 'groups:attach_policy', 'groups:delete', 'users:assign_groups'],
    });
    const globalGroups = (await expectSuccess(company.as.get('/v1/groups?search=administrators'))).records;
    const binding = (await expectSuccess(admin.get(`/groups/${group}/bindings`))).results[0];
    const existingBinding = { principal_type: 'user', principal_id: principal.id, account_id: company.accountId };
    const cases: [as: Caller, method: WriteMethod, path: string, sent?: RequestOptions][] = [
      [company.as, 'post', '/v1/policies', { json: { ...makePolicyInput([makeAllow('*')]), name: takenPolicy.name } }],
      [company.as, 'put', `/v1/policies/${policy}`, { json: { name: takenPolicy.name } }],
      [company.as, 'put', `/v1/policies/${missingId}`, { json: { name: 'Other' } }],
      [company.as, 'put', `/v1/policies/${policy}`, { json: { name: 'Stale' }, headers: { 'If-Match': '"stale"' } }],
      [company.as, 'put', `/v1/policies/${policy}`, { json: { document: {} } }],
      [company.as, 'delete', `/v1/policies/${policy}`],
      [company.as, 'delete', `/v1/policies/${getManagedPolicyByName('ReadOnly').id}`],
      [company.as, 'post', `/v1/groups/${missingId}/policies/${policy}`],
      [company.as, 'post', `/v1/groups/${group}/policies/${missingId}`],
      [company.as, 'delete', `/v1/groups/${group}/policies/${takenPolicy._id}`],
      [company.as, 'delete', `/v1/groups/${globalGroups[0]._id}`],
      [company.as, 'delete', `/v1/groups/${missingId}`],
      [company.as, 'post', '/v1/groups', { json: { ...makeGroupInput(), name: 'administrators' } }],
      [company.as, 'post', '/v1/groups', { json: makeGroupInput({ permissionIds: [missingId] }) }],
      [company.as, 'post', `/v1/groups/${group}/permissions`, { json: { permissionIds: [missingId] } }],
      [company.as, 'delete', `/v1/permissions/${missingId}`],
      [company.as, 'put', `/v1/permissions/${permission}`, { json: { target: { company_id: '*' } } }],
      [company.as, 'post', `/v1/users/${missingId}/groups`, { json: { group_ids: [group] } }],
      [company.as, 'post', `/v1/users/${principal.id}/groups`, { json: { group_ids: [missingId] } }],
      [company.as, 'post', '/v1/users/invite', { json: { email: company.owner.email } }],
      [admin, 'post', `/groups/${group}/bindings`, { json: existingBinding }],
      [admin, 'delete', `/groups/${missingId}/bindings/${binding.id}`],
      [admin, 'delete', `/groups/${group}/bindings/${missingId}`],
      [limitedUser.as, 'post', '/v1/policies', { json: makePolicyInput([makeAllow('users:delete')]) }],
      [limitedUser.as, 'post', `/v1/groups/${group}/policies/${getManagedPolicyByName('FullAdmin').id}`],
      [limitedUser.as, 'delete', `/v1/groups/${group}`],
      [limitedUser.as, 'put', `/v1/users/${principal.id}/groups`, { json: { group_ids: [] } }],
      [limitedUser.as, 'delete', `/v1/policies/${policy}`],
    ];
    for (const [as, method, path, sent] of cases) {
      const rowsBefore = await readStoredRows();
      const dryRunAnswer = await requestDryRun(as, method, path, sent);
      await expectUnchanged(rowsBefore);
      const realAnswer = await as[method](path, sent ?? {});
      expect([path, dryRunAnswer.status, dryRunAnswer.body]).toEqual([path, realAnswer.status, realAnswer.body]);
      expect(realAnswer.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('is refused at the limit of policies that database triggers enforce', async () => {
    const group = await createConsoleGroup(company);
    const ids = await Promise.all(Array.from({ length: 51 }, () => storePolicy(company, [makeAllow('users:list')])));
    for (const id of ids.slice(0, 50)) await expectSuccess(company.as.post(`/v1/groups/${group._id}/policies/${id}`));
    const { status, body } = await requestDryRun(company.as, 'post', `/v1/groups/${group._id}/policies/${ids[50]}`);
    expect([status, body.error]).toEqual([409, 'POLICY_LIMIT_EXCEEDED']);
  });

  it('ignores an idempotency key', async () => {
    const headers = { 'Idempotency-Key': 'tried-then-done' };
    const { group } = await createMember();
    const path = `/v1/groups/${group}/policies/${getManagedPolicyByName('ReadOnly').id}`;
    expect((await requestDryRun(company.as, 'post', path, { headers })).body.gains).not.toEqual([]);
    const realAnswer = await company.as.post(path, { headers });
    expect([realAnswer.status, realAnswer.headers.get('idempotency-replayed')]).toEqual([204, null]);
    // By then it changes nothing any more.
    const dryRunAnswer = await requestDryRun(company.as, 'post', path, { headers });
    expect([dryRunAnswer.status, dryRunAnswer.body.gains, dryRunAnswer.headers.get('idempotency-replayed')]).toEqual([
      200,
      [],
      null,
    ]);
  });

  it('is audited as access:dry_run, not as the write', async () => {
    const { group } = await createMember();
    await expectSuccess(requestDryRun(company.as, 'delete', `/v1/groups/${group}`));
    const listResourceIds = async (action: string): Promise<string[]> => {
      const { records } = await expectSuccess(company.as.get(`/v1/audit-events?action=${action}&per_page=100`));
      return records.map((record: { resource_id: string }) => record.resource_id);
    };
    await expect.poll(() => listResourceIds('access:dry_run')).toContain(group);
    expect(await listResourceIds('groups:delete')).not.toContain(group);
  });

  it('is refused if `dry_run` is no boolean, and is a real write if it is false', async () => {
    const id = await storePolicy(company, [makeAllow('users:list')]);
    expect((await company.as.delete(`/v1/policies/${id}?dry_run=yes`)).status).toBe(422);
    expect((await company.as.delete(`/v1/policies/${id}?dry_run=true&dry_run=false`)).status).toBe(422);
    expect((await company.as.get(`/v1/policies/${id}`)).status).toBe(200);
    expect((await company.as.delete(`/v1/policies/${id}?dry_run=false`)).status).toBe(204);
  });
});
