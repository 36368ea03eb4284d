import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { IdempotencyKeys, type KeyedRequest } from '../../src/objects/idempotency-keys.ts';
import { sha256Hex } from '../../src/platform/secrets.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { aContext, anOutsider } from '../share-portal/support.ts';
import { type ApiResponse, type Caller, call, type RequestOptions } from '../support/api.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, sendOvertaken } from '../support/rival.ts';
import { aGroup, allow, aPolicy, aServiceAccountThat, must, type ServiceAccount, signed } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});
afterEach(resetClock);

let createdCount = 0;
const makeKey = () => `key-${++createdCount}`;
const makeName = () => `Readers ${++createdCount}`;
const withKey = (key: string, json?: unknown): RequestOptions => ({
  headers: { 'idempotency-key': key },
  ...(json !== undefined && { json }),
});
const createGroup = (key: string, name: string, as = admin) => as.post('/groups', withKey(key, { name }));
const countGroupsNamed = (name: string) => countRows('groups where company_id = ? and name = ?', company.id, name);
const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotency-replayed') === 'true';
const consoleGroup = (name: string) => ({
  name,
  slug: `console-${createdCount}`,
  description: 'Who reads what is sold',
});
const makeBinding = ({ id, accountId }: ServiceAccount): RequestOptions => ({
  json: { principal_type: 'service_account', principal_id: id, account_id: accountId },
});
const getGate = () => env.ORGANIZATION_GATE.getByName(company.id);

