import { env } from 'cloudflare:test';
import { gzipSync } from 'node:zlib';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { describe, expect, it, vi } from 'vitest';
import { createSalesDashboard, createSalesTable, listDistinctRegions, listRegions } from '../shares/support.ts';
import { BASE_URL, callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';
import { createEmbedClient, createEmbedToken } from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const sales = await createSalesDashboard(company);
const id = sales.dashboard._id;
const visualization = sales.rows._id;

const generateEmbed = (json: Record<string, unknown>, as = company.as) =>
  as.post(`/api/v1/embed/dashboards/${id}`, { json });
const createDashboardEmbed = async (json: Record<string, unknown> = {}) =>
  createEmbedClient('d', await createEmbedToken(company, 'dashboards', id, json));

describe('the creation of an embed', () => {
  it('returns a token, the address of its page, and its expiry', async () => {
    const { status, body } = await generateEmbed({});
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(new RegExp(`^d-${id}-[a-f0-9]{24}$`)),
        token: expect.any(String),
        url: `https://api.test/embed/d/${body.token}`,
        expires_at: expect.any(String),
      },
    ]);
    expect((Date.parse(body.expires_at) - Date.now()) / 1000).toBeCloseTo(3600, -1);
    expect(decodeProtectedHeader(body.token)).toEqual({ alg: 'HS256', kid: '1', typ: 'JWT' });
    expect(decodeJwt(body.token)).toMatchObject({ com: company.id, sub: id, jti: body.id });
    const other = await company.as.post(`/api/v1/embed/visualizations/${visualization}`, { json: { expires_in: 60 } });
    expect(other.body.url).toBe(`https://api.test/embed/v/${other.body.token}`);
  });

  it.each([
    ['an unknown fixed parameter', { fixed_params: { nothing: 1 } }],
    ['an unknown allowed parameter', { allowed_params: ['nothing'] }],
    ['a parameter both fixed and allowed', { fixed_params: { regions: ['north'] }, allowed_params: ['regions'] }],
    ['a required parameter that is neither fixed nor allowed', { required_params: ['regions'] }],
    ['a parameter both required and fixed', { fixed_params: { regions: ['north'] }, required_params: ['regions'] }],
    ['a fixed value of the wrong type', { fixed_params: { days: 'yesterday' } }],
    ['an expiry after less than a minute', { expires_in: 59 }],
    ['an expiry after more than a year', { expires_in: 31_536_001 }],
    ['an expiry with half a second', { expires_in: 60.5 }],
    ['an origin with a path', { allowed_origins: ['https://a.test/x'] }],
    ['an origin with a wildcard', { allowed_origins: ['*'] }],
    ['an origin with a wildcard in its host', { allowed_origins: ['https://*.example.com'] }],
    [
      'too many fixed parameters',
      { fixed_params: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`p${n}`, n])) },
    ],
    [
      'more values than fit into a URL',
      { fixed_params: { regions: Array.from({ length: 900 }, (_, n) => `value ${n}`) } },
    ],
  ])('refuses %s', async (_what, json) => {
    const { status, body } = await generateEmbed(json);
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('names the field that makes the token too long for a URL', async () => {
    const [fixed, other] = ['a', 'b'].map((letter) => letter.repeat(60)) as [string, string];
    const filters = [fixed, other].map((slug) => ({ slug, label: 'Filter', kind: 'multi_select' }));
    const values = Array.from({ length: 10 }, (_, n) => `${n}`.repeat(500));
    const dashboard = await postDashboard(company.as, [], { filters });
    const fixed_params = { [fixed]: ['short'] };
    const origins = Array.from({ length: 20 }, (_, n) => `https://${`${'x'.repeat(60)}.`.repeat(3)}host-${n}.example`);
    for (const [field, json] of [
      ['fixed_params', { fixed_params: { [fixed]: values }, allowed_params: [other] }],
      ['allowed_params', { fixed_params, allowed_params: Array(100).fill(other) }],
      ['required_params', { fixed_params, allowed_params: [other], required_params: Array(100).fill(other) }],
      ['allowed_origins', { fixed_params, allowed_origins: origins }],
      ['viewer.attributes', { fixed_params, viewer: { id: 'u', attributes: { region: values } } }],
    ] as const) {
      const { status, body } = await company.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json });
      expect([status, body.details]).toEqual([
        422,
        [{ field, reason: 'too_long', message: 'are too long: the token would not fit into a URL' }],
      ]);
    }
  });

  it('answers 404 for a dashboard or visualization that does not exist or belongs to another company', async () => {
    const other = await createOwnedCompany();
    expect((await generateEmbed({}, other.as)).status).toBe(404);
    expect((await company.as.post(`/api/v1/embed/dashboards/${'0'.repeat(24)}`, { json: {} })).status).toBe(404);
    expect((await company.as.post(`/api/v1/embed/visualizations/${id}`, { json: {} })).status).toBe(404);
  });
});

