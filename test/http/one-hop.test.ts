import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeAffectedPrincipals } from '../../src/access/commit-access.ts';
import { getCachedPrincipal } from '../../src/access/known-principals.ts';
import { commit, openControlDb } from '../../src/db/client.ts';
import { concurrentChange } from '../../src/db/failures.ts';
import { recordUses } from '../../src/db/last-uses.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { sendDuringRace } from '../support/race.ts';
import {
  bindUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
  type ServiceAccount,
  storePolicy,
} from '../support/signed.ts';

let company: Company;
let admin: Caller;
beforeEach(async () => {
  company = await createOwnedCompany();
  admin = createSignedCaller(company.apiKey);
});

/** Sends a request, and counts its queries of the control database. */
async function countQueries(
  send: (env: Record<string, string>) => Promise<ApiResponse>,
): Promise<[status: number, queries: number]> {
  const { env: countingEnv, countCalls } = createCountingD1();
  const { status } = await send(countingEnv);
  return [status, countCalls()];
}

describe('a request of a principal that the isolate has cached', () => {
  it('makes no query of the control database, after two requests with a key or one request with a token', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const { as } = await createAllowedUser(company);
    forgetPrincipals();
    const requestWithKey = () => countQueries((countingEnv) => serviceAccount.as.get('/groups', { env: countingEnv }));
    const requestWithToken = () => countQueries((countingEnv) => as.get('/v1/managed-tables', { env: countingEnv }));
    // A use of a key is recorded once.
    expect([await requestWithKey(), await requestWithKey(), await requestWithKey()]).toEqual([
      [403, 2],
      [403, 1],
      [403, 0],
    ]);
    expect([await requestWithToken(), await requestWithToken()]).toEqual([
      [403, 1],
      [403, 0],
    ]);
  });

  it('makes no query because other users are deactivated or refresh their sessions', async () => {
    const { as } = await createAllowedUser(company);
    const other = await createAllowedUser(company);
    await as.get('/v1/managed-tables');
    await expectSuccess(company.as.post(`/v1/users/${other.id}/deactivate`));
    await expectSuccess(company.as.get('/v1/auth/sessions'));
    const { refreshToken } = company;
    const { body } = await company.as.post('/v1/auth/refresh', { json: { refresh_token: refreshToken } });
    expect(body.token).toBeTypeOf('string');
    expect(await countQueries((countingEnv) => as.get('/v1/managed-tables', { env: countingEnv }))).toEqual([403, 0]);
  });

  it('records no last use earlier than the recorded one, nor a last use in another company', async () => {
    const [robot, another] = [await createKeyedAccount(company), await createKeyedAccount(company)];
    const db = openControlDb(env.CONTROL_DB);
    const record = (id: string, at: number, companyId = company.id) =>
      commit(db, { uses: recordUses(db, [{ kind: 'service_account', companyId, id, at }]) });
    await record(robot.id, 5000);
    await record(robot.id, 3000);
    await record(another.id, 9000, (await createOwnedCompany()).id);
    const readLastUse = async (id: string) => (await expectSuccess(admin.get(`/service-accounts/${id}`))).last_used_at;
    expect(Date.parse(await readLastUse(robot.id))).toBe(5000);
    expect(await readLastUse(another.id)).toBeNull();
  });

  it('records its last use once a minute, together with the last uses of other principals', async () => {
    const serviceAccounts = [await createKeyedAccount(company), await createKeyedAccount(company)];
    const useAllAccounts = async () => {
      for (const { as } of serviceAccounts) await as.get('/groups');
    };
    await useAllAccounts();
    await useAllAccounts();
    await useAllAccounts();
    const readLastUse = async ({ id }: ServiceAccount) =>
      Date.parse((await expectSuccess(admin.get(`/service-accounts/${id}`))).last_used_at);
    const first = await Promise.all(serviceAccounts.map(readLastUse));
    advanceClock(90_000);
    expect(
      await countQueries(
        (countingEnv) => serviceAccounts[0]?.as.get('/groups', { env: countingEnv }) as Promise<ApiResponse>,
      ),
    ).toEqual([403, 1]);
    expect(
      await countQueries(
        (countingEnv) => serviceAccounts[1]?.as.get('/groups', { env: countingEnv }) as Promise<ApiResponse>,
      ),
    ).toEqual([403, 0]);
    advanceClock(200_000);
    await useAllAccounts();
    const last = await Promise.all(serviceAccounts.map(readLastUse));
    expect(last.map((at, index) => at - (first[index] as number) > 80_000)).toEqual([true, true]);
  });
});

