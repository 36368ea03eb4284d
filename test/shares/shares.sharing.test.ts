import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { createShareContext } from '../share-portal/support.ts';
import { callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import {
  createSalesDashboard,
  createSalesTable,
  createShare,
  createShareClient,
  listDistinctRegions,
  listRegions,
  makePolicy,
} from './support.ts';

const SHARES_PATH = '/api/v1/dashboard-shares';

const company = await createProvisionedCompany();
await createSalesTable(company);
const id = (await createSalesDashboard(company)).dashboard._id;

describe('the creation of a share', () => {
  it('returns the share with its token once, and stores only a hash of the token', async () => {
    const share = await createShare(company, id, {
      name: 'For partners',
      embed_options: { allowed_origins: ['https://partner.test'], hide_header: true },
      share_filter_policies: [makePolicy('regions', 'selectable', ['north', 'south'])],
    });
    expect(share).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      dashboard_id: id,
      name: 'For partners',
      share_type: 'link',
      share_context_id: null,
      requires_auth: false,
      expires_at: null,
      embed_options: {
        allowed_origins: ['https://partner.test'],
        hide_header: true,
        hide_controls: false,
        allow_downloads: false,
      },
      share_filter_policies: [makePolicy('regions', 'selectable', ['north', 'south'])],
      status: 'active',
      token: expect.stringMatching(new RegExp(`^${company.id}-[\\w-]{43}$`)),
      url: `https://api.test/p/${share.token}`,
      created_by: company.owner.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_accessed_at: null,
      view_count: 0,
    });
    const listingAnswers = [await company.as.get(`/api/v1/dashboards/${id}/shares`), await company.as.get(SHARES_PATH)];
    for (const { body } of listingAnswers) {
      expect(body).toMatchObject({ total: expect.any(Number), page: 1, per_page: 20 });
      const { token: _token, url: _url, ...rest } = share;
      expect(body.records.find((record: { id: string }) => record.id === share.id)).toEqual(rest);
      expect(JSON.stringify(body)).not.toContain(share.token);
    }
    const { results } = await env.CONTROL_DB.prepare('SELECT * FROM dashboard_shares').all();
    expect(JSON.stringify(results)).not.toContain(share.token);
  });

  it.each([
    ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }],
    ['an origin with a path', { embed_options: { allowed_origins: ['https://a.test/path'] } }],
    ['an origin with a wildcard in its host', { embed_options: { allowed_origins: ['https://*.a.test'] } }],
    ['an origin of another scheme', { embed_options: { allowed_origins: ['javascript://a'] } }],
    ['an unknown filter', { share_filter_policies: [makePolicy('nope', 'locked', ['a'])] }],
    ['a filter without options', { share_filter_policies: [makePolicy('days', 'locked', ['a'], 'date_range')] }],
    ['another kind than that of the filter', { share_filter_policies: [makePolicy('region', 'locked', ['a'])] }],
    ['a selectable policy without values', { share_filter_policies: [makePolicy('regions', 'selectable', [])] }],
    [
      'two policies on one filter',
      { share_filter_policies: [makePolicy('regions', 'hidden'), makePolicy('regions', 'hidden')] },
    ],
  ])('refuses %s', async (_what, wrongFields) => {
    const json = { share_type: 'link', ...wrongFields };
    const { status, body } = await company.as.post(`/api/v1/dashboards/${id}/shares`, { json });
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it.each([
    [{}, 'required'],
    [{ allowed_values: [] }, 'too_few'],
  ])('refuses a policy that allows nothing, and says why: %j', async (sentPolicies, reason) => {
    const { allowed_values: _, ...selectable } = makePolicy('regions', 'selectable');
    const json = { share_type: 'link', share_filter_policies: [{ ...selectable, ...sentPolicies }] };
    const { status, body } = await company.as.post(`/api/v1/dashboards/${id}/shares`, { json });
    expect([status, body.details]).toMatchObject([422, [{ field: 'share_filter_policies.0.allowed_values', reason }]]);
  });

  it('refuses a policy of several values on a select whose SQL compares with one value', async () => {
    const { as } = company;
    const sql = 'SELECT region FROM sales WHERE region = {{region}}';
    const parameters = [{ slug: 'region', label: 'Region', kind: 'select' }];
    const createdChart = await as.post('/v1/visualizations', { json: { name: 'One', sql, parameters } });
    const layout = [{ visualization_id: createdChart.body._id, x: 0, y: 0, w: 1, h: 1 }];
    const filters = [{ slug: 'region', label: 'Region', kind: 'select', options: [{ label: 'N', value: 'north' }] }];
    const { body: dashboard } = await as.post('/v1/dashboards', { json: { name: 'One', layout, filters } });
    const shareWithValues = (values: string[]) =>
      as.post(`/api/v1/dashboards/${dashboard._id}/shares`, {
        json: { share_type: 'link', share_filter_policies: [makePolicy('region', 'selectable', values, 'select')] },
      });
    expect((await shareWithValues(['north', 'south'])).status).toBe(422);
    const singleValueShare = await shareWithValues(['north']);
    expect(singleValueShare.status).toBe(201);
    expect(listRegions((await createShareClient(singleValueShare.body.token).execute()).body)).toEqual([
      'north',
      'north',
    ]);
  });

  it('refuses a context of another company', async () => {
    const { id: contextId } = await createShareContext(await createOwnedCompany());
    const json = { share_type: 'link', share_context_id: contextId };
    expect((await company.as.post(`/api/v1/dashboards/${id}/shares`, { json })).status).toBe(404);
  });
});

