import { describe, expect, it } from 'vitest';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import {
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
  signInOutsider,
} from '../share-portal/support.ts';
import { createSalesTable, createShare, createShareClient, makePolicy } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { selectRow } from '../support/race.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

let emailCount = 0;
const company = await createProvisionedCompany();
await createSalesTable(company);
const rows: { _id: string } = await postVisualization(
  company.as,
  'SELECT region FROM sales WHERE true [[AND region = ANY({{regions}})]] ORDER BY 1',
  { parameters: [makeParameter('regions', 'multi_select')], chart: { type: 'bar', x: 'region' } },
);
const total: { _id: string } = await postVisualization(company.as, 'SELECT count(*) FROM sales');

const makeRegionsFilter = (otherFields: Record<string, unknown> = {}) => ({
  ...makeParameter('regions', 'multi_select'),
  ...otherFields,
});
const VIOLATION_CODE = 'SHARE_FILTER_POLICY_VIOLATION';
const DISABLED_CODE = 'FILTER_DISABLED_BY_POLICY';
const NORTH_ROWS = [['north'], ['north']];
/** Returns the rows of each result, or the code of its error. */
const readResults = ({ status, body }: ApiResponse) =>
  status === 200
    ? body.results.map(
        (result: { rows?: unknown; error?: { error_code: string } }) => result.error?.error_code ?? result.rows,
      )
    : [status, body.error_code];

/** Creates all viewers who are restricted to the north of a dashboard: by a link, in the portal and by an embed. */
async function createViewers(dashboardId: string, ...otherParameters: string[]) {
  const email = `held-${++emailCount}@partner.test`;
  const lockedPolicies = [makePolicy('regions', 'locked', ['north'])];
  const context = await createShareContext(company, [makeDashboardGrant(dashboardId, lockedPolicies)], [email]);
  const { as } = await signInOutsider(company, email);
  const token = await createEmbedToken(company, 'dashboards', dashboardId, {
    fixed_params: { regions: ['north'] },
    allowed_params: otherParameters,
  });
  return {
    link: createShareClient((await createShare(company, dashboardId, { share_filter_policies: lockedPolicies })).token),
    portal: createPortalClient(as, context.id, dashboardId),
    embed: createEmbedClient('d', token),
  };
}

