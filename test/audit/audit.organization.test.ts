import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Answer, bearer, call } from '../support/api.ts';
import { signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const correlationId = (answer: Answer): string => answer.headers.get('x-correlation-id') as string;

const events = (query: Record<string, string> = {}): Promise<Answer> =>
  signed(company.apiKey).get(`/admin/audit-events?${new URLSearchParams(query)}`);

/** The record of a request, as soon as the queue has brought it. */
async function recordOf(answer: Answer) {
  const found = await vi.waitFor(
    async () => {
      const { body } = await events({ correlation_id: correlationId(answer) });
      expect(body.total).toBe(1);
      return body.results[0];
    },
    { timeout: 15_000, interval: 100 },
  );
  return found;
}

/** The same for a request that belongs to no company, from the database: no administrator sees it. */
const rowOf = (answer: Answer) =>
  vi.waitFor(
    async () => {
      const statement = env.AUDIT_DB.prepare('SELECT * FROM audit_events WHERE correlation_id = ?');
      const row = await statement.bind(correlationId(answer)).first();
      expect(row).not.toBeNull();
      return row as Record<string, unknown>;
    },
    { timeout: 15_000, interval: 100 },
  );

describe('the record of a request', () => {
  it('says who asked for what with a session, and how it ended', async () => {
    const before = Date.now();
    const answer = await company.as.get('/v1/auth/me?secret=1', { headers: { 'cf-connecting-ip': '203.0.113.7' } });
    const record = await recordOf(answer);
    expect(record).toEqual({
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      correlation_id: correlationId(answer),
      occurred_at: expect.stringMatching(/Z$/),
      organization_id: company.id,
      principal_type: 'user',
      principal_id: company.owner.id,
      credential: expect.stringMatching(/^[a-f0-9]{24}$/),
      method: 'GET',
      route: '/v1/auth/me',
      action: null,
      resource_id: null,
      status: 200,
      ip: '203.0.113.7',
      duration_ms: expect.any(Number),
    });
    expect(Date.parse(record.occurred_at)).toBeGreaterThanOrEqual(before);
  });

  it('says the same of a signed request, with the key', async () => {
    const answer = await events({ quantity: '1' });
    const [key] = await env.CONTROL_DB.prepare('SELECT id, service_account_id FROM api_keys WHERE access_key = ?')
      .bind(company.apiKey.access_key)
      .all()
      .then(({ results }) => results as { id: string; service_account_id: string }[]);
    expect(await recordOf(answer)).toMatchObject({
      principal_type: 'service_account',
      principal_id: key?.service_account_id,
      credential: key?.id,
      route: '/admin/audit-events',
      status: 200,
    });
  });

  it('names the action and the resource of the path, also when the request is refused', async () => {
    const stranger = await aUser(company);
    const id = 'a'.repeat(24);
    const record = await recordOf(await stranger.as.get(`/v1/managed-tables/${id}`));
    expect(record).toMatchObject({
      principal_id: stranger.id,
      route: '/v1/managed-tables/{id}',
      action: 'managed-tables:list',
      resource_id: id,
      status: 403,
    });
  });

  it('names what was made', async () => {
    const answer = await signed(company.apiKey).post('/groups', { json: { name: 'Made here' } });
    expect(answer.status).toBe(201);
    expect(await recordOf(answer)).toMatchObject({
      action: 'groups:CreateGroup',
      resource_id: answer.body.id,
      status: 201,
    });
  });

  it('is left by a request over a limit', async () => {
    const answer = await company.as.get('/v1/auth/me', { env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' } });
    expect(answer.status).toBe(429);
    expect(await recordOf(answer)).toMatchObject({ principal_id: company.owner.id, status: 429 });
  });

  it('is left by requests of nobody, without what they claim to be', async () => {
    const answers = await Promise.all([
      call('GET', '/health'),
      call('GET', '/no/such/route/token-in-the-path?token=in-the-query'),
      call('OPTIONS', '/users', {
        headers: { origin: 'https://console.test', 'access-control-request-method': 'GET' },
      }),
      bearer('garbage-token').get('/v1/auth/me'),
      call('POST', '/groups', { headers: { authorization: 'HMAC a:b' }, body: 'x'.repeat(2_000_000) }),
    ]);
    const rows = await Promise.all(answers.map(rowOf));
    expect(rows).toMatchObject([
      { method: 'GET', route: '/health', status: 200 },
      { method: 'GET', route: null, status: 404 },
      { method: 'OPTIONS', route: null, status: 204 },
      { method: 'GET', route: '/v1/auth/me', status: 401 },
      { method: 'POST', route: '/groups', action: 'groups:CreateGroup', status: 413 },
    ]);
    for (const row of rows) {
      expect(row).toMatchObject({
        company_id: null,
        principal_type: 'anonymous',
        principal_id: null,
        credential: null,
      });
    }
    expect(JSON.stringify(rows)).not.toMatch(/token|garbage/);
  });

  it('is left by the operator', async () => {
    const answer = await call('POST', '/admin/organizations', {
      headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
      json: {},
    });
    expect(await rowOf(answer)).toMatchObject({ principal_type: 'operator', company_id: null, status: 422 });
  });

  it('never holds a secret, a token or a query', async () => {
    const secrets = [company.token, company.refreshToken, company.apiKey.secret_key, company.owner.password];
    await call('POST', '/v1/auth/refresh', { json: { refresh_token: company.refreshToken } });
    await recordOf(await company.as.get(`/v1/auth/me?token=${company.token}`));
    const { results } = await env.AUDIT_DB.prepare('SELECT * FROM audit_events').all();
    const text = JSON.stringify(results);
    for (const secret of [...secrets, 'correlation_id=', 'quantity=']) expect(text).not.toContain(secret);
  });

  it('does not take an incoming correlation id', async () => {
    const answer = await call('GET', '/health', { headers: { 'x-correlation-id': 'mine' } });
    expect(correlationId(answer)).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('GET /admin/audit-events', () => {
  it('lists the newest first, in stable pages', async () => {
    const other = await aCompany();
    const list = async (query: string) => (await signed(other.apiKey).get(`/admin/audit-events?${query}`)).body;
    for (let round = 0; round < 12; round += 1) await other.as.get('/v1/auth/me');
    const query = `principal_id=${other.owner.id}`;
    await vi.waitFor(async () => expect((await list(query)).total).toBe(12), { timeout: 15_000, interval: 100 });

    const whole = await list(`${query}&quantity=100`);
    expect(Object.keys(whole)).toEqual(['total', 'page', 'results']);
    const pages = await Promise.all([1, 2, 3, 4].map((page) => list(`${query}&quantity=5&page=${page}`)));
    expect(pages.map(({ page, total, results }) => [page, total, results.length])).toEqual([
      [1, 12, 5],
      [2, 12, 5],
      [3, 12, 2],
      [4, 12, 0],
    ]);
    expect(pages.flatMap(({ results }) => results)).toEqual(whole.results);
    const times = whole.results.map((event: { occurred_at: string }) => event.occurred_at);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('filters by principal, action and time, both ends included', async () => {
    const reader = await aUser(company, { can: ['managed-tables:list'] });
    const record = await recordOf(await reader.as.get('/v1/managed-tables'));
    const total = async (query: Record<string, string>) =>
      (await events({ principal_id: reader.id, ...query })).body.total;
    expect(await total({})).toBe(1);
    expect(await total({ action: 'managed-tables:list' })).toBe(1);
    expect(await total({ action: 'managed-tables:create' })).toBe(0);
    expect(await total({ from: record.occurred_at, to: record.occurred_at })).toBe(1);
    const ms = Date.parse(record.occurred_at);
    expect(await total({ from: new Date(ms + 1).toISOString() })).toBe(0);
    expect(await total({ to: new Date(ms - 1).toISOString() })).toBe(0);
    expect(await total({ correlation_id: record.correlation_id, principal_id: company.owner.id })).toBe(0);
  });

  it('shows nothing of another organization', async () => {
    const other = await aCompany();
    const answer = await other.as.get('/v1/auth/me');
    await rowOf(answer);
    expect((await events({ correlation_id: correlationId(answer) })).body.total).toBe(0);
    expect((await events({ principal_id: other.owner.id })).body.total).toBe(0);
  });

  it.each([
    ['from', 'yesterday'],
    ['to', '2026-13-01T00:00:00Z'],
    ['page', '0'],
    ['quantity', '101'],
    ['action', ''],
    ['correlation_id', 'x'.repeat(200)],
  ])('refuses %s=%s', async (field, value) => {
    const { status, body } = await events({ [field]: value });
    expect([status, body.error]).toEqual([422, 'ValidationError']);
    expect(body.details).toContainEqual({ field, message: expect.any(String) });
  });

  it('is for administrators alone', async () => {
    expect((await call('GET', '/admin/audit-events')).status).toBe(401);
    await env.CONTROL_DB.prepare('DELETE FROM group_bindings WHERE principal_type = ? AND company_id = ?')
      .bind('service_account', company.id)
      .run();
    const { status, body } = await events();
    expect([status, body.error]).toEqual([403, 'Forbidden']);
  });
});