describe('a change of a share', () => {
  it('changes only the fields that are sent', async () => {
    const share = await createShare(company, id, { embed_options: { allowed_origins: ['https://a.test'] } });
    const json = { name: 'Renamed', embed_options: { hide_controls: true } };
    const { status, body } = await company.as.put(`${SHARES_PATH}/${share.id}`, { json });
    expect([status, body]).toMatchObject([
      200,
      {
        name: 'Renamed',
        share_type: 'link',
        embed_options: {
          allowed_origins: ['https://a.test'],
          hide_header: false,
          hide_controls: true,
          allow_downloads: false,
        },
      },
    ]);
    expect(body).not.toHaveProperty('token');
  });

  it('takes effect on the next request', async () => {
    const share = await createShare(company, id);
    const link = createShareClient(share.token);
    expect(listRegions((await link.execute()).body)).toHaveLength(6);
    await company.as.put(`${SHARES_PATH}/${share.id}`, {
      json: { share_filter_policies: [makePolicy('regions', 'locked', ['east'])] },
    });
    expect(listDistinctRegions((await link.execute()).body)).toEqual(['east']);
    const { id: contextId } = await createShareContext(company);
    await company.as.put(`${SHARES_PATH}/${share.id}`, { json: { share_context_id: contextId } });
    expect((await link.execute()).body.error_code).toBe('AUTH_REQUIRED');
    await company.as.put(`${SHARES_PATH}/${share.id}`, { json: { share_context_id: null } });
    expect((await link.execute()).status).toBe(200);
  });
});

