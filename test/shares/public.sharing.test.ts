import { describe, expect, it, vi } from 'vitest';
import { newSecretToken } from '../../src/kernel/ids.ts';
import { computeSha256Hex } from '../../src/platform/secrets.ts';
import { createShareContext } from '../share-portal/support.ts';
import { callApi } from '../support/api.ts';
import { stopClockAt } from '../support/clock.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { readRecords } from '../support/log.ts';
import { runSql } from '../support/race.ts';
import {
  createSalesDashboard,
  createSalesTable,
  createShare,
  createShareClient,
  listDistinctRegions,
  listRegions,
  makePolicy,
} from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const id = (await createSalesDashboard(company)).dashboard._id;

const createSharedLink = async (...policies: unknown[]) =>
  createShareClient((await createShare(company, id, { share_filter_policies: policies })).token);
const listFilters = async (link: ReturnType<typeof createShareClient>) =>
  (await link.resolve()).body.dashboard.filters.map(({ slug }: { slug: string }) => slug);

describe('the response to a share link', () => {
  it('has the dashboard and the filters that its viewer may use', async () => {
    const share = await createShare(company, id, { expires_at: '2099-01-01T00:00:00.000Z' });
    const { status, body } = await createShareClient(share.token).resolve();
    expect([status, body]).toEqual([
      200,
      {
        requires_auth: false,
        branding: { name: expect.stringMatching(/^Company \d+$/) },
        share_type: 'link',
        dashboard: {
          id,
          name: 'Overview',
          slug: expect.any(String),
          description: '',
          layout: [{ visualization_id: expect.any(String), x: 0, y: 0, w: 4, h: 3 }],
          filters: [
            { slug: 'regions', label: 'Regions', kind: 'multi_select', default: null, required: false },
            { slug: 'region', label: 'Region', kind: 'select', default: null, required: false },
            { slug: 'days', label: 'Days', kind: 'date_range', default: null, required: false },
          ],
          charts: [
            {
              visualization_id: expect.any(String),
              name: 'Rows',
              description: '',
              chart: { type: 'table', x: null, y: [], series: null, options: {} },
            },
          ],
        },
        embed_options: { allowed_origins: [], hide_header: false, hide_controls: false, allow_downloads: false },
        expires_at: '2099-01-01T00:00:00.000Z',
      },
    ]);
    expect(JSON.stringify(body)).not.toMatch(/from sales|"sql"/i);
  });

  it('says only where to sign in if the share has a context', async () => {
    const { id: contextId } = await createShareContext(company);
    const share = await createShare(company, id, { share_context_id: contextId });
    expect(share.requires_auth).toBe(true);
    const link = createShareClient(share.token);
    expect((await link.resolve()).body).toEqual({ requires_auth: true, company_slug: company.slug });
    for (const { status, body } of [await link.options('regions'), await link.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'AUTH_REQUIRED']);
    }
  });

  it('is cached nowhere and sends no Referer to other sites', async () => {
    const link = await createSharedLink();
    const answers = [
      await link.resolve(),
      await link.options('regions'),
      await link.execute(),
      await link.execute({ x: 1 }),
    ];
    for (const { headers } of [...answers, await createShareClient('x').resolve()]) {
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('private, no-store');
    }
  });
});

