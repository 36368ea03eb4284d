import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { IdempotencyKeys, type KeyedRequest } from '../../src/objects/idempotency-keys.ts';
import { computeSha256Hex } from '../../src/platform/secrets.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createShareContext, signInOutsider } from '../share-portal/support.ts';
import { type ApiResponse, type Caller, callApi, type RequestOptions } from '../support/api.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, runSql, sendDuringRace } from '../support/race.ts';
import {
  createAllowedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  type ServiceAccount,
  storePolicy,
} from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

let createdCount = 0;
const makeKey = () => `key-${++createdCount}`;
const makeName = () => `Readers ${++createdCount}`;
const makeKeyedRequest = (key: string, json?: unknown): RequestOptions => ({
  headers: { 'idempotency-key': key },
  ...(json !== undefined && { json }),
});
const createGroup = (key: string, name: string, as = admin) => as.post('/groups', makeKeyedRequest(key, { name }));
const countGroupsNamed = (name: string) => countRows('groups where company_id = ? and name = ?', company.id, name);
const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotency-replayed') === 'true';
const makeConsoleGroup = (name: string) => ({
  name,
  slug: `console-${createdCount}`,
  description: 'Who reads what is sold',
});
const makeBinding = ({ id, accountId }: ServiceAccount): RequestOptions => ({
  json: { principal_type: 'service_account', principal_id: id, account_id: accountId },
});
const getGate = () => env.ORGANIZATION_GATE.getByName(company.id);