describe('a visualization that a locked filter does not restrict', () => {
  it('is refused to viewers when it is removed from the filter, and still shown within the company', async () => {
    const { _id } = await postDashboard(company.as, [rows, total], { filters: [makeRegionsFilter()] });
    const viewers = await createViewers(_id);
    for (const viewer of Object.values(viewers))
      expect(readResults(await viewer.execute())).toEqual([NORTH_ROWS, [[6]]]);

    const narrowedFilters = [makeRegionsFilter({ applies_to: [total._id] })];
    expect((await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters: narrowedFilters } })).status).toBe(
      200,
    );
    for (const viewer of Object.values(viewers)) {
      for (let round = 0; round < 2; round++)
        expect(readResults(await viewer.execute())).toEqual([VIOLATION_CODE, [[6]]]);
    }
    const { body } = await viewers.link.resolve();
    expect(body.dashboard.charts[0].chart).toMatchObject({ x: null, y: [], series: null });
    const insideExecution = await company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {} });
    expect(insideExecution.body.results[0].rows).toHaveLength(6);
  });

  it('is refused through a link or the portal when the filter is removed, and still restricted in an embed', async () => {
    const { _id } = await postDashboard(company.as, [rows, total], { filters: [makeRegionsFilter()] });
    const { link, portal, embed } = await createViewers(_id);
    await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters: [] } });
    for (const viewer of [link, portal]) expect(readResults(await viewer.execute())).toEqual([VIOLATION_CODE, [[6]]]);
    expect(readResults(await embed.execute())).toEqual([NORTH_ROWS, [[6]]]);
  });

  it('is refused in the language of each request, also from the cache and beside a failed query', async () => {
    const failingVisualization = await postVisualization(company.as, 'SELECT region::integer FROM sales');
    const texts = await postVisualization(
      company.as,
      `SELECT '"error":{"error_code":"X","message":"The query failed."}'`,
    );
    const filters = [makeRegionsFilter({ applies_to: [total._id] })];
    for (const [first, expected] of [
      [failingVisualization, { es: 'La consulta falló.', pt: 'A consulta falhou.', en: 'The query failed.' }],
      [
        total,
        {
          es: 'El espectador no puede elegir este filtro o valor.',
          pt: 'O espectador não pode escolher este filtro ou valor.',
          en: 'The viewer may not choose this filter or value.',
        },
      ],
    ] as const) {
      const { _id } = await postDashboard(company.as, [first, rows, texts], { filters: [makeRegionsFilter()] });
      const { link } = await createViewers(_id);
      await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters } });
      for (const [language, message] of Object.entries(expected)) {
        const { body } = await link.execute({}, { headers: { 'accept-language': language } });
        const [failedResult, refusedResult, shownResult] = body.results;
        expect((first === failingVisualization ? failedResult : refusedResult).error.message).toBe(message);
        expect(shownResult.rows).toEqual([['"error":{"error_code":"X","message":"The query failed."}']]);
      }
    }
  });

  it('is refused when its SQL drops the locked filter in an optional clause', async () => {
    const sql = 'SELECT region FROM sales WHERE true [[AND region = ANY({{regions}}) AND amount >= {{least}}]]';
    const optionalChart = await postVisualization(company.as, sql, {
      parameters: [makeParameter('regions', 'multi_select'), makeParameter('least', 'number')],
    });
    const { _id } = await postDashboard(company.as, [optionalChart, total], {
      filters: [makeRegionsFilter(), makeParameter('least', 'number')],
    });
    for (const viewer of Object.values(await createViewers(_id, 'least'))) {
      expect(readResults(await viewer.execute())).toEqual([VIOLATION_CODE, [[6]]]);
      expect(readResults(await viewer.execute({ least: 0 }))).toEqual([NORTH_ROWS, [[6]]]);
    }
  });

  it('is refused when its SQL has the locked filter only in a default that is not used', async () => {
    const sql = 'SELECT region FROM sales WHERE [[ amount >= {{least}} -- ]] region = ANY({{regions}})';
    const defaultChart = await postVisualization(company.as, sql, {
      parameters: [makeParameter('regions', 'multi_select'), makeParameter('least', 'number')],
    });
    const filters = [makeRegionsFilter(), makeParameter('least', 'number')];
    const { _id } = await postDashboard(company.as, [defaultChart, total], { filters });
    for (const viewer of Object.values(await createViewers(_id, 'least'))) {
      expect(readResults(await viewer.execute({ least: 0 }))).toEqual([VIOLATION_CODE, [[6]]]);
      expect(readResults(await viewer.execute())).toEqual([NORTH_ROWS, [[6]]]);
    }
  });

  it('is refused with its whole dashboard when neither filter nor parameter is left', async () => {
    const unfilteredChart = await postVisualization(
      company.as,
      'SELECT region FROM sales WHERE region = ANY({{regions}})',
      {
        parameters: [makeParameter('regions', 'multi_select')],
      },
    );
    const { _id } = await postDashboard(company.as, [unfilteredChart], { filters: [makeRegionsFilter()] });
    const viewers = await createViewers(_id);
    await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters: [] } });
    await company.as.put(`${VISUALIZATIONS_PATH}/${unfilteredChart._id}`, {
      json: { sql: 'SELECT region FROM sales', parameters: [] },
    });
    for (const viewer of Object.values(viewers)) {
      const { status, body } = await viewer.execute();
      expect([status, body.error_code]).toEqual([403, VIOLATION_CODE]);
      expect(JSON.stringify(body)).not.toContain('regions');
    }
  });
});