describe('the cached access of a principal', () => {
  /** Creates a service account that may list groups through a policy, and has the isolate cache it by requests. */
  async function createCachedAccount() {
    const policyId = await storePolicy(company, [makeAllow('groups:ListGroups')]);
    const groupId = await createPolicyGroup(company, policyId);
    const serviceAccount = await createKeyedAccount(company, [groupId]);
    const request = async () => (await serviceAccount.as.get('/groups')).status;
    for (let requestCount = 0; requestCount < 3; requestCount += 1) expect(await request()).toBe(200);
    // The list itself.
    expect(await countQueries((countingEnv) => serviceAccount.as.get('/groups', { env: countingEnv }))).toEqual([
      200, 1,
    ]);
    return { policyId, groupId, robot: serviceAccount, request };
  }
  type CachedAccount = Awaited<ReturnType<typeof createCachedAccount>>;
  const KEY_REVOCATIONS: [name: string, status: number, end: (cachedAccount: CachedAccount) => Promise<unknown>][] = [
    ['its key is revoked', 401, ({ robot }) => admin.delete(`/service-accounts/${robot.id}/keys/${robot.keyId}`)],
    ['its service account is deleted', 401, ({ robot }) => admin.delete(`/service-accounts/${robot.id}`)],
    [
      'its service account is deactivated',
      401,
      ({ robot }) => admin.patch(`/service-accounts/${robot.id}`, { json: { is_active: false } }),
    ],
    ['its group is deleted', 403, ({ groupId }) => admin.delete(`/groups/${groupId}`)],
    ['its policy is detached', 403, ({ groupId, policyId }) => admin.delete(`/groups/${groupId}/policies/${policyId}`)],
    [
      'its policy denies the action',
      403,
      ({ policyId }) =>
        company.as.put(`/v1/policies/${policyId}`, {
          json: { document: { version: '2024-01-01', statements: [makeDeny('groups:ListGroups')] } },
        }),
    ],
    [
      'it is bound to a group that denies the action',
      403,
      async ({ robot }) => {
        const groupId = await createPolicyGroup(company, await storePolicy(company, [makeDeny('groups:ListGroups')]));
        const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
        return admin.post(`/groups/${groupId}/bindings`, { json });
      },
    ],
    [
      'it is removed from its group',
      403,
      async ({ groupId }) => {
        const { results } = await expectSuccess(admin.get(`/groups/${groupId}/bindings`));
        return admin.delete(`/groups/${groupId}/bindings/${results[0].id}`);
      },
    ],
  ];

  it.each(KEY_REVOCATIONS)('is revoked at the next request with a key when %s', async (_, status, end) => {
    const cachedAccount = await createCachedAccount();
    expect(((await end(cachedAccount)) as ApiResponse).status).toBeLessThan(300);
    expect(await cachedAccount.request()).toBe(status);
  });

  it("ends when the service account's API key expires", async () => {
    const { id } = await createKeyedAccount(company);
    const json = { expires_at: new Date(Date.now() + 60_000).toISOString() };
    const { as } = await cacheKey(await expectSuccess(admin.post(`/service-accounts/${id}/keys`, { json })));
    advanceClock(61_000);
    expect((await as.get('/groups')).body.details.reason).toBe('unknown_key');
  });

  it('takes up no more than a thousand bytes, without the grants of its groups', async () => {
    const { key } = await createKeyedAccount(company);
    await cacheKey(key);
    const { actor, proof } = getCachedPrincipal(`key ${key.access_key}`)?.knownPrincipal ?? {};
    const { access: _access, ...self } = actor ?? {};
    expect(JSON.stringify([self, proof]).length).toBeLessThan(1000);
  });

  it('is used only for requests that are signed with its secret key', async () => {
    const { key } = await createKeyedAccount(company);
    await cacheKey(key);
    const { key: otherKey } = await createKeyedAccount(company);
    const forgedAnswer = await createSignedCaller({ ...key, secret_key: otherKey.secret_key }).get('/groups');
    expect([forgedAnswer.status, forgedAnswer.body.details.reason]).toEqual([401, 'bad_signature']);
  });

  /** Sends requests with a key until the isolate has cached it. */
  async function cacheKey(key: ServiceAccount['key']) {
    const as = createSignedCaller(key);
    for (let requestCount = 0; requestCount < 3; requestCount += 1) expect((await as.get('/groups')).status).toBe(403);
    expect(await countQueries((countingEnv) => as.get('/groups', { env: countingEnv }))).toEqual([403, 0]);
    return { as };
  }

  it('is revoked at the next request with a key when its account is deactivated, and restored when the account is activated', async () => {
    const { id: accountId } = await expectSuccess(admin.post('/accounts', { json: { name: 'Second' } }));
    const serviceAccount = await createKeyedAccount(company, [], accountId);
    const request = async () => (await serviceAccount.as.get('/groups')).status;
    expect([await request(), await request(), await request()]).toEqual([403, 403, 403]);
    await expectSuccess(admin.patch(`/accounts/${accountId}`, { json: { is_active: false } }));
    expect(await request()).toBe(401);
    await expectSuccess(admin.patch(`/accounts/${accountId}`, { json: { is_active: true } }));
    expect(await request()).toBe(403);
  });

  const TOKEN_REVOCATIONS: [name: string, end: (id: string, as: Caller) => Promise<unknown>][] = [
    ['the user is deactivated', (id) => company.as.post(`/v1/users/${id}/deactivate`)],
    ['the user is deleted', (id) => admin.delete(`/users/${id}`)],
    ['the user’s sessions are ended', (id) => company.as.delete(`/v1/users/${id}/sessions`)],
    ['the user logs out', (_, as) => as.post('/v1/auth/logout')],
  ];
  it.each(TOKEN_REVOCATIONS)('ends with the next request with a token when %s', async (_, end) => {
    const { id, as } = await createAllowedUser(company, { can: ['users:list'] });
    expect((await as.get('/v1/users')).status).toBe(200);
    expect(await countQueries((countingEnv) => as.get('/v1/auth/sessions', { env: countingEnv }))).toEqual([200, 1]);
    expect(((await end(id, as)) as ApiResponse).status).toBeLessThan(300);
    expect((await as.get('/v1/users')).status).toBe(401);
  });

  it('changes with the next request with a token when a permission or a group of the user changes', async () => {
    const { id, as } = await createAllowedUser(company);
    const request = async () => (await as.get('/v1/users')).status;
    expect(await request()).toBe(403);
    const groupId = await createPolicyGroup(company, await storePolicy(company, [makeAllow('users:list')]));
    await bindUser(company, groupId, id);
    expect(await request()).toBe(200);
    await expectSuccess(company.as.delete(`/v1/users/${id}/groups`, { json: { group_ids: [groupId] } }));
    expect(await request()).toBe(403);
  });

  it('is not cached while it is being changed', async () => {
    const { policyId, groupId, request } = await createCachedAccount();
    const statusesDuring: number[] = [];
    const { status } = await sendDuringRace(
      /^delete from "group_policies"/,
      async () => statusesDuring.push(await request()),
      (racingEnv) => admin.delete(`/groups/${groupId}/policies/${policyId}`, { env: racingEnv }),
    );
    expect([status, statusesDuring, await request()]).toEqual([204, [200], 403]);
  });
});

