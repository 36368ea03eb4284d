import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeAffectedPrincipals } from '../../src/access/commit-access.ts';
import { getCachedPrincipal } from '../../src/access/known-principals.ts';
import { commit, openControlDb } from '../../src/db/client.ts';
import { concurrentChange } from '../../src/db/failures.ts';
import { recordUses } from '../../src/db/last-uses.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { inContext } from '../support/context.ts';
import { createCountingD1 } from '../support/counted.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { sendOvertaken } from '../support/rival.ts';
import {
  aGroup,
  allow,
  aPolicy,
  aServiceAccount,
  bind,
  deny,
  must,
  type ServiceAccount,
  signed,
} from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
beforeEach(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});

/** A request, and how many queries it asked of the control database. */
async function countQueries(
  send: (env: Record<string, string>) => Promise<ApiResponse>,
): Promise<[status: number, queries: number]> {
  const { env: watched, calls } = createCountingD1();
  const { status } = await send(watched);
  return [status, calls()];
}

describe('a request of a principal that the isolate has cached', () => {
  it('makes no query of the control database, after two requests with a key or one with a token', async () => {
    const robot = await aServiceAccount(company);
    const { as } = await aUser(company);
    forgetPrincipals();
    const ofKey = () => countQueries((watched) => robot.as.get('/groups', { env: watched }));
    const ofToken = () => countQueries((watched) => as.get('/v1/managed-tables', { env: watched }));
    // A use of a key is recorded once.
    expect([await ofKey(), await ofKey(), await ofKey()]).toEqual([
      [403, 2],
      [403, 1],
      [403, 0],
    ]);
    expect([await ofToken(), await ofToken()]).toEqual([
      [403, 1],
      [403, 0],
    ]);
  });

  it('makes no query because other users are deactivated or refresh their sessions', async () => {
    const { as } = await aUser(company);
    const other = await aUser(company);
    await as.get('/v1/managed-tables');
    await must(company.as.post(`/v1/users/${other.id}/deactivate`));
    await must(company.as.get('/v1/auth/sessions'));
    const { refreshToken } = company;
    const { body } = await company.as.post('/v1/auth/refresh', { json: { refresh_token: refreshToken } });
    expect(body.token).toBeTypeOf('string');
    expect(await countQueries((watched) => as.get('/v1/managed-tables', { env: watched }))).toEqual([403, 0]);
  });

  it('records no last use earlier than the recorded one, nor one of another company', async () => {
    const [robot, another] = [await aServiceAccount(company), await aServiceAccount(company)];
    const db = openControlDb(env.CONTROL_DB);
    const record = (id: string, at: number, companyId = company.id) =>
      commit(db, { uses: recordUses(db, [{ kind: 'service_account', companyId, id, at }]) });
    await record(robot.id, 5000);
    await record(robot.id, 3000);
    await record(another.id, 9000, (await aCompany()).id);
    const usedAt = async (id: string) => (await must(admin.get(`/service-accounts/${id}`))).last_used_at;
    expect(Date.parse(await usedAt(robot.id))).toBe(5000);
    expect(await usedAt(another.id)).toBeNull();
  });

  it('records its last use once a minute, together with those of others', async () => {
    const robots = [await aServiceAccount(company), await aServiceAccount(company)];
    const use = async () => {
      for (const { as } of robots) await as.get('/groups');
    };
    await use();
    await use();
    await use();
    const usedAt = async ({ id }: ServiceAccount) =>
      Date.parse((await must(admin.get(`/service-accounts/${id}`))).last_used_at);
    const first = await Promise.all(robots.map(usedAt));
    try {
      advanceClock(90_000);
      expect(
        await countQueries((watched) => robots[0]?.as.get('/groups', { env: watched }) as Promise<ApiResponse>),
      ).toEqual([403, 1]);
      expect(
        await countQueries((watched) => robots[1]?.as.get('/groups', { env: watched }) as Promise<ApiResponse>),
      ).toEqual([403, 0]);
      advanceClock(200_000);
      await use();
      const last = await Promise.all(robots.map(usedAt));
      expect(last.map((at, index) => at - (first[index] as number) > 80_000)).toEqual([true, true]);
    } finally {
      resetClock();
    }
  });
});