describe('a request under an idempotency key', () => {
  it('is executed once, and its repetition gets the same answer', async () => {
    const [key, name] = [makeKey(), makeName()];
    const first = await createGroup(key, name);
    const repeatedAnswer = await createGroup(key, name);
    expect(first.status).toBe(201);
    expect([isReplay(first), isReplay(repeatedAnswer)]).toEqual([false, true]);
    expect(repeatedAnswer).toMatchObject({ status: 201, body: first.body });
    expect(repeatedAnswer.headers.get('location')).toBe(`/groups/${first.body.id}`);
    expect(repeatedAnswer.headers.get('x-correlation-id')).not.toBe(first.headers.get('x-correlation-id'));
    expect(await countGroupsNamed(name)).toBe(1);
  });

  it('is executed once for a user, too, and without a body', async () => {
    const { id } = await createAllowedUser(company);
    const deactivateUser = (key: string) => company.as.post(`/v1/users/${id}/deactivate`, makeKeyedRequest(key));
    const key = makeKey();
    const first = await expectSuccess(deactivateUser(key));
    await expectSuccess(company.as.post(`/v1/users/${id}/activate`));
    const repeatedAnswer = await deactivateUser(key);
    expect([repeatedAnswer.status, repeatedAnswer.body, isReplay(repeatedAnswer)]).toEqual([200, first, true]);
    expect((await expectSuccess(admin.get(`/users/${id}`))).is_active).toBe(true);
  });

  it('is executed once with a body that its handler reads by itself', async () => {
    const key = makeKey();
    const concept = { name: makeName(), type: 'entity_hint', description: 'Who reads.' };
    const importDocument = () =>
      company.as.post(
        '/api/v1/domain-knowledge/import',
        makeKeyedRequest(key, { format: 'data-console-knowledge/1', concepts: [concept] }),
      );
    const firstAnswer = await importDocument();
    expect([firstAnswer.status, firstAnswer.body.errors]).toEqual([200, []]);
    const repeatedAnswer = await importDocument();
    expect([repeatedAnswer.body, isReplay(repeatedAnswer)]).toEqual([firstAnswer.body, true]);
  });

  it('is replayed to another key of the same principal, and executed anew for another principal', async () => {
    const [key, name] = [makeKey(), makeName()];
    const serviceAccount = await createAllowedAccount(company, makeAllow('groups:*'));
    const other = createSignedCaller(
      await expectSuccess(admin.post(`/service-accounts/${serviceAccount.id}/keys`, { json: {} })),
    );
    await expectSuccess(createGroup(key, name, serviceAccount.as));
    expect(isReplay(await createGroup(key, name, other))).toBe(true);
    const otherAnswer = await createGroup(key, makeName());
    expect([otherAnswer.status, isReplay(otherAnswer)]).toEqual([201, false]);
  });

  it.each<[title: string, repeat: (key: string, name: string) => Promise<ApiResponse>]>([
    ['another body', (key, name) => createGroup(key, `${name} `)],
    [
      'the same body in other bytes',
      (key, name) => {
        const { headers } = makeKeyedRequest(key);
        const body = JSON.stringify({ name }, null, 1);
        return admin.post('/groups', { headers: { ...headers, 'content-type': 'application/json' }, body });
      },
    ],
    ['another query', (key, name) => admin.post('/groups?x=1', makeKeyedRequest(key, { name }))],
    ['another path', (key, name) => admin.post('/accounts', makeKeyedRequest(key, { name }))],
  ])('is refused when its key is reused with %s', async (_what, repeatRequest) => {
    const [key, name] = [makeKey(), makeName()];
    await expectSuccess(createGroup(key, name));
    expect(readStatusAndCode(await repeatRequest(key, name))).toEqual([422, 'IdempotencyKeyReused']);
    expect(isReplay(await createGroup(key, name))).toBe(true);
  });

  it('that is refused after its authorization gets the same refusal when it is repeated', async () => {
    const name = makeName();
    const { id } = await expectSuccess(createGroup(makeKey(), name));
    const keys = { invalid: makeKey(), taken: makeKey(), malformed: makeKey() };
    const malformedRequest = {
      headers: { 'idempotency-key': keys.malformed, 'content-type': 'application/json' },
      body: '{',
    };
    const sendAllRequests = async () => [
      await admin.post('/groups', makeKeyedRequest(keys.invalid, { name: 5 })),
      await createGroup(keys.taken, name),
      await company.as.post('/v1/groups', malformedRequest),
    ];
    const first = await sendAllRequests();
    expect(first.map(readStatusAndCode)).toEqual([
      [422, 'ValidationError'],
      [409, 'AlreadyExists'],
      [400, 'INVALID_JSON'],
    ]);
    await expectSuccess(admin.delete(`/groups/${id}`));
    const repeatedAnswers = await sendAllRequests();
    expect(repeatedAnswers.map(isReplay)).toEqual([true, true, true]);
    expect(repeatedAnswers.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
  });

  it('that is not authorized leaves its key unused', async () => {
    const [key, name] = [makeKey(), makeName()];
    const serviceAccount = await createAllowedAccount(company, makeAllow('groups:ListGroups'));
    expect((await createGroup(key, name, serviceAccount.as)).status).toBe(403);
    const policy = await storePolicy(company, [makeAllow('groups:*')]);
    await expectSuccess(
      admin.post(`/groups/${await createPolicyGroup(company, policy)}/bindings`, makeBinding(serviceAccount)),
    );
    expect((await createGroup(key, name, serviceAccount.as)).status).toBe(201);
  });

  it.each<[who: string, aCaller: () => Promise<Caller>, path: string, status: number]>([
    ['a program', async () => admin, '/groups', 201],
    [
      'an external person',
      async () => {
        await createShareContext(company, [], ['refused@partner.test']);
        return (await signInOutsider(company, 'refused@partner.test')).as;
      },
      '/api/v1/share-auth/logout',
      200,
    ],
  ])(
    'that the IP rate limiter refuses, or fails on, leaves its key unused: from %s',
    async (_who, createTestCaller, path, status) => {
      const as = await createTestCaller();
      const limit = { limit: 1, remaining: 0, resetAt: Date.now() + 1000, allowed: false };
      const limiters: [status: number, take: () => Promise<unknown>][] = [
        [429, async () => limit],
        [500, () => Promise.reject(new Error('away'))],
      ];
      for (const [refusedWith, take] of limiters) {
        const requestOptions = makeKeyedRequest(makeKey(), { name: makeName() });
        const limitingEnv = { IP_LIMITER: { getByName: () => ({ take }) } };
        const refusedAnswer = await as.post(path, {
          ...requestOptions,
          env: limitingEnv as unknown as Record<string, string>,
        });
        expect(refusedAnswer.status).toBe(refusedWith);
        const next = await as.post(path, requestOptions);
        expect([next.status, isReplay(next)]).toEqual([status, false]);
      }
    },
  );

  it('is replayed only to callers who are still authorized', async () => {
    const [key, name] = [makeKey(), makeName()];
    const serviceAccount = await createAllowedAccount(company, makeAllow('groups:*'));
    await expectSuccess(createGroup(key, name, serviceAccount.as));
    await expectSuccess(admin.delete(`/service-accounts/${serviceAccount.id}/keys/${serviceAccount.keyId}`));
    expect((await createGroup(key, name, serviceAccount.as)).status).toBe(401);
    const other = await createAllowedUser(company, { can: ['groups:create'] });
    const repeatRequest = () => other.as.post('/v1/groups', makeKeyedRequest(key, makeConsoleGroup(`${name} too`)));
    expect((await repeatRequest()).status).toBe(201);
    await runSql('delete from group_bindings where company_id = ?1 and principal_id = ?2', company.id, other.id);
    expect((await repeatRequest()).status).toBe(403);
  });

  it.each<[surface: string, by: () => Caller, path: string]>([
    ['organization API', () => admin, '/groups'],
    ['console', () => company.as, '/v1/groups'],
    ['managed tables', () => company.as, '/v1/managed-tables'],
    ['domain knowledge', () => company.as, '/api/v1/domain-knowledge/concepts'],
    ['sharing', () => company.as, '/api/v1/share-contexts'],
  ])('is refused with the error codes and the language of the %s', async (surface, getCaller, path) => {
    const [keptKey, lostKey] = [makeKey(), makeKey()];
    const postGroup = (key: string, json: object = {}, env?: Record<string, string>) =>
      getCaller().post(path, { ...makeKeyedRequest(key, json), env });
    expect((await postGroup(keptKey)).status).toBe(422);
    const losingEnv = createLosingEnv({ callNumber: 2, isDone: false });
    void postGroup(lostKey, { name: 'At work' }, losingEnv.env).catch(() => {});
    await losingEnv.lossPromise;
    const findWording = (code: string) =>
      surface === 'organization API' ? code : code.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase();
    const answers = [
      await postGroup(keptKey, { name: 'Another' }),
      await postGroup(lostKey, { name: 'At work' }),
      await postGroup(
        keptKey,
        {},
        { ENCRYPTION_KEYS: JSON.stringify({ 9: 'another secret of at least 32 characters' }) },
      ),
    ];
    expect(answers.map(readStatusAndCode)).toEqual([
      [422, findWording('IdempotencyKeyReused')],
      [409, findWording('IdempotencyKeyInUse')],
      [409, findWording('IdempotencyAnswerTooLarge')],
    ]);
    const portugueseFlags = answers.map(({ body }) => /idempotência|requisição/.test(body.error));
    expect(portugueseFlags).toEqual(Array(3).fill(surface === 'managed tables'));
  });

  it('runs again after a server error (500)', async () => {
    const [key, name] = [makeKey(), makeName()];
    const failingRequest = { ...makeKeyedRequest(key, { name }), env: createFailingEnv(/insert into "groups"/) };
    expect((await admin.post('/groups', failingRequest)).status).toBe(500);
    expect((await createGroup(key, name)).status).toBe(201);
  });
});

describe('an idempotency key', () => {
  it.each([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['with a space', 'a key'],
    ['outside ASCII', 'clé'],
  ])('that is %s is refused, once the caller is known to be authorized', async (_what, key) => {
    const refusedAnswer = await admin.post('/groups', makeKeyedRequest(key, { name: makeName() }));
    expect(readStatusAndCode(refusedAnswer)).toEqual([422, 'ValidationError']);
    expect(JSON.stringify(refusedAnswer.body)).toContain('Idempotency-Key');
    const { as } = await createAllowedUser(company);
    expect((await as.post('/v1/groups', makeKeyedRequest(key, { name: makeName() }))).status).toBe(403);
    expect((await callApi('POST', '/v1/groups', makeKeyedRequest(key, { name: makeName() }))).status).toBe(401);
  });

  it('of 255 characters is accepted', async () => {
    expect((await createGroup('~'.repeat(255), makeName())).status).toBe(201);
  });

  it('on a multipart form is refused', async () => {
    const form = new FormData();
    form.append('files', new File(['a\n1'], 'a.csv'));
    const requestOptions = { ...makeKeyedRequest(makeKey()), body: form };
    const { status, body } = await company.as.post('/v1/managed-tables/upload', requestOptions);
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('Idempotency-Key')]);
  });

  it.each(['a key', 'k'.repeat(300)])(
    'is ignored on methods other than POST, and from unauthenticated callers: row %#',
    async (key) => {
      const { id } = await expectSuccess(createGroup(makeKey(), makeName()));
      const path = `/groups/${id}`;
      const name = makeName();
      for (let requestCount = 0; requestCount < 2; requestCount += 1) {
        const foundAnswer = await admin.get('/groups', makeKeyedRequest(key));
        const answerToPatch = await admin.patch(path, makeKeyedRequest(key, { name }));
        const answerToPut = await company.as.put(`/v1/groups/${id}`, makeKeyedRequest(key, { name }));
        const loginAnswer = await callApi('POST', '/v1/auth/login', makeKeyedRequest(key, {}));
        const answers = [foundAnswer, answerToPatch, answerToPut, loginAnswer];
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 422]);
        expect(answers.map(({ body }) => JSON.stringify(body).includes('Idempotency-Key'))).toEqual(
          Array(4).fill(false),
        );
        expect(answers.map(isReplay)).toEqual(Array(4).fill(false));
      }
      expect((await admin.delete(path, makeKeyedRequest(key))).status).toBe(204);
      expect((await admin.delete(path, makeKeyedRequest(key))).status).not.toBe(204);
    },
  );

  it('may be sent by pages of other origins, and these may read the header that marks a replay', async () => {
    const headers = { origin: 'https://console.test', 'access-control-request-method': 'POST' };
    const preflight = await callApi('OPTIONS', '/v1/groups', { headers });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Idempotency-Key');
    expect(preflight.headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed');
  });
});