describe('a change of access that failed', () => {
  it('prevents access from being cached as long as its outcome is unknown', async () => {
    const { id, as } = await createAllowedUser(company, { can: ['users:list'] });
    const request = () => countQueries((countingEnv) => as.get('/v1/users', { env: countingEnv }));
    expect([await request(), await request()]).toEqual([
      [200, 2],
      [200, 1],
    ]);
    const { lost, arrive } = createBatchLosingEnv(/^update "users"/);
    expect((await company.as.post(`/v1/users/${id}/deactivate`, { env: lost })).status).toBe(500);
    expect([await request(), await request()]).toEqual([
      [200, 2],
      [200, 2],
    ]);
    await arrive();
    expect((await request())[0]).toBe(401);
  });

  it('allows access to be cached again when it was refused', async () => {
    const { id, as } = await createAllowedUser(company);
    const request = () => countQueries((countingEnv) => as.get('/v1/users', { env: countingEnv }));
    await request();
    await runInContext({ kind: 'anonymous' }, async (ctx) => {
      const refusedChange = ctx.changeAccess(makeAffectedPrincipals(company.id, id), () =>
        Promise.reject(concurrentChange()),
      );
      await expect(refusedChange).rejects.toThrow('Someone else is changing');
    });
    expect([await request(), await request()]).toEqual([
      [403, 1],
      [403, 0],
    ]);
  });
});