describe('the cached access of a principal', () => {
  /** A robot that may list groups, through a group with a policy; its requests are known to the isolate. */
  async function knownRobot() {
    const policyId = await aPolicy(company, [allow('groups:ListGroups')]);
    const groupId = await aGroup(company, policyId);
    const robot = await aServiceAccount(company, [groupId]);
    const request = async () => (await robot.as.get('/groups')).status;
    for (let times = 0; times < 3; times += 1) expect(await request()).toBe(200);
    // The list itself.
    expect(await countQueries((watched) => robot.as.get('/groups', { env: watched }))).toEqual([200, 1]);
    return { policyId, groupId, robot, request };
  }
  type Known = Awaited<ReturnType<typeof knownRobot>>;
  const ENDS: [name: string, status: number, end: (known: Known) => Promise<unknown>][] = [
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
          json: { document: { version: '2024-01-01', statements: [deny('groups:ListGroups')] } },
        }),
    ],
    [
      'it is bound to a group that denies the action',
      403,
      async ({ robot }) => {
        const groupId = await aGroup(company, await aPolicy(company, [deny('groups:ListGroups')]));
        const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
        return admin.post(`/groups/${groupId}/bindings`, { json });
      },
    ],
    [
      'it is removed from its group',
      403,
      async ({ groupId }) => {
        const { results } = await must(admin.get(`/groups/${groupId}/bindings`));
        return admin.delete(`/groups/${groupId}/bindings/${results[0].id}`);
      },
    ],
  ];

  it.each(ENDS)('is revoked at the next request of a key when %s', async (_, status, end) => {
    const known = await knownRobot();
    expect(((await end(known)) as ApiResponse).status).toBeLessThan(300);
    expect(await known.request()).toBe(status);
  });

  it('ends when its key expires', async () => {
    const { id } = await aServiceAccount(company);
    const json = { expires_at: new Date(Date.now() + 60_000).toISOString() };
    const { as } = await knownKey(await must(admin.post(`/service-accounts/${id}/keys`, { json })));
    try {
      advanceClock(61_000);
      expect((await as.get('/groups')).body.details.reason).toBe('unknown_key');
    } finally {
      resetClock();
    }
  });

  it('takes up no more than a thousand bytes, without the grants of its groups', async () => {
    const { key } = await aServiceAccount(company);
    await knownKey(key);
    const { actor, proof } = getCachedPrincipal(`key ${key.access_key}`)?.known ?? {};
    const { access: _access, ...self } = actor ?? {};
    expect(JSON.stringify([self, proof]).length).toBeLessThan(1000);
  });

  it('is used only for requests that are signed with its secret key', async () => {
    const { key } = await aServiceAccount(company);
    await knownKey(key);
    const { key: another } = await aServiceAccount(company);
    const forged = await signed({ ...key, secret_key: another.secret_key }).get('/groups');
    expect([forged.status, forged.body.details.reason]).toEqual([401, 'bad_signature']);
  });

  /** Requests with a key that the isolate knows. */
  async function knownKey(key: ServiceAccount['key']) {
    const as = signed(key);
    for (let times = 0; times < 3; times += 1) expect((await as.get('/groups')).status).toBe(403);
    expect(await countQueries((watched) => as.get('/groups', { env: watched }))).toEqual([403, 0]);
    return { as };
  }

  it('is revoked at the next request of a key when its account is deactivated, and restored when the account is activated', async () => {
    const { id: accountId } = await must(admin.post('/accounts', { json: { name: 'Second' } }));
    const robot = await aServiceAccount(company, [], accountId);
    const request = async () => (await robot.as.get('/groups')).status;
    expect([await request(), await request(), await request()]).toEqual([403, 403, 403]);
    await must(admin.patch(`/accounts/${accountId}`, { json: { is_active: false } }));
    expect(await request()).toBe(401);
    await must(admin.patch(`/accounts/${accountId}`, { json: { is_active: true } }));
    expect(await request()).toBe(403);
  });

  const OF_A_USER: [name: string, end: (id: string, as: Caller) => Promise<unknown>][] = [
    ['the user is deactivated', (id) => company.as.post(`/v1/users/${id}/deactivate`)],
    ['the user is deleted', (id) => admin.delete(`/users/${id}`)],
    ['the user’s sessions are ended', (id) => company.as.delete(`/v1/users/${id}/sessions`)],
    ['the user logs out', (_, as) => as.post('/v1/auth/logout')],
  ];
  it.each(OF_A_USER)('ends with the next request of a token when %s', async (_, end) => {
    const { id, as } = await aUser(company, { can: ['users:list'] });
    expect((await as.get('/v1/users')).status).toBe(200);
    expect(await countQueries((watched) => as.get('/v1/auth/sessions', { env: watched }))).toEqual([200, 1]);
    expect(((await end(id, as)) as ApiResponse).status).toBeLessThan(300);
    expect((await as.get('/v1/users')).status).toBe(401);
  });

  it('changes with the next request of a token when a permission or a group of the user changes', async () => {
    const { id, as } = await aUser(company);
    const request = async () => (await as.get('/v1/users')).status;
    expect(await request()).toBe(403);
    const groupId = await aGroup(company, await aPolicy(company, [allow('users:list')]));
    await bind(company, groupId, id);
    expect(await request()).toBe(200);
    await must(company.as.delete(`/v1/users/${id}/groups`, { json: { group_ids: [groupId] } }));
    expect(await request()).toBe(403);
  });

  it('is not cached while a change of it is under way', async () => {
    const { policyId, groupId, request } = await knownRobot();
    const during: number[] = [];
    const { status } = await sendOvertaken(
      /^delete from "group_policies"/,
      async () => during.push(await request()),
      (watched) => admin.delete(`/groups/${groupId}/policies/${policyId}`, { env: watched }),
    );
    expect([status, during, await request()]).toEqual([204, [200], 403]);
  });
});

