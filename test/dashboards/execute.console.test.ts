import { env } from 'cloudflare:test';
import { afterAll, describe, expect, it } from 'vitest';
import type { SystemActor } from '../../src/access/actors.ts';
import { openContext } from '../../src/context.ts';
import { readFilterOptions } from '../../src/modules/dashboards/options.ts';
import { listDashboardInputs, loadDashboard, runDashboard } from '../../src/modules/dashboards/service.ts';
import { makeViewerRules } from '../../src/sharing/rules.ts';
import { computeBoundValues } from '../../src/sharing/values.ts';
import { makeTenantNames } from '../../src/tenant-sql/roles.ts';
import { runInCompanyDatabase } from '../managed-tables/support.ts';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import {
  createSalesTable,
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const deferredWork: Promise<unknown>[] = [];
const company = await createProvisionedCompany();
const tableId = await createSalesTable(company);
afterAll(async () => {
  await Promise.all(deferredWork);
});

const executeDashboard = (id: string, parameters: unknown = {}, as: Caller = company.as) =>
  as.post(`${DASHBOARDS_PATH}/${id}/execute`, { json: { parameters } });
/** Returns the first cell of each result, or the code of its error. */
const listCells = ({ body }: Awaited<ReturnType<typeof executeDashboard>>) =>
  body.results.map(
    (result: { rows?: unknown[][]; error?: { error_code: string } }) =>
      result.error?.error_code ?? result.rows?.[0]?.[0],
  );

/** Runs work in a context of the company, without a request to the API. */
async function runInContext<T>(
  work: (ctx: ReturnType<typeof openContext<SystemActor>>['context']) => Promise<T>,
): Promise<T> {
  const origin = {
    env,
    waitUntil: (promise: Promise<unknown>) => deferredWork.push(promise),
    correlationId: 'test',
    baseUrl: '',
    ip: null,
  };
  const { context, close } = openContext<SystemActor>(origin, { kind: 'system', companyId: company.id });
  try {
    return await work(context);
  } finally {
    await close();
  }
}

const COUNT_BY_REGION = 'SELECT count(*) FROM sales WHERE true [[AND region = ANY({{region}})]]';
const REGION_PARAMETER = makeParameter('region', 'select');

describe('the execution of a dashboard', () => {
  it('returns the result of each visualization once, in the order of the layout, even if some fail', async () => {
    const right = await postVisualization(company.as, 'SELECT 1');
    const failingVisualization = await postVisualization(company.as, 'SELECT nothing FROM nowhere');
    const forbiddenVisualization = await postVisualization(company.as, 'SELECT * FROM pg_class');
    const unsetVisualization = await postVisualization(company.as, 'SELECT {{n}}', {
      parameters: [makeParameter('n', 'number', { required: true })],
    });
    const largeVisualization = await postVisualization(company.as, "SELECT repeat('x', 30000000)");
    const lastVisualization = await postVisualization(company.as, 'SELECT 2');
    const { _id } = await postDashboard(company.as, [
      right,
      failingVisualization,
      forbiddenVisualization,
      unsetVisualization,
      largeVisualization,
      right,
      lastVisualization,
    ]);
    const answer = await executeDashboard(_id);
    expect(answer.status).toBe(200);
    expect(listCells(answer)).toEqual([1, 'DB_QUERY_ERROR', 'DB_QUERY_ERROR', 'VALIDATION_ERROR', 'DB_QUERY_ERROR', 2]);
    expect(
      answer.body.results.map((listedResult: { visualization_id: string }) => listedResult.visualization_id),
    ).toEqual(
      [
        right,
        failingVisualization,
        forbiddenVisualization,
        unsetVisualization,
        largeVisualization,
        lastVisualization,
      ].map((visualization) => visualization._id),
    );
    for (const result of answer.body.results) {
      expect(result).toMatchObject({ duration_ms: expect.any(Number), cached: false });
      if (result.error) expect(result).not.toHaveProperty('rows');
    }
  });

  it('runs its visualizations in parallel', async () => {
    const now = 'extract(epoch FROM clock_timestamp())::float8';
    const sql = `SELECT ${now} AS began, pg_sleep(0.2)::text AS slept, ${now} AS ended`;
    const slowVisualizations = await Promise.all(Array.from({ length: 8 }, () => postVisualization(company.as, sql)));
    const { _id } = await postDashboard(company.as, slowVisualizations);
    const { body } = await executeDashboard(_id);
    const runTimes = (body.results as { rows: [[began: number, slept: string, ended: number]] }[]).map(
      ({ rows: [[began, , ended]] }) => ({ began, ended }),
    );
    const sortedRuns = runTimes.toSorted((first, other) => first.began - other.began);
    expect(sortedRuns.some(({ began }, at) => at > 0 && began < (sortedRuns[at - 1]?.ended ?? 0))).toBe(true);
  });

  it('works with a single database connection, and answers 503 when it gets none', async () => {
    const createdVisualizations = await Promise.all(
      Array.from({ length: 6 }, () => postVisualization(company.as, 'SELECT 1')),
    );
    const { _id } = await postDashboard(company.as, createdVisualizations);
    const setConnectionLimit = (connectionCount: number) =>
      runInCompanyDatabase(company.id, (database) =>
        database.query(`ALTER ROLE ${makeTenantNames(company.id).reader} CONNECTION LIMIT ${connectionCount}`),
      );
    const listReaders = () =>
      runInCompanyDatabase(company.id, (database) =>
        database.query("SELECT FROM pg_stat_activity WHERE usename LIKE 'reader%' AND datname = current_database()"),
      );
    try {
      await setConnectionLimit(1);
      expect(listCells(await executeDashboard(_id))).toEqual(Array(6).fill(1));
      await setConnectionLimit(0);
      // The pooler ends what nobody used for a second.
      await expect.poll(listReaders).toEqual([]);
      const { status, body } = await executeDashboard(_id);
      expect([status, body.error]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    } finally {
      await setConnectionLimit(40);
    }
    expect(listCells(await executeDashboard(_id))).toEqual(Array(6).fill(1));
  });

  it('binds filter values to parameters of the same name, in the visualizations that each filter applies to', async () => {
    const [one, two] = await Promise.all([
      postVisualization(company.as, COUNT_BY_REGION, { parameters: [REGION_PARAMETER] }),
      postVisualization(company.as, COUNT_BY_REGION, {
        parameters: [makeParameter('region', 'multi_select', { default: ['east'] })],
      }),
    ]);
    const filteredDashboard = await postDashboard(company.as, [one, two], { filters: [REGION_PARAMETER] });
    expect(listCells(await executeDashboard(filteredDashboard._id, { region: 'south' }))).toEqual([3, 3]);
    // The filter has no value, so neither has the parameter: its own default is for where no filter stands.
    expect(listCells(await executeDashboard(filteredDashboard._id))).toEqual([6, 6]);
    const partlyFilteredDashboard = await postDashboard(company.as, [one, two], {
      filters: [{ ...REGION_PARAMETER, applies_to: [one._id] }],
    });
    expect(listCells(await executeDashboard(partlyFilteredDashboard._id, { region: 'south' }))).toEqual([3, 1]);
    const unfilteredDashboard = await postDashboard(company.as, [one, two]);
    expect(listCells(await executeDashboard(unfilteredDashboard._id))).toEqual([6, 1]);
    expect(listCells(await executeDashboard(unfilteredDashboard._id, { region: 'south' }))).toEqual([3, 3]);
  });

  it('refuses unknown and missing parameters', async () => {
    const createdVisualization = await postVisualization(company.as, COUNT_BY_REGION, {
      parameters: [REGION_PARAMETER],
    });
    const { _id } = await postDashboard(company.as, [createdVisualization], {
      filters: [{ ...REGION_PARAMETER, required: true }],
    });
    for (const [parameters, field] of [
      [{}, 'parameters.region'],
      [{ region: 'south', other: 1 }, 'parameters.other'],
      [{ region: { a: 1 } }, 'parameters.region'],
    ] as const) {
      const { status, body } = await executeDashboard(_id, parameters);
      expect([status, body.details[0].field]).toEqual([422, field]);
    }
  });

  it('reports a parameter without a value in the language of the request', async () => {
    const visualizationWithoutValue = await postVisualization(company.as, 'SELECT {{n}}', {
      parameters: [makeParameter('n', 'number', { required: true })],
    });
    const { _id } = await postDashboard(company.as, [visualizationWithoutValue]);
    const headers = { 'accept-language': 'pt-BR' };
    const { body } = await company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {}, headers });
    expect(body.results[0].error.message).toBe('parameters.n é obrigatório');
  });

  it('reports a filter that no longer fits, and only in the visualizations that the filter applies to', async () => {
    const firstVisualization = await postVisualization(company.as, 'SELECT {{n}}', {
      parameters: [makeParameter('n', 'number')],
    });
    const secondVisualization = await postVisualization(company.as, 'SELECT 2');
    const { _id } = await postDashboard(company.as, [firstVisualization, secondVisualization], {
      filters: [makeParameter('n', 'number')],
    });
    await company.as.put(`${VISUALIZATIONS_PATH}/${firstVisualization._id}`, {
      json: { parameters: [makeParameter('n', 'date')] },
    });
    expect(listCells(await executeDashboard(_id, { n: 1 }))).toEqual(['VALIDATION_ERROR', 2]);
  });

  it('needs only the permission dashboards:get, and then does not reveal the SQL', async () => {
    const failingVisualization = await postVisualization(company.as, 'SELECT nothing FROM sales');
    const { _id } = await postDashboard(company.as, [failingVisualization]);
    const { as } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const { body } = await executeDashboard(_id, {}, as);
    expect(body.results[0].error).toEqual({ error_code: 'DB_QUERY_ERROR', message: 'The query failed.' });
    const { as: callerWithoutGet } = await createAllowedUser(company, { can: ['dashboards:list'] });
    expect((await executeDashboard(_id, {}, callerWithoutGet)).status).toBe(403);
  });

  it('succeeds for an empty dashboard of a company without a database, and is refused for any other dashboard', async () => {
    const companyWithoutDatabase = await createOwnedCompany();
    const emptyDashboard = await postDashboard(companyWithoutDatabase.as, []);
    expect((await executeDashboard(emptyDashboard._id, {}, companyWithoutDatabase.as)).body).toEqual({ results: [] });
    const filledDashboard = await postDashboard(companyWithoutDatabase.as, [
      await postVisualization(companyWithoutDatabase.as, 'SELECT 1'),
    ]);
    expect((await executeDashboard(filledDashboard._id, {}, companyWithoutDatabase.as)).body.error).toBe(
      'MANAGED_DATABASE_NOT_PROVISIONED',
    );
  });
});

