import { beforeAll, describe, expect, it } from 'vitest';
import { tenantNames } from '../../src/tenant-sql/roles.ts';
import { runBehindApi } from '../managed-tables/support.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aVisualization, parameter, someSales, VISUALIZATIONS_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
});

const preview = (sql: string, more: Record<string, unknown> = {}, as = company.as, language = 'en') =>
  as.post(`${VISUALIZATIONS_PATH}/preview`, { json: { sql, ...more }, headers: { 'accept-language': language } });

/** The character of the template that a failing preview names. */
const failing = async (sql: string, more: Record<string, unknown> = {}) => {
  const { status, body } = await preview(sql, more);
  expect([sql, status, body.error]).toEqual([sql, 422, 'DB_QUERY_ERROR']);
  return body.details.position;
};

const region = parameter('region', 'select');

describe('the preview of a visualization', () => {
  it('answers with the result that its execution would have, and saves nothing', async () => {
    const sql =
      'SELECT region, sum(amount) AS total FROM sales WHERE true [[AND region = {{region}}]] GROUP BY 1 ORDER BY 1';
    const more = { parameters: [region], values: { region: 'south' } };
    const before = (await company.as.get(VISUALIZATIONS_PATH)).body.total;
    const { status, body } = await preview(sql, more);
    const saved = await aVisualization(company.as, sql, { parameters: [region] });
    const executed = await company.as.post(`${VISUALIZATIONS_PATH}/${saved._id}/execute`, {
      json: { parameters: more.values },
    });
    const { visualization_id: _, ...result } = executed.body.result;
    expect([status, body]).toEqual([200, { result: { ...result, duration_ms: expect.any(Number) } }]);
    expect(body.result.rows).toEqual([['south', 120]]);
    await company.as.delete(`${VISUALIZATIONS_PATH}/${saved._id}`);
    expect((await company.as.get(VISUALIZATIONS_PATH)).body.total).toBe(before);
  });

  it('runs the query each time, with the values that are sent', async () => {
    const count = 'SELECT count(*) FROM sales WHERE region = {{region}}';
    const ask = async (values: unknown) =>
      (await preview(count, { parameters: [{ ...region, default: 'east' }], values })).body.result;
    expect((await ask({ region: 'south' })).rows).toEqual([[3]]);
    expect((await ask({ region: 'north' })).rows).toEqual([[2]]);
    expect((await ask(undefined)).rows).toEqual([[1]]);
    const now = 'SELECT clock_timestamp()::text';
    const [one, two] = [await preview(now), await preview(now)];
    expect([one.body.result.cached, two.body.result.cached]).toEqual([false, false]);
    expect(one.body.result.rows).not.toEqual(two.body.result.rows);
  });

  it('truncates a result like an execution', async () => {
    const { result } = (await preview('SELECT g FROM generate_series(1, 20000) AS g')).body;
    expect([result.row_count, result.rows.length, result.truncated]).toEqual([10_000, 10_000, true]);
  });

  it('reports at which character of the template the query failed', async () => {
    const values = { region: 'south' };
    const more = { parameters: [region, parameter('n', 'number')], values };
    for (const [sql, at] of [
      ['SELECT nothing FROM sales', 'nothing'],
      ['SELECT * FROM nowhere', 'nowhere'],
      ['SELEC 1', 'SELEC'],
      ['SELECT 1 FROM sales WHERE region = {{region}} AND nothing = 1', 'nothing'],
      ['SELECT 1 FROM sales WHERE true [[AND region = {{region}}]] [[AND amount = {{n}}]] AND nothing = 1', 'nothing'],
      ['SELECT 1 FROM sales WHERE true [[AND amount = {{n}}]] [[AND nothing = {{region}}]]', 'nothing'],
      ['SELECT [[ {{n}} -- ]] nothing\nFROM sales', 'nothing'],
      // PostgreSQL names what it cannot compare, here the parameter itself.
      ['SELECT 1 FROM sales WHERE amount = {{region}}', '= {{region}}'],
      ["SELECT '{{n}}', nothing FROM sales", 'nothing'],
      ['SELECT 1;\n', undefined],
      ["SELECT '🙂', 'é', '日本', nothing FROM sales", 'nothing'],
      ["SELECT '🙂🙂' FROM sales WHERE region = {{region}} AND '🙂' = nothing", 'nothing'],
      // Names that are refused are found by the same count.
      ["SELECT '🙂', pg_read_file('x') FROM sales", 'pg_read_file'],
      ['SELECT * FROM information_schema.tables', 'information_schema'],
    ] as const) {
      if (at === undefined) expect((await preview(sql)).status).toBe(200);
      else expect([sql, await failing(sql, more)]).toEqual([sql, [...sql.slice(0, sql.indexOf(at))].length + 1]);
    }
    // At the end of the input: after its last character that means something.
    expect(await failing('SELECT 1 +')).toBe('SELECT 1 +'.length + 1);
    expect(await failing('SELECT (1 ; -- open', {})).toBe('SELECT (1'.length + 1);
    expect(await failing('SELECT 1 + [[ {{n}} ]]', { parameters: [parameter('n', 'number')] })).toBeGreaterThan(10);
    // A value that does not fit its place: where the parameter stands.
  });

  it('reports the database’s message to its author', async () => {
    const { body } = await preview('SELECT nothing FROM sales');
    expect(body).toEqual({
      error: 'DB_QUERY_ERROR',
      message: 'column "nothing" does not exist',
      details: { position: 8 },
    });
    expect((await preview('SELECT region::integer FROM sales')).body).toEqual({
      error: 'DB_QUERY_ERROR',
      message: expect.stringContaining('invalid input syntax'),
      details: { position: null },
    });
  });

  it.each([
    ['SELECT * FROM pg_catalog.pg_class', 'pg_class não está disponível aqui'],
    ['SELECT pg_sleep(20) IS NULL', 'A consulta demorou demais.'],
    ['SELECT nothing FROM sales', 'column "nothing" does not exist'],
  ])(
    'reports our own refusals in the language of the request, the database’s as they are: %s',
    async (sql, message) => {
      expect((await preview(sql, {}, company.as, 'pt')).body).toMatchObject({ error: 'DB_QUERY_ERROR', message });
    },
  );

  it('refuses a write, a second statement, system tables and a query that never ends', async () => {
    for (const sql of [
      'DELETE FROM sales',
      "UPDATE sales SET region = 'x'",
      'WITH gone AS (DELETE FROM sales RETURNING *) SELECT * FROM gone',
      'SELECT 1; DROP TABLE sales',
      'SELECT 1; COMMIT; DELETE FROM sales',
      'SELECT * FROM pg_class',
      "SELECT set_config('statement_timeout', '0', false)",
      'SELECT sum(a * b) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b',
    ]) {
      await failing(sql);
    }
    expect((await preview('SELECT count(*) FROM sales')).body.result.rows).toEqual([[6]]);
  });

  it('refuses an invalid template and values that do not fit, and names the field', async () => {
    const n = parameter('n', 'number');
    for (const [json, field] of [
      [{ sql: 'SELECT {{other}}' }, 'sql'],
      [{ sql: 'SELECT [[ 1' }, 'sql'],
      [{ sql: '' }, 'sql'],
      [{ sql: 'x'.repeat(20_001) }, 'sql'],
      [{}, 'sql'],
      [{ sql: 'SELECT {{n}}', parameters: [n, n] }, 'parameters.1.slug'],
      [{ sql: 'SELECT {{n}}', parameters: [{ ...n, default: 'x' }] }, 'parameters.0.default'],
      [{ sql: 'SELECT 1', parameters: Array(51).fill(n) }, 'parameters'],
      [{ sql: 'SELECT {{n}}', parameters: [n], values: { n: 'x' } }, 'values.n'],
      [{ sql: 'SELECT {{n}}', parameters: [{ ...n, required: true }] }, 'values.n'],
      [{ sql: 'SELECT {{n}}', parameters: [n], values: { other: 1 } }, 'values.other'],
      [
        { sql: 'SELECT 1', values: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, 1])) },
        'values',
      ],
      [{ sql: 'SELECT 1', values: [] }, 'values'],
    ] as const) {
      const { status, body } = await company.as.post(`${VISUALIZATIONS_PATH}/preview`, { json });
      expect([json, status, body.error, body.details?.[0]?.field]).toEqual([json, 422, 'VALIDATION_ERROR', field]);
    }
    const open = (await preview("SELECT '🙂' [[ 1")).body.details[0].message;
    expect(open).toBe('an optional clause "[[" is not closed (at character 12)');
    const exact = { parameters: [n], values: { n: '12345678901234567890123' } };
    expect((await preview('SELECT {{n}}', exact)).body.result.rows).toEqual([['12345678901234567890123']]);
  });

  it('reads only the tables of its own company, by a connection of the company’s reader role', async () => {
    const stranger = await aProvisionedCompany();
    expect((await preview('SELECT * FROM sales', {}, stranger.as)).body.details).toEqual({ position: 15 });
    const bare = await aCompany();
    expect((await preview('SELECT 1', {}, bare.as)).body.error).toBe('MANAGED_DATABASE_NOT_PROVISIONED');
    const allow = (connections: number) =>
      runBehindApi(stranger.id, (database) =>
        database.query(`ALTER ROLE ${tenantNames(stranger.id).reader} CONNECTION LIMIT ${connections}`),
      );
    await allow(0);
    const refused = () => preview('SELECT 1', {}, stranger.as).then(({ status }) => status);
    // The pooler ends what nobody used for a second.
    await expect.poll(refused, { timeout: 20_000, interval: 1_500 }).toBe(503);
  });
});