describe('a request under an idempotency key', () => {
  it('is done once, and its repetition is answered the same', async () => {
    const [key, name] = [makeKey(), makeName()];
    const first = await createGroup(key, name);
    const again = await createGroup(key, name);
    expect(first.status).toBe(201);
    expect([isReplay(first), isReplay(again)]).toEqual([false, true]);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('location')).toBe(`/groups/${first.body.id}`);
    expect(again.headers.get('x-correlation-id')).not.toBe(first.headers.get('x-correlation-id'));
    expect(await countGroupsNamed(name)).toBe(1);
  });

  it('is done once for a person, too, and without a body', async () => {
    const { id } = await aUser(company);
    const deactivate = (key: string) => company.as.post(`/v1/users/${id}/deactivate`, withKey(key));
    const key = makeKey();
    const first = await must(deactivate(key));
    await must(company.as.post(`/v1/users/${id}/activate`));
    const again = await deactivate(key);
    expect([again.status, again.body, isReplay(again)]).toEqual([200, first, true]);
    expect((await must(admin.get(`/users/${id}`))).is_active).toBe(true);
  });

  it('is replayed to another key of the same principal, and runs anew for another principal', async () => {
    const [key, name] = [makeKey(), makeName()];
    const robot = await aServiceAccountThat(company, allow('groups:*'));
    const other = signed(await must(admin.post(`/service-accounts/${robot.id}/keys`, { json: {} })));
    await must(createGroup(key, name, robot.as));
    expect(isReplay(await createGroup(key, name, other))).toBe(true);
    const ofAnother = await createGroup(key, makeName());
    expect([ofAnother.status, isReplay(ofAnother)]).toEqual([201, false]);
  });

  it.each<[what: string, repeat: (key: string, name: string) => Promise<ApiResponse>]>([
    ['another body', (key, name) => createGroup(key, `${name} `)],
    [
      'the same body in other bytes',
      (key, name) => {
        const { headers } = withKey(key);
        const body = JSON.stringify({ name }, null, 1);
        return admin.post('/groups', { headers: { ...headers, 'content-type': 'application/json' }, body });
      },
    ],
    ['another query', (key, name) => admin.post('/groups?x=1', withKey(key, { name }))],
    ['another path', (key, name) => admin.post('/accounts', withKey(key, { name }))],
  ])('is refused when its key is reused with %s', async (_what, repeat) => {
    const [key, name] = [makeKey(), makeName()];
    await must(createGroup(key, name));
    expect(readStatusAndCode(await repeat(key, name))).toEqual([422, 'IdempotencyKeyReused']);
    expect(isReplay(await createGroup(key, name))).toBe(true);
  });

  it('that is refused after its authorization gets the same refusal when it is repeated', async () => {
    const name = makeName();
    const { id } = await must(createGroup(makeKey(), name));
    const keys = { invalid: makeKey(), taken: makeKey(), malformed: makeKey() };
    const malformed = { headers: { 'idempotency-key': keys.malformed, 'content-type': 'application/json' }, body: '{' };
    const send = async () => [
      await admin.post('/groups', withKey(keys.invalid, { name: 5 })),
      await createGroup(keys.taken, name),
      await company.as.post('/v1/groups', malformed),
    ];
    const first = await send();
    expect(first.map(readStatusAndCode)).toEqual([
      [422, 'ValidationError'],
      [409, 'AlreadyExists'],
      [400, 'INVALID_JSON'],
    ]);
    await must(admin.delete(`/groups/${id}`));
    const again = await send();
    expect(again.map(isReplay)).toEqual([true, true, true]);
    expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
  });

  it('that is not authorized leaves its key unused', async () => {
    const [key, name] = [makeKey(), makeName()];
    const robot = await aServiceAccountThat(company, allow('groups:ListGroups'));
    expect((await createGroup(key, name, robot.as)).status).toBe(403);
    const policy = await aPolicy(company, [allow('groups:*')]);
    await must(admin.post(`/groups/${await aGroup(company, policy)}/bindings`, makeBinding(robot)));
    expect((await createGroup(key, name, robot.as)).status).toBe(201);
  });

  it.each<[who: string, aCaller: () => Promise<Caller>, path: string, status: number]>([
    ['a program', async () => admin, '/groups', 201],
    [
      'an external person',
      async () => {
        await aContext(company, [], ['refused@partner.test']);
        return (await anOutsider(company, 'refused@partner.test')).as;
      },
      '/api/v1/share-auth/logout',
      200,
    ],
  ])(
    'that the IP rate limiter refuses, or fails on, leaves its key unused: from %s',
    async (_who, aCaller, path, status) => {
      const as = await aCaller();
      const limit = { limit: 1, remaining: 0, resetAt: Date.now() + 1000, allowed: false };
      const limiters: [status: number, take: () => Promise<unknown>][] = [
        [429, async () => limit],
        [500, () => Promise.reject(new Error('away'))],
      ];
      for (const [refusedWith, take] of limiters) {
        const sending = withKey(makeKey(), { name: makeName() });
        const limiting = { IP_LIMITER: { getByName: () => ({ take }) } };
        const refused = await as.post(path, { ...sending, env: limiting as unknown as Record<string, string> });
        expect(refused.status).toBe(refusedWith);
        const next = await as.post(path, sending);
        expect([next.status, isReplay(next)]).toEqual([status, false]);
      }
    },
  );

  it('is replayed only to callers who are still authorized', async () => {
    const [key, name] = [makeKey(), makeName()];
    const robot = await aServiceAccountThat(company, allow('groups:*'));
    await must(createGroup(key, name, robot.as));
    await must(admin.delete(`/service-accounts/${robot.id}/keys/${robot.keyId}`));
    expect((await createGroup(key, name, robot.as)).status).toBe(401);
    const other = await aUser(company, { can: ['groups:create'] });
    const again = () => other.as.post('/v1/groups', withKey(key, consoleGroup(`${name} too`)));
    expect((await again()).status).toBe(201);
    await env.CONTROL_DB.prepare('delete from group_bindings where company_id = ?1 and principal_id = ?2')
      .bind(company.id, other.id)
      .run();
    expect((await again()).status).toBe(403);
  });

  it.each<[surface: string, by: () => Caller, path: string]>([
    ['organization API', () => admin, '/groups'],
    ['console', () => company.as, '/v1/groups'],
    ['managed tables', () => company.as, '/v1/managed-tables'],
    ['domain knowledge', () => company.as, '/api/v1/domain-knowledge/concepts'],
    ['sharing', () => company.as, '/api/v1/share-contexts'],
  ])('is refused with the error codes and the language of the %s', async (surface, by, path) => {
    const [kept, lost] = [makeKey(), makeKey()];
    const post = (key: string, json: object = {}, env?: Record<string, string>) =>
      by().post(path, { ...withKey(key, json), ...(env && { env }) });
    expect((await post(kept)).status).toBe(422);
    const away = createLosingEnv({ at: 2, isDone: false });
    void post(lost, { name: 'At work' }, away.env).catch(() => {});
    await away.lost;
    const words = (code: string) =>
      surface === 'organization API' ? code : code.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase();
    const answers = [
      await post(kept, { name: 'Another' }),
      await post(lost, { name: 'At work' }),
      await post(kept, {}, { ENCRYPTION_KEYS: JSON.stringify({ 9: 'another secret of at least 32 characters' }) }),
    ];
    expect(answers.map(readStatusAndCode)).toEqual([
      [422, words('IdempotencyKeyReused')],
      [409, words('IdempotencyKeyInUse')],
      [409, words('IdempotencyAnswerTooLarge')],
    ]);
    const inPortuguese = answers.map(({ body }) => /idempotência|requisição/.test(body.error));
    expect(inPortuguese).toEqual(Array(3).fill(surface === 'managed tables'));
  });

  it('runs again after a server error (500)', async () => {
    const [key, name] = [makeKey(), makeName()];
    const away = { ...withKey(key, { name }), env: createFailingEnv(/insert into "groups"/) };
    expect((await admin.post('/groups', away)).status).toBe(500);
    expect((await createGroup(key, name)).status).toBe(201);
  });
});