describe('the execution of a shared dashboard', () => {
  it('returns the results, and then the same results from the cache', async () => {
    const link = await createSharedLink();
    const first = await link.execute({ regions: ['south'] });
    expect(first.body).toEqual({
      results: [
        {
          visualization_id: expect.any(String),
          columns: [
            { name: 'region', type: 'text' },
            { name: 'amount', type: 'decimal' },
          ],
          rows: [
            ['south', 30],
            ['south', 40],
            ['south', 50],
          ],
          row_count: 3,
          truncated: false,
          duration_ms: expect.any(Number),
          cached: false,
        },
      ],
    });
    const secondExecution = await link.execute({ regions: ['south'] });
    expect(secondExecution.body).toEqual({
      results: [{ ...first.body.results[0], cached: true }],
      as_of: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(first.body).not.toHaveProperty('as_of');
    expect(secondExecution.headers.get('content-type')).toBe('application/json');
  });

  it('is not answered from the cache once the definition has changed', async () => {
    const { dashboard, rows } = await createSalesDashboard(company, { name: 'Changing' });
    const link = createShareClient((await createShare(company, dashboard._id)).token);
    expect(listRegions((await link.execute()).body)).toHaveLength(6);
    const sql = 'SELECT region FROM sales LIMIT 1';
    await company.as.put(`/v1/visualizations/${rows._id}`, { json: { sql } });
    expect(listRegions((await link.execute()).body)).toHaveLength(1);
  });

  it('is never answered from the cache with cache_seconds 0', async () => {
    const { dashboard } = await createSalesDashboard(company, { name: 'Fresh', cache_seconds: 0 });
    const link = createShareClient((await createShare(company, dashboard._id)).token);
    await link.execute();
    expect((await link.execute()).body.results[0].cached).toBe(false);
  });

  it('reports that a query failed, and does not cache the failure', async () => {
    const { dashboard, rows } = await createSalesDashboard(company, { name: 'Failing' });
    const link = createShareClient((await createShare(company, dashboard._id)).token);
    await company.as.put(`/v1/visualizations/${rows._id}`, {
      json: { sql: 'SELECT secret_column FROM no_such_table' },
    });
    const { status, body } = await link.execute();
    expect([status, body.results[0].error]).toEqual([
      200,
      { error_code: 'DB_QUERY_ERROR', message: 'The query failed.' },
    ]);
    expect(JSON.stringify(body)).not.toMatch(/secret_column|no_such_table/);
    await company.as.put(`/v1/visualizations/${rows._id}`, { json: { sql: 'SELECT region FROM sales' } });
    expect(listRegions((await link.execute()).body)).toHaveLength(6);
  });

  it.each([
    ['a value of the wrong type', { days: 'yesterday' }],
    ['an unknown parameter', { nothing: 1 }],
    ['a deeply nested value', { regions: [[[['north']]]] }],
    ['a list of 5,000 values', { regions: Array.from({ length: 5000 }, String) }],
    ['__proto__', JSON.parse('{"__proto__": {"x": 1}}')],
    ['a range that ends before it begins', { days: { from: '2024-02-01', to: '2024-01-01' } }],
  ])('refuses %s', async (_what, parameters) => {
    const { status, body } = await (await createSharedLink()).execute(parameters);
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('refuses a parameter that no filter sets', async () => {
    const { status, body } = await (await createSharedLink()).execute({ least: 20 });
    expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);
  });

  it('refuses parameters that are not an object', async () => {
    const link = await createSharedLink();
    for (const parameters of [[], 'x', 1, null]) expect((await link.execute(parameters)).status).toBe(422);
  });
});

describe('a filter policy of a share', () => {
  it('allows a choice among its values if selectable, and applies all of them if no value is sent', async () => {
    const link = await createSharedLink(makePolicy('regions', 'selectable', ['north', 'east']));
    expect(await listFilters(link)).toContain('regions');
    expect(listDistinctRegions((await link.execute()).body)).toEqual(['east', 'north']);
    for (const noValues of [null, '', []]) {
      expect(listDistinctRegions((await link.execute({ regions: noValues })).body)).toEqual(['east', 'north']);
    }
    expect(listDistinctRegions((await link.execute({ regions: ['east'] })).body)).toEqual(['east']);
    for (const regions of [['south'], ['east', 'south'], 'south', ["east' or true --"]]) {
      const { status, body } = await link.execute({ regions });
      expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);
    }
    expect((await link.options('regions')).body).toEqual({
      filter_slug: 'regions',
      source: 'policy',
      options: [
        { value: 'north', label: 'NORTH' },
        { value: 'east', label: 'EAST' },
      ],
    });
  });

  it('sends all allowed values as a list if selectable on a single select', async () => {
    const link = await createSharedLink(makePolicy('region', 'selectable', ['north', 'east'], 'select'));
    expect(listDistinctRegions((await link.execute()).body)).toEqual(['east', 'north']);
    expect(listDistinctRegions((await link.execute({ region: 'north' })).body)).toEqual(['north']);
    expect((await link.execute({ region: 'south' })).status).toBe(403);
  });

  it('sets the values and hides the filter if locked', async () => {
    const link = await createSharedLink(makePolicy('regions', 'locked', ['north']));
    expect(await listFilters(link)).toEqual(['region', 'days']);
    expect(listDistinctRegions((await link.execute()).body)).toEqual(['north']);
    expect(listDistinctRegions((await link.execute({ region: 'south' })).body)).toEqual([]);
    for (const regions of [['north'], ['south'], null, []]) {
      const { status, body } = await link.execute({ regions });
      expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);
    }
    const options = await link.options('regions');
    expect([options.status, options.body.error_code]).toEqual([403, 'FILTER_DISABLED_BY_POLICY']);
  });

  it('hides the filter if hidden', async () => {
    const link = await createSharedLink(makePolicy('regions', 'hidden'));
    expect(await listFilters(link)).toEqual(['region', 'days']);
    expect(listRegions((await link.execute()).body)).toHaveLength(6);
    expect((await link.execute({ regions: ['north'] })).body.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    expect((await link.options('regions')).body.error_code).toBe('FILTER_DISABLED_BY_POLICY');
  });

  it('still applies when its filter is removed, and refuses the results when it cannot apply', async () => {
    const { dashboard, rows } = await createSalesDashboard(company, { name: 'Losing a filter' });
    const share = await createShare(company, dashboard._id, {
      share_filter_policies: [makePolicy('regions', 'locked', ['north'])],
    });
    await company.as.put(`/v1/dashboards/${dashboard._id}`, { json: { filters: [] } });
    const link = createShareClient(share.token);
    expect((await link.execute()).body.results[0].error.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    expect((await link.execute({ regions: ['south'] })).status).toBe(403);
    const json = { sql: 'SELECT region FROM sales', parameters: [] };
    await company.as.put(`/v1/visualizations/${rows._id}`, { json });
    const { status, body } = await link.execute();
    expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);
  });
});

describe('the options of a filter', () => {
  it('come from the dashboard or from its SQL, and are searched', async () => {
    const link = await createSharedLink();
    expect((await link.options('region')).body).toMatchObject({ filter_slug: 'region', source: 'static' });
    expect((await link.options('regions')).body).toEqual({
      filter_slug: 'regions',
      source: 'dynamic',
      options: ['east', 'north', 'south'].map((value) => ({ value, label: value.toUpperCase() })),
    });
    expect((await link.options('regions', 'OUTH')).body.options).toEqual([{ value: 'south', label: 'SOUTH' }]);
    expect((await link.options('days')).status).toBe(404);
    expect((await link.options('nothing')).status).toBe(404);
  });

  it('are at most 1,000 of a million, and a search finds even the last option', async () => {
    const { dashboard } = await createSalesDashboard(company, {
      name: 'A million',
      filters: [
        {
          slug: 'regions',
          label: 'Regions',
          kind: 'multi_select',
          options: { sql: "SELECT 'option ' || n FROM generate_series(1, 1000000) AS n" },
        },
      ],
    });
    const link = createShareClient((await createShare(company, dashboard._id)).token);
    expect((await link.options('regions')).body.options).toHaveLength(1000);
    expect((await link.options('regions', 'option 1000000')).body.options).toEqual([
      { value: 'option 1000000', label: 'option 1000000' },
    ]);
  });

  it('are answered with an error that reveals nothing of their SQL', async () => {
    const { dashboard } = await createSalesDashboard(company, {
      name: 'Failing options',
      filters: [{ slug: 'regions', label: 'R', kind: 'multi_select', options: { sql: 'SELECT hidden FROM nowhere' } }],
    });
    const { status, body } = await createShareClient((await createShare(company, dashboard._id)).token).options(
      'regions',
    );
    expect([status, body]).toEqual([422, { error_code: 'DB_QUERY_ERROR', message: 'The query failed.' }]);
  });
});

describe('the allowed origins of a share', () => {
  const PARTNER_ORIGIN = 'https://partner.test';

  it('are all origins if the share names none', async () => {
    const share = await createShare(company, id);
    const { status, headers } = await createShareClient(share.token, { origin: 'https://anyone.test' }).execute();
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
  });

  it('are the origins that the share names, and those of our own pages', async () => {
    const share = await createShare(company, id, {
      share_type: 'embed',
      embed_options: { allowed_origins: [PARTNER_ORIGIN] },
    });
    const partnerExecution = await createShareClient(share.token, { origin: PARTNER_ORIGIN }).execute();
    expect([partnerExecution.status, partnerExecution.headers.get('access-control-allow-origin')]).toEqual([
      200,
      PARTNER_ORIGIN,
    ]);
    expect(partnerExecution.headers.get('vary')).toContain('Origin');
    expect((await createShareClient(share.token, { origin: 'https://api.test' }).execute()).status).toBe(200);
    expect((await createShareClient(share.token).execute()).status).toBe(200);
    for (const origin of ['https://other.test', 'https://partner.test.evil.test', 'http://partner.test', 'null']) {
      const link = createShareClient(share.token, { origin });
      for (const { status, body, headers } of [
        await link.resolve(),
        await link.options('regions'),
        await link.execute(),
      ]) {
        expect([status, body.error_code]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
        expect(headers.get('access-control-allow-origin')).toBeNull();
      }
    }
  });

  it('are returned in the response to a preflight', async () => {
    const share = await createShare(company, id, { embed_options: { allowed_origins: [PARTNER_ORIGIN] } });
    const sendPreflight = (origin: string, token = share.token) =>
      callApi('OPTIONS', `/api/v1/public/shares/${token}/execute`, {
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
      });
    const allowedPreflight = await sendPreflight(PARTNER_ORIGIN);
    expect([allowedPreflight.status, allowedPreflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      PARTNER_ORIGIN,
    ]);
    expect(allowedPreflight.headers.get('access-control-allow-methods')).toContain('POST');
    expect((await sendPreflight('https://other.test')).headers.get('access-control-allow-origin')).toBeNull();
    expect((await sendPreflight(PARTNER_ORIGIN, 'A'.repeat(43))).headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('the rate limits of a share link', () => {
  it.each([
    ['the token', { RATE_LIMIT_TOKEN_PER_MINUTE: '1' }, '203.0.113.90'],
    ['the address', { RATE_LIMIT_IP_PER_SECOND: '1' }, '203.0.113.91'],
  ])('of %s are readable by a page of an allowed origin', async (_what, env, address) => {
    const PARTNER_ORIGIN = 'https://partner.test';
    const share = await createShare(company, id, { embed_options: { allowed_origins: [PARTNER_ORIGIN] } });
    const link = createShareClient(share.token, { origin: PARTNER_ORIGIN, 'cf-connecting-ip': address });
    stopClockAt(Date.now());
    expect((await link.resolve({ env })).headers.get('access-control-allow-origin')).toBe(PARTNER_ORIGIN);
    const { status, headers } = await link.resolve({ env });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([429, '*']);
    expect(headers.get('access-control-expose-headers')).toContain('Retry-After');
  });

  it('are counted per token, so that viewers of one token slow down neither other viewers nor the company', async () => {
    const limitedEnv = { env: { RATE_LIMIT_TOKEN_PER_MINUTE: '3' } };
    const [firstShare, secondShare] = [await createShare(company, id), await createShare(company, id)];
    for (let remainingCount = 2; remainingCount >= 0; remainingCount--) {
      const { status, headers } = await createShareClient(firstShare.token).resolve(limitedEnv);
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, String(remainingCount)]);
    }
    const refusedResolve = await createShareClient(firstShare.token).resolve(limitedEnv);
    expect([refusedResolve.status, refusedResolve.body.error]).toEqual([429, 'RateLimitExceeded']);
    expect(Number(refusedResolve.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await createShareClient(secondShare.token).resolve(limitedEnv)).status).toBe(200);
    expect((await company.as.get('/v1/auth/me', limitedEnv)).status).toBe(200);
  });
});

describe('the token of a share', () => {
  it('names its company, and opens nothing without that name or with the name of another company', async () => {
    const { token } = await createShare(company, id);
    const [named, secret] = [token.slice(0, 24), token.slice(25)];
    expect(named).toBe(company.id);
    expect((await createShareClient(token).resolve()).status).toBe(200);
    const { id: otherCompanyId } = await createOwnedCompany();
    for (const wrongToken of [secret, `${otherCompanyId}-${secret}`, `${named}${secret}`, `${token.toUpperCase()}`]) {
      expect((await createShareClient(wrongToken).resolve()).status).toBe(401);
    }
  });

  it('still opens a share that was created before tokens named the company', async () => {
    const { id: shareId } = await createShare(company, id);
    const token = newSecretToken();
    await runSql('UPDATE dashboard_shares SET token_digest = ? WHERE id = ?', await computeSha256Hex(token), shareId);
    expect((await createShareClient(token).resolve()).status).toBe(200);
  });

  it('is in no audit record, no event and no log', async () => {
    const logSpies = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error')];
    const share = await createShare(company, id);
    const link = createShareClient(share.token);
    await link.resolve();
    await link.execute();
    await link.execute({ least: 1 });
    await createShareClient(share.token, { origin: 'https://x.test' }).options('nope');
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    await link.execute();
    await vi.waitFor(
      async () => {
        const shareEvents = await readRecords('share', company.id, { values: { shareId: share.id } });
        expect(shareEvents.map(({ type }) => type).sort()).toEqual([
          'share.created',
          'share.denied',
          'share.denied',
          'share.executed',
          'share.resolved',
          'share.revoked',
        ]);
      },
      { timeout: 15_000, interval: 300 },
    );
    const auditRecords = [await readRecords('audit', company.id), await readRecords('audit')];
    const events = await readRecords('share', company.id);
    const logLines = logSpies.flatMap((spy) => spy.mock.calls);
    expect(auditRecords.flat().length).toBeGreaterThan(0);
    for (const storedRecords of [auditRecords, events, logLines])
      expect(JSON.stringify(storedRecords)).not.toContain(share.token);
    vi.restoreAllMocks();
  });
});