describe('an embedded dashboard', () => {
  it('returns the filters that its viewer may use', async () => {
    const allowedOrigins = ['https://partner.test'];
    const embed = await createDashboardEmbed({
      allowed_params: ['regions', 'least'],
      required_params: ['regions'],
      fixed_params: { region: 'north' },
      allowed_origins: allowedOrigins,
    });
    const { status, body, headers } = await embed.info();
    expect([status, body]).toEqual([
      200,
      {
        requires_auth: false,
        branding: { name: expect.stringMatching(/^Company \d+$/) },
        embed_options: {
          allowed_origins: allowedOrigins,
          hide_header: false,
          hide_controls: false,
          allow_downloads: false,
        },
        expires_at: expect.any(String),
        dashboard: {
          id,
          name: 'Overview',
          slug: expect.any(String),
          description: '',
          layout: [{ visualization_id: visualization, x: 0, y: 0, w: 4, h: 3 }],
          filters: [
            { slug: 'regions', label: 'Regions', kind: 'multi_select', default: null, required: true },
            { slug: 'least', label: 'least', kind: 'number', default: null, required: false },
          ],
          charts: [{ visualization_id: visualization, name: 'Rows', description: '', chart: expect.anything() }],
        },
      },
    ]);
    expect([headers.get('referrer-policy'), headers.get('cache-control')]).toEqual([
      'no-referrer',
      'private, no-store',
    ]);
  });

  it('is executed with fixed and allowed parameters only', async () => {
    const embed = await createDashboardEmbed({
      fixed_params: { regions: ['north', 'south'] },
      allowed_params: ['least'],
    });
    expect(listDistinctRegions((await embed.execute()).body)).toEqual(['north', 'south']);
    expect(listRegions((await embed.execute({ least: 45 })).body)).toEqual(['south']);
    for (const parameters of [
      { regions: ['east'] },
      { regions: ['north'] },
      { regions: null },
      { days: {} },
      { region: 'x' },
      { unknown: 1 },
    ]) {
      const { status, body } = await embed.execute(parameters);
      expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);
    }
  });

  it('is refused without a required parameter', async () => {
    const embed = await createDashboardEmbed({ allowed_params: ['regions'], required_params: ['regions'] });
    for (const emptyParameters of [{}, { regions: null }, { regions: [] }, { regions: '' }]) {
      const { status, body } = await embed.execute(emptyParameters);
      expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
    }
    expect(listDistinctRegions((await embed.execute({ regions: ['east'] })).body)).toEqual(['east']);
  });

  it('returns options of allowed filters only', async () => {
    const embed = await createDashboardEmbed({ allowed_params: ['regions'] });
    expect((await embed.options('regions', 'eas')).body).toEqual({
      filter_slug: 'regions',
      options: [{ value: 'east', label: 'EAST' }],
      source: 'dynamic',
    });
    // Alike, so that nobody can guess which filters there are.
    for (const slug of ['region', 'days', 'nothing']) {
      const { status, body } = await embed.options(slug);
      expect([slug, status, body.error_code]).toEqual([slug, 403, 'FILTER_DISABLED_BY_POLICY']);
    }
    const embedWithoutOptions = await createDashboardEmbed({ allowed_params: ['days'] });
    expect((await embedWithoutOptions.options('days')).status).toBe(404);
  });

  it('keeps every digit of a fixed number', async () => {
    const { body } = await company.as.post('/v1/visualizations', {
      json: { name: 'Echo', sql: 'SELECT {{n}}::text', parameters: [{ slug: 'n', label: 'N', kind: 'number' }] },
    });
    const embedAnswer = await company.as.post(`/api/v1/embed/visualizations/${body._id}`, {
      headers: { 'content-type': 'application/json' },
      body: '{"fixed_params": {"n": 12345678901234567890.123456789}}',
    });
    const executedEmbed = await createEmbedClient('v', embedAnswer.body.token).execute();
    expect(executedEmbed.body.result.rows).toEqual([['12345678901234567890.123456789']]);
  });
});

