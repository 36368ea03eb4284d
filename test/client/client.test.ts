import { beforeAll, describe, expect, it, vi } from 'vitest';
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
import { aCompany, type Company } from '../support/worlds.ts';
import { toWorker } from './to-worker.ts';

const client = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: BASE_URL, fetch: toWorker(), ...options });

/** A method of the client, of a route that only the test knows. */
type Send = (path: string) => Promise<unknown>;

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

describe('the client', () => {
  it('signs in and calls with the token', async () => {
    const { owner, slug } = company;
    const answer = await client().post('/v1/auth/login', {
      body: { company_slug: slug, email: owner.email, password: owner.password },
    });
    if (!('token' in answer)) throw new Error('A second factor is asked for.');
    const { user } = await client({ credential: withToken(() => answer.token) }).get('/v1/auth/me');
    expect(user?.email).toBe(owner.email);
  });

  it('signs path, query and body of requests with a key', async () => {
    const robot = client({ credential: withKey(company.apiKey) });
    const { id } = await robot.post('/accounts', { body: { name: 'São Paulo / Rio' } });
    const account = await robot.patch('/accounts/{id}', { params: { id }, body: { metadata: { region: 'sa east' } } });
    expect(account).toMatchObject({ metadata: { region: 'sa east' } });
    const { results, total } = await robot.get('/accounts', { query: { quantity: 1, order_by: '-name' } });
    expect([total, results[0]?.name]).toEqual([2, 'default']);
    expect(await robot.delete('/accounts/{id}', { params: { id } })).toBeUndefined();
  });

  it('reads every record of every kind of list, page after page', async () => {
    const [robot, person] = [
      client({ credential: withKey(company.apiKey) }),
      client({ credential: withToken(company.token) }),
    ];
    for (const name of ['one', 'two', 'three'])
      await robot.post('/groups', { body: { name, description: 'Of a list.' } });
    const names = async (list: AsyncIterable<{ name: string }>) =>
      (await Array.fromAsync(list)).map(({ name }) => name);
    const all = await names(robot.list('/groups', { query: { quantity: 100 } }));
    expect(all).toEqual(expect.arrayContaining(['one', 'two', 'three']));
    expect(await names(robot.list('/groups', { query: { quantity: 2 } }))).toEqual(all);
    expect((await names(person.list('/v1/groups', { query: { per_page: 2 } }))).toSorted()).toEqual(all.toSorted());
    expect(await names(person.list('/v1/dashboards'))).toEqual([]);
    // Of one page: no other can be asked for.
    expect(await Array.fromAsync(person.list('/v1/auth/sessions'))).toContainEqual(
      expect.objectContaining({ current: true }),
    );
  });

  it('reads rows by their cursor', async () => {
    const person = client({ credential: withToken(company.token) });
    await person.post('/v1/managed-tables/provision');
    const columns = [{ name: 'n', display_name: 'N', type: 'integer' as const, nullable: false }];
    const { _id: id } = await person.post('/v1/managed-tables', { body: { display_name: 'listed', columns } });
    const rows = Array.from({ length: 5 }, (_, n) => ({ n }));
    await person.post('/v1/managed-tables/{id}/data', { params: { id }, body: { rows } });
    const query = { per_page: 2, sort_by: 'n' };
    const listed = await Array.fromAsync(person.list('/v1/managed-tables/{id}/data', { params: { id }, query }));
    expect(listed.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
  });

  it('gives the error of each field', async () => {
    const person = client({ credential: withToken(company.token) });
    const body = { name: '', slug: 'a b', description: 'Of nothing but a test.' };
    const error = await person.post('/v1/groups', { body }).catch((thrown) => thrown);
    expect(fieldErrors(error)).toEqual({
      name: 'must not be empty',
      slug: 'must be lower-case letters and digits, separated by single hyphens',
    });
    expect(fieldErrors(new Error('of something else'))).toEqual({});
  });

  it('neither repeats a sign-in nor waits 21 seconds after a 429', async () => {
    let asked = 0;
    const limited = (async () => {
      asked += 1;
      return Response.json({ error: 'RateLimitExceeded' }, { status: 429, headers: { 'retry-after': '21' } });
    }) as typeof fetch;
    const body = { company_slug: 'a', email: 'a@b.co', password: 'p' };
    await expect(client({ fetch: limited }).post('/v1/auth/login', { body })).rejects.toMatchObject({ retryAfter: 21 });
    const person = client({ fetch: limited, credential: withToken('t') });
    await expect(person.get('/v1/auth/me')).rejects.toMatchObject({ status: 429, retryAfter: 21 });
    expect(asked).toBe(2);
  });

  it('sends filters, lists and repeated parameters', async () => {
    const person = client({ credential: withToken(company.token) });
    const names = ['a,b', 'say "a"', 'b'];
    const columns = [{ name: 'name', display_name: 'Name', type: 'text' as const, nullable: true }];
    await person.post('/v1/managed-tables/provision');
    const { _id: id } = await person.post('/v1/managed-tables', { body: { display_name: 'names', columns } });
    await person.post('/v1/managed-tables/{id}/data', {
      params: { id },
      body: { rows: names.map((name) => ({ name })) },
    });
    const found = async (name: { in?: string; contains?: string[]; is_null?: boolean }) => {
      const query = { filter: { name }, sort_by: 'name', fields: 'name' };
      return (await person.get('/v1/managed-tables/{id}/data', { params: { id }, query })).records.map(
        (row) => row.name,
      );
    };
    expect(await found({ in: oneOf(names) })).toEqual(names.toSorted());
    expect(() => oneOf([])).toThrow(RangeError);
    expect(await found({ contains: ['a', '"'], is_null: false })).toEqual(['say "a"']);
  });

  it('calls every API with a key, which it exchanges for a token once until the token ends', async () => {
    const paths: string[] = [];
    const worker = toWorker();
    let refuses = 0;
    const watching = (async (input: RequestInfo, init?: RequestInit) => {
      const path = String(input).slice(BASE_URL.length);
      paths.push(path);
      if (path === '/v1/visualizations' && refuses-- > 0)
        return Response.json({ error: 'UNAUTHORIZED' }, { status: 401 });
      return worker(input, init);
    }) as typeof fetch;
    const exchanges = () => paths.filter((path) => path === '/tokens').length;
    const robot = client({ credential: withKey(company.apiKey), fetch: watching });
    const [me, contexts, tables, accounts] = await Promise.all([
      robot.get('/v1/auth/me'),
      robot.get('/api/v1/share-contexts'),
      robot.get('/api/v1/domain-knowledge/concepts'),
      robot.get('/accounts'),
    ]);
    expect([me.user, contexts.total, tables.total, exchanges()]).toEqual([null, 0, 0, 1]);
    expect(accounts.total).toBeGreaterThan(0);

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 530_000 });
    try {
      await robot.get('/v1/auth/me');
      expect(exchanges()).toBe(1);
      vi.setSystemTime(Date.now() + 15_000);
      await robot.get('/v1/auth/me');
      expect(exchanges()).toBe(2);
      refuses = 1;
      await robot.get('/v1/visualizations');
      expect(exchanges()).toBe(3);
      refuses = 2;
      await expect(robot.get('/v1/visualizations')).rejects.toMatchObject({ status: 401 });
      expect(exchanges()).toBe(4);
    } finally {
      vi.useRealTimers();
    }
    const wrong = client({ credential: withKey({ ...company.apiKey, secret_key: 'wrong' }), fetch: watching });
    await expect(wrong.get('/v1/auth/me')).rejects.toMatchObject({ status: 401, code: 'Unauthorized' });
  });

  const routes = SURFACES.flatMap(({ surface, endpoints }) =>
    endpoints.map(({ contract }) => ({ contract, takes: contract.credential ?? surface.credential })),
  ).filter(({ contract: { access } }) => access !== 'public' && access !== 'operator' && !isTokenAccess(access));

  it.each(routes)('signs or exchanges a key for $contract.method $contract.path', async ({ contract, takes }) => {
    const sent: Headers[] = [];
    const answer = { token: 'service-token', expires_in: 600 };
    const answering = (async (_: unknown, init?: RequestInit) => {
      sent.push(new Headers(init?.headers));
      return Response.json(answer);
    }) as typeof fetch;
    const robot = client({ credential: withKey(company.apiKey), fetch: answering }) as unknown as Record<string, Send>;
    await robot[contract.method]?.(fillPath(contract.path, () => 'f'.repeat(24)));
    const isSigned = ['signature', 'machine'].includes(takes);
    expect(sent.at(-1)?.get('authorization')).toMatch(isSigned ? /^(?!Bearer )/ : /^Bearer service-token$/);
    expect(sent.at(-1)?.has('idempotency-key')).toBe(contract.method === 'post');
    expect(sent).toHaveLength(isSigned ? 1 : 2);
  });

  it('reads only a changed version (ETag), and writes only if the version is the known one', async () => {
    const robot = client({ credential: withKey(company.apiKey) });
    const { id } = await robot.post('/accounts', { body: { name: 'First' } });
    const one = { params: { id } };
    let tag = '';
    const onHeaders = (headers: Headers) => {
      tag = headers.get('etag') ?? '';
    };
    await robot.get('/accounts/{id}', { ...one, onHeaders });
    expect(await robot.get('/accounts/{id}', { ...one, ifNoneMatch: tag })).toBeUndefined();
    const rename = (name: string, api = robot) => api.patch('/accounts/{id}', { ...one, body: { name }, ifMatch: tag });
    expect(await rename('Second')).toMatchObject({ name: 'Second' });
    await expect(rename('Third')).rejects.toMatchObject({ status: 412, code: 'PreconditionFailed' });
    const read: { name: string } | undefined = await robot.get('/accounts/{id}', {
      ...one,
      ifNoneMatch: tag,
      onHeaders,
    });
    expect(read?.name).toBe('Second');
    const lossy = client({ credential: withKey(company.apiKey), fetch: unreliable() });
    await expect(lossy.delete('/accounts/{id}', { ...one, ifMatch: tag })).rejects.toThrow('the line is dead');
    await expect(robot.get('/accounts/{id}', one)).rejects.toMatchObject({ status: 404 });
  });

  it('sends no body where none is needed', async () => {
    const robot = client({ credential: withKey(company.apiKey) });
    expect((await robot.post('/tokens')).expires_in).toBe(600);
  });

  it('receives files as text and bytes, and passes on the headers', async () => {
    const person = client({ credential: withToken(company.token) });
    await person.post('/v1/managed-tables/provision');
    const sql = "SELECT n, 'é' AS t FROM generate_series(1, 10001) AS n";
    const { _id: id } = await person.post('/v1/visualizations', { body: { name: 'Many', sql } });
    const path = '/v1/visualizations/{id}/execute';
    const cut: (string | null)[] = [];
    const onHeaders = (headers: Headers) => cut.push(headers.get('x-truncated'));
    const input = { params: { id }, body: {}, onHeaders };
    const csv: string = await person.post(path, { ...input, query: { format: 'csv' } });
    expect(csv.slice(0, 10)).toBe('n,t\r\n1,é\r\n');
    const xlsx: Blob = await person.post(path, { ...input, query: { format: 'xlsx' } });
    expect((await xlsx.text()).slice(0, 2)).toBe('PK');
    const { result } = await person.post(path, input);
    expect([result.truncated, cut]).toEqual([true, ['true', 'true', null]]);
  });

  it('calls a published visualization with typed parameters and rows', async () => {
    const person = client({ credential: withToken(company.token) });
    await person.post('/v1/managed-tables/provision');
    const parameters = [
      { slug: 'names', label: 'Names', kind: 'multi_select' as const, default: ['z'] },
      { slug: 'days', label: 'Days', kind: 'date_range' as const, default: { from: '2020-01-01' } },
      { slug: 'least', label: 'Least', kind: 'number' as const, default: 7 },
    ];
    const sql = "SELECT array_to_string({{names}}::text[], '+') AS a, {{days.from}}::date AS b, {{least}} AS c";
    const made = await person.post('/v1/visualizations', { body: { name: 'Published', sql, parameters } });
    const body = { name: 'Published', slug: 'typed', visualization_id: made._id };
    await person.post('/v1/viz-api-endpoints', { body });
    interface Asked {
      names?: string[];
      days?: { from?: string; to?: string } | null;
      least?: number | null;
    }
    const robot = client({ credential: withKey(company.apiKey) });
    const ask = endpointOf<Asked, [a: string | null, b: string | null, c: number | null]>(robot, 'typed');
    const { rows } = await ask({ names: ['x', 'y'], days: { from: '2024-01-31' } });
    const [first] = rows;
    expect(first).toEqual(['x+y', '2024-01-31', 7]);
    expect((await ask({})).rows).toEqual([['z', '2020-01-01', 7]]);
    expect((await ask({ names: [], days: null, least: null })).rows).toEqual([[null, null, null]]);
    // @ts-expect-error: no parameter of it.
    await expect(ask({ nope: 1 })).rejects.toMatchObject({ status: 422 });
    const csv: string = await robot.get('/data/{slug}', {
      params: { slug: 'typed' },
      query: { format: 'csv', least: 1 },
    });
    expect(csv).toBe('a,b,c\r\nz,2020-01-01,1\r\n');
  });

  it('sends forms', async () => {
    const person = client({ credential: withToken(company.token) });
    await person.post('/v1/managed-tables/provision');
    const form = new FormData();
    form.append('files', new File(['city\nLisboa\n'], 'cities.csv', { type: 'text/csv' }));
    expect((await person.post('/v1/managed-tables/upload', { form })).status).toBe('queued');
  });

  it('throws errors with the codes of each API', async () => {
    const refused = (work: Promise<unknown>): Promise<ApiError> =>
      work.then(
        () => Promise.reject(new Error('It was not refused.')),
        (error: ApiError) => error,
      );
    const id = 'f'.repeat(24);
    const person = client({ credential: withToken(company.token) });
    const robot = client({ credential: withKey({ ...company.apiKey, secret_key: 'wrong' }) });
    const problems = await Promise.all([
      refused(person.get('/v1/users/{id}', { params: { id } })),
      refused(person.get('/api/v1/share-contexts/{id}', { params: { id } })),
      refused(robot.get('/users')),
    ]);
    expect(problems.map(({ status, code }) => [status, code])).toEqual([
      [404, 'USER_NOT_FOUND'],
      [404, 'NOT_FOUND'],
      [401, 'Unauthorized'],
    ]);
    for (const problem of problems) expect(problem.correlationId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('encodes a path parameter within its segment', async () => {
    const person = client({ credential: withToken(company.token) });
    const asked = person.get('/v1/users/{id}', { params: { id: '../auth/me?x=' } });
    await expect(asked).rejects.toMatchObject({ status: 404, code: 'USER_NOT_FOUND' });
  });

  it('waits as long as a 429 says, and signs anew', async () => {
    const limited = toWorker({ RATE_LIMIT_IP_PER_SECOND: '1' });
    const seen: number[] = [];
    const nonces = new Set<string | null>();
    const counting = (async (input: RequestInfo, init?: RequestInit) => {
      nonces.add(new Headers(init?.headers).get('x-nonce'));
      const response = await limited(input, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init?.headers)), 'cf-connecting-ip': '192.0.2.7' },
      });
      seen.push(response.status);
      return response;
    }) as typeof fetch;
    const robot = client({ credential: withKey(company.apiKey), fetch: counting });
    await robot.get('/users');
    await robot.get('/users');
    expect(seen).toContain(429);
    expect(seen.filter((status) => status === 200)).toHaveLength(2);
    expect(nonces.size).toBe(seen.length);
  });

  it('creates a posted record once, though the first answer is lost and the retry meets an outage', async () => {
    const person = client({ credential: withKey(company.apiKey), fetch: unreliable() });
    const group = await person.post('/groups', { body: { name: 'Made once' } });
    const { results } = await person.get('/groups');
    expect(results.filter(({ name }) => name === 'Made once')).toEqual([expect.objectContaining({ id: group.id })]);
  });

  it('waits for its first request where that is still being processed', async () => {
    const inUse = (error: object) => Response.json(error, { status: 409, headers: { 'retry-after': '0' } });
    const refusals = [inUse({ error: 'IdempotencyKeyInUse' }), inUse({ error_code: 'IDEMPOTENCY_KEY_IN_USE' })];
    const keys: (string | null)[] = [];
    const busy = (async (input: RequestInfo, init?: RequestInit) => {
      keys.push(new Headers(init?.headers).get('idempotency-key'));
      return refusals.shift() ?? toWorker()(input, init);
    }) as typeof fetch;
    const person = client({ credential: withKey(company.apiKey), fetch: busy });
    expect(await person.post('/groups', { body: { name: 'Waited for' } })).toMatchObject({ name: 'Waited for' });
    expect(await person.post('/groups', { body: { name: 'Another' } })).toMatchObject({ name: 'Another' });
    const [first, ...others] = keys;
    expect(others.map((key) => key === first)).toEqual([true, true, false]);
  });

  it('does not retry a request that may not be done twice', async () => {
    const robot = client({ credential: withKey(company.apiKey), fetch: unreliable() });
    const change = robot.patch('/groups/{id}', { params: { id: 'f'.repeat(24) }, body: { name: 'Changed' } });
    await expect(change).rejects.toThrow('the line is dead');
    const anonymous = client({ fetch: unreliable() });
    const body = { company_slug: company.slug, email: 'nobody@nowhere.test', password: 'wrong-password' };
    await expect(anonymous.post('/v1/auth/login', { body })).rejects.toThrow('the line is dead');
  });

  it('stops when its signal is aborted', async () => {
    const person = client({
      credential: withToken(company.token),
      fetch: (async (_: unknown, { signal }: RequestInit) => {
        signal?.throwIfAborted();
        return new Response();
      }) as typeof fetch,
    });
    await expect(person.get('/v1/auth/me', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
  });
});

/** The Worker behind a line that loses the first answer, and lets nothing through the second time. */
function unreliable(): typeof fetch {
  let times = 0;
  return (async (...given: Parameters<typeof fetch>) => {
    times += 1;
    if (times === 2) return new Response(null, { status: 503, headers: { 'retry-after': '0' } });
    const response = await toWorker()(...given);
    if (times === 1) throw new TypeError('the line is dead');
    return response;
  }) as typeof fetch;
}

// What the contract does not know does not compile.
const _wrong = (api: ReturnType<typeof createClient>) => {
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
