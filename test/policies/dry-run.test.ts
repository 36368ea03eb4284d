import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  makePermissionInput,
  makePolicyInput,
} from '../support/console.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aServiceAccountThat, deny, must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});

type Method = 'post' | 'put' | 'delete';
type Sent = { json?: unknown; headers?: Record<string, string> };
interface Witness {
  principal: { type: string; id: string; name: string };
  action: string;
  resource: string;
}

const dryRun = (as: Caller, method: Method, path: string, sent: Sent = {}): Promise<ApiResponse> =>
  as[method](`${path}?dry_run=true`, sent);

const TABLES = [
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
/** What waits to be sent: the background takes it away. */
const WAITING = ['events', 'outbox', 'mail_requests'];

/** The company's rows that such a write could touch, and a way to hold those of another moment against them. */
async function readStoredRows(): Promise<{ rows: string; waiting: string[] }> {
  const ofCompany = (table: string) =>
    env.CONTROL_DB.prepare(`select * from ${table} where company_id = ?`).bind(company.id);
  const found = await env.CONTROL_DB.batch([...TABLES, ...WAITING].map(ofCompany));
  const rows = found.map(({ results }) =>
    results.map((row) => JSON.stringify({ ...(row as object), last_login_at: null })),
  );
  return { rows: JSON.stringify(rows.slice(0, TABLES.length)), waiting: rows.slice(TABLES.length).flat() };
}

async function expectUnchanged(before: Awaited<ReturnType<typeof readStoredRows>>): Promise<void> {
  const { rows, waiting } = await readStoredRows();
  expect(rows).toBe(before.rows);
  expect(waiting.filter((row) => !before.waiting.includes(row))).toEqual([]);
}

/** Whether the evaluator allows each of these. */
async function evaluateWitnesses(checks: Witness[]): Promise<boolean[]> {
  const answers: boolean[] = [];
  for (const { principal, action, resource } of checks) {
    const json = { principal: { type: principal.type, id: principal.id }, checks: [{ action, resource }] };
    const { results } = await must(company.as.post('/v1/policies/simulate', { json }));
    answers.push(results[0].allowed);
  }
  return answers;
}

/** What everybody may do on everything, and on some resources. */
async function listAllAccess(principals: Witness['principal'][], resources: string[]): Promise<Map<string, boolean>> {
  const found = new Map<string, boolean>();
  for (const principal of principals) {
    const checks = resources.flatMap((resource) => ALL_ACTIONS.map((action) => ({ action, resource })));
    for (let at = 0; at < checks.length; at += 100) {
      const json = { principal: { type: principal.type, id: principal.id }, checks: checks.slice(at, at + 100) };
      const { results } = await must(company.as.post('/v1/policies/simulate', { json }));
      for (const { action, resource, allowed } of results) found.set(`${principal.id} ${action} ${resource}`, allowed);
    }
  }
  return found;
}

/**
 * Asks what a write would change, then writes: nothing changed before, each witness is as was told, and nobody gained or lost
 * anything else.
 */
async function tryWrite(
  principals: Witness['principal'][],
  as: Caller,
  method: Method,
  path: string,
  sent: Sent = {},
): Promise<{ gains: Witness[]; losses: Witness[] }> {
  const before = await readStoredRows();
  const { status, body } = await dryRun(as, method, path, sent);
  expect([path, status, body]).toEqual([
    path,
    200,
    { gains: expect.any(Array), losses: expect.any(Array), truncated: false },
  ]);
  await expectUnchanged(before);
  const resources = ['*', `arn:svc:users::${company.id}:user/*`, 'arn:svc:x'];
  const was = await listAllAccess(principals, resources);
  expect(await evaluateWitnesses(body.gains)).toEqual(body.gains.map(() => false));
  expect(await evaluateWitnesses(body.losses)).toEqual(body.losses.map(() => true));
  await must(as[method](path, sent));
  expect(await evaluateWitnesses(body.gains)).toEqual(body.gains.map(() => true));
  expect(await evaluateWitnesses(body.losses)).toEqual(body.losses.map(() => false));
  for (const [key, isAllowed] of await listAllAccess(principals, resources)) {
    if (isAllowed === was.get(key)) continue;
    const [id, action] = key.split(' ');
    const told: Witness[] = isAllowed ? body.gains : body.losses;
    expect(told.map((witness) => `${witness.principal.id} ${witness.action}`)).toContain(`${id} ${action}`);
  }
  return body;
}

/** A user in a group that allows something and denies something. */
async function createMember() {
  const { id, as } = await aUser(company, { can: [] });
  const { name } = await must(company.as.get(`/v1/users/${id}`));
  await must(company.as.put(`/v1/users/${id}/groups`, { json: { group_ids: [] } }));
  const group = await createConsoleGroup(company, { roles: [{ name: 'Reader', target: 'groups', actions: ['read'] }] });
  const policy = await aPolicy(company, [
    allow('users:*'),
    { ...deny('users:delete'), resources: ['arn:svc:users:*'] },
  ]);
  await must(company.as.post(`/v1/groups/${group._id}/policies/${policy}`));
  await addToGroups(company, id, group._id);
  return { principal: { type: 'user', id, name }, as, group: group._id as string, policy };
}

const formatWitnesses = (witnesses: Witness[]) => witnesses.map(({ action, resource }) => `${action} ${resource}`);

describe('a dry run of a change of access', () => {
  it('lists what a changed policy gives and takes, as requests then confirm', async () => {
    const { principal, as, policy } = await createMember();
    const document = { version: '2024-01-01', statements: [allow('policies:list', 'users:list')] };
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

  it('lists what attaching and detaching a policy gives and takes, on both APIs', async () => {
    const { principal, group } = await createMember();
    const readOnly = managedPolicyNamed('ReadOnly').id;
    const attached = await tryWrite([principal], company.as, 'post', `/v1/groups/${group}/policies/${readOnly}`);
    expect(formatWitnesses(attached.gains)).toContain('policies:list *');
    expect(attached.losses).toEqual([]);
    const detached = await tryWrite([principal], admin, 'delete', `/groups/${group}/policies/${readOnly}`);
    expect(formatWitnesses(detached.losses)).toEqual(formatWitnesses(attached.gains));
    const denying = await aPolicy(company, [deny('users:get', 'mcp:connect')]);
    const denied = await tryWrite([principal], admin, 'post', `/groups/${group}/policies/${denying}`);
    expect(formatWitnesses(denied.losses)).toEqual(['users:get *', 'mcp:connect *']);
    const freed = await tryWrite([principal], company.as, 'delete', `/v1/groups/${group}/policies/${denying}`);
    expect(formatWitnesses(freed.gains)).toEqual(['users:get *', 'mcp:connect *']);
  });

  it('lists nothing for policies that are created, copied or deleted while unattached', async () => {
    const { principal } = await createMember();
    const nothing = { gains: [], losses: [], truncated: false };
    const json = makePolicyInput([allow('*')]);
    expect(await tryWrite([principal], company.as, 'post', '/v1/policies', { json })).toEqual(nothing);
    const id = await aPolicy(company, [allow('*')]);
    const copy = { json: { name: 'A copy that is tried' } };
    expect(await tryWrite([principal], company.as, 'post', `/v1/policies/${id}/clone`, copy)).toEqual(nothing);
    expect(await tryWrite([principal], company.as, 'delete', `/v1/policies/${id}`)).toEqual(nothing);
  });

  it('lists what creating and deleting a group gives and takes, on both APIs', async () => {
    const [one, other] = [await createMember(), await createMember()];
    const json = makeGroupInput({ roles: [{ name: 'All', target: '*', actions: ['*'] }] });
    expect((await tryWrite([one.principal], company.as, 'post', '/v1/groups', { json })).gains).toEqual([]);
    const organization = { json: { name: 'Made by a program that tries' } };
    expect((await tryWrite([one.principal], admin, 'post', '/groups', organization)).gains).toEqual([]);
    const deleted = await tryWrite([one.principal], company.as, 'delete', `/v1/groups/${one.group}`);
    expect(formatWitnesses(deleted.losses)).toContain('groups:list *');
    expect(formatWitnesses(deleted.losses)).toContain('users:delete *');
    const byProgram = await tryWrite([other.principal], admin, 'delete', `/groups/${other.group}`);
    expect(formatWitnesses(byProgram.losses)).toEqual(formatWitnesses(deleted.losses));
  });

  it('lists what legacy permissions, and groups that have them, give and take', async () => {
    const { principal, group } = await createMember();
    const made = { json: makePermissionInput(company) };
    expect((await tryWrite([principal], company.as, 'post', '/v1/permissions', made)).gains).toEqual([]);
    const id = await createPermission(company, { target: { company_id: company.id, service_name: 'concepts' } });
    const path = `/v1/groups/${group}/permissions`;
    const ids = { json: { permissionIds: [id] } };
    expect(formatWitnesses((await tryWrite([principal], company.as, 'post', path, ids)).gains)).toEqual([
      'concepts:list *',
      'concepts:get *',
    ]);
    const emptied = await tryWrite([principal], company.as, 'put', path, { json: { permissionIds: [] } });
    expect(formatWitnesses(emptied.losses)).toEqual(['concepts:list *', 'concepts:get *']);
    await tryWrite([principal], company.as, 'put', path, ids);
    await tryWrite([principal], company.as, 'delete', path, ids);
    await tryWrite([principal], company.as, 'post', path, ids);
    const changed = await tryWrite([principal], company.as, 'put', `/v1/permissions/${id}`, {
      json: { actions: ['delete'] },
    });
    expect([formatWitnesses(changed.gains), formatWitnesses(changed.losses)]).toEqual([
      ['concepts:delete *'],
      ['concepts:list *', 'concepts:get *'],
    ]);
    expect(
      formatWitnesses((await tryWrite([principal], company.as, 'delete', `/v1/permissions/${id}`)).losses),
    ).toEqual(['concepts:delete *']);
  });

  it('lists the loss of an action only if no role grants it still', async () => {
    const { principal, policy, group } = await createMember();
    const json = { document: { version: '2024-01-01', statements: [allow('groups:list', 'users:list')] } };
    await must(company.as.put(`/v1/policies/${policy}`, { json }));
    // `groups:list` is the role's, too.
    const detached = await tryWrite([principal], company.as, 'delete', `/v1/groups/${group}/policies/${policy}`);
    expect([detached.gains, formatWitnesses(detached.losses)]).toEqual([[], ['users:list *']]);
    const { losses } = await tryWrite([principal], company.as, 'delete', `/v1/groups/${group}`);
    expect(formatWitnesses(losses)).toContain('groups:list *');
    expect(formatWitnesses(losses)).not.toContain('users:list *');
  });

  it('lists what entering and leaving groups gives and takes', async () => {
    const [one, other] = [await createMember(), await createMember()];
    const path = `/v1/users/${one.principal.id}/groups`;
    const denying = await createConsoleGroup(company);
    await must(company.as.post(`/v1/groups/${denying._id}/policies/${await aPolicy(company, [deny('groups:list')])}`));
    const entered = await tryWrite([one.principal, other.principal], company.as, 'post', path, {
      json: { group_ids: [denying._id] },
    });
    expect([formatWitnesses(entered.gains), formatWitnesses(entered.losses)]).toEqual([[], ['groups:list *']]);
    const left = await tryWrite([one.principal], company.as, 'delete', path, { json: { group_ids: [denying._id] } });
    expect(formatWitnesses(left.gains)).toEqual(['groups:list *']);
    const replaced = await tryWrite([one.principal], company.as, 'put', path, { json: { group_ids: [denying._id] } });
    expect(formatWitnesses(replaced.losses)).toContain('users:list *');
  });

  it('lists no loss if a user stays bound to the group in another account', async () => {
    const { principal, group } = await createMember();
    const second = await must(admin.post('/accounts', { json: { name: 'Second of a trial' } }));
    const json = { principal_type: 'user', principal_id: principal.id, account_id: second.id };
    expect((await tryWrite([principal], admin, 'post', `/groups/${group}/bindings`, { json })).gains).toEqual([]);
    const { results } = await must(admin.get(`/groups/${group}/bindings`));
    const [first, last] = results.map(({ id }: { id: string }) => `/groups/${group}/bindings/${id}`);
    expect((await tryWrite([principal], admin, 'delete', first)).losses).toEqual([]);
    expect(formatWitnesses((await tryWrite([principal], admin, 'delete', last)).losses)).toContain('groups:list *');
  });

  it('lists what service accounts gain, as for users', async () => {
    const robot = await aServiceAccount(company);
    const groupId = await aGroup(company, managedPolicyNamed('PolicyManager').id);
    const { name } = await must(admin.get(`/service-accounts/${robot.id}`));
    const principal = { type: 'service_account', id: robot.id, name };
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
    const { gains } = await tryWrite([principal], admin, 'post', `/groups/${groupId}/bindings`, { json });
    expect(gains).toContainEqual({ principal, action: 'policies:list', resource: '*' });
  });

  it('lists nothing for an invitation, and invites nobody', async () => {
    const groupId = await aGroup(company, managedPolicyNamed('FullAdmin').id);
    const json = { email: 'tried@example.com', group_ids: [groupId] };
    const before = await readStoredRows();
    const { status, body } = await dryRun(company.as, 'post', '/v1/users/invite', { json });
    expect([status, body]).toEqual([200, { gains: [], losses: [], truncated: false }]);
    await expectUnchanged(before);
  });

  it('lists nothing for deactivated users', async () => {
    const { principal, group } = await createMember();
    await must(company.as.post(`/v1/users/${principal.id}/deactivate`));
    const { body } = await dryRun(company.as, 'delete', `/v1/groups/${group}`);
    expect(body).toEqual({ gains: [], losses: [], truncated: false });
  });

  it('names nobody whom the caller may not see', async () => {
    const { principal, group } = await createMember();
    const statements = [
      allow('*'),
      { ...deny('users:get'), resources: [`arn:svc:users::${company.id}:user/${principal.id}`] },
    ];
    const { as } = await aServiceAccountThat(company, ...statements);
    const path = `/groups/${group}/policies/${await aPolicy(company, [allow('concepts:list')])}`;
    expect((await dryRun(admin, 'post', path)).body.gains).toHaveLength(1);
    expect((await dryRun(as, 'post', path)).body.gains).toEqual([]);
  });

  it('lists at most a thousand gains', async () => {
    const group = await createConsoleGroup(company);
    for (let member = 0; member < 9; member += 1) await addToGroups(company, (await aUser(company)).id, group._id);
    const path = `/v1/groups/${group._id}/policies/${managedPolicyNamed('FullAdmin').id}`;
    const { body } = await dryRun(company.as, 'post', path);
    expect([body.gains.length, body.losses.length, body.truncated]).toEqual([1000, 0, true]);
  });

  it('is refused with the same error as the write', async () => {
    const { group, policy, principal } = await createMember();
    const taken = await must(company.as.post('/v1/policies', { json: makePolicyInput([allow('users:list')]) }));
    const permission = await createPermission(company);
    const nobody = '0'.repeat(24);
    const weak = await aUser(company, {
      can: ['policies:create', 'groups:attach_policy', 'groups:delete', 'users:assign_groups'],
    });
    const globals = (await must(company.as.get('/v1/groups?search=administrators'))).records;
    const binding = (await must(admin.get(`/groups/${group}/bindings`))).results[0];
    const again = { principal_type: 'user', principal_id: principal.id, account_id: company.accountId };
    const cases: [as: Caller, method: Method, path: string, sent?: Sent][] = [
      [company.as, 'post', '/v1/policies', { json: { ...makePolicyInput([allow('*')]), name: taken.name } }],
      [company.as, 'put', `/v1/policies/${policy}`, { json: { name: taken.name } }],
      [company.as, 'put', `/v1/policies/${nobody}`, { json: { name: 'Other' } }],
      [company.as, 'put', `/v1/policies/${policy}`, { json: { name: 'Stale' }, headers: { 'If-Match': '"stale"' } }],
      [company.as, 'put', `/v1/policies/${policy}`, { json: { document: {} } }],
      [company.as, 'delete', `/v1/policies/${policy}`],
      [company.as, 'delete', `/v1/policies/${managedPolicyNamed('ReadOnly').id}`],
      [company.as, 'post', `/v1/groups/${nobody}/policies/${policy}`],
      [company.as, 'post', `/v1/groups/${group}/policies/${nobody}`],
      [company.as, 'delete', `/v1/groups/${group}/policies/${taken._id}`],
      [company.as, 'delete', `/v1/groups/${globals[0]._id}`],
      [company.as, 'delete', `/v1/groups/${nobody}`],
      [company.as, 'post', '/v1/groups', { json: { ...makeGroupInput(), name: 'administrators' } }],
      [company.as, 'post', '/v1/groups', { json: makeGroupInput({ permissionIds: [nobody] }) }],
      [company.as, 'post', `/v1/groups/${group}/permissions`, { json: { permissionIds: [nobody] } }],
      [company.as, 'delete', `/v1/permissions/${nobody}`],
      [company.as, 'put', `/v1/permissions/${permission}`, { json: { target: { company_id: '*' } } }],
      [company.as, 'post', `/v1/users/${nobody}/groups`, { json: { group_ids: [group] } }],
      [company.as, 'post', `/v1/users/${principal.id}/groups`, { json: { group_ids: [nobody] } }],
      [company.as, 'post', '/v1/users/invite', { json: { email: company.owner.email } }],
      [admin, 'post', `/groups/${group}/bindings`, { json: again }],
      [admin, 'delete', `/groups/${nobody}/bindings/${binding.id}`],
      [admin, 'delete', `/groups/${group}/bindings/${nobody}`],
      [weak.as, 'post', '/v1/policies', { json: makePolicyInput([allow('users:delete')]) }],
      [weak.as, 'post', `/v1/groups/${group}/policies/${managedPolicyNamed('FullAdmin').id}`],
      [weak.as, 'delete', `/v1/groups/${group}`],
      [weak.as, 'put', `/v1/users/${principal.id}/groups`, { json: { group_ids: [] } }],
      [weak.as, 'delete', `/v1/policies/${policy}`],
    ];
    for (const [as, method, path, sent] of cases) {
      const before = await readStoredRows();
      const tried = await dryRun(as, method, path, sent);
      await expectUnchanged(before);
      const done = await as[method](path, sent ?? {});
      expect([path, tried.status, tried.body]).toEqual([path, done.status, done.body]);
      expect(done.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('is refused at the limit of policies that database triggers enforce', async () => {
    const group = await createConsoleGroup(company);
    const ids = await Promise.all(Array.from({ length: 51 }, () => aPolicy(company, [allow('users:list')])));
    for (const id of ids.slice(0, 50)) await must(company.as.post(`/v1/groups/${group._id}/policies/${id}`));
    const { status, body } = await dryRun(company.as, 'post', `/v1/groups/${group._id}/policies/${ids[50]}`);
    expect([status, body.error]).toEqual([409, 'POLICY_LIMIT_EXCEEDED']);
  });

  it('ignores an idempotency key', async () => {
    const headers = { 'Idempotency-Key': 'tried-then-done' };
    const { group } = await createMember();
    const path = `/v1/groups/${group}/policies/${managedPolicyNamed('ReadOnly').id}`;
    expect((await dryRun(company.as, 'post', path, { headers })).body.gains).not.toEqual([]);
    const done = await company.as.post(path, { headers });
    expect([done.status, done.headers.get('idempotency-replayed')]).toEqual([204, null]);
    // By then it changes nothing any more.
    const again = await dryRun(company.as, 'post', path, { headers });
    expect([again.status, again.body.gains, again.headers.get('idempotency-replayed')]).toEqual([200, [], null]);
  });

  it('is audited as access:dry_run, not as the write', async () => {
    const { group } = await createMember();
    await must(dryRun(company.as, 'delete', `/v1/groups/${group}`));
    const told = async (action: string): Promise<string[]> => {
      const { records } = await must(company.as.get(`/v1/audit-events?action=${action}&per_page=100`));
      return records.map((record: { resource_id: string }) => record.resource_id);
    };
    await expect.poll(() => told('access:dry_run')).toContain(group);
    expect(await told('groups:delete')).not.toContain(group);
  });

  it('is refused if `dry_run` is no boolean, and is a real write if it is false', async () => {
    const id = await aPolicy(company, [allow('users:list')]);
    expect((await company.as.delete(`/v1/policies/${id}?dry_run=yes`)).status).toBe(422);
    expect((await company.as.delete(`/v1/policies/${id}?dry_run=true&dry_run=false`)).status).toBe(422);
    expect((await company.as.get(`/v1/policies/${id}`)).status).toBe(200);
    expect((await company.as.delete(`/v1/policies/${id}?dry_run=false`)).status).toBe(204);
  });
});