it('the row rules of a dashboard return only rows that they allow, even if the SQL inverts the filter', async () => {
  const [plain, inverted] = await Promise.all([
    postVisualization(company.as, COUNT_BY_REGION, { parameters: [REGION_PARAMETER] }),
    postVisualization(company.as, 'SELECT region FROM sales WHERE region <> ALL({{region}})', {
      parameters: [REGION_PARAMETER],
    }),
  ]);
  const { _id } = await postDashboard(company.as, [plain, inverted], { filters: [REGION_PARAMETER] });
  const readRows = (policies: string[][]) =>
    runInContext(async (ctx) => {
      const loadedDashboard = await loadDashboard(ctx, _id);
      const policyTerms = policies.map((allowed_values) => ({
        filter_slug: 'region',
        filter_kind: 'select' as const,
        mode: 'locked' as const,
        allowed_values,
      }));
      const rules = makeViewerRules(listDashboardInputs(loadedDashboard.dashboard, loadedDashboard.visualizations), {
        policies: policyTerms,
      });
      const executions = await runDashboard(ctx, loadedDashboard, computeBoundValues(rules, {}));
      return executions.map((execution) => ('result' in execution ? execution.result.rows : execution.failure.reason));
    });
  expect(await readRows([['north', 'south']])).toEqual([[[5]], [['east']]]);
  // Nothing in common: even SQL that turns the list round gives nothing.
  expect(await readRows([['north'], ['south']])).toEqual([[], []]);
});

