import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { PLATFORM_LOG } from '../../src/logs/log.ts';
import { type ApiResponse, call, createCaller } from '../support/api.ts';
import { readRecords } from '../support/log.ts';
import { aPolicy, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const correlationId = (answer: ApiResponse): string => answer.headers.get('x-correlation-id') as string;

const events = (query: Record<string, string> = {}): Promise<ApiResponse> =>
  signed(company.apiKey).get(`/admin/audit-events?${new URLSearchParams(query)}`);

/** The record of a request, as soon as the queue has brought it. */
async function recordOf(answer: ApiResponse) {
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

/** The same for a request that belongs to no company, from the platform's own log: no administrator sees it. */
const strayOf = (answer: ApiResponse) =>
  vi.waitFor(
    async () => {
      const [record] = await readRecords('audit', PLATFORM_LOG, { values: { correlationId: correlationId(answer) } });
      expect(record).toBeDefined();
      return record;
    },
    { timeout: 15_000, interval: 100 },
  );

describe('the audit record of a request', () => {
  it('says who asked for what with a session, and how it was answered', async () => {
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
      action: 'auth:me',
      resource_id: null,
      status: 422,
      ip: '203.0.113.7',
      duration_ms: expect.any(Number),
    });
    expect(Date.parse(record.occurred_at)).toBeGreaterThanOrEqual(before);
  });

  it('says the same of a signed request, and names its key', async () => {
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

  it('names what the request made', async () => {
    const answer = await signed(company.apiKey).post('/groups', { json: { name: 'Made here' } });
    expect(answer.status).toBe(201);
    expect(await recordOf(answer)).toMatchObject({
      action: 'groups:CreateGroup',
      resource_id: answer.body.id,
      status: 201,
    });
  });

  it('is written for a rate-limited request', async () => {
    const answer = await company.as.get('/v1/auth/me', { env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' } });
    expect(answer.status).toBe(429);
    expect(await recordOf(answer)).toMatchObject({ principal_id: company.owner.id, status: 429 });
  });

  it('names every id of the path, and what a membership or an attachment attaches', async () => {
    const admin = signed(company.apiKey);
    const { body: group } = await admin.post('/groups', { json: { name: 'Attached to' } });
    const { id: userId } = await aUser(company);
    const policyId = await aPolicy(company, []);
    const account_id = company.accountId;
    const bound = await admin.post(`/groups/${group.id}/bindings`, {
      json: { principal_type: 'user', principal_id: userId, account_id },
    });
    const join = (to: string) => company.as.post('/v1/users/invite', { json: { email: to, group_ids: [group.id] } });
    const invited = await join('invited-into@example.test');
    const refused = await join(company.owner.email);
    const permission = await company.as.post('/v1/permissions', {
      json: {
        name: 'reads',
        description: 'Reads all there is.',
        target: { company_id: company.id },
        actions: ['read'],
      },
    });
    const made = await company.as.post('/v1/groups', {
      json: {
        name: 'Made with permissions',
        slug: 'made-with-permissions',
        description: 'Made with permissions.',
        permissionIds: [permission.body._id],
      },
    });
    const answers = [
      [bound, `${group.id}/${userId}`],
      [await admin.delete(`/groups/${group.id}/bindings/${bound.body.id}`), `${group.id}/${bound.body.id}`],
      [await admin.post(`/groups/${group.id}/policies/${policyId}`), `${group.id}/${policyId}`],
      [await company.as.delete(`/v1/groups/${group.id}/policies/${policyId}`), `${group.id}/${policyId}`],
      [
        await company.as.post(`/v1/users/${userId}/groups`, { json: { group_ids: [group.id] } }),
        `${userId}/${group.id}`,
      ],
      [await company.as.put(`/v1/users/${userId}/groups`, { json: { group_ids: [] } }), userId],
      [invited, `${invited.body._id}/${group.id}`],
      [made, `${made.body._id}/${permission.body._id}`],
      [refused, group.id],
    ] as const;
    for (const [answer, resourceId] of answers) {
      expect(answer.status).toBeLessThan(answer === refused ? 401 : 300);
      expect(await recordOf(answer)).toMatchObject({ resource_id: resourceId });
    }
  });

  it('is written for a request of the operator', async () => {
    const answer = await call('POST', '/admin/organizations', {
      headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
      json: {},
    });
    expect(await strayOf(answer)).toMatchObject({ principalType: 'operator', status: 422 });
  });

  it('never holds a secret, a token or a query', async () => {
    const secrets = [company.token, company.refreshToken, company.apiKey.secret_key, company.owner.password];
    await call('POST', '/v1/auth/refresh', { json: { refresh_token: company.refreshToken } });
    await recordOf(await company.as.get(`/v1/auth/me?token=${company.token}`));
    const text = JSON.stringify([await readRecords('audit', company.id), await readRecords('audit')]);
    for (const secret of [...secrets, 'correlation_id=', 'quantity=']) expect(text).not.toContain(secret);
  });

  it('belongs to the company for a sign-in, with the user once that is known', async () => {
    const { slug, owner } = company;
    const logIn = (json: object) => call('POST', '/v1/auth/login', { json: { company_slug: slug, ...json } });
    const wrong = await logIn({ email: owner.email, password: 'not this one' });
    const right = await logIn({ email: owner.email, password: owner.password });
    const json = { refresh_token: right.body.refresh_token };
    const refreshed = await call('POST', '/v1/auth/refresh', { json });
    const code = await call('POST', '/v1/auth/passwordless/request', {
      json: { company_slug: slug, email: 'nobody@nowhere.test' },
    });
    const reset = await call('POST', '/v1/users/reset-password/request', {
      json: { company_slug: slug, email: owner.email },
    });
    const portal = await call('POST', '/api/v1/share-auth/request', {
      json: { company_slug: slug, email: 'nobody@nowhere.test' },
    });
    const anonymous = { principal_type: 'anonymous', principal_id: null };
    const known = { principal_type: 'user', principal_id: owner.id };
    expect(await recordOf(wrong)).toMatchObject({ action: 'auth:login', status: 400, ...anonymous });
    expect(await recordOf(right)).toMatchObject({ action: 'auth:login', status: 200, ...known });
    expect(await recordOf(refreshed)).toMatchObject({ action: 'auth:refresh', status: 200, ...known });
    expect(await recordOf(code)).toMatchObject({ action: 'auth:passwordless_request', status: 200, ...anonymous });
    expect(await recordOf(reset)).toMatchObject({ action: 'auth:reset-password_request', ...anonymous });
    expect(await recordOf(portal)).toMatchObject({ action: 'share-auth:request', status: 200, ...anonymous });
  });

  it('belongs to the company for a sign-in with a provider', async () => {
    const answer = await call('GET', `/v1/auth/sso/${company.slug}/callback?state=unknown`);
    expect(await recordOf(answer)).toMatchObject({ action: 'auth:sso_callback', principal_type: 'anonymous' });
  });
});

describe('requests of unknown clients, which belong to no company,', () => {
  const strangers = async (address: string) => {
    const records = [...(await readRecords('audit')), ...(await readRecords('audit', company.id))];
    return records.filter(({ ip }) => ip === address);
  };
  /** The minute of an address is over. */
  const endMinute = (address: string) => runDurableObjectAlarm(env.IP_LIMITER.getByName(address));

  it('leave one record per IP address and minute, with their count and without what they claim to be', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.60' };
    await call('GET', '/health', { headers });
    await call('GET', '/no/such/route/token-in-the-path?token=in-the-query', { headers });
    await call('OPTIONS', '/users', { headers: { ...headers, origin: 'https://console.test' } });
    await createCaller('garbage-token').get('/v1/auth/me', { headers });
    await call('POST', '/groups', { headers: { ...headers, authorization: 'HMAC a:b' }, body: 'x'.repeat(2_000_000) });
    await call('POST', '/v1/auth/login', {
      headers,
      json: { company_slug: 'no-such-company', email: 'a@b.test', password: 'x' },
    });
    expect(await strangers('203.0.113.60')).toEqual([]);

    expect(await endMinute('203.0.113.60')).toBe(true);
    const rows = await vi.waitFor(
      async () => {
        const found = await strangers('203.0.113.60');
        expect(found).toHaveLength(1);
        return found;
      },
      { timeout: 15_000, interval: 100 },
    );
    expect(rows).toMatchObject([
      {
        count: 6,
        companyId: PLATFORM_LOG,
        principalType: 'anonymous',
        principalId: null,
        credential: null,
        route: '/health',
      },
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/token|garbage|no-such/);
    // Nothing is left behind for an address that never comes again.
    expect(await endMinute('203.0.113.60')).toBe(false);
  });

  it('from one IPv6 /64 network are counted as those of one address', async () => {
    for (const last of ['1', '2', 'ffff:1:2']) {
      const headers = { 'cf-connecting-ip': `2001:db8:5:6::${last}` };
      await call('GET', '/health', { headers });
    }
    await endMinute('2001:db8:5:6::/64');
    await vi.waitFor(async () => expect(await strangers('2001:db8:5:6::/64')).toMatchObject([{ count: 3 }]), {
      timeout: 15_000,
      interval: 100,
    });
  });

  it('do not include those of the operator, nor rate-limited ones of a known user', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.61', authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` };
    await call('POST', '/admin/organizations', { headers, json: {} });
    await company.as.get('/v1/auth/me', {
      headers: { 'cf-connecting-ip': '203.0.113.61' },
      env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' },
    });
    await vi.waitFor(async () => expect(await strangers('203.0.113.61')).toHaveLength(2), {
      timeout: 15_000,
      interval: 100,
    });
    expect(await endMinute('203.0.113.61')).toBe(false);
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
    await vi.waitFor(async () => expect(await readRecords('audit', other.id)).not.toEqual([]), { timeout: 15_000 });
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
    expect(body.details).toContainEqual(expect.objectContaining({ field, message: expect.any(String) }));
  });
});