it('an embedded visualization is described and executed by itself', async () => {
  const token = await createEmbedToken(company, 'visualizations', visualization, { allowed_params: ['region'] });
  const embed = createEmbedClient('v', token);
  const { body } = await embed.info();
  expect(body.visualization).toMatchObject({ id: visualization, name: 'Rows', filters: [{ slug: 'region' }] });
  expect(body.visualization.layout).toHaveLength(1);
  const answer = await embed.execute({ region: 'east' });
  expect(answer.body.result).toMatchObject({ visualization_id: visualization, rows: [['east', 60]], cached: false });
  // Cached under our own host: Cloudflare caches nothing for a host outside of the zone.
  const cacheMatch = vi.spyOn(Cache.prototype, 'match');
  expect((await embed.execute({ region: 'east' })).body.result.cached).toBe(true);
  expect(new URL(cacheMatch.mock.calls[0]?.[0] as string).origin).toBe(BASE_URL);
  cacheMatch.mockRestore();
  expect((await embed.execute({ regions: ['east'] })).status).toBe(403);
});

describe('an embed token', () => {
  const expectTokenInvalid = async (token: string) => {
    const embed = createEmbedClient('d', token);
    for (const { status, body } of [await embed.info(), await embed.options('regions'), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  };

  it('ends when it expires', async () => {
    const token = await createEmbedToken(company, 'dashboards', id, { expires_in: 60 });
    expect((await createEmbedClient('d', token).info()).status).toBe(200);
    advanceClock(61_000);
    await expectTokenInvalid(token);
  });

  it("ends on the next request after a rotation of its company’s key, but not of another company's key", async () => {
    const [one, other] = [await createOwnedCompany(), await createOwnedCompany()];
    const tokens = [];
    for (const listedEmbed of [one, other]) {
      const { dashboard } = await createSalesDashboard(listedEmbed);
      tokens.push(await createEmbedToken(listedEmbed, 'dashboards', dashboard._id));
    }
    const [token = '', otherToken = ''] = tokens;
    expect((await createEmbedClient('d', token).info()).status).toBe(200);
    expect((await one.as.post('/api/v1/embed/rotate-key')).status).toBe(204);
    await expectTokenInvalid(token);
    expect((await createEmbedClient('d', otherToken).info()).status).toBe(200);
    const { body } = await one.as.get('/v1/dashboards');
    const renewedToken = await createEmbedToken(one, 'dashboards', body.records[0]._id);
    expect((await createEmbedClient('d', renewedToken).info()).status).toBe(200);
    await one.as.post('/api/v1/embed/rotate-key');
    await expectTokenInvalid(renewedToken);
  });

  it('ends when the dashboard that it shows is deleted', async () => {
    const { dashboard } = await createSalesDashboard(company, { name: 'Short-lived' });
    const embed = createEmbedClient('d', await createEmbedToken(company, 'dashboards', dashboard._id));
    await company.as.delete(`/v1/dashboards/${dashboard._id}`);
    for (const { status, body } of [await embed.info(), await embed.options('regions'), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  });

  it('ends when the visualization that it shows is deleted', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1 AS n');
    const embed = createEmbedClient('v', await createEmbedToken(company, 'visualizations', _id));
    expect((await company.as.delete(`/v1/visualizations/${_id}`)).status).toBe(204);
    for (const { status, body } of [await embed.info(), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  });

  it('outlives a new version of the master secret, and ends when the old version is removed', async () => {
    const token = await createEmbedToken(company, 'dashboards', id);
    const { 1: first } = JSON.parse((env as unknown as { EMBED_SECRETS: string }).EMBED_SECRETS);
    const secondSecret = 'another master secret, just as long as it has to be';
    const bothSecretsEnv = { env: { EMBED_SECRETS: JSON.stringify({ 1: first, 2: secondSecret }) } };
    const secondSecretEnv = { env: { EMBED_SECRETS: JSON.stringify({ 2: secondSecret }) } };
    expect((await createEmbedClient('d', token).info(bothSecretsEnv)).status).toBe(200);
    expect((await createEmbedClient('d', token).info(secondSecretEnv)).status).toBe(401);
    const { body } = await company.as.post(`/api/v1/embed/dashboards/${id}`, { json: {}, ...bothSecretsEnv });
    expect(decodeProtectedHeader(body.token).kid).toBe('2');
    expect((await createEmbedClient('d', body.token).info(secondSecretEnv)).status).toBe(200);
  });
});

it("the allowed origins of an embed are the origins that its token names, and those of the service's own pages", async () => {
  const partnerOrigin = 'https://partner.test';
  const token = await createEmbedToken(company, 'dashboards', id, { allowed_origins: [partnerOrigin] });
  const allowedAnswer = await createEmbedClient('d', token, { origin: partnerOrigin }).execute();
  expect([allowedAnswer.status, allowedAnswer.headers.get('access-control-allow-origin')]).toEqual([
    200,
    partnerOrigin,
  ]);
  expect((await createEmbedClient('d', token, { origin: 'https://api.test' }).execute()).status).toBe(200);
  const foreignAnswer = await createEmbedClient('d', token, { origin: 'https://other.test' }).execute();
  expect([foreignAnswer.status, foreignAnswer.body.error_code]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
  expect(foreignAnswer.headers.get('access-control-allow-origin')).toBeNull();
  for (const [origin, answered] of [
    [partnerOrigin, partnerOrigin],
    ['https://other.test', null],
  ] as const) {
    const headers = { origin, 'access-control-request-method': 'POST' };
    const preflight = await callApi('OPTIONS', `/api/embed/d/${token}/execute`, { headers });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, answered]);
  }
  const openToken = await createEmbedToken(company, 'visualizations', visualization);
  const foreignOriginAnswer = await createEmbedClient('v', openToken, { origin: 'https://other.test' }).info();
  expect([foreignOriginAnswer.status, foreignOriginAnswer.headers.get('access-control-allow-origin')]).toEqual([
    200,
    '*',
  ]);
});

it('the database calls of an embed are one D1 batch for its info or a cached execution, and none for an invalid token', async () => {
  const token = await createEmbedToken(company, 'dashboards', id);
  const infoDb = createCountingD1();
  expect((await createEmbedClient('d', token).info({ env: infoDb.env })).status).toBe(200);
  expect(infoDb.countCalls()).toBe(1);
  await createEmbedClient('d', token).execute({});
  const cachedDb = createCountingD1();
  const { body } = await createEmbedClient('d', token).execute({}, { env: cachedDb.env });
  expect([body.results?.[0].cached ?? body, cachedDb.countCalls()]).toEqual([true, 1]);
  const forgedDb = createCountingD1();
  expect((await createEmbedClient('d', `${token.slice(0, -4)}AAAA`).info({ env: forgedDb.env })).status).toBe(401);
  expect(forgedDb.countCalls()).toBe(0);
});

it('the rate limits of an embed are counted per token', async () => {
  const limitedEnv = { env: { RATE_LIMIT_TOKEN_PER_MINUTE: '2' } };
  const [one, other] = [
    await createEmbedToken(company, 'dashboards', id),
    await createEmbedToken(company, 'dashboards', id),
  ];
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await createEmbedClient('d', one).info(limitedEnv)).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect((await createEmbedClient('d', other).info(limitedEnv)).status).toBe(200);
});

const COMPONENT_PATH = '/embed.js';

describe('the web component for embeds', () => {
  it('is found through a redirect that is cached for five minutes, and cached forever under its versioned name', async () => {
    const redirectAnswer = await callApi('GET', COMPONENT_PATH);
    const path = redirectAnswer.headers.get('location') as string;
    expect([redirectAnswer.status, path]).toEqual([302, expect.stringMatching(/^\/embed\/component-[A-Z0-9]{8}\.js$/)]);
    expect(redirectAnswer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(redirectAnswer.headers.get('access-control-allow-origin')).toBe('*');
    const { status, headers, body } = await callApi('GET', path, { headers: { origin: 'https://www.host.test' } });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(String(body)).toContain('data-console-embed');
  });

  it('has at most 10 KB gzipped, and needs no other file', async () => {
    const path = (await callApi('GET', COMPONENT_PATH)).headers.get('location') as string;
    const script = String((await callApi('GET', path)).body);
    expect(gzipSync(script).length).toBeLessThan(10_000);
    expect(script).not.toMatch(/\bimport\b/);
  });

  it('is the current component under the name of an old version, and not found under other names', async () => {
    const oldNameAnswer = await callApi('GET', '/embed/component-AAAAAAAA.js');
    expect([oldNameAnswer.status, oldNameAnswer.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    for (const name of ['current', 'component-.js', 'component-AAAAAAAA.js.map', '..%2Fpages%2Fview.en.html']) {
      const { status, body } = await callApi('GET', `/embed/${name}`);
      expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
    }
  });
});