describe('the options of a filter', () => {
  const readOptions = (filter: unknown, request: { allowed?: string[]; search?: string } = {}) =>
    runInContext((ctx) =>
      readFilterOptions(ctx, { options: filter as never }, [], {
        allowedValues: request.allowed ?? null,
        boundValues: new Map(),
        search: request.search ?? '',
      }),
    );

  it('come from the dashboard, from SQL with one or two columns, or from the values that a policy allows', async () => {
    const fixedOptions = [
      { label: 'North', value: 'north' },
      { label: 'South', value: 'south' },
    ];
    expect(await readOptions(fixedOptions)).toEqual({ options: fixedOptions, source: 'static' });
    expect(await readOptions(fixedOptions, { allowed: ['south', 'west'] })).toEqual({
      options: [fixedOptions[1], { label: 'west', value: 'west' }],
      source: 'policy',
    });
    expect(await readOptions(null)).toEqual({ options: [], source: 'static' });
    const labelledOptions = { sql: 'SELECT DISTINCT region, upper(region) FROM sales ORDER BY 1; -- all' };
    const foundOptions = ['east', 'north', 'south'].map((value) => ({ value, label: value.toUpperCase() }));
    expect(await readOptions(labelledOptions)).toEqual({ options: foundOptions, source: 'dynamic' });
    expect(await readOptions(labelledOptions, { allowed: ['south'] })).toEqual({
      options: [foundOptions[2]],
      source: 'policy',
    });
    expect((await readOptions({ sql: 'SELECT amount FROM sales ORDER BY 1 LIMIT 1' })).options).toEqual([
      { value: '10', label: '10' },
    ]);
    expect((await readOptions({ sql: 'SELECT NULL UNION ALL SELECT NULL' })).options).toEqual([]);
  });

  it('are searched literally and case-insensitively among a million', async () => {
    const millionOptions = { sql: "SELECT g, 'Option ' || g FROM generate_series(1, 1000000) AS g" };
    expect((await readOptions(millionOptions)).options).toHaveLength(1000);
    expect((await readOptions(millionOptions, { search: 'oPTION 999999' })).options).toEqual([
      { value: '999999', label: 'Option 999999' },
    ]);
    expect((await readOptions({ sql: "SELECT '100%' UNION SELECT '100x'" }, { search: '%' })).options).toEqual([
      { value: '100%', label: '100%' },
    ]);
    expect(
      (
        await readOptions(
          [
            { label: 'a_b', value: '1' },
            { label: 'axb', value: '2' },
          ],
          { search: 'A_' },
        )
      ).options,
    ).toHaveLength(1);
    const greekOptions = ['Νίκος', 'ΝΊΚΟΣΤΡΑΤΟΣ'].map((value) => ({ label: value, value }));
    const greekSql = { sql: `VALUES ${greekOptions.map(({ value }) => `('${value}')`).join(', ')}` };
    for (const search of ['ΝΊΚΟΣ', 'νίκος', 'νίκοσ'])
      for (const of of [greekOptions, greekSql])
        expect([search, (await readOptions(of, { search })).options]).toEqual([search, greekOptions]);
  });

  it('are each value once, in the order of the SQL, also behind more equal values than a response has options', async () => {
    const readRepeated = (columns: string, request: { allowed?: string[]; search?: string } = {}) =>
      readOptions({ sql: `SELECT ${columns} FROM generate_series(1, 6000) AS g ORDER BY g DESC` }, request);
    const makeOptions = (...values: string[]) => values.map((value) => ({ value, label: value }));
    expect((await readRepeated("'region ' || g / 2000")).options).toEqual(
      makeOptions('region 3', 'region 2', 'region 1', 'region 0'),
    );
    expect((await readRepeated("'region ' || g / 2000, 'Option ' || g", { search: 'OPTION' })).options).toEqual([
      { value: 'region 3', label: 'Option 6000' },
      { value: 'region 2', label: 'Option 5999' },
      { value: 'region 1', label: 'Option 3999' },
      { value: 'region 0', label: 'Option 1999' },
    ]);
    const allowedOptions = await readRepeated("'region ' || g / 2000, 'Region'", { allowed: ['region 2', 'region 1'] });
    expect(allowedOptions.options.map(({ label }) => label)).toEqual(['Region', 'Region']);
    expect((await readRepeated('g / 2')).options).toEqual(
      makeOptions(...Array.from({ length: 1000 }, (_, index) => String(3000 - index))),
    );
  });

  it('are those of the first rows where reading all rows takes too long', async () => {
    const slowValue =
      "CASE WHEN g > 2000 THEN (SELECT count(*) FROM generate_series(1, 100000 * g))::text ELSE 'a' END";
    const { options } = await readOptions({ sql: `SELECT ${slowValue} FROM generate_series(1, 6000) AS g` });
    expect(options).toEqual([{ value: 'a', label: 'a' }]);
  });

  it('fail without revealing the cause', async () => {
    for (const sql of [
      'SELECT nothing FROM sales',
      'SELECT 1) AS option(value); DROP TABLE sales; --',
      'SELECT * FROM pg_class',
      'SELECT 1 WHERE 1 = 1) --',
    ]) {
      await expect(readOptions({ sql })).rejects.toMatchObject({
        reason: expect.stringMatching(/^user_sql\.(failed|refused)$/),
        message: expect.not.stringMatching(/sales|option/),
      });
    }
  });
});

it('a table that is deleted while a dashboard reads it makes only the visualizations fail that read the table', async () => {
  const [gone, stays] = [
    await postVisualization(company.as, 'SELECT count(*) FROM sales'),
    await postVisualization(company.as, 'SELECT 1'),
  ];
  const { _id } = await postDashboard(company.as, [gone, stays]);
  expect(listCells(await executeDashboard(_id))).toEqual([6, 1]);
  expect((await company.as.delete(`/v1/managed-tables/${tableId}`)).status).toBe(204);
  expect(listCells(await executeDashboard(_id))).toEqual(['DB_QUERY_ERROR', 1]);
});