describe('copies of a request under one key', () => {
  it('that arrive while the first copy runs are answered 409 with Retry-After', async () => {
    const [key, name] = [makeKey(), makeName()];
    let secondAnswer: ApiResponse | undefined;
    const first = await sendDuringRace(
      /insert into "groups"/,
      async () => {
        secondAnswer = await createGroup(key, name);
      },
      (racingEnv) => admin.post('/groups', { ...makeKeyedRequest(key, { name }), env: racingEnv }),
    );
    expect(first.status).toBe(201);
    expect(readStatusAndCode(secondAnswer as ApiResponse)).toEqual([409, 'IdempotencyKeyInUse']);
    expect(Number(secondAnswer?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(isReplay(await createGroup(key, name))).toBe(true);
  });

  it('are executed once when twenty arrive at once', async () => {
    const [key, name] = [makeKey(), makeName()];
    const answers = await Promise.all(Array.from({ length: 20 }, () => createGroup(key, name)));
    const createdAnswers = answers.filter((answer) => answer.status === 201);
    expect(createdAnswers.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(createdAnswers.map(({ body }) => body.id)).size).toBe(1);
    const otherAnswers = answers.filter((answer) => answer.status !== 201).map(readStatusAndCode);
    expect(new Set(otherAnswers.map(String))).toEqual(
      otherAnswers.length > 0 ? new Set(['409,IdempotencyKeyInUse']) : new Set(),
    );
    expect(await countGroupsNamed(name)).toBe(1);
  });

  it("run only after the first copy's lease has ended, at whichever call its isolate was lost", async () => {
    const outcomes: string[] = [];
    const createVisualization = (key: string, name: string, env?: Record<string, string>) =>
      company.as.post('/v1/visualizations', {
        ...makeKeyedRequest(key, { name, sql: 'SELECT 1' }),
        env,
      });
    const countVisualizations = (name: string) =>
      countRows('visualizations where company_id = ? and name = ?', company.id, name);
    for (const isDone of [false, true]) {
      for (let at = 1, isOver = false; !isOver; at += 1) {
        const [key, name] = [makeKey(), makeName()];
        const { env: losingEnv, lossPromise } = createLosingEnv({ callNumber: at, isDone });
        forgetPrincipals();
        const first = createVisualization(key, name, losingEnv).catch(() => {});
        isOver = await Promise.race([first.then(() => true), lossPromise.then(() => false)]);
        if (isOver) continue;
        const countBefore = await countVisualizations(name);
        const secondAnswer = await createVisualization(key, name);
        expect([at, await countVisualizations(name)]).toEqual([at, secondAnswer.status === 409 ? countBefore : 1]);
        outcomes.push([countBefore, ...readStatusAndCode(secondAnswer), isReplay(secondAnswer)].join(' '));
        advanceClock(61_000);
        const next = await createVisualization(key, name);
        expect([at, next.status, isReplay(next)]).toEqual([at, 201, secondAnswer.status === 201]);
        resetClock();
      }
    }
    expect([...new Set(outcomes)].toSorted()).toEqual([
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
    const first = await expectSuccess(createGroup(key, name));
    await evictDurableObject(getGate());
    const repeatedAnswer = await createGroup(key, name);
    expect([repeatedAnswer.body, isReplay(repeatedAnswer)]).toEqual([first, true]);
  });

  it('are refused with 503 while the Durable Object that keeps keys is unavailable', async () => {
    const unavailableGate = {
      ORGANIZATION_GATE: { getByName: () => ({ admit: () => Promise.reject(new Error('away')) }) },
    };
    const requestOptions = {
      ...makeKeyedRequest(makeKey(), { name: makeName() }),
      env: unavailableGate as unknown as Record<string, string>,
    };
    const answer = await company.as.post('/v1/groups', requestOptions);
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
        return (...callArguments: unknown[]) => {
          calls.push(String(name));
          return Reflect.apply(method as never, target, callArguments);
        };
      },
    });
    const watchedEnv = { ORGANIZATION_GATE: { getByName: () => watchedGate } } as unknown as Record<string, string>;
    const [key, name] = [makeKey(), makeName()];
    const makeRequest = () => ({ ...makeKeyedRequest(key, makeConsoleGroup(name)), env: watchedEnv });
    await expectSuccess(company.as.post('/v1/groups', makeRequest()));
    await expectSuccess(company.as.post('/v1/groups', makeRequest()));
    expect(calls.filter((call) => !call.endsWith('Change'))).toEqual(['admit', 'endKey', 'admit']);
  });
});

const makeKeyUse = (requestId: string) => ({
  senderId: 'somebody',
  key: 'key',
  digests: ['same'],
  requestId,
});

/** Creates an unused store of idempotency keys, with a function that begins a request. */
function createKeyStore() {
  const gateObject = env.ORGANIZATION_GATE.getByName(makeKey());
  const limits = { organization: 100, principal: 100 };
  const begin = async (requestId: string, keyedRequest: Partial<KeyedRequest> = {}) => {
    const { senderId: principalId, ...keyed } = makeKeyUse(requestId);
    const verdict = await gateObject.admit({ principalId, requestId, limits, once: { ...keyed, ...keyedRequest } });
    return verdict.refused === null ? verdict.key : null;
  };
  return { object: gateObject, begin };
}

/** Creates an unused store of an outsider's idempotency keys, with a function that begins a request. */
const createOutsiderKeyStore = () => {
  const object = env.TOKEN_LIMITER.getByName(makeKey());
  return { object, begin: async (requestId: string) => (await object.take(100, makeKeyUse(requestId))).key };
};

const readAlarm = (object: DurableObjectStub) => runInDurableObject(object, (_, { storage }) => storage.getAlarm());

/** Reads everything that the Durable Object stores about keys, by table. */
const readStoredKeys = (object: DurableObjectStub) =>
  runInDurableObject(object, (_, { storage }) => {
    const tables = storage.sql.exec<{ name: string }>(
      "SELECT name FROM pragma_table_list WHERE name GLOB 'idempotency_*'",
    );
    return tables.toArray().map(({ name }) => storage.sql.exec<{ key: string }>(`SELECT * FROM ${name}`).toArray());
  });

describe('the stored answer of an idempotency key', () => {
  it('is stored without readable secrets, and without a plain hash of the request', async () => {
    const { id } = await expectSuccess(
      admin.post('/service-accounts', { json: { name: 'Robot', account_id: company.accountId } }),
    );
    const path = `/service-accounts/${id}/keys`;
    const key = makeKey();
    const first = await expectSuccess(admin.post(path, makeKeyedRequest(key, {})));
    const repeatedAnswer = await expectSuccess(admin.post(path, makeKeyedRequest(key, {})));
    expect(repeatedAnswer).toEqual(first);
    const storedKeys = JSON.stringify(await readStoredKeys(getGate()));
    expect(storedKeys).toContain(key);
    const bodyHash = await computeSha256Hex(`post ${path}\n{}`);
    expect(storedKeys).not.toContain(bodyHash);
    expect([storedKeys.includes(first.secret_key), storedKeys.includes(first.id)]).toEqual([false, false]);
  });

  it('that can no longer be decrypted does not let the request run again', async () => {
    const [key, name] = [makeKey(), makeName()];
    await expectSuccess(createGroup(key, name));
    const rotatedEnv = { ENCRYPTION_KEYS: JSON.stringify({ 9: 'another secret of at least 32 characters' }) };
    const repeatedAnswer = await admin.post('/groups', { ...makeKeyedRequest(key, { name }), env: rotatedEnv });
    expect(readStatusAndCode(repeatedAnswer)).toEqual([409, 'IdempotencyAnswerTooLarge']);
    expect(await countGroupsNamed(name)).toBe(1);
  });

  it('is not replayed after 24 hours, and deleted from the disk later', async () => {
    const { object, begin } = createKeyStore();
    await begin('first');
    await object.endKey(makeKeyUse('first'), { state: 'kept', answer: 'sealed' });
    advanceClock(24 * 60 * 60_000 - 1000);
    expect(await begin('second')).toEqual({ state: 'kept', answer: 'sealed' });
    advanceClock(24 * 60 * 60_000 + 1000);
    expect(await begin('second')).toEqual({ state: 'begun' });
    await object.endKey(makeKeyUse('second'), { state: 'kept', answer: 'sealed anew' });
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
    const beginRequest = (requestId: string) =>
      object.admit({
        principalId: 'somebody',
        requestId,
        limits: { organization: 10, principal: 10 },
        once: { key: requestId, digests: ['same'] },
      });
    const listKeys = async () => (await readStoredKeys(object)).flat().map(({ key }) => key);
    stopClockAt(Date.UTC(2036, 0, 1, 12));
    await beginRequest('first');
    stopClockAt(Date.UTC(2036, 0, 2, 12));
    await beginRequest('second');
    expect(await readAlarm(object)).toBe(Date.UTC(2036, 0, 3));
    stopClockAt(Date.UTC(2036, 0, 3, 1));
    await runDurableObjectAlarm(object);
    expect(await listKeys()).toEqual(['second']);
    expect(await readAlarm(object)).toBe(Date.UTC(2036, 0, 4));
    stopClockAt(Date.UTC(2036, 0, 5, 1));
    await runDurableObjectAlarm(object);
    expect(await listKeys()).toEqual([]);
    expect(await readAlarm(object)).toBeNull();
  });

  it('sets the alarm for an external viewer’s keys by the oldest of them', async () => {
    const { object, begin } = createOutsiderKeyStore();
    stopClockAt(Date.UTC(2036, 0, 1, 12));
    await begin('first');
    stopClockAt(Date.UTC(2036, 0, 2, 12));
    await begin('second');
    expect(await readAlarm(object)).toBe(Date.UTC(2036, 0, 3));
  });

  it('keeps no more answers when it is full, but still knows which requests were executed', async () => {
    const { object } = createKeyStore();
    const keyStates = await runInDurableObject(object, (_, { storage }) => {
      const fullStore = new IdempotencyKeys(storage.sql, 0);
      fullStore.begin(makeKeyUse('first'), 0);
      fullStore.end(makeKeyUse('first'), { state: 'kept', answer: 'sealed' });
      return fullStore.begin(makeKeyUse('second'), 0);
    });
    expect(keyStates).toEqual({ state: 'not_kept' });
  });
});

describe('an idempotency key in use', () => {
  it('is held for as long as its request extends the lease', async () => {
    const { object, begin } = createKeyStore();
    await begin('first');
    advanceClock(50_000);
    await object.extendKey(makeKeyUse('first'));
    advanceClock(100_000);
    expect(await begin('second')).toMatchObject({ state: 'in_use' });
    advanceClock(111_000);
    expect(await begin('second')).toEqual({ state: 'begun' });
  });

  it('belongs only to the next request once its lease has ended', async () => {
    const { object, begin } = createKeyStore();
    await begin('slow');
    advanceClock(61_000);
    await begin('next');
    await object.extendKey(makeKeyUse('slow'));
    await object.endKey(makeKeyUse('slow'), { state: 'kept', answer: 'of the slow one' });
    await object.endKey(makeKeyUse('slow'), { state: 'undone' });
    expect(await begin('third')).toMatchObject({ state: 'in_use' });
    await object.endKey(makeKeyUse('next'), { state: 'kept', answer: 'of the next one' });
    await object.endKey(makeKeyUse('next'), { state: 'undone' });
    expect(await begin('third')).toEqual({ state: 'kept', answer: 'of the next one' });
  });

  it('is not given to a different request, even after its lease has ended', async () => {
    const { begin } = createKeyStore();
    await begin('first');
    advanceClock(61_000);
    expect(await begin('second', { digests: ['another'] })).toEqual({ state: 'reused' });
  });

  it('is not used up by a request that a rate limit refuses', async () => {
    const { object, begin } = createOutsiderKeyStore();
    expect(await object.take(10)).toMatchObject({ limit: { allowed: true }, key: null });
    expect(await object.take(0, makeKeyUse('first'))).toMatchObject({ key: null });
    expect(await begin('second')).toEqual({ state: 'begun' });
    const refusedAdmission = {
      principalId: 'somebody',
      requestId: 'first',
      limits: { organization: 0, principal: 10 },
    };
    const keyedRequest = { key: makeKey(), digests: ['same'] };
    expect(await getGate().admit({ ...refusedAdmission, once: keyedRequest })).toMatchObject({ key: null });
    const acceptedAdmission = {
      ...refusedAdmission,
      requestId: 'second',
      limits: { organization: 1e9, principal: 1e9 },
      once: keyedRequest,
    };
    expect(await getGate().admit(acceptedAdmission)).toMatchObject({ key: { state: 'begun' } });
    await getGate().withdraw(acceptedAdmission);
    expect(await getGate().admit({ ...acceptedAdmission, requestId: 'third' })).toMatchObject({
      key: { state: 'begun' },
    });
  });
});

const owner = await createProvisionedCompany();

describe('rows of a company’s tables', () => {
  it('are inserted once when the request is repeated under an idempotency key', async () => {
    const id = await createTable(owner.as, 'notes', [makeColumn('text')]);
    const insertRow = (key: string) =>
      owner.as.post(`/v1/managed-tables/${id}/data`, makeKeyedRequest(key, { rows: [{ text: 'new' }] }));
    const key = makeKey();
    const [first, again] = [await insertRow(key), await insertRow(key)];
    expect([first.status, again.status, again.body, isReplay(again)]).toEqual([201, 201, first.body, true]);
    expect((await expectSuccess(owner.as.get(`/v1/managed-tables/${id}/data`))).total).toBe(1);
  });
});

/** Methods by which an isolate calls the control database and the gate. */
const REMOTE_METHODS = ['batch', 'all', 'raw', 'run', 'first', 'admit', 'extendKey', 'endKey', 'withdraw'];

/**
 * Creates an environment whose isolate is lost at the given call: before the call is made, or (`isDone`) before its answer
 * arrives.
 */
function createLosingEnv({ callNumber, isDone }: { callNumber: number; isDone: boolean }): {
  env: Record<string, string>;
  lossPromise: Promise<void>;
} {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const unsettledPromise = new Promise<never>(() => {});
  let callCount = 0;
  const watchCalls = <T extends object>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...callArguments: unknown[]) => {
          const callOriginal = () => Reflect.apply(value, target, callArguments);
          if (['prepare', 'bind'].includes(String(name))) return watchCalls(callOriginal());
          if (!REMOTE_METHODS.includes(String(name))) return callOriginal();
          callCount += 1;
          if (callCount < callNumber) return callOriginal();
          if (callCount === callNumber) void Promise.resolve(isDone && callOriginal()).then(() => resolve());
          return unsettledPromise;
        };
      },
    });
  const watchedBindings = {
    CONTROL_DB: { withSession: (constraint: string) => watchCalls(env.CONTROL_DB.withSession(constraint)) },
    ORGANIZATION_GATE: { getByName: (name: string) => watchCalls(env.ORGANIZATION_GATE.getByName(name)) },
  };
  return { env: watchedBindings as unknown as Record<string, string>, lossPromise: lost };
}
