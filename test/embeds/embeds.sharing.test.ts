import { env } from 'cloudflare:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { aSalesDashboard, regionsIn, regionsOf, someSales } from '../shares/support.ts';
import { BASE_URL, call } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createCountingD1 } from '../support/counted.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aVisualization } from '../visualizations/support.ts';
import { createEmbed, makeEmbedRoutes } from './support.ts';

let company: Company;
let id: string;
let visualization: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  const made = await aSalesDashboard(company);
  id = made.dashboard._id;
  visualization = made.rows._id;
});
afterEach(resetClock);

const generateEmbed = (json: Record<string, unknown>, as = company.as) =>
  as.post(`/api/v1/embed/dashboards/${id}`, { json });
const dashboardEmbed = async (json: Record<string, unknown> = {}) =>
  makeEmbedRoutes('d', await createEmbed(company, 'dashboards', id, json));

describe('the creation of an embed', () => {
  it('answers a token, the address of its page, and its expiry', async () => {
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
    ['a list of fixed parameters', { fixed_params: [] }],
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

  it('answers 404 for what does not exist or is another company’s', async () => {
    const other = await aCompany();
    expect((await generateEmbed({}, other.as)).status).toBe(404);
    expect((await company.as.post(`/api/v1/embed/dashboards/${'0'.repeat(24)}`, { json: {} })).status).toBe(404);
    expect((await company.as.post(`/api/v1/embed/visualizations/${id}`, { json: {} })).status).toBe(404);
  });
});

describe('an embedded dashboard', () => {
  it('answers the filters that its viewer may use', async () => {
    const allowed = ['https://partner.test'];
    const embed = await dashboardEmbed({
      allowed_params: ['regions', 'least'],
      required_params: ['regions'],
      fixed_params: { region: 'north' },
      allowed_origins: allowed,
    });
    const { status, body, headers } = await embed.info();
    expect([status, body]).toEqual([
      200,
      {
        requires_auth: false,
        branding: { name: expect.stringMatching(/^Company \d+$/) },
        embed_options: { allowed_origins: allowed, hide_header: false, hide_controls: false, allow_downloads: false },
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
    const embed = await dashboardEmbed({ fixed_params: { regions: ['north', 'south'] }, allowed_params: ['least'] });
    expect(regionsOf((await embed.execute()).body)).toEqual(['north', 'south']);
    expect(regionsIn((await embed.execute({ least: 45 })).body)).toEqual(['south']);
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
    const embed = await dashboardEmbed({ allowed_params: ['regions'], required_params: ['regions'] });
    for (const none of [{}, { regions: null }, { regions: [] }, { regions: '' }]) {
      const { status, body } = await embed.execute(none);
      expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
    }
    expect(regionsOf((await embed.execute({ regions: ['east'] })).body)).toEqual(['east']);
  });

  it('answers options of allowed filters only', async () => {
    const embed = await dashboardEmbed({ allowed_params: ['regions'] });
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
    const withText = await dashboardEmbed({ allowed_params: ['days'] });
    expect((await withText.options('days')).status).toBe(404);
  });

  it('keeps every digit of a fixed number', async () => {
    const { body } = await company.as.post('/v1/visualizations', {
      json: { name: 'Echo', sql: 'SELECT {{n}}::text', parameters: [{ slug: 'n', label: 'N', kind: 'number' }] },
    });
    const sent = await company.as.post(`/api/v1/embed/visualizations/${body._id}`, {
      headers: { 'content-type': 'application/json' },
      body: '{"fixed_params": {"n": 12345678901234567890.123456789}}',
    });
    const shown = await makeEmbedRoutes('v', sent.body.token).execute();
    expect(shown.body.result.rows).toEqual([['12345678901234567890.123456789']]);
  });
});

describe('an embedded visualization', () => {
  it('is described and executed by itself', async () => {
    const token = await createEmbed(company, 'visualizations', visualization, { allowed_params: ['region'] });
    const embed = makeEmbedRoutes('v', token);
    const { body } = await embed.info();
    expect(body.visualization).toMatchObject({ id: visualization, name: 'Rows', filters: [{ slug: 'region' }] });
    expect(body.visualization.layout).toHaveLength(1);
    const answer = await embed.execute({ region: 'east' });
    expect(answer.body.result).toMatchObject({ visualization_id: visualization, rows: [['east', 60]], cached: false });
    // Cached under our own host: Cloudflare caches nothing for a host outside of the zone.
    const kept = vi.spyOn(Cache.prototype, 'match');
    expect((await embed.execute({ region: 'east' })).body.result.cached).toBe(true);
    expect(new URL(kept.mock.calls[0]?.[0] as string).origin).toBe(BASE_URL);
    kept.mockRestore();
    expect((await embed.execute({ regions: ['east'] })).status).toBe(403);
  });
});

describe('an embed token', () => {
  const refused = async (token: string) => {
    const embed = makeEmbedRoutes('d', token);
    for (const { status, body } of [await embed.info(), await embed.options('regions'), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  };

  it('ends when it expires', async () => {
    const token = await createEmbed(company, 'dashboards', id, { expires_in: 60 });
    expect((await makeEmbedRoutes('d', token).info()).status).toBe(200);
    advanceClock(61_000);
    await refused(token);
  });

  it('ends on the next request after a rotation of its company’s key, and of no other’s', async () => {
    const [one, other] = [await aCompany(), await aCompany()];
    const tokens = [];
    for (const each of [one, other]) {
      const { dashboard } = await aSalesDashboard(each);
      tokens.push(await createEmbed(each, 'dashboards', dashboard._id));
    }
    const [token = '', otherToken = ''] = tokens;
    expect((await makeEmbedRoutes('d', token).info()).status).toBe(200);
    expect((await one.as.post('/api/v1/embed/rotate-key')).status).toBe(204);
    await refused(token);
    expect((await makeEmbedRoutes('d', otherToken).info()).status).toBe(200);
    const { body } = await one.as.get('/v1/dashboards');
    const renewed = await createEmbed(one, 'dashboards', body.records[0]._id);
    expect((await makeEmbedRoutes('d', renewed).info()).status).toBe(200);
    await one.as.post('/api/v1/embed/rotate-key');
    await refused(renewed);
  });

  it('ends when the dashboard that it shows is deleted', async () => {
    const { dashboard } = await aSalesDashboard(company, { name: 'Short-lived' });
    const embed = makeEmbedRoutes('d', await createEmbed(company, 'dashboards', dashboard._id));
    await company.as.delete(`/v1/dashboards/${dashboard._id}`);
    for (const { status, body } of [await embed.info(), await embed.options('regions'), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  });

  it('ends when the visualization that it shows is deleted', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1 AS n');
    const embed = makeEmbedRoutes('v', await createEmbed(company, 'visualizations', _id));
    expect((await company.as.delete(`/v1/visualizations/${_id}`)).status).toBe(204);
    for (const { status, body } of [await embed.info(), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  });

  it('outlives a new version of the master secret, and ends when the old one is removed', async () => {
    const token = await createEmbed(company, 'dashboards', id);
    const { 1: first } = JSON.parse((env as unknown as { EMBED_SECRETS: string }).EMBED_SECRETS);
    const second = 'another master secret, just as long as it has to be';
    const withBoth = { env: { EMBED_SECRETS: JSON.stringify({ 1: first, 2: second }) } };
    const withSecond = { env: { EMBED_SECRETS: JSON.stringify({ 2: second }) } };
    expect((await makeEmbedRoutes('d', token).info(withBoth)).status).toBe(200);
    expect((await makeEmbedRoutes('d', token).info(withSecond)).status).toBe(401);
    const { body } = await company.as.post(`/api/v1/embed/dashboards/${id}`, { json: {}, ...withBoth });
    expect(decodeProtectedHeader(body.token).kid).toBe('2');
    expect((await makeEmbedRoutes('d', body.token).info(withSecond)).status).toBe(200);
  });
});

describe('the allowed origins of an embed', () => {
  it('are those that its token names, and those of our own pages', async () => {
    const partner = 'https://partner.test';
    const token = await createEmbed(company, 'dashboards', id, { allowed_origins: [partner] });
    const allowed = await makeEmbedRoutes('d', token, { origin: partner }).execute();
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, partner]);
    expect((await makeEmbedRoutes('d', token, { origin: 'https://api.test' }).execute()).status).toBe(200);
    const foreign = await makeEmbedRoutes('d', token, { origin: 'https://other.test' }).execute();
    expect([foreign.status, foreign.body.error_code]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
    for (const [origin, answered] of [
      [partner, partner],
      ['https://other.test', null],
    ] as const) {
      const headers = { origin, 'access-control-request-method': 'POST' };
      const preflight = await call('OPTIONS', `/api/embed/d/${token}/execute`, { headers });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, answered]);
    }
    const open = await createEmbed(company, 'visualizations', visualization);
    const anywhere = await makeEmbedRoutes('v', open, { origin: 'https://other.test' }).info();
    expect([anywhere.status, anywhere.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
  });
});

describe('the database calls of an embed', () => {
  it('are one D1 batch for its info or a cached execution, and none for an invalid token', async () => {
    const token = await createEmbed(company, 'dashboards', id);
    const info = createCountingD1();
    expect((await makeEmbedRoutes('d', token).info({ env: info.env })).status).toBe(200);
    expect(info.calls()).toBe(1);
    await makeEmbedRoutes('d', token).execute({});
    const cached = createCountingD1();
    const { body } = await makeEmbedRoutes('d', token).execute({}, { env: cached.env });
    expect([body.results?.[0].cached ?? body, cached.calls()]).toEqual([true, 1]);
    const forged = createCountingD1();
    expect((await makeEmbedRoutes('d', `${token.slice(0, -4)}AAAA`).info({ env: forged.env })).status).toBe(401);
    expect(forged.calls()).toBe(0);
  });
});

describe('the rate limits of an embed', () => {
  it('are counted per token', async () => {
    const limited = { env: { RATE_LIMIT_TOKEN_PER_MINUTE: '2' } };
    const [one, other] = [await createEmbed(company, 'dashboards', id), await createEmbed(company, 'dashboards', id)];
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await makeEmbedRoutes('d', one).info(limited)).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await makeEmbedRoutes('d', other).info(limited)).status).toBe(200);
  });
});