describe('an idempotency key', () => {
  it.each([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['with a space', 'a key'],
    ['outside ASCII', 'clé'],
  ])('that is %s is refused, once the caller is known to be allowed', async (_what, key) => {
    const refused = await admin.post('/groups', withKey(key, { name: makeName() }));
    expect(readStatusAndCode(refused)).toEqual([422, 'ValidationError']);
    expect(JSON.stringify(refused.body)).toContain('Idempotency-Key');
    const { as } = await aUser(company);
    expect((await as.post('/v1/groups', withKey(key, { name: makeName() }))).status).toBe(403);
    expect((await call('POST', '/v1/groups', withKey(key, { name: makeName() }))).status).toBe(401);
  });

  it('of 255 characters is accepted', async () => {
    expect((await createGroup('~'.repeat(255), makeName())).status).toBe(201);
  });

  it('on a multipart form is refused', async () => {
    const form = new FormData();
    form.append('files', new File(['a\n1'], 'a.csv'));
    const sending = { ...withKey(makeKey()), body: form };
    const { status, body } = await company.as.post('/v1/managed-tables/upload', sending);
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('Idempotency-Key')]);
  });

  it.each(['a key', 'k'.repeat(300)])(
    'is ignored on methods other than POST, and from unauthenticated callers: row %#',
    async (key) => {
      const { id } = await must(createGroup(makeKey(), makeName()));
      const path = `/groups/${id}`;
      const name = makeName();
      for (let times = 0; times < 2; times += 1) {
        const read = await admin.get('/groups', withKey(key));
        const patched = await admin.patch(path, withKey(key, { name }));
        const put = await company.as.put(`/v1/groups/${id}`, withKey(key, { name }));
        const login = await call('POST', '/v1/auth/login', withKey(key, {}));
        const answers = [read, patched, put, login];
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 422]);
        expect(answers.map(({ body }) => JSON.stringify(body).includes('Idempotency-Key'))).toEqual(
          Array(4).fill(false),
        );
        expect(answers.map(isReplay)).toEqual(Array(4).fill(false));
      }
      expect((await admin.delete(path, withKey(key))).status).toBe(204);
      expect((await admin.delete(path, withKey(key))).status).not.toBe(204);
    },
  );

  it('may be sent by pages of other origins, which may read the header that marks a replay', async () => {
    const headers = { origin: 'https://console.test', 'access-control-request-method': 'POST' };
    const preflight = await call('OPTIONS', '/v1/groups', { headers });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Idempotency-Key');
    expect(preflight.headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed');
  });
});

