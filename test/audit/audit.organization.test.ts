import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { PLATFORM_LOG } from '../../src/logs/log.ts';
import { type ApiResponse, callApi, createCaller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readRecords } from '../support/log.ts';
import { createSignedCaller, storePolicy } from '../support/signed.ts';

const company = await createOwnedCompany();

const readCorrelationId = (answer: ApiResponse): string => answer.headers.get('x-correlation-id') as string;

const requestEvents = (query: Record<string, string> = {}): Promise<ApiResponse> =>
  createSignedCaller(company.apiKey).get(`/admin/audit-events?${new URLSearchParams(query)}`);

/** Returns the audit record of a request, once the queue has delivered it. */
async function waitForRecord(answer: ApiResponse) {
  const auditRecord = await vi.waitFor(
    async () => {
      const { body } = await requestEvents({ correlation_id: readCorrelationId(answer) });
      expect(body.total).toBe(1);
      return body.results[0];
    },
    { timeout: 15_000, interval: 100 },
  );
  return auditRecord;
}

/** Returns the audit record of a request that belongs to no company, from the platform's own log, which no administrator sees. */
const waitForPlatformRecord = (answer: ApiResponse) =>
  vi.waitFor(
    async () => {
      const [record] = await readRecords('audit', PLATFORM_LOG, {
        values: { correlationId: readCorrelationId(answer) },
      });
      expect(record).toBeDefined();
      return record;
    },
    { timeout: 15_000, interval: 100 },
  );

