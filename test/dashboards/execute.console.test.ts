import { env } from 'cloudflare:test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SystemActor } from '../../src/access/actors.ts';
import { openContext } from '../../src/context.ts';
import { readFilterOptions } from '../../src/modules/dashboards/options.ts';
import { listDashboardInputs, loadDashboard, runDashboard } from '../../src/modules/dashboards/service.ts';
import { viewerRules } from '../../src/sharing/rules.ts';
import { boundValues } from '../../src/sharing/values.ts';
import { tenantNames } from '../../src/tenant-sql/roles.ts';
import { runBehindApi } from '../managed-tables/support.ts';
import type { Caller } from '../support/api.ts';
import { aCompany, aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  someSales,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

let company: Company;
let tableId: string;
const deferred: Promise<unknown>[] = [];
beforeAll(async () => {
  company = await aProvisionedCompany();
  tableId = await someSales(company);
});
afterAll(async () => {
  await Promise.all(deferred);
});

const execute = (id: string, parameters: unknown = {}, as: Caller = company.as) =>
  as.post(`${DASHBOARDS_PATH}/${id}/execute`, { json: { parameters } });
/** The first cell of each result, or the code of its error. */
const cells = ({ body }: Awaited<ReturnType<typeof execute>>) =>
  body.results.map(
    (result: { rows?: unknown[][]; error?: { error_code: string } }) =>
      result.error?.error_code ?? result.rows?.[0]?.[0],
  );

/** Work on behalf of the company, past the API. */
async function inside<T>(
  work: (ctx: ReturnType<typeof openContext<SystemActor>>['context']) => Promise<T>,
): Promise<T> {
  const origin = {
    env,
    waitUntil: (promise: Promise<unknown>) => deferred.push(promise),
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

const byRegion = 'SELECT count(*) FROM sales WHERE true [[AND region = ANY({{region}})]]';
const region = parameter('region', 'select');

describe('the execution of a dashboard', () => {
  it('answers with each visualization once, in the order of the layout, even if some fail', async () => {
    const right = await aVisualization(company.as, 'SELECT 1');
    const wrong = await aVisualization(company.as, 'SELECT nothing FROM nowhere');
    const forbidden = await aVisualization(company.as, 'SELECT * FROM pg_class');
    const unset = await aVisualization(company.as, 'SELECT {{n}}', {
      parameters: [parameter('n', 'number', { required: true })],
    });
    const large = await aVisualization(company.as, "SELECT repeat('x', 30000000)");
    const last = await aVisualization(company.as, 'SELECT 2');
    const { _id } = await aDashboard(company.as, [right, wrong, forbidden, unset, large, right, last]);
    const answer = await execute(_id);
    expect(answer.status).toBe(200);
    expect(cells(answer)).toEqual([1, 'DB_QUERY_ERROR', 'DB_QUERY_ERROR', 'VALIDATION_ERROR', 'DB_QUERY_ERROR', 2]);
    expect(answer.body.results.map((each: { visualization_id: string }) => each.visualization_id)).toEqual(
      [right, wrong, forbidden, unset, large, last].map((each) => each._id),
    );
    for (const result of answer.body.results) {
      expect(result).toMatchObject({ duration_ms: expect.any(Number), cached: false });
      if (result.error) expect(result).not.toHaveProperty('rows');
    }
  });

  it('runs its visualizations in parallel', async () => {
    const now = 'extract(epoch FROM clock_timestamp())::float8';
    const sql = `SELECT ${now} AS began, pg_sleep(0.2)::text AS slept, ${now} AS ended`;
    const slow = await Promise.all(Array.from({ length: 8 }, () => aVisualization(company.as, sql)));
    const { _id } = await aDashboard(company.as, slow);
    const { body } = await execute(_id);
    const runs = (body.results as { rows: [[began: number, slept: string, ended: number]] }[]).map(
      ({ rows: [[began, , ended]] }) => ({ began, ended }),
    );
    const inOrder = runs.toSorted((one, other) => one.began - other.began);
    expect(inOrder.some(({ began }, at) => at > 0 && began < (inOrder[at - 1]?.ended ?? 0))).toBe(true);
  });

  it('works with a single database connection, and answers 503 when it gets none', async () => {
    const some = await Promise.all(Array.from({ length: 6 }, () => aVisualization(company.as, 'SELECT 1')));
    const { _id } = await aDashboard(company.as, some);
    const allow = (connections: number) =>
      runBehindApi(company.id, (database) =>
        database.query(`ALTER ROLE ${tenantNames(company.id).reader} CONNECTION LIMIT ${connections}`),
      );
    const readers = () =>
      runBehindApi(company.id, (database) =>
        database.query("SELECT FROM pg_stat_activity WHERE usename LIKE 'reader%' AND datname = current_database()"),
      );
    try {
      await allow(1);
      expect(cells(await execute(_id))).toEqual(Array(6).fill(1));
      await allow(0);
      // The pooler ends what nobody used for a second.
      await expect.poll(readers).toEqual([]);
      const { status, body } = await execute(_id);
      expect([status, body.error]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    } finally {
      await allow(40);
    }
    expect(cells(await execute(_id))).toEqual(Array(6).fill(1));
  });

  it('binds values of filters to parameters of the same name, in the visualizations that they apply to', async () => {
    const [one, two] = await Promise.all([
      aVisualization(company.as, byRegion, { parameters: [region] }),
      aVisualization(company.as, byRegion, {
        parameters: [parameter('region', 'multi_select', { default: ['east'] })],
      }),
    ]);
    const both = await aDashboard(company.as, [one, two], { filters: [region] });
    expect(cells(await execute(both._id, { region: 'south' }))).toEqual([3, 3]);
    // The filter has no value, so neither has the parameter: its own default is for where no filter stands.
    expect(cells(await execute(both._id))).toEqual([6, 6]);
    const onlyFirst = await aDashboard(company.as, [one, two], { filters: [{ ...region, applies_to: [one._id] }] });
    expect(cells(await execute(onlyFirst._id, { region: 'south' }))).toEqual([3, 1]);
    const none = await aDashboard(company.as, [one, two]);
    expect(cells(await execute(none._id))).toEqual([6, 1]);
    expect(cells(await execute(none._id, { region: 'south' }))).toEqual([3, 3]);
  });

  it('refuses unknown and missing parameters', async () => {
    const one = await aVisualization(company.as, byRegion, { parameters: [region] });
    const { _id } = await aDashboard(company.as, [one], { filters: [{ ...region, required: true }] });
    for (const [parameters, field] of [
      [{}, 'parameters.region'],
      [{ region: 'south', other: 1 }, 'parameters.other'],
      [{ region: { a: 1 } }, 'parameters.region'],
    ] as const) {
      const { status, body } = await execute(_id, parameters);
      expect([status, body.details[0].field]).toEqual([422, field]);
    }
  });

  it('reports a parameter without a value in the language of the request', async () => {
    const unset = await aVisualization(company.as, 'SELECT {{n}}', {
      parameters: [parameter('n', 'number', { required: true })],
    });
    const { _id } = await aDashboard(company.as, [unset]);
    const headers = { 'accept-language': 'pt-BR' };
    const { body } = await company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {}, headers });
    expect(body.results[0].error.message).toBe('parameters.n é obrigatório');
  });

  it('reports a filter that no longer fits, and only in the visualizations that it applies to', async () => {
    const one = await aVisualization(company.as, 'SELECT {{n}}', { parameters: [parameter('n', 'number')] });
    const two = await aVisualization(company.as, 'SELECT 2');
    const { _id } = await aDashboard(company.as, [one, two], { filters: [parameter('n', 'number')] });
    await company.as.put(`${VISUALIZATIONS_PATH}/${one._id}`, { json: { parameters: [parameter('n', 'date')] } });
    expect(cells(await execute(_id, { n: 1 }))).toEqual(['VALIDATION_ERROR', 2]);
  });

  it('needs only the permission dashboards:get, and then does not reveal the SQL', async () => {
    const wrong = await aVisualization(company.as, 'SELECT nothing FROM sales');
    const { _id } = await aDashboard(company.as, [wrong]);
    const { as } = await aUser(company, { can: ['dashboards:get'] });
    const { body } = await execute(_id, {}, as);
    expect(body.results[0].error).toEqual({ error_code: 'DB_QUERY_ERROR', message: 'The query failed.' });
    const { as: nobody } = await aUser(company, { can: ['dashboards:list'] });
    expect((await execute(_id, {}, nobody)).status).toBe(403);
  });

  it('answers for an empty dashboard without a database, and refuses any other', async () => {
    const bare = await aCompany();
    const empty = await aDashboard(bare.as, []);
    expect((await execute(empty._id, {}, bare.as)).body).toEqual({ results: [] });
    const full = await aDashboard(bare.as, [await aVisualization(bare.as, 'SELECT 1')]);
    expect((await execute(full._id, {}, bare.as)).body.error).toBe('MANAGED_DATABASE_NOT_PROVISIONED');
  });
});

describe('the row rules of a dashboard', () => {
  it('let only rows through that they allow, even if the SQL inverts the filter', async () => {
    const [plain, inverted] = await Promise.all([
      aVisualization(company.as, byRegion, { parameters: [region] }),
      aVisualization(company.as, 'SELECT region FROM sales WHERE region <> ALL({{region}})', { parameters: [region] }),
    ]);
    const { _id } = await aDashboard(company.as, [plain, inverted], { filters: [region] });
    const rows = (policies: string[][]) =>
      inside(async (ctx) => {
        const loaded = await loadDashboard(ctx, _id);
        const terms = policies.map((allowed_values) => ({
          filter_slug: 'region',
          filter_kind: 'select' as const,
          mode: 'locked' as const,
          allowed_values,
        }));
        const rules = viewerRules(listDashboardInputs(loaded.dashboard, loaded.visualizations), { policies: terms });
        const executions = await runDashboard(ctx, loaded, boundValues(rules, {}));
        return executions.map((execution) =>
          'result' in execution ? execution.result.rows : execution.failure.reason,
        );
      });
    expect(await rows([['north', 'south']])).toEqual([[[5]], [['east']]]);
    // Nothing in common: even SQL that turns the list round gives nothing.
    expect(await rows([['north'], ['south']])).toEqual([[], []]);
  });
});

describe('the options of a filter', () => {
  const options = (of: unknown, wanted: { allowed?: string[]; search?: string } = {}) =>
    inside((ctx) =>
      readFilterOptions(ctx, { options: of as never }, [], {
        allowed: wanted.allowed ?? null,
        bound: new Map(),
        search: wanted.search ?? '',
      }),
    );

  it('come from the dashboard, from SQL with one or two columns, or from what a policy allows', async () => {
    const fixed = [
      { label: 'North', value: 'north' },
      { label: 'South', value: 'south' },
    ];
    expect(await options(fixed)).toEqual({ options: fixed, source: 'static' });
    expect(await options(fixed, { allowed: ['south', 'west'] })).toEqual({
      options: [fixed[1], { label: 'west', value: 'west' }],
      source: 'policy',
    });
    expect(await options(null)).toEqual({ options: [], source: 'static' });
    const labels = { sql: 'SELECT DISTINCT region, upper(region) FROM sales ORDER BY 1; -- all' };
    const found = ['east', 'north', 'south'].map((value) => ({ value, label: value.toUpperCase() }));
    expect(await options(labels)).toEqual({ options: found, source: 'dynamic' });
    expect(await options(labels, { allowed: ['south'] })).toEqual({ options: [found[2]], source: 'policy' });
    expect((await options({ sql: 'SELECT amount FROM sales ORDER BY 1 LIMIT 1' })).options).toEqual([
      { value: '10', label: '10' },
    ]);
    expect((await options({ sql: 'SELECT NULL UNION ALL SELECT NULL' })).options).toEqual([]);
  });

  it('are searched literally and case-insensitively among a million', async () => {
    const million = { sql: "SELECT g, 'Option ' || g FROM generate_series(1, 1000000) AS g" };
    expect((await options(million)).options).toHaveLength(1000);
    expect((await options(million, { search: 'oPTION 999999' })).options).toEqual([
      { value: '999999', label: 'Option 999999' },
    ]);
    expect((await options({ sql: "SELECT '100%' UNION SELECT '100x'" }, { search: '%' })).options).toEqual([
      { value: '100%', label: '100%' },
    ]);
    expect(
      (
        await options(
          [
            { label: 'a_b', value: '1' },
            { label: 'axb', value: '2' },
          ],
          { search: 'A_' },
        )
      ).options,
    ).toHaveLength(1);
  });

  it('fail without revealing the cause', async () => {
    for (const sql of [
      'SELECT nothing FROM sales',
      'SELECT 1) AS option(value); DROP TABLE sales; --',
      'SELECT * FROM pg_class',
      'SELECT 1 WHERE 1 = 1) --',
    ]) {
      await expect(options({ sql })).rejects.toMatchObject({
        reason: expect.stringMatching(/^user_sql\.(failed|refused)$/),
        message: expect.not.stringMatching(/sales|option/),
      });
    }
  });
});

describe('a table that is deleted while a dashboard reads it', () => {
  it('makes only the visualizations fail that read it', async () => {
    const [gone, stays] = [
      await aVisualization(company.as, 'SELECT count(*) FROM sales'),
      await aVisualization(company.as, 'SELECT 1'),
    ];
    const { _id } = await aDashboard(company.as, [gone, stays]);
    expect(cells(await execute(_id))).toEqual([6, 1]);
    expect((await company.as.delete(`/v1/managed-tables/${tableId}`)).status).toBe(204);
    expect(cells(await execute(_id))).toEqual(['DB_QUERY_ERROR', 1]);
  });
});