describe('a share', () => {
  const expectRefused = async (token: string) => {
    const link = createShareClient(token);
    for (const { status, body } of [await link.resolve(), await link.options('regions'), await link.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
  };

  it('ends for good on the next request when it is revoked', async () => {
    const share = await createShare(company, id);
    expect((await createShareClient(share.token).execute()).status).toBe(200);
    expect((await company.as.delete(`${SHARES_PATH}/${share.id}`)).status).toBe(204);
    await expectRefused(share.token);
    expect((await company.as.delete(`${SHARES_PATH}/${share.id}`)).status).toBe(204);
    const changedShare = await company.as.put(`${SHARES_PATH}/${share.id}`, { json: { name: 'Again' } });
    expect([changedShare.status, changedShare.body.error_code]).toEqual([409, 'SHARE_REVOKED']);
    const { body } = await company.as.get(`/api/v1/dashboards/${id}/shares?per_page=100`);
    expect(body.records.find((record: { id: string }) => record.id === share.id).status).toBe('revoked');
    await expectRefused(share.token);
  });

  it('ends when it expires, and is changed then without being opened again', async () => {
    const share = await createShare(company, id, { expires_at: new Date(Date.now() + 60_000).toISOString() });
    expect((await createShareClient(share.token).execute()).status).toBe(200);
    advanceClock(61_000);
    await expectRefused(share.token);
    const path = `${SHARES_PATH}/${share.id}`;
    const { body: expiredShare } = await company.as.get(path);
    const { status, body } = await company.as.put(path, { json: { ...expiredShare, name: 'Over' } });
    expect([status, body]).toMatchObject([
      200,
      { name: 'Over', status: 'expired', expires_at: expiredShare.expires_at },
    ]);
    await expectRefused(share.token);
    const otherPast = new Date(Date.parse(expiredShare.expires_at) - 1000).toISOString();
    expect((await company.as.put(path, { json: { expires_at: otherPast } })).status).toBe(422);
  });

  it('ends when its dashboard is deleted', async () => {
    const { dashboard } = await createSalesDashboard(company, { name: 'Short-lived' });
    const share = await createShare(company, dashboard._id);
    expect((await createShareClient(share.token).execute()).status).toBe(200);
    expect((await company.as.delete(`/v1/dashboards/${dashboard._id}`)).status).toBe(204);
    const link = createShareClient(share.token);
    for (const { status, body } of [await link.resolve(), await link.options('regions'), await link.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
    const { body } = await company.as.get(`${SHARES_PATH}?per_page=100`);
    expect(body.records.find((record: { id: string }) => record.id === share.id).status).toBe('revoked');
  });
});

it('the view count of a share counts executions, also those answered from the cache, but not the opening of the link', async () => {
  const share = await createShare(company, id);
  const link = createShareClient(share.token);
  const readViewCount = async () => {
    const { body } = await company.as.get(`/api/v1/dashboards/${id}/shares?per_page=100`);
    return body.records.find((record: { id: string }) => record.id === share.id);
  };
  await link.resolve();
  await expect.poll(async () => (await readViewCount()).last_accessed_at).not.toBeNull();
  expect((await readViewCount()).view_count).toBe(0);
  await Promise.all(Array.from({ length: 20 }, () => link.execute()));
  await link.execute({ regions: ['nowhere'] });
  expect((await link.execute({ unknown: 1 })).status).toBe(422);
  await expect.poll(async () => (await readViewCount()).view_count).toBe(21);
});

describe('the filters that are offered', () => {
  it('for a share policy are the filters with options', async () => {
    const { body } = await company.as.get(`/api/v1/dashboards/${id}/share-filter-candidates`);
    expect(body).toEqual({
      records: [
        { slug: 'regions', label: 'Regions', kind: 'multi_select', options_source: 'dynamic' },
        { slug: 'region', label: 'Region', kind: 'select', options_source: 'static' },
      ],
    });
  });

  it('for an embed are all filters, and the parameters without a filter', async () => {
    const { body } = await company.as.get(`/api/v1/dashboards/${id}/embed-parameter-candidates`);
    expect(body.records).toEqual([
      { slug: 'regions', label: 'Regions', kind: 'multi_select', options_source: 'dynamic' },
      { slug: 'region', label: 'Region', kind: 'select', options_source: 'static' },
      { slug: 'days', label: 'Days', kind: 'date_range', options_source: null },
      { slug: 'least', label: 'least', kind: 'number', options_source: null },
    ]);
    expect((await company.as.get(`/api/v1/dashboards/${'0'.repeat(24)}/embed-parameter-candidates`)).status).toBe(404);
  });
});

it.each(['x', 'A'.repeat(43), 'A'.repeat(4000), '%00', "'; drop table dashboard_shares --"])(
  'a share that does not exist is refused: %s',
  async (token) => {
    const { status, body } = await callApi('GET', `/api/v1/public/shares/${encodeURIComponent(token)}/resolve`);
    expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
  },
);