describe('the audit record of a request', () => {
  it('says who asked for what with a session, and how it was answered', async () => {
    const startedAt = Date.now();
    const answer = await company.as.get('/v1/auth/me?secret=1', { headers: { 'cf-connecting-ip': '203.0.113.7' } });
    const record = await waitForRecord(answer);
    expect(record).toEqual({
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      correlation_id: readCorrelationId(answer),
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
    expect(Date.parse(record.occurred_at)).toBeGreaterThanOrEqual(startedAt);
  });

  it('has the same fields for a signed request, and names its key', async () => {
    const answer = await requestEvents({ quantity: '1' });
    const [key] = await env.CONTROL_DB.prepare('SELECT id, service_account_id FROM api_keys WHERE access_key = ?')
      .bind(company.apiKey.access_key)
      .all()
      .then(({ results }) => results as { id: string; service_account_id: string }[]);
    expect(await waitForRecord(answer)).toMatchObject({
      principal_type: 'service_account',
      principal_id: key?.service_account_id,
      credential: key?.id,
      route: '/admin/audit-events',
      status: 200,
    });
  });

  it('names the action and the resource of the path, also when the request is refused', async () => {
    const powerlessUser = await createAllowedUser(company);
    const id = 'a'.repeat(24);
    const record = await waitForRecord(await powerlessUser.as.get(`/v1/managed-tables/${id}`));
    expect(record).toMatchObject({
      principal_id: powerlessUser.id,
      route: '/v1/managed-tables/{id}',
      action: 'managed-tables:list',
      resource_id: id,
      status: 403,
    });
  });

  it('names the resource that the request created', async () => {
    const answer = await createSignedCaller(company.apiKey).post('/groups', { json: { name: 'Made here' } });
    expect(answer.status).toBe(201);
    expect(await waitForRecord(answer)).toMatchObject({
      action: 'groups:CreateGroup',
      resource_id: answer.body.id,
      status: 201,
    });
  });

  it('is written for a rate-limited request', async () => {
    const answer = await company.as.get('/v1/auth/me', { env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' } });
    expect(answer.status).toBe(429);
    expect(await waitForRecord(answer)).toMatchObject({ principal_id: company.owner.id, status: 429 });
  });

  it('names every id of the path, and both ids of a membership or an attachment', async () => {
    const admin = createSignedCaller(company.apiKey);
    const { body: group } = await admin.post('/groups', { json: { name: 'Attached to' } });
    const { id: userId } = await createAllowedUser(company);
    const policyId = await storePolicy(company, []);
    const account_id = company.accountId;
    const bindingAnswer = await admin.post(`/groups/${group.id}/bindings`, {
      json: { principal_type: 'user', principal_id: userId, account_id },
    });
    const inviteUserTo = (to: string) =>
      company.as.post('/v1/users/invite', { json: { email: to, group_ids: [group.id] } });
    const invitedAnswer = await inviteUserTo('invited-into@example.test');
    const refusedAnswer = await inviteUserTo(company.owner.email);
    const permissionAnswer = await company.as.post('/v1/permissions', {
      json: {
        name: 'reads',
        description: 'Reads all there is.',
        target: { company_id: company.id },
        actions: ['read'],
      },
    });
    const groupAnswer = await company.as.post('/v1/groups', {
      json: {
        name: 'Made with permissions',
        slug: 'made-with-permissions',
        description: 'Made with permissions.',
        permissionIds: [permissionAnswer.body._id],
      },
    });
    const { body: context } = await company.as.post('/api/v1/share-contexts', { json: { name: 'Attached to' } });
    const addMember = (member: object) =>
      company.as.post(`/api/v1/share-contexts/${context.id}/members`, { json: member });
    const answers = [
      [bindingAnswer, `${group.id}/${userId}`],
      [
        await admin.delete(`/groups/${group.id}/bindings/${bindingAnswer.body.id}`),
        `${group.id}/${bindingAnswer.body.id}`,
      ],
      [await admin.post(`/groups/${group.id}/policies/${policyId}`), `${group.id}/${policyId}`],
      [await company.as.delete(`/v1/groups/${group.id}/policies/${policyId}`), `${group.id}/${policyId}`],
      [
        await company.as.post(`/v1/users/${userId}/groups`, { json: { group_ids: [group.id] } }),
        `${userId}/${group.id}`,
      ],
      [await company.as.put(`/v1/users/${userId}/groups`, { json: { group_ids: [] } }), userId],
      [invitedAnswer, `${invitedAnswer.body._id}/${group.id}`],
      [groupAnswer, `${groupAnswer.body._id}/${permissionAnswer.body._id}`],
      [refusedAnswer, group.id],
      [await addMember({ member_type: 'internal_user', member_id: userId }), `${context.id}/${userId}`],
      [await addMember({ member_type: 'group', member_id: group.id }), `${context.id}/${group.id}`],
      [await addMember({ member_type: 'external_email', email: 'outside@example.test' }), context.id],
    ] as const;
    for (const [answer, resourceId] of answers) {
      expect(answer.status).toBeLessThan(answer === refusedAnswer ? 401 : 300);
      expect(await waitForRecord(answer)).toMatchObject({ resource_id: resourceId });
    }
  });

  it('is written for a request of the operator', async () => {
    const answer = await callApi('POST', '/admin/organizations', {
      headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
      json: {},
    });
    expect(await waitForPlatformRecord(answer)).toMatchObject({ principalType: 'operator', status: 422 });
  });

  it('never holds a secret, a token or a query', async () => {
    const secrets = [company.token, company.refreshToken, company.apiKey.secret_key, company.owner.password];
    await callApi('POST', '/v1/auth/refresh', { json: { refresh_token: company.refreshToken } });
    await waitForRecord(await company.as.get(`/v1/auth/me?token=${company.token}`));
    const text = JSON.stringify([await readRecords('audit', company.id), await readRecords('audit')]);
    for (const secret of [...secrets, 'correlation_id=', 'quantity=']) expect(text).not.toContain(secret);
  });

  it('belongs to the company for a sign-in, with the user once they are known', async () => {
    const { slug, owner } = company;
    const logIn = (json: object) => callApi('POST', '/v1/auth/login', { json: { company_slug: slug, ...json } });
    const wrongPasswordAnswer = await logIn({ email: owner.email, password: 'not this one' });
    const right = await logIn({ email: owner.email, password: owner.password });
    const json = { refresh_token: right.body.refresh_token };
    const refreshAnswer = await callApi('POST', '/v1/auth/refresh', { json });
    const code = await callApi('POST', '/v1/auth/passwordless/request', {
      json: { company_slug: slug, email: 'nobody@nowhere.test' },
    });
    const resetAnswer = await callApi('POST', '/v1/users/reset-password/request', {
      json: { company_slug: slug, email: owner.email },
    });
    const portalAnswer = await callApi('POST', '/api/v1/share-auth/request', {
      json: { company_slug: slug, email: 'nobody@nowhere.test' },
    });
    const anonymousPrincipal = { principal_type: 'anonymous', principal_id: null };
    const knownPrincipal = { principal_type: 'user', principal_id: owner.id };
    expect(await waitForRecord(wrongPasswordAnswer)).toMatchObject({
      action: 'auth:login',
      status: 400,
      ...anonymousPrincipal,
    });
    expect(await waitForRecord(right)).toMatchObject({ action: 'auth:login', status: 200, ...knownPrincipal });
    expect(await waitForRecord(refreshAnswer)).toMatchObject({
      action: 'auth:refresh',
      status: 200,
      ...knownPrincipal,
    });
    expect(await waitForRecord(code)).toMatchObject({
      action: 'auth:passwordless_request',
      status: 200,
      ...anonymousPrincipal,
    });
    expect(await waitForRecord(resetAnswer)).toMatchObject({
      action: 'auth:reset-password_request',
      ...anonymousPrincipal,
    });
    expect(await waitForRecord(portalAnswer)).toMatchObject({
      action: 'share-auth:request',
      status: 200,
      ...anonymousPrincipal,
    });
  });

  it('belongs to the company for a sign-in with a provider', async () => {
    const answer = await callApi('GET', `/v1/auth/sso/${company.slug}/callback?state=unknown`);
    expect(await waitForRecord(answer)).toMatchObject({ action: 'auth:sso_callback', principal_type: 'anonymous' });
  });
});

describe('requests of unknown clients, which belong to no company,', () => {
  const listClientRecords = async (address: string) => {
    const records = [...(await readRecords('audit')), ...(await readRecords('audit', company.id))];
    return records.filter(({ ip }) => ip === address);
  };
  /** Ends the minute in which the requests of an address are counted. */
  const endMinute = (address: string) => runDurableObjectAlarm(env.IP_LIMITER.getByName(address));

  it('leave one record per IP address and minute, with their count and without the identity they claim', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.60' };
    await callApi('GET', '/health', { headers });
    await callApi('GET', '/no/such/route/token-in-the-path?token=in-the-query', { headers });
    await callApi('OPTIONS', '/users', { headers: { ...headers, origin: 'https://console.test' } });
    await createCaller('garbage-token').get('/v1/auth/me', { headers });
    await callApi('POST', '/groups', {
      headers: { ...headers, authorization: 'HMAC a:b' },
      body: 'x'.repeat(2_000_000),
    });
    await callApi('POST', '/v1/auth/login', {
      headers,
      json: { company_slug: 'no-such-company', email: 'a@b.test', password: 'x' },
    });
    expect(await listClientRecords('203.0.113.60')).toEqual([]);

    expect(await endMinute('203.0.113.60')).toBe(true);
    const rows = await vi.waitFor(
      async () => {
        const clientRecords = await listClientRecords('203.0.113.60');
        expect(clientRecords).toHaveLength(1);
        return clientRecords;
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

  it('from one IPv6 /64 network are counted together like requests from one address', async () => {
    for (const interfaceId of ['1', '2', 'ffff:1:2']) {
      const headers = { 'cf-connecting-ip': `2001:db8:5:6::${interfaceId}` };
      await callApi('GET', '/health', { headers });
    }
    await endMinute('2001:db8:5:6::/64');
    await vi.waitFor(async () => expect(await listClientRecords('2001:db8:5:6::/64')).toMatchObject([{ count: 3 }]), {
      timeout: 15_000,
      interval: 100,
    });
  });

  it('do not include requests of the operator, nor rate-limited requests of a known user', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.61', authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` };
    await callApi('POST', '/admin/organizations', { headers, json: {} });
    await company.as.get('/v1/auth/me', {
      headers: { 'cf-connecting-ip': '203.0.113.61' },
      env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' },
    });
    await vi.waitFor(async () => expect(await listClientRecords('203.0.113.61')).toHaveLength(2), {
      timeout: 15_000,
      interval: 100,
    });
    expect(await endMinute('203.0.113.61')).toBe(false);
  });
});

describe('GET /admin/audit-events', () => {
  it('lists the newest first, in stable pages', async () => {
    const other = await createOwnedCompany();
    const listEvents = async (query: string) =>
      (await createSignedCaller(other.apiKey).get(`/admin/audit-events?${query}`)).body;
    for (let round = 0; round < 12; round += 1) await other.as.get('/v1/auth/me');
    const query = `principal_id=${other.owner.id}`;
    await vi.waitFor(async () => expect((await listEvents(query)).total).toBe(12), { timeout: 15_000, interval: 100 });

    const wholeList = await listEvents(`${query}&quantity=100`);
    expect(Object.keys(wholeList)).toEqual(['total', 'page', 'results']);
    const pages = await Promise.all([1, 2, 3, 4].map((page) => listEvents(`${query}&quantity=5&page=${page}`)));
    expect(pages.map(({ page, total, results }) => [page, total, results.length])).toEqual([
      [1, 12, 5],
      [2, 12, 5],
      [3, 12, 2],
      [4, 12, 0],
    ]);
    expect(pages.flatMap(({ results }) => results)).toEqual(wholeList.results);
    const times = wholeList.results.map((event: { occurred_at: string }) => event.occurred_at);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('filters by principal, action and time, both ends included', async () => {
    const reader = await createAllowedUser(company, { can: ['managed-tables:list'] });
    const record = await waitForRecord(await reader.as.get('/v1/managed-tables'));
    const countRecords = async (query: Record<string, string>) =>
      (await requestEvents({ principal_id: reader.id, ...query })).body.total;
    expect(await countRecords({})).toBe(1);
    expect(await countRecords({ action: 'managed-tables:list' })).toBe(1);
    expect(await countRecords({ action: 'managed-tables:create' })).toBe(0);
    expect(await countRecords({ from: record.occurred_at, to: record.occurred_at })).toBe(1);
    const ms = Date.parse(record.occurred_at);
    expect(await countRecords({ from: new Date(ms + 1).toISOString() })).toBe(0);
    expect(await countRecords({ to: new Date(ms - 1).toISOString() })).toBe(0);
    expect(await countRecords({ correlation_id: record.correlation_id, principal_id: company.owner.id })).toBe(0);
  });

  it('shows no records of another organization', async () => {
    const other = await createOwnedCompany();
    const answer = await other.as.get('/v1/auth/me');
    await vi.waitFor(async () => expect(await readRecords('audit', other.id)).not.toEqual([]), { timeout: 15_000 });
    expect((await requestEvents({ correlation_id: readCorrelationId(answer) })).body.total).toBe(0);
    expect((await requestEvents({ principal_id: other.owner.id })).body.total).toBe(0);
  });

  it.each([
    ['from', 'yesterday'],
    ['to', '2026-13-01T00:00:00Z'],
    ['page', '0'],
    ['quantity', '101'],
    ['action', ''],
    ['correlation_id', 'x'.repeat(200)],
  ])('refuses %s=%s', async (field, value) => {
    const { status, body } = await requestEvents({ [field]: value });
    expect([status, body.error]).toEqual([422, 'ValidationError']);
    expect(body.details).toContainEqual(expect.objectContaining({ field, message: expect.any(String) }));
  });
});

it('the audit trail on the console has the records of the organization API, with the field names of the console', async () => {
  const answer = await company.as.get('/v1/users');
  const { id, organization_id, ...rest } = await waitForRecord(answer);
  const query = new URLSearchParams({ correlation_id: readCorrelationId(answer) });
  const { body } = await company.as.get(`/v1/audit-events?${query}`);
  const record = { _id: id, company_id: organization_id, ...rest };
  expect([body.total, body.quantity, body.records]).toEqual([1, 1, [record]]);
  expect(record).toMatchObject({ route: '/v1/users', action: 'users:list', principal_id: company.owner.id });
});

it('the audit trail has a record of every request of a burst of 500', async () => {
  const [requestCount, batchSize] = [500, 50];
  const burstCompany = await createOwnedCompany();
  const ids = new Set<string>();
  for (let sentCount = 0; sentCount < requestCount; sentCount += batchSize) {
    const answers = await Promise.all(Array.from({ length: batchSize }, () => burstCompany.as.get('/v1/auth/me')));
    for (const { headers } of answers) ids.add(headers.get('x-correlation-id') as string);
  }
  expect(ids.size).toBe(requestCount);

  const query = `principal_id=${burstCompany.owner.id}`;
  await vi.waitFor(
    async () => {
      const { body } = await createSignedCaller(burstCompany.apiKey).get(`/admin/audit-events?${query}&quantity=1`);
      expect(body.total).toBe(requestCount);
    },
    { timeout: 30_000, interval: 500 },
  );
  const records = await readRecords('audit', burstCompany.id, { values: { principalId: burstCompany.owner.id } });
  expect(new Set(records.map(({ correlationId }) => correlationId))).toEqual(ids);
}, 120_000);
