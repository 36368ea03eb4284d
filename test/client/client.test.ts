import { describe, expect, it, vi } from 'vitest';
import {
  type ApiError,
  type ClientOptions,
  createClient,
  endpointOf,
  fieldErrors,
  oneOf,
  withKey,
  withToken,
} from '../../client/client.ts';
import { SURFACES } from '../../src/app.ts';
import { fillPath } from '../../src/http/paths.ts';
import { isTokenAccess } from '../../src/http/request-checks.ts';
import { BASE_URL } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createWorkerFetch } from './worker-fetch.ts';

const createTestClient = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: BASE_URL, fetch: createWorkerFetch(), ...options });

/** A method of the client for a route that is known only at run time. */
type SendMethod = (path: string) => Promise<unknown>;

const company = await createOwnedCompany();

describe('the client', () => {
  it('signs in and calls with the token', async () => {
    const { owner, slug } = company;
    const answer = await createTestClient().post('/v1/auth/login', {
      body: { company_slug: slug, email: owner.email, password: owner.password },
    });
    if (!('token' in answer)) throw new Error('A second factor is asked for.');
    const { user } = await createTestClient({ credential: withToken(() => answer.token) }).get('/v1/auth/me');
    expect(user?.email).toBe(owner.email);
  });

  it('signs path, query and body of requests with a key', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey) });
    const { id } = await keyClient.post('/accounts', { body: { name: 'São Paulo / Rio' } });
    const account = await keyClient.patch('/accounts/{id}', {
      params: { id },
      body: { metadata: { region: 'sa east' } },
    });
    expect(account).toMatchObject({ metadata: { region: 'sa east' } });
    const { results, total } = await keyClient.get('/accounts', { query: { quantity: 1, order_by: '-name' } });
    expect([total, results[0]?.name]).toEqual([2, 'default']);
    expect(await keyClient.delete('/accounts/{id}', { params: { id } })).toBeUndefined();
  });

  it('reads every record of every kind of list, page after page', async () => {
    const [robot, person] = [
      createTestClient({ credential: withKey(company.apiKey) }),
      createTestClient({ credential: withToken(company.token) }),
    ];
    for (const name of ['one', 'two', 'three'])
      await robot.post('/groups', { body: { name, description: 'Of a list.' } });
    const listNames = async (list: AsyncIterable<{ name: string }>) =>
      (await Array.fromAsync(list)).map(({ name }) => name);
    const groupNames = await listNames(robot.list('/groups', { query: { quantity: 100 } }));
    expect(groupNames).toEqual(expect.arrayContaining(['one', 'two', 'three']));
    expect(await listNames(robot.list('/groups', { query: { quantity: 2 } }))).toEqual(groupNames);
    expect((await listNames(person.list('/v1/groups', { query: { per_page: 2 } }))).toSorted()).toEqual(
      groupNames.toSorted(),
    );
    expect(await listNames(person.list('/v1/dashboards'))).toEqual([]);
    // Of one page: no other can be asked for.
    expect(await Array.fromAsync(person.list('/v1/auth/sessions'))).toContainEqual(
      expect.objectContaining({ current: true }),
    );
  });

  it('reads each row once while others are deleted and inserted', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    await tokenClient.post('/v1/managed-tables/provision');
    const columns = [{ name: 'n', display_name: 'N', type: 'integer' as const, nullable: false }];
    const { _id: id } = await tokenClient.post('/v1/managed-tables', { body: { display_name: 'listed', columns } });
    const rows = Array.from({ length: 5 }, (_, n) => ({ n }));
    await tokenClient.post('/v1/managed-tables/{id}/data', { params: { id }, body: { rows } });
    type Row = { id: string; n?: number };
    const listNumbers = async (onRow: (row: Row) => Promise<unknown>) => {
      const numbers: unknown[] = [];
      const input = { params: { id }, query: { per_page: 2, sort_by: 'n' } };
      for await (const row of tokenClient.list('/v1/managed-tables/{id}/data', input)) {
        numbers.push(row.n);
        await onRow(row as Row);
      }
      return numbers;
    };
    const deleteSecond = async ({ id: rowId, n }: Row) =>
      n === 1 && tokenClient.delete('/v1/managed-tables/{id}/data/{rowId}', { params: { id, rowId } });
    expect(await listNumbers(deleteSecond)).toEqual([0, 1, 2, 3, 4]);
    const insertBefore = async ({ n }: Row) =>
      n === 2 && tokenClient.post('/v1/managed-tables/{id}/data', { params: { id }, body: { rows: [{ n: -1 }] } });
    expect(await listNumbers(insertBefore)).toEqual([0, 2, 3, 4]);
  });

  it('yields an audit record once that newer records have moved to the next page', async () => {
    const { token } = await createOwnedCompany();
    const tokenClient = createTestClient({ credential: withToken(token) });
    const query = { action: 'groups:list', per_page: 2 };
    /** Makes requests that are recorded, and waits until the list has this many records. */
    const addRecords = async (requestCount: number, total: number) => {
      for (let sentCount = 0; sentCount < requestCount; sentCount += 1) await tokenClient.get('/v1/groups');
      const countRecords = async () => (await tokenClient.get('/v1/audit-events', { query })).total;
      await vi.waitFor(async () => expect(await countRecords()).toBe(total), { timeout: 15_000, interval: 100 });
    };
    await addRecords(4, 4);
    const ids: string[] = [];
    for await (const { _id: id } of tokenClient.list('/v1/audit-events', { query })) {
      ids.push(id);
      if (ids.length === 2) await addRecords(1, 5);
    }
    expect([ids.length, new Set(ids).size]).toEqual([4, 4]);
  });

  it('reads every resource of SCIM lists, page after page', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey) });
    const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
    for (const name of ['one', 'two', 'three'])
      await keyClient.post('/scim/v2/Users', { body: { schemas, userName: `scim-${name}@example.com` } });
    const listUserNames = async (query: { startIndex?: number; count?: number }) =>
      (await Array.fromAsync(keyClient.list('/scim/v2/Users', { query }))).map(({ userName }) => userName);
    const userNames = await listUserNames({});
    expect(userNames).toEqual(expect.arrayContaining(['scim-one@example.com', 'scim-three@example.com']));
    expect(await listUserNames({ count: 2 })).toEqual(userNames);
    expect(await listUserNames({ startIndex: 2, count: 1 })).toEqual(userNames.slice(1));
    const { Resources: schemaResources } = await keyClient.get('/scim/v2/Schemas');
    expect(await Array.fromAsync(keyClient.list('/scim/v2/Schemas'))).toEqual(schemaResources);
  });

  it('throws where a path does not answer a list', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    // @ts-expect-error: no list.
    await expect(Array.fromAsync(tokenClient.list('/v1/auth/me'))).rejects.toThrow(TypeError);
  });

  it('begins at the page that is asked for, once', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey) });
    for (const name of ['Account 1', 'Account 2']) await keyClient.post('/accounts', { body: { name } });
    const accounts = await Array.fromAsync(keyClient.list('/accounts'));
    const query = { page: 2, quantity: accounts.length - 1 };
    expect(await Array.fromAsync(keyClient.list('/accounts', { query }))).toEqual(accounts.slice(-1));
  });

  it('throws an error with a message for each field', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    const body = { name: '', slug: 'a b', description: 'Of nothing but a test.' };
    const error = await tokenClient.post('/v1/groups', { body }).catch((caughtError) => caughtError);
    expect(fieldErrors(error)).toEqual({
      name: 'must not be empty',
      slug: 'must be lower-case letters and digits, separated by single hyphens',
    });
    expect(fieldErrors(new Error('of something else'))).toEqual({});
  });

  it('neither repeats a sign-in nor waits 21 seconds after a 429', async () => {
    let requestCount = 0;
    const answerRateLimited = (async () => {
      requestCount += 1;
      return Response.json({ error: 'RateLimitExceeded' }, { status: 429, headers: { 'retry-after': '21' } });
    }) as typeof fetch;
    const body = { company_slug: 'a', email: 'a@b.co', password: 'p' };
    await expect(createTestClient({ fetch: answerRateLimited }).post('/v1/auth/login', { body })).rejects.toMatchObject(
      {
        retryAfter: 21,
      },
    );
    const tokenClient = createTestClient({ fetch: answerRateLimited, credential: withToken('t') });
    await expect(tokenClient.get('/v1/auth/me')).rejects.toMatchObject({ status: 429, retryAfter: 21 });
    expect(requestCount).toBe(2);
  });

  it('sends filters, lists and repeated parameters', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    const names = ['a,b', 'say "a"', 'b'];
    const columns = [{ name: 'name', display_name: 'Name', type: 'text' as const, nullable: true }];
    await tokenClient.post('/v1/managed-tables/provision');
    const { _id: id } = await tokenClient.post('/v1/managed-tables', { body: { display_name: 'names', columns } });
    await tokenClient.post('/v1/managed-tables/{id}/data', {
      params: { id },
      body: { rows: names.map((name) => ({ name })) },
    });
    const findNames = async (name: { in?: string; contains?: string[]; is_null?: boolean }) => {
      const query = { filter: { name }, sort_by: 'name', fields: 'name' };
      return (await tokenClient.get('/v1/managed-tables/{id}/data', { params: { id }, query })).records.map(
        (row) => row.name,
      );
    };
    expect(await findNames({ in: oneOf(names) })).toEqual(names.toSorted());
    expect(() => oneOf([])).toThrow(RangeError);
    expect(await findNames({ contains: ['a', '"'], is_null: false })).toEqual(['say "a"']);
  });

  it('calls every API with a key, which it exchanges for a token once until the token ends', async () => {
    const paths: string[] = [];
    const fetchFromWorker = createWorkerFetch();
    let remainingRefusalCount = 0;
    const recordAndSend = (async (input: RequestInfo, init?: RequestInit) => {
      const path = String(input).slice(BASE_URL.length);
      paths.push(path);
      if (path === '/v1/visualizations' && remainingRefusalCount-- > 0)
        return Response.json({ error: 'UNAUTHORIZED' }, { status: 401 });
      return fetchFromWorker(input, init);
    }) as typeof fetch;
    const countExchanges = () => paths.filter((path) => path === '/tokens').length;
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: recordAndSend });
    const [me, contexts, tables, accounts] = await Promise.all([
      keyClient.get('/v1/auth/me'),
      keyClient.get('/api/v1/share-contexts'),
      keyClient.get('/api/v1/domain-knowledge/concepts'),
      keyClient.get('/accounts'),
    ]);
    expect([me.user, contexts.total, tables.total, countExchanges()]).toEqual([null, 0, 0, 1]);
    expect(accounts.total).toBeGreaterThan(0);

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 530_000 });
    try {
      await keyClient.get('/v1/auth/me');
      expect(countExchanges()).toBe(1);
      vi.setSystemTime(Date.now() + 15_000);
      await keyClient.get('/v1/auth/me');
      expect(countExchanges()).toBe(2);
      remainingRefusalCount = 1;
      await keyClient.get('/v1/visualizations');
      expect(countExchanges()).toBe(3);
      remainingRefusalCount = 2;
      await expect(keyClient.get('/v1/visualizations')).rejects.toMatchObject({ status: 401 });
      expect(countExchanges()).toBe(4);
    } finally {
      vi.useRealTimers();
    }
    const wrongKeyClient = createTestClient({
      credential: withKey({ ...company.apiKey, secret_key: 'wrong' }),
      fetch: recordAndSend,
    });
    await expect(wrongKeyClient.get('/v1/auth/me')).rejects.toMatchObject({ status: 401, code: 'Unauthorized' });
  });

  it.each<[string, () => Promise<Response>]>([
    ['is not answered', () => Promise.reject(new TypeError('the line is dead'))],
    ['is answered 503', async () => Response.json({ error: 'Unavailable' }, { status: 503 })],
    ['is answered 429', async () => Response.json({}, { status: 429, headers: { 'retry-after': '0' } })],
  ])('exchanges a key again, signed anew, when the exchange %s', async (_, fail) => {
    const nonces: (string | null)[] = [];
    const fetchFromWorker = createWorkerFetch();
    const failFirstExchange = (async (input: RequestInfo, init?: RequestInit) => {
      if (String(input) !== `${BASE_URL}/tokens`) return fetchFromWorker(input, init);
      nonces.push(new Headers(init?.headers).get('x-nonce'));
      return nonces.length === 1 ? fail() : fetchFromWorker(input, init);
    }) as typeof fetch;
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: failFirstExchange });
    expect((await keyClient.get('/v1/auth/me')).user).toBeNull();
    expect([nonces.length, new Set(nonces).size]).toEqual([2, 2]);
  });

  it('repeats a failing exchange of a key once for all concurrent requests', async () => {
    let exchangeCount = 0;
    const failExchanges = (async (input: RequestInfo) => {
      if (String(input) === `${BASE_URL}/tokens`) exchangeCount += 1;
      return Response.json({}, { status: 429, headers: { 'retry-after': '0' } });
    }) as typeof fetch;
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: failExchanges });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => keyClient.get('/v1/auth/me')));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
    expect(exchangeCount).toBe(3);
  });

  it('exchanges a key again when the exchange is not answered in 8 seconds', async () => {
    const timedOut = AbortSignal.abort(new Error('timed out'));
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(timedOut);
    const fetchFromWorker = createWorkerFetch();
    let exchangeCount = 0;
    const hangOnce = (async (input: RequestInfo, init?: RequestInit) => {
      if (String(input) !== `${BASE_URL}/tokens` || ++exchangeCount > 1) return fetchFromWorker(input, init);
      return init?.signal?.aborted ? Promise.reject(init.signal.reason) : new Promise<never>(() => {});
    }) as typeof fetch;
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: hangOnce });
    expect((await keyClient.get('/v1/auth/me')).user).toBeNull();
    expect(exchangeCount).toBe(2);
    expect(AbortSignal.timeout).toHaveBeenCalledWith(8_000);
  });

  const routes = SURFACES.flatMap(({ surface, endpoints }) =>
    endpoints.map(({ contract }) => ({ contract, takes: contract.credential ?? surface.credential })),
  ).filter(({ contract: { access } }) => access !== 'public' && access !== 'operator' && !isTokenAccess(access));

  it.each(routes)('signs or exchanges a key for $contract.method $contract.path', async ({ contract, takes }) => {
    const sentHeaders: Headers[] = [];
    const exchangeResponse = { token: 'service-token', expires_in: 600 };
    const recordAndAnswer = (async (_: unknown, init?: RequestInit) => {
      sentHeaders.push(new Headers(init?.headers));
      return Response.json(exchangeResponse);
    }) as typeof fetch;
    const keyClient = createTestClient({
      credential: withKey(company.apiKey),
      fetch: recordAndAnswer,
    }) as unknown as Record<string, SendMethod>;
    await keyClient[contract.method]?.(fillPath(contract.path, () => 'f'.repeat(24)));
    const isSigned = ['signature', 'machine'].includes(takes);
    expect(sentHeaders.at(-1)?.get('authorization')).toMatch(isSigned ? /^(?!Bearer )/ : /^Bearer service-token$/);
    expect(sentHeaders.at(-1)?.has('idempotency-key')).toBe(contract.method === 'post');
    expect(sentHeaders).toHaveLength(isSigned ? 1 : 2);
  });

  it('reads only a changed version (ETag), and writes only if the version is the known one', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey) });
    const { id } = await keyClient.post('/accounts', { body: { name: 'First' } });
    const accountParams = { params: { id } };
    let tag = '';
    const onHeaders = (headers: Headers) => {
      tag = headers.get('etag') ?? '';
    };
    await keyClient.get('/accounts/{id}', { ...accountParams, onHeaders });
    expect(await keyClient.get('/accounts/{id}', { ...accountParams, ifNoneMatch: tag })).toBeUndefined();
    const renameAccount = (name: string, api = keyClient) =>
      api.patch('/accounts/{id}', { ...accountParams, body: { name }, ifMatch: tag });
    expect(await renameAccount('Second')).toMatchObject({ name: 'Second' });
    await expect(renameAccount('Third')).rejects.toMatchObject({ status: 412, code: 'PreconditionFailed' });
    const readAccount: { name: string } | undefined = await keyClient.get('/accounts/{id}', {
      ...accountParams,
      ifNoneMatch: tag,
      onHeaders,
    });
    expect(readAccount?.name).toBe('Second');
    const lossyClient = createTestClient({ credential: withKey(company.apiKey), fetch: createLossyFetch() });
    await expect(lossyClient.delete('/accounts/{id}', { ...accountParams, ifMatch: tag })).rejects.toThrow(
      'the line is dead',
    );
    await expect(keyClient.get('/accounts/{id}', accountParams)).rejects.toMatchObject({ status: 404 });
  });

  it('sends no body where none is needed', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey) });
    expect((await keyClient.post('/tokens')).expires_in).toBe(600);
  });

  it('receives files as text and bytes, and passes their headers on', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    await tokenClient.post('/v1/managed-tables/provision');
    const sql = "SELECT n, 'é' AS t FROM generate_series(1, 10001) AS n";
    const { _id: id } = await tokenClient.post('/v1/visualizations', { body: { name: 'Many', sql } });
    const path = '/v1/visualizations/{id}/execute';
    const truncatedHeaders: (string | null)[] = [];
    const onHeaders = (headers: Headers) => truncatedHeaders.push(headers.get('x-truncated'));
    const input = { params: { id }, body: {}, onHeaders };
    const csv: string = await tokenClient.post(path, { ...input, query: { format: 'csv' } });
    expect(csv.slice(0, 10)).toBe('n,t\r\n1,é\r\n');
    const xlsx: Blob = await tokenClient.post(path, { ...input, query: { format: 'xlsx' } });
    expect((await xlsx.text()).slice(0, 2)).toBe('PK');
    const { result } = await tokenClient.post(path, input);
    expect([result.truncated, truncatedHeaders]).toEqual([true, ['true', 'true', null]]);
  });

  it('calls a published visualization with typed parameters and rows', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    await tokenClient.post('/v1/managed-tables/provision');
    const parameters = [
      { slug: 'names', label: 'Names', kind: 'multi_select' as const, default: ['z'] },
      { slug: 'days', label: 'Days', kind: 'date_range' as const, default: { from: '2020-01-01' } },
      { slug: 'least', label: 'Least', kind: 'number' as const, default: 7 },
    ];
    const sql = "SELECT array_to_string({{names}}::text[], '+') AS a, {{days.from}}::date AS b, {{least}} AS c";
    const createdVisualization = await tokenClient.post('/v1/visualizations', {
      body: { name: 'Published', sql, parameters },
    });
    const body = { name: 'Published', slug: 'typed', visualization_id: createdVisualization._id };
    await tokenClient.post('/v1/viz-api-endpoints', { body });
    interface EndpointParameters {
      names?: string[];
      days?: { from?: string; to?: string } | null;
      least?: number | null;
    }
    const keyClient = createTestClient({ credential: withKey(company.apiKey) });
    const callEndpoint = endpointOf<EndpointParameters, [a: string | null, b: string | null, c: number | null]>(
      keyClient,
      'typed',
    );
    const { rows } = await callEndpoint({ names: ['x', 'y'], days: { from: '2024-01-31' } });
    const [first] = rows;
    expect(first).toEqual(['x+y', '2024-01-31', 7]);
    expect((await callEndpoint({})).rows).toEqual([['z', '2020-01-01', 7]]);
    expect((await callEndpoint({ names: [], days: null, least: null })).rows).toEqual([[null, null, null]]);
    // @ts-expect-error: no parameter of it.
    await expect(callEndpoint({ nope: 1 })).rejects.toMatchObject({ status: 422 });
    const csv: string = await keyClient.get('/data/{slug}', {
      params: { slug: 'typed' },
      query: { format: 'csv', least: 1 },
    });
    expect(csv).toBe('a,b,c\r\nz,2020-01-01,1\r\n');
  });

  it('sends forms', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    await tokenClient.post('/v1/managed-tables/provision');
    const form = new FormData();
    form.append('files', new File(['city\nLisboa\n'], 'cities.csv', { type: 'text/csv' }));
    expect((await tokenClient.post('/v1/managed-tables/upload', { form })).status).toBe('queued');
  });

  it('throws errors with the codes of each API', async () => {
    const catchApiError = (pendingRequest: Promise<unknown>): Promise<ApiError> =>
      pendingRequest.then(
        () => Promise.reject(new Error('It was not refused.')),
        (error: ApiError) => error,
      );
    const id = 'f'.repeat(24);
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    const wrongKeyClient = createTestClient({ credential: withKey({ ...company.apiKey, secret_key: 'wrong' }) });
    const apiErrors = await Promise.all([
      catchApiError(tokenClient.get('/v1/users/{id}', { params: { id } })),
      catchApiError(tokenClient.get('/api/v1/share-contexts/{id}', { params: { id } })),
      catchApiError(wrongKeyClient.get('/users')),
    ]);
    expect(apiErrors.map(({ status, code }) => [status, code])).toEqual([
      [404, 'USER_NOT_FOUND'],
      [404, 'NOT_FOUND'],
      [401, 'Unauthorized'],
    ]);
    for (const apiError of apiErrors) expect(apiError.correlationId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('encodes a path parameter so that it stays within its path segment', async () => {
    const tokenClient = createTestClient({ credential: withToken(company.token) });
    const pendingRequest = tokenClient.get('/v1/users/{id}', { params: { id: '../auth/me?x=' } });
    await expect(pendingRequest).rejects.toMatchObject({ status: 404, code: 'USER_NOT_FOUND' });
  });

  it.each(['.', '..'])('sends no request for the path parameter "%s", which is another path', async (id) => {
    const sentUrls: string[] = [];
    const tokenClient = createTestClient({
      credential: withToken(company.token),
      fetch: (async (url: string) => {
        sentUrls.push(url);
        return new Response();
      }) as typeof fetch,
    });
    await expect(tokenClient.delete('/v1/users/{id}', { params: { id } })).rejects.toThrow(RangeError);
    expect(sentUrls).toEqual([]);
  });

  it('waits as long as a 429 says, and signs the repeated request anew', async () => {
    const sendLimited = createWorkerFetch({ RATE_LIMIT_IP_PER_SECOND: '1' });
    const statusCodes: number[] = [];
    const nonces = new Set<string | null>();
    const recordAndSend = (async (input: RequestInfo, init?: RequestInit) => {
      nonces.add(new Headers(init?.headers).get('x-nonce'));
      const response = await sendLimited(input, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init?.headers)), 'cf-connecting-ip': '192.0.2.7' },
      });
      statusCodes.push(response.status);
      return response;
    }) as typeof fetch;
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: recordAndSend });
    await keyClient.get('/users');
    await keyClient.get('/users');
    expect(statusCodes).toContain(429);
    expect(statusCodes.filter((status) => status === 200)).toHaveLength(2);
    expect(nonces.size).toBe(statusCodes.length);
  });

  it('creates a posted record once, even if the first answer is lost and the retry gets a 503', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: createLossyFetch() });
    const group = await keyClient.post('/groups', { body: { name: 'Made once' } });
    const { results } = await keyClient.get('/groups');
    expect(results.filter(({ name }) => name === 'Made once')).toEqual([expect.objectContaining({ id: group.id })]);
  });

  it('waits for its first request while the API is still processing it', async () => {
    const makeInUseResponse = (error: object) => Response.json(error, { status: 409, headers: { 'retry-after': '0' } });
    const refusals = [
      makeInUseResponse({ error: 'IdempotencyKeyInUse' }),
      makeInUseResponse({ error_code: 'IDEMPOTENCY_KEY_IN_USE' }),
    ];
    const keys: (string | null)[] = [];
    const answerInUseFirst = (async (input: RequestInfo, init?: RequestInit) => {
      keys.push(new Headers(init?.headers).get('idempotency-key'));
      return refusals.shift() ?? createWorkerFetch()(input, init);
    }) as typeof fetch;
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: answerInUseFirst });
    expect(await keyClient.post('/groups', { body: { name: 'Waited for' } })).toMatchObject({ name: 'Waited for' });
    expect(await keyClient.post('/groups', { body: { name: 'Another' } })).toMatchObject({ name: 'Another' });
    const [first, ...others] = keys;
    expect(others.map((key) => key === first)).toEqual([true, true, false]);
  });

  it('does not retry a request that must not be executed twice', async () => {
    const keyClient = createTestClient({ credential: withKey(company.apiKey), fetch: createLossyFetch() });
    const groupChange = keyClient.patch('/groups/{id}', { params: { id: 'f'.repeat(24) }, body: { name: 'Changed' } });
    await expect(groupChange).rejects.toThrow('the line is dead');
    const anonymousClient = createTestClient({ fetch: createLossyFetch() });
    const body = { company_slug: company.slug, email: 'nobody@nowhere.test', password: 'wrong-password' };
    await expect(anonymousClient.post('/v1/auth/login', { body })).rejects.toThrow('the line is dead');
  });

  it('stops when its signal is aborted', async () => {
    const tokenClient = createTestClient({
      credential: withToken(company.token),
      fetch: (async (_: unknown, { signal }: RequestInit) => {
        signal?.throwIfAborted();
        return new Response();
      }) as typeof fetch,
    });
    await expect(tokenClient.get('/v1/auth/me', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
  });
});

/** Returns a `fetch` to the Worker that loses the first answer, and responds 503 to the second request. */
function createLossyFetch(): typeof fetch {
  let requestCount = 0;
  return (async (...fetchArguments: Parameters<typeof fetch>) => {
    requestCount += 1;
    if (requestCount === 2) return new Response(null, { status: 503, headers: { 'retry-after': '0' } });
    const response = await createWorkerFetch()(...fetchArguments);
    if (requestCount === 1) throw new TypeError('the line is dead');
    return response;
  }) as typeof fetch;
}

// What the contract does not know does not compile.
const _checkTypes = (api: ReturnType<typeof createClient>) => {
  // @ts-expect-error there is no such path
  api.get('/nothing');
  // @ts-expect-error a path's parameters are needed
  api.get('/accounts/{id}');
  // @ts-expect-error an account has a name
  api.post('/accounts', { body: {} });
  // @ts-expect-error the answer may be nothing
  api.get('/accounts/{id}', { params: { id: '' }, ifNoneMatch: '' }).then(({ name }) => name);
  // @ts-expect-error a list has no version
  api.get('/accounts', { ifNoneMatch: '' });
  // @ts-expect-error there is no such method on this path
  api.delete('/v1/auth/login');
};
