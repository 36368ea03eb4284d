import { describe, expect, it } from 'vitest';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import { createPortalClient, createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import {
  createSalesDashboard,
  createSalesTable,
  createShare,
  createShareClient,
  listRegions,
} from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { SQL_ATTACKS } from '../tenant-sql/sql-attacks.ts';
import { makeParameter, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';

const company = await createProvisionedCompany();
const salesTableId = await createSalesTable(company);

/** Creates a dashboard's accesses for outsiders: link, embed and portal. */
async function createViewerClients(dashboardId: string, allowed_params: string[] = []) {
  const link = createShareClient((await createShare(company, dashboardId)).token);
  const embed = createEmbedClient('d', await createEmbedToken(company, 'dashboards', dashboardId, { allowed_params }));
  const email = `${dashboardId}@outside.test`;
  const context = await createShareContext(company, [makeDashboardGrant(dashboardId)], [email]);
  const { as } = await signInOutsider(company, email);
  return { link, embed, portal: createPortalClient(as, context.id, dashboardId) };
}

const expectIntact = async () => {
  const { body } = await company.as.get(`/v1/managed-tables/${salesTableId}/data`);
  expect(body.total).toBe(6);
};

describe('an answer to an outsider', () => {
  /** Matches text that no answer may contain: SQL, names that no result shows, and messages of the database. */
  const REVEALING_PATTERN =
    /select|generate_series|pg_|secret|hint|division|column|relation|position|postgres|statement|memory|schema/i;

  const CONCURRENT_FAILURES = [
    "SELECT 1 / (length('secret') - 6) AS secret_ratio",
    'SELECT secret_colum FROM sales',
    "SELECT region::date AS secret FROM sales WHERE region = 'north'",
    'SELECT * FROM secret_table',
    'SELECT secret_function(1)',
  ];
  /**
   * Failing SQL of high cost, each sent through one access: ten seconds, a gigabyte of rows, a value beyond PostgreSQL's limit
   * and a value beyond ours.
   */
  const COSTLY_FAILURES = [
    'SELECT count(*) AS secret FROM pg_sleep(60) AS secret',
    "SELECT repeat('secret', 1000000) AS secret FROM generate_series(1, 200)",
    "SELECT repeat('secret', 200000000) AS secret",
    "SELECT string_agg(repeat('secret', 1000000), '') AS secret FROM generate_series(1, 5)",
  ];
  const ACCESS_NAMES = ['link', 'embed', 'portal'] as const;

  it('reveals nothing of SQL that fails, never ends or returns a gigabyte, through link, embed or portal', async () => {
    const createdCharts = [];
    for (const sql of CONCURRENT_FAILURES) createdCharts.push(await postVisualization(company.as, sql));
    const costlyCharts = [];
    for (const sql of COSTLY_FAILURES) costlyCharts.push(await postVisualization(company.as, sql));
    const validChart = await postVisualization(company.as, 'SELECT count(*) AS n FROM sales');
    const viewerClients = [];
    for (const [at, name] of ACCESS_NAMES.entries()) {
      const charts = [...createdCharts, ...costlyCharts.filter((_, of) => of % ACCESS_NAMES.length === at), validChart];
      const { _id } = await postDashboard(company.as, charts, { cache_seconds: 0 });
      viewerClients.push((await createViewerClients(_id))[name]);
    }
    const startedAt = performance.now();
    const answers: ApiResponse[] = await Promise.all(viewerClients.map((viewerAccess) => viewerAccess.execute()));
    expect(performance.now() - startedAt).toBeLessThan(40_000);
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      const failedResults = body.results.slice(0, -1);
      for (const { error, row_count, truncated } of failedResults) {
        // A result that is too large may be truncated instead.
        if (truncated) expect(row_count).toBeLessThan(200);
        else expect(error).toEqual({ error_code: 'DB_QUERY_ERROR', message: expect.any(String) });
      }
      expect(failedResults.filter(({ error }: { error?: object }) => error).length).toBeGreaterThanOrEqual(
        failedResults.length - 1,
      );
      const errorMessages = failedResults
        .map(({ error }: { error?: { message: string } }) => error?.message ?? '')
        .join('\n');
      expect(errorMessages).not.toMatch(REVEALING_PATTERN);
      expect(body.results.at(-1).rows).toEqual([[6]]);
    }
  });

  it('reveals nothing of filter option SQL that fails or returns a gigabyte', async () => {
    const chart = await postVisualization(
      company.as,
      'SELECT region FROM sales WHERE true [[AND region = ANY({{a}})]]',
      {
        parameters: [makeParameter('a', 'multi_select')],
      },
    );
    const failures = [...CONCURRENT_FAILURES, ...COSTLY_FAILURES.slice(1)];
    const filters = failures.map((sql, at) => ({ ...makeParameter(`f${at}`, 'multi_select'), options: { sql } }));
    const { _id } = await postDashboard(company.as, [chart], { filters });
    const { link, embed, portal } = await createViewerClients(
      _id,
      filters.map(({ slug }) => slug),
    );
    const optionRequests = filters.flatMap(({ slug }, at) =>
      [link, embed, portal].slice(at % 3, (at % 3) + 1).map((viewerAccess) => viewerAccess.options(slug)),
    );
    for (const { status, body } of await Promise.all(optionRequests)) {
      if (status === 200) expect(body.options.length).toBeLessThan(200);
      else {
        expect([status, body.error_code]).toEqual([422, 'DB_QUERY_ERROR']);
        expect(JSON.stringify(body)).not.toMatch(REVEALING_PATTERN);
      }
    }
  });

  it(`reveals nothing of ${SQL_ATTACKS.length} SQL attacks written into a dashboard, none of which succeeds`, async () => {
    const createdCharts: { _id: string }[] = [];
    for (const sql of SQL_ATTACKS) {
      const { status, body } = await company.as.post(VISUALIZATIONS_PATH, { json: { name: 'Attack', sql } });
      if (status === 201) createdCharts.push(body);
      else expect([sql, status, body.error]).toEqual([sql, 422, 'VALIDATION_ERROR']);
    }
    expect(createdCharts.length).toBeGreaterThan(SQL_ATTACKS.length - 10);
    for (let from = 0; from < createdCharts.length; from += 40) {
      const { _id } = await postDashboard(company.as, createdCharts.slice(from, from + 40));
      const { status, body } = await createShareClient((await createShare(company, _id)).token).execute();
      expect(status).toBe(200);
      for (const result of body.results) {
        expect(result).toMatchObject({ error: { error_code: 'DB_QUERY_ERROR' } });
        expect(result.error.message).not.toMatch(REVEALING_PATTERN);
      }
    }
    await expectIntact();
  });
});

describe('the SQL of a shared dashboard', () => {
  const INJECTION_VALUES = [
    "'",
    "''",
    '"',
    '\\',
    "\\'",
    "' OR '1'='1",
    "' OR 1=1 --",
    '" OR ""="',
    "') OR ('1'='1",
    "north' --",
    "north'/*",
    "north'; DROP TABLE sales; --",
    "'; DELETE FROM sales; --",
    "'; COMMIT; DROP TABLE sales; --",
    "' UNION SELECT table_name, 1 FROM information_schema.tables --",
    "' UNION ALL SELECT NULL, NULL --",
    "' AND pg_sleep(20) IS NOT NULL --",
    "'||(SELECT pg_sleep(20))||'",
    "' || current_user || '",
    "'||chr(39)||'",
    '$1',
    '$$; DROP TABLE sales; $$',
    "$a$ ' $a$",
    '{{region}}',
    '[[ OR true ]]',
    '{{region}}; DROP TABLE sales',
    '{north,south}',
    '{"north"}',
    '{}',
    'NULL',
    'ANY(ARRAY[region])',
    '(SELECT region FROM sales LIMIT 1)',
    '1; SELECT 1',
    '0 OR 1=1',
    '1e309',
    'NaN',
    'Infinity',
    "E'\\x27 OR 1=1'",
    "U&'\\0027'",
    '%27%20OR%201=1',
    'ʼ OR 1=1',
    '＇ OR 1=1',
    '\u2019 OR 1=1',
    '-- \n OR 1=1',
    '/* */ OR 1=1',
    '\r\nDROP TABLE sales',
    ':region',
    '@region',
    '?',
    'region = region',
    '%',
    '_',
    '.*',
    'x'.repeat(1000),
  ];

  it(`is injected by none of ${INJECTION_VALUES.length} values that an outsider sends as value, parameter name or search`, async () => {
    const { dashboard } = await createSalesDashboard(company);
    const { link, embed, portal } = await createViewerClients(dashboard._id, ['regions', 'region', 'days']);
    for (const [at, value] of INJECTION_VALUES.entries()) {
      const viewerAccess = [link, embed, portal][at % 3] as typeof link;
      const [list, one, day, name, options] = await Promise.all([
        viewerAccess.execute({ regions: [value] }),
        viewerAccess.execute({ region: value }),
        viewerAccess.execute({ days: { from: value } }),
        viewerAccess.execute({ [value]: 'north' }),
        viewerAccess.options('regions', encodeURIComponent(value.slice(0, 200))),
      ]);
      for (const { status, body } of [list, one]) {
        expect([value, status, body.results?.[0].error]).toEqual([value, 200, undefined]);
        expect([value, listRegions(body)]).toEqual([value, []]);
      }
      expect([value, day.status, day.body.error_code]).toEqual([value, 422, 'VALIDATION_ERROR']);
      // An embed tells nobody which names there are.
      const refusal = at % 3 === 1 ? [403, 'SHARE_FILTER_POLICY_VIOLATION'] : [422, 'VALIDATION_ERROR'];
      expect([value, name.status, name.body.error_code]).toEqual([value, ...refusal]);
      expect([value, options.status, options.body.options]).toEqual([value, 200, []]);
    }
    await expectIntact();
  });
});

describe('the body of a request to execute a dashboard', () => {
  const sendBody = async (
    viewerAccess: { execute(parameters: unknown, more: object): Promise<ApiResponse> },
    body: string,
  ) => viewerAccess.execute(undefined, { json: undefined, body, headers: { 'content-type': 'application/json' } });

  it('causes no server error, however deeply nested, repeated or malformed it is', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const { link, embed } = await createViewerClients(dashboard._id, ['regions']);
    const makeNested = (value: string, depth: number) => `${'['.repeat(depth)}${value}${']'.repeat(depth)}`;
    for (const viewerAccess of [link, embed]) {
      for (const value of ['1', '1e400', '12345678901234567890']) {
        const body = `{"parameters":{"regions":${makeNested(value, 200_000)}}}`;
        expect([400, 422]).toContain((await sendBody(viewerAccess, body)).status);
      }
      expect(
        (await sendBody(viewerAccess, `{"parameters":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`)).status,
      ).toBe(400);
      const unknownParameter = await sendBody(viewerAccess, `{"parameters":${'{"a":'.repeat(20)}1${'}'.repeat(20)}}`);
      expect(unknownParameter.status).toBe(viewerAccess === embed ? 403 : 422);
      // The last of several members of one name counts, as everywhere in JSON.
      const repeatedKey = await sendBody(viewerAccess, '{"parameters":{"regions":["east"],"regions":["north"]}}');
      expect([repeatedKey.status, listRegions(repeatedKey.body)]).toEqual([200, ['north', 'north']]);
      const repeatedValue = await sendBody(viewerAccess, '{"parameters":{"regions":["north","north"]}}');
      expect(listRegions(repeatedValue.body)).toEqual(['north', 'north']);
      expect((await sendBody(viewerAccess, '')).status).toBe(200);
      for (const body of ['{', '[]', 'null', '"x"', '{"parameters":[[[]]]}']) {
        expect([400, 422]).toContain((await sendBody(viewerAccess, body)).status);
      }
      expect((await sendBody(viewerAccess, `{"parameters":{"regions":["${'x'.repeat(1_100_000)}"]}}`)).status).toBe(
        413,
      );
    }
  });
});