/** Creates an environment in which a batch is lost on its way to the control database; `arrive` delivers it after all. */
function createBatchLosingEnv(pattern: RegExp) {
  const texts = new WeakMap<D1PreparedStatement, string>();
  let awaitStatement = (): Promise<unknown> => Promise.reject(new Error(`No statement fits ${pattern}.`));
  const rememberText = (statement: D1PreparedStatement, text: string): D1PreparedStatement => {
    texts.set(statement, text);
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => rememberText(bind(...values), text);
    return statement;
  };
  const withSession = (constraint: string) => {
    const session = env.CONTROL_DB.withSession(constraint);
    return {
      prepare: (text: string) => rememberText(session.prepare(text), text),
      batch: (statements: D1PreparedStatement[]) => {
        if (!statements.some((batchedStatement) => pattern.test(texts.get(batchedStatement) ?? '')))
          return session.batch(statements);
        awaitStatement = () => session.batch(statements);
        return Promise.reject(new Error('Network connection lost.'));
      },
    };
  };
  const losingEnv = { CONTROL_DB: { withSession } } as unknown as Record<string, string>;
  return { lost: losingEnv, arrive: () => awaitStatement() };
}

describe('the gate of a company (a Durable Object)', () => {
  const makeGateEnv = (methods: object) =>
    ({ ORGANIZATION_GATE: { getByName: () => methods } }) as unknown as Record<string, string>;
  const failImmediately = () => Promise.reject(new Error('the gate is away'));
  const waitForever = () => new Promise(() => {});

  it.each([
    ['fails', failImmediately],
    ['does not answer', waitForever],
  ])('that %s does not stop requests with tokens, which read the database instead', async (_, answerAdmission) => {
    const { id, as } = await createAllowedUser(company, { can: ['users:list'] });
    await as.get('/v1/users');
    const gateEnv = makeGateEnv({ admit: answerAdmission });
    expect(await countQueries((countingEnv) => as.get('/v1/users', { env: { ...countingEnv, ...gateEnv } }))).toEqual([
      200, 2,
    ]);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    expect((await as.get('/v1/users', { env: gateEnv })).status).toBe(401);
  });

  it('that is unavailable leaves rate limits in force within each isolate', async () => {
    const { as } = await createAllowedUser(company);
    const limitedEnv = { ...makeGateEnv({ admit: failImmediately }), RATE_LIMIT_PRINCIPAL_PER_MINUTE: '2' };
    const statuses: number[] = [];
    for (let requestCount = 0; requestCount < 3; requestCount += 1)
      statuses.push((await as.get('/v1/users', { env: limitedEnv })).status);
    expect(statuses).toEqual([403, 403, 429]);
  });

  it('that is unavailable refuses signed requests with Retry-After', async () => {
    const { status, headers, body } = await admin.get('/groups', { env: makeGateEnv({ admit: failImmediately }) });
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '5', 'ServiceUnavailable']);
  });

  it('that cannot be notified of a change of access prevents the change', async () => {
    const { id } = await createAllowedUser(company);
    const failingGate = makeGateEnv({
      admit: (...callArguments: Parameters<typeof gate.admit>) => gate.admit(...callArguments),
      beginChange: failImmediately,
    });
    const gate = env.ORGANIZATION_GATE.getByName(company.id);
    const { status, headers } = await company.as.post(`/v1/users/${id}/deactivate`, { env: failingGate });
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect((await expectSuccess(admin.get(`/users/${id}`))).is_active).toBe(true);
  });

  it('takes back what it counted of a request that the IP rate limit refuses', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const ipLimitedEnv = { RATE_LIMIT_IP_PER_SECOND: '1' };
    const headers = { 'cf-connecting-ip': '203.0.113.77' };
    const statuses: number[] = [];
    for (let requestCount = 0; requestCount < 4; requestCount += 1) {
      statuses.push((await serviceAccount.as.get('/groups', { headers, env: ipLimitedEnv })).status);
    }
    expect(statuses).toContain(429);
    const limitedEnv = { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '3' };
    const { headers: left } = await serviceAccount.as.get('/groups', { env: limitedEnv });
    expect(left.get('x-ratelimit-remaining')).toBe(String(3 - statuses.filter((status) => status === 403).length - 1));
  });
});