describe('a change of access that failed', () => {
  it('keeps access from being cached as long as its outcome is unknown', async () => {
    const { id, as } = await aUser(company, { can: ['users:list'] });
    const request = () => countQueries((watched) => as.get('/v1/users', { env: watched }));
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

  it('lets access be cached again when it was refused', async () => {
    const { id, as } = await aUser(company);
    const request = () => countQueries((watched) => as.get('/v1/users', { env: watched }));
    await request();
    await inContext({ kind: 'anonymous' }, async (ctx) => {
      const refused = ctx.changeAccess(makeAffectedPrincipals(company.id, id), () =>
        Promise.reject(concurrentChange()),
      );
      await expect(refused).rejects.toThrow('Someone else is changing');
    });
    expect([await request(), await request()]).toEqual([
      [403, 1],
      [403, 0],
    ]);
  });
});

/** The environment in which a batch is lost on its way to the control database. `arrive`: it gets there after all. */
function createBatchLosingEnv(pattern: RegExp) {
  const texts = new WeakMap<D1PreparedStatement, string>();
  let arrive = (): Promise<unknown> => Promise.reject(new Error(`No statement fits ${pattern}.`));
  const named = (statement: D1PreparedStatement, text: string): D1PreparedStatement => {
    texts.set(statement, text);
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => named(bind(...values), text);
    return statement;
  };
  const withSession = (constraint: string) => {
    const session = env.CONTROL_DB.withSession(constraint);
    return {
      prepare: (text: string) => named(session.prepare(text), text),
      batch: (statements: D1PreparedStatement[]) => {
        if (!statements.some((statement) => pattern.test(texts.get(statement) ?? ''))) return session.batch(statements);
        arrive = () => session.batch(statements);
        return Promise.reject(new Error('Network connection lost.'));
      },
    };
  };
  const lost = { CONTROL_DB: { withSession } } as unknown as Record<string, string>;
  return { lost, arrive: () => arrive() };
}

describe('the gate of a company (a Durable Object)', () => {
  const gateThat = (methods: object) =>
    ({ ORGANIZATION_GATE: { getByName: () => methods } }) as unknown as Record<string, string>;
  const throwing = () => Promise.reject(new Error('the gate is away'));
  const silent = () => new Promise(() => {});

  it.each([
    ['fails', throwing],
    ['does not answer', silent],
  ])('that %s does not stop requests with tokens, which read the database instead', async (_, answer) => {
    const { id, as } = await aUser(company, { can: ['users:list'] });
    await as.get('/v1/users');
    const away = gateThat({ admit: answer });
    expect(await countQueries((watched) => as.get('/v1/users', { env: { ...watched, ...away } }))).toEqual([200, 2]);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    expect((await as.get('/v1/users', { env: away })).status).toBe(401);
  });

  it('that is unavailable leaves rate limits in force within each isolate', async () => {
    const { as } = await aUser(company);
    const limited = { ...gateThat({ admit: throwing }), RATE_LIMIT_PRINCIPAL_PER_MINUTE: '2' };
    const statuses: number[] = [];
    for (let times = 0; times < 3; times += 1) statuses.push((await as.get('/v1/users', { env: limited })).status);
    expect(statuses).toEqual([403, 403, 429]);
  });

  it('that is unavailable refuses signed requests with Retry-After', async () => {
    const { status, headers, body } = await admin.get('/groups', { env: gateThat({ admit: throwing }) });
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '5', 'ServiceUnavailable']);
  });

  it('that cannot be notified of a change of access prevents the change', async () => {
    const { id } = await aUser(company);
    const untold = gateThat({
      admit: (...given: Parameters<typeof gate.admit>) => gate.admit(...given),
      beginChange: throwing,
    });
    const gate = env.ORGANIZATION_GATE.getByName(company.id);
    const { status, headers } = await company.as.post(`/v1/users/${id}/deactivate`, { env: untold });
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect((await must(admin.get(`/users/${id}`))).is_active).toBe(true);
  });

  it('takes back what it counted of a request that the IP rate limit refuses', async () => {
    const robot = await aServiceAccount(company);
    const refused = { RATE_LIMIT_IP_PER_SECOND: '1' };
    const headers = { 'cf-connecting-ip': '203.0.113.77' };
    const statuses: number[] = [];
    for (let times = 0; times < 4; times += 1) {
      statuses.push((await robot.as.get('/groups', { headers, env: refused })).status);
    }
    expect(statuses).toContain(429);
    const limited = { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '3' };
    const { headers: left } = await robot.as.get('/groups', { env: limited });
    expect(left.get('x-ratelimit-remaining')).toBe(String(3 - statuses.filter((status) => status === 403).length - 1));
  });
});