describe('the filter options that SQL computes', () => {
  const makeDaysFilter = (sql: string) => ({ ...makeParameter('day', 'select'), options: { sql } });
  const listDays = ({ status, body }: ApiResponse) =>
    status === 200 ? body.options.map(({ value }: { value: string }) => value) : [status, body.error_code];

  it('are only the options of the rows that the viewer may see', async () => {
    const sql = 'SELECT day FROM sales WHERE true [[AND region = ANY({{regions}})]] ORDER BY 1';
    const { _id } = await postDashboard(company.as, [rows], { filters: [makeRegionsFilter(), makeDaysFilter(sql)] });
    const unrestrictedLink = createShareClient((await createShare(company, _id)).token);
    expect(listDays(await unrestrictedLink.options('day'))).toHaveLength(6);
    for (const viewer of Object.values(await createViewers(_id, 'day'))) {
      expect(listDays(await viewer.options('day'))).toEqual(['2024-01-01', '2024-01-02']);
      expect(listDays(await viewer.options('day', '-02'))).toEqual(['2024-01-02']);
      expect(listDays(await viewer.options('day', '-06'))).toEqual([]);
    }
    const selectableShare = await createShare(company, _id, {
      share_filter_policies: [makePolicy('regions', 'selectable', ['east'])],
    });
    expect(listDays(await createShareClient(selectableShare.token).options('day'))).toEqual(['2024-01-06']);
  });

  it('leave out empty and null values, as options in a list and policies do', async () => {
    const sql = "SELECT * FROM (VALUES ('a', 'A'), ('', 'Empty'), (NULL, 'None')) AS option(value, label)";
    const writtenOptions = [{ label: 'All', value: 'kept' }];
    const filters = [makeDaysFilter(sql), { ...makeRegionsFilter(), options: writtenOptions }];
    const { _id } = await postDashboard(company.as, [rows], { filters });
    // As they could be written down before.
    await selectRow(`update dashboards set filters = replace(filters, 'kept', '') where id = ?`, _id);
    const { token, id } = await createShare(company, _id, {
      share_filter_policies: [makePolicy('regions', 'selectable', ['kept', 'north'])],
    });
    await selectRow(
      `update dashboard_shares set filter_policies = replace(filter_policies, 'kept', '') where id = ?`,
      id,
    );
    expect(listDays(await createShareClient(token).options('regions'))).toEqual(['north']);
    const unrestrictedLink = createShareClient((await createShare(company, _id)).token);
    expect([
      listDays(await unrestrictedLink.options('day')),
      listDays(await unrestrictedLink.options('regions')),
    ]).toEqual([['a'], []]);
  });

  it('are refused with an empty or null value in listed options or in a policy', async () => {
    const { _id } = await postDashboard(company.as, [rows], { filters: [makeRegionsFilter()] });
    for (const value of ['', null]) {
      const filters = [{ ...makeRegionsFilter(), options: [{ label: 'All', value }] }];
      const share_filter_policies = [{ ...makePolicy('regions', 'selectable', []), allowed_values: ['north', value] }];
      const grants = [{ ...makeDashboardGrant(_id), filter_policies: share_filter_policies }];
      const shares = `/api/v1/dashboards/${_id}/shares`;
      for (const [answer, field] of [
        [await company.as.post(DASHBOARDS_PATH, { json: { name: 'None', filters } }), 'filters.0.options'],
        [await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters } }), 'filters.0.options'],
        [
          await company.as.post(shares, { json: { share_type: 'link', share_filter_policies } }),
          'share_filter_policies.0',
        ],
        [await company.as.post(CONTEXTS_PATH, { json: { name: 'None', grants } }), 'grants.0.filter_policies.0'],
      ] as const) {
        expect([value, answer.status, answer.body.details?.[0]?.field]).toEqual([
          value,
          422,
          expect.stringContaining(field),
        ]);
      }
    }
  });

  it('are refused when their SQL would show rows that a locked filter hides', async () => {
    for (const sql of [
      'SELECT day FROM sales',
      // The clause is dropped, since one of its parameters has no value.
      'SELECT day FROM sales WHERE true [[AND region = ANY({{regions}}) AND amount >= {{least}}]]',
    ]) {
      const filters = [makeRegionsFilter(), makeParameter('least', 'number'), makeDaysFilter(sql)];
      const { _id } = await postDashboard(company.as, [rows], { filters });
      for (const viewer of Object.values(await createViewers(_id, 'day'))) {
        expect(listDays(await viewer.options('day'))).toEqual([403, DISABLED_CODE]);
      }
    }
  });

  it('are the values that a policy lists, when their SQL would show more', async () => {
    const sql = "SELECT day, 'region ' || region FROM sales";
    const { _id } = await postDashboard(company.as, [rows], { filters: [makeRegionsFilter(), makeDaysFilter(sql)] });
    const policies = [
      makePolicy('regions', 'locked', ['north']),
      makePolicy('day', 'selectable', ['2024-01-06'], 'select'),
    ];
    const { token } = await createShare(company, _id, { share_filter_policies: policies });
    expect((await createShareClient(token).options('day')).body).toEqual({
      filter_slug: 'day',
      options: [{ value: '2024-01-06', label: '2024-01-06' }],
      source: 'policy',
    });
  });

  it('may use other filters of the dashboard as parameters, but no other parameters', async () => {
    const createTestDashboard = (filters: unknown[]) =>
      company.as.post(DASHBOARDS_PATH, { json: { name: 'Options', filters } });
    expect(
      (
        await createTestDashboard([
          makeRegionsFilter(),
          makeDaysFilter('SELECT day FROM sales [[WHERE region = ANY({{regions}})]]'),
        ])
      ).status,
    ).toBe(201);
    for (const sql of [
      'SELECT day FROM sales [[WHERE day::text = {{day}}]]',
      'SELECT day FROM sales [[WHERE x = {{nothing}}]]',
    ]) {
      const { status, body } = await createTestDashboard([makeRegionsFilter(), makeDaysFilter(sql)]);
      expect([status, body.details[0].field]).toEqual([422, 'filters.1.options.sql']);
    }
  });

  it('refuse a policy of several values if their SQL compares a single value', async () => {
    const filters = [
      makeParameter('region', 'select'),
      makeDaysFilter('SELECT day FROM sales WHERE region = {{region}}'),
    ];
    const { _id } = await postDashboard(company.as, [total], { filters });
    const shareWithValues = (...values: string[]) =>
      company.as.post(`/api/v1/dashboards/${_id}/shares`, {
        json: { share_type: 'link', share_filter_policies: [makePolicy('region', 'selectable', values, 'select')] },
      });
    expect((await shareWithValues('north', 'south')).status).toBe(422);
    const { body } = await shareWithValues('north');
    expect(listDays(await createShareClient(body.token).options('day'))).toEqual(['2024-01-01', '2024-01-02']);
  });
});