describe('copies of a request under one key', () => {
  it('that arrive while the first one runs are answered 409 with Retry-After', async () => {
    const [key, name] = [makeKey(), makeName()];
    let copy: ApiResponse | undefined;
    const first = await sendOvertaken(
      /insert into "groups"/,
      async () => {
        copy = await createGroup(key, name);
      },
      (watched) => admin.post('/groups', { ...withKey(key, { name }), env: watched }),
    );
    expect(first.status).toBe(201);
    expect(readStatusAndCode(copy as ApiResponse)).toEqual([409, 'IdempotencyKeyInUse']);
    expect(Number(copy?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(isReplay(await createGroup(key, name))).toBe(true);
  });

  it('are executed once when twenty arrive at once', async () => {
    const [key, name] = [makeKey(), makeName()];
    const answers = await Promise.all(Array.from({ length: 20 }, () => createGroup(key, name)));
    const done = answers.filter((answer) => answer.status === 201);
    expect(done.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(done.map(({ body }) => body.id)).size).toBe(1);
    const others = answers.filter((answer) => answer.status !== 201).map(readStatusAndCode);
    expect(new Set(others.map(String))).toEqual(others.length > 0 ? new Set(['409,IdempotencyKeyInUse']) : new Set());
    expect(await countGroupsNamed(name)).toBe(1);
  });

  it('run only after its lease has ended, at whichever call the isolate of the first one was lost', async () => {
    const seen: string[] = [];
    const draw = (key: string, name: string, env?: Record<string, string>) =>
      company.as.post('/v1/visualizations', { ...withKey(key, { name, sql: 'SELECT 1' }), ...(env && { env }) });
    const drawn = (name: string) => countRows('visualizations where company_id = ? and name = ?', company.id, name);
    for (const isDone of [false, true]) {
      for (let at = 1, isOver = false; !isOver; at += 1) {
        const [key, name] = [makeKey(), makeName()];
        const { env: lossy, lost } = createLosingEnv({ at, isDone });
        forgetPrincipals();
        const first = draw(key, name, lossy).catch(() => {});
        isOver = await Promise.race([first.then(() => true), lost.then(() => false)]);
        if (isOver) continue;
        const before = await drawn(name);
        const copy = await draw(key, name);
        expect([at, await drawn(name)]).toEqual([at, copy.status === 409 ? before : 1]);
        seen.push([before, ...readStatusAndCode(copy), isReplay(copy)].join(' '));
        advanceClock(61_000);
        const next = await draw(key, name);
        expect([at, next.status, isReplay(next)]).toEqual([at, 201, copy.status === 201]);
        resetClock();
      }
    }
    expect([...new Set(seen)].toSorted()).toEqual([
      // Before the gate knew of it.
      '0 201  false',
      '0 409 IDEMPOTENCY_KEY_IN_USE false',
      // When it was done, and when its answer was kept as well.
      '1 201  true',
      '1 409 IDEMPOTENCY_KEY_IN_USE false',
    ]);
  });

  it('get the same answer after the Durable Object that keeps keys was evicted', async () => {
    const [key, name] = [makeKey(), makeName()];
    const first = await must(createGroup(key, name));
    await evictDurableObject(getGate());
    const again = await createGroup(key, name);
    expect([again.body, isReplay(again)]).toEqual([first, true]);
  });

  it('are refused with 503 while the Durable Object that keeps keys is unavailable', async () => {
    const absent = { ORGANIZATION_GATE: { getByName: () => ({ admit: () => Promise.reject(new Error('away')) }) } };
    const sending = { ...withKey(makeKey(), { name: makeName() }), env: absent as unknown as Record<string, string> };
    const answer = await company.as.post('/v1/groups', sending);
    expect([...readStatusAndCode(answer), answer.headers.get('retry-after')]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
      '5',
    ]);
  });

  it('cost one call of the Durable Object that keeps keys before the handler, and one after it', async () => {
    const calls: string[] = [];
    const watchedGate = new Proxy(getGate(), {
      get: (target, name) => {
        const method = Reflect.get(target, name);
        return (...given: unknown[]) => {
          calls.push(String(name));
          return Reflect.apply(method as never, target, given);
        };
      },
    });
    const watched = { ORGANIZATION_GATE: { getByName: () => watchedGate } } as unknown as Record<string, string>;
    const [key, name] = [makeKey(), makeName()];
    const sending = () => ({ ...withKey(key, consoleGroup(name)), env: watched });
    await must(company.as.post('/v1/groups', sending()));
    await must(company.as.post('/v1/groups', sending()));
    expect(calls.filter((call) => !call.endsWith('Change'))).toEqual(['admit', 'endKey', 'admit']);
  });
});

const makeUse = (requestId: string) => ({
  senderId: 'somebody',
  key: 'key',
  digests: ['same'],
  requestId,
});

/** A place for keys that nobody else uses. */
function createLedger() {
  const object = env.ORGANIZATION_GATE.getByName(makeKey());
  const limits = { organization: 100, principal: 100 };
  const begin = async (requestId: string, once: Partial<KeyedRequest> = {}) => {
    const { senderId: principalId, ...keyed } = makeUse(requestId);
    const verdict = await object.admit({ principalId, requestId, limits, once: { ...keyed, ...once } });
    return verdict.refused === null ? verdict.key : null;
  };
  return { object, begin };
}

/** The same of an outsider. */
const createOutsiderLedger = () => {
  const object = env.TOKEN_LIMITER.getByName(makeKey());
  return { object, begin: async (requestId: string) => (await object.take(100, makeUse(requestId))).key };
};

const readAlarm = (object: DurableObjectStub) => runInDurableObject(object, (_, { storage }) => storage.getAlarm());

/** All that is on its disk of keys, by table. */
const readStoredKeys = (object: DurableObjectStub) =>
  runInDurableObject(object, (_, { storage }) => {
    const tables = storage.sql.exec<{ name: string }>(
      "SELECT name FROM pragma_table_list WHERE name GLOB 'idempotency_*'",
    );
    return tables.toArray().map(({ name }) => storage.sql.exec<{ key: string }>(`SELECT * FROM ${name}`).toArray());
  });

describe('the stored answer of an idempotency key', () => {
  it('is stored without readable secrets, and without a plain hash of the request', async () => {
    const { id } = await must(
      admin.post('/service-accounts', { json: { name: 'Robot', account_id: company.accountId } }),
    );
    const path = `/service-accounts/${id}/keys`;
    const key = makeKey();
    const first = await must(admin.post(path, withKey(key, {})));
    const again = await must(admin.post(path, withKey(key, {})));
    expect(again).toEqual(first);
    const held = JSON.stringify(await readStoredKeys(getGate()));
    expect(held).toContain(key);
    const ofBody = await sha256Hex(`post ${path}\n{}`);
    expect(held).not.toContain(ofBody);
    expect([held.includes(first.secret_key), held.includes(first.id)]).toEqual([false, false]);
  });

  it('that can no longer be decrypted does not let the request run again', async () => {
    const [key, name] = [makeKey(), makeName()];
    await must(createGroup(key, name));
    const rotated = { ENCRYPTION_KEYS: JSON.stringify({ 9: 'another secret of at least 32 characters' }) };
    const again = await admin.post('/groups', { ...withKey(key, { name }), env: rotated });
    expect(readStatusAndCode(again)).toEqual([409, 'IdempotencyAnswerTooLarge']);
    expect(await countGroupsNamed(name)).toBe(1);
  });

  it('is not replayed after 24 hours, and deleted from the disk later', async () => {
    const { object, begin } = createLedger();
    await begin('first');
    await object.endKey(makeUse('first'), { state: 'kept', answer: 'sealed' });
    advanceClock(24 * 60 * 60_000 - 1000);
    expect(await begin('second')).toEqual({ state: 'kept', answer: 'sealed' });
    advanceClock(24 * 60 * 60_000 + 1000);
    expect(await begin('second')).toEqual({ state: 'begun' });
    await object.endKey(makeUse('second'), { state: 'kept', answer: 'sealed anew' });
    await runDurableObjectAlarm(object);
    expect(await begin('third')).toEqual({ state: 'kept', answer: 'sealed anew' });
    advanceClock(4 * 24 * 60 * 60_000);
    await runDurableObjectAlarm(object);
    expect([await readStoredKeys(object), await readAlarm(object)]).toEqual([[], null]);
  });
});

describe('the store of idempotency keys', () => {
  it('deletes the oldest keys by an alarm, and sets the alarm again for those that are left', async () => {
    const object = env.ORGANIZATION_GATE.getByName(makeKey());
    const begin = (requestId: string) =>
      object.admit({
        principalId: 'somebody',
        requestId,
        limits: { organization: 10, principal: 10 },
        once: { key: requestId, digests: ['same'] },
      });
    const keys = async () => (await readStoredKeys(object)).flat().map(({ key }) => key);
    stopClockAt(Date.UTC(2036, 0, 1, 12));
    await begin('first');
    stopClockAt(Date.UTC(2036, 0, 2, 12));
    await begin('second');
    expect(await readAlarm(object)).toBe(Date.UTC(2036, 0, 3));
    stopClockAt(Date.UTC(2036, 0, 3, 1));
    await runDurableObjectAlarm(object);
    expect(await keys()).toEqual(['second']);
    expect(await readAlarm(object)).toBe(Date.UTC(2036, 0, 4));
    stopClockAt(Date.UTC(2036, 0, 5, 1));
    await runDurableObjectAlarm(object);
    expect(await keys()).toEqual([]);
    expect(await readAlarm(object)).toBeNull();
  });

  it('sets the alarm for an external person’s keys by the oldest of them', async () => {
    const { object, begin } = createOutsiderLedger();
    stopClockAt(Date.UTC(2036, 0, 1, 12));
    await begin('first');
    stopClockAt(Date.UTC(2036, 0, 2, 12));
    await begin('second');
    expect(await readAlarm(object)).toBe(Date.UTC(2036, 0, 3));
  });

  it('keeps no more answers when it is full, but still knows which requests ran', async () => {
    const { object } = createLedger();
    const states = await runInDurableObject(object, (_, { storage }) => {
      const full = new IdempotencyKeys(storage.sql, 0);
      full.begin(makeUse('first'), 0);
      full.end(makeUse('first'), { state: 'kept', answer: 'sealed' });
      return full.begin(makeUse('second'), 0);
    });
    expect(states).toEqual({ state: 'not_kept' });
  });
});

describe('an idempotency key in use', () => {
  it('is held for as long as its request extends the lease', async () => {
    const { object, begin } = createLedger();
    await begin('first');
    advanceClock(50_000);
    await object.extendKey(makeUse('first'));
    advanceClock(100_000);
    expect(await begin('second')).toMatchObject({ state: 'in_use' });
    advanceClock(111_000);
    expect(await begin('second')).toEqual({ state: 'begun' });
  });

  it('belongs only to the next request once its lease has ended', async () => {
    const { object, begin } = createLedger();
    await begin('slow');
    advanceClock(61_000);
    await begin('next');
    await object.extendKey(makeUse('slow'));
    await object.endKey(makeUse('slow'), { state: 'kept', answer: 'of the slow one' });
    await object.endKey(makeUse('slow'), { state: 'undone' });
    expect(await begin('third')).toMatchObject({ state: 'in_use' });
    await object.endKey(makeUse('next'), { state: 'kept', answer: 'of the next one' });
    await object.endKey(makeUse('next'), { state: 'undone' });
    expect(await begin('third')).toEqual({ state: 'kept', answer: 'of the next one' });
  });

  it('is not given to a different request, even after its lease has ended', async () => {
    const { begin } = createLedger();
    await begin('first');
    advanceClock(61_000);
    expect(await begin('second', { digests: ['another'] })).toEqual({ state: 'reused' });
  });

  it('is not used up by a request that a rate limit refuses', async () => {
    const { object, begin } = createOutsiderLedger();
    expect(await object.take(10)).toMatchObject({ limit: { allowed: true }, key: null });
    expect(await object.take(0, makeUse('first'))).toMatchObject({ key: null });
    expect(await begin('second')).toEqual({ state: 'begun' });
    const refused = { principalId: 'somebody', requestId: 'first', limits: { organization: 0, principal: 10 } };
    const once = { key: makeKey(), digests: ['same'] };
    expect(await getGate().admit({ ...refused, once })).toMatchObject({ key: null });
    const admitted = { ...refused, requestId: 'second', limits: { organization: 1e9, principal: 1e9 }, once };
    expect(await getGate().admit(admitted)).toMatchObject({ key: { state: 'begun' } });
    await getGate().withdraw(admitted);
    expect(await getGate().admit({ ...admitted, requestId: 'third' })).toMatchObject({ key: { state: 'begun' } });
  });
});

describe('rows of a company’s tables', () => {
  let owner: Company;
  beforeAll(async () => {
    owner = await aProvisionedCompany();
  });

  it('are inserted once when the request is repeated under an idempotency key', async () => {
    const id = await createTable(owner.as, 'notes', [column('text')]);
    const insert = (key: string) =>
      owner.as.post(`/v1/managed-tables/${id}/data`, withKey(key, { rows: [{ text: 'new' }] }));
    const key = makeKey();
    const [first, again] = [await insert(key), await insert(key)];
    expect([first.status, again.status, again.body, isReplay(again)]).toEqual([201, 201, first.body, true]);
    expect((await must(owner.as.get(`/v1/managed-tables/${id}/data`))).total).toBe(1);
  });
});

/** What an isolate asks of others: the control database and the gate. */
const INTERRUPTED_METHODS = ['batch', 'all', 'raw', 'run', 'first', 'admit', 'extendKey', 'endKey', 'withdraw'];

/** An environment whose isolate is lost at such a call, the first or a later one: before it is made, or before its answer comes. */
function createLosingEnv({ at, isDone }: { at: number; isDone: boolean }): {
  env: Record<string, string>;
  lost: Promise<void>;
} {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  let calls = 0;
  const watched = <T extends object>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          const ask = () => Reflect.apply(value, target, given);
          if (['prepare', 'bind'].includes(String(name))) return watched(ask());
          if (!INTERRUPTED_METHODS.includes(String(name))) return ask();
          calls += 1;
          if (calls < at) return ask();
          if (calls === at) void Promise.resolve(isDone && ask()).then(() => resolve());
          return never;
        };
      },
    });
  const changed = {
    CONTROL_DB: { withSession: (constraint: string) => watched(env.CONTROL_DB.withSession(constraint)) },
    ORGANIZATION_GATE: { getByName: (name: string) => watched(env.ORGANIZATION_GATE.getByName(name)) },
  };
  return { env: changed as unknown as Record<string, string>, lost };
}
