import { describe, expect, it } from 'vitest';
import { makeTenantNames } from '../../src/tenant-sql/roles.ts';
import { runInCompanyDatabase } from '../managed-tables/support.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createSalesTable, makeParameter, postVisualization, VISUALIZATIONS_PATH } from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);

const requestPreview = (sql: string, previewOptions: Record<string, unknown> = {}, as = company.as, language = 'en') =>
  as.post(`${VISUALIZATIONS_PATH}/preview`, {
    json: { sql, ...previewOptions },
    headers: { 'accept-language': language },
  });

/** Returns the position in the template that the error of a failed preview names. */
const readFailureOffset = async (sql: string, previewOptions: Record<string, unknown> = {}) => {
  const { status, body } = await requestPreview(sql, previewOptions);
  expect([sql, status, body.error]).toEqual([sql, 422, 'DB_QUERY_ERROR']);
  return body.details.position;
};

const regionParameter = makeParameter('region', 'select');

describe('the preview of a visualization', () => {
  it('returns the result that its execution would have, and saves nothing', async () => {
    const sql =
      'SELECT region, sum(amount) AS total FROM sales WHERE true [[AND region = {{region}}]] GROUP BY 1 ORDER BY 1';
    const previewOptions = { parameters: [regionParameter], values: { region: 'south' } };
    const countBefore = (await company.as.get(VISUALIZATIONS_PATH)).body.total;
    const { status, body } = await requestPreview(sql, previewOptions);
    const savedChart = await postVisualization(company.as, sql, { parameters: [regionParameter] });
    const execution = await company.as.post(`${VISUALIZATIONS_PATH}/${savedChart._id}/execute`, {
      json: { parameters: previewOptions.values },
    });
    const { visualization_id: _, ...result } = execution.body.result;
    expect([status, body]).toEqual([200, { result: { ...result, duration_ms: expect.any(Number) } }]);
    expect(body.result.rows).toEqual([['south', 120]]);
    await company.as.delete(`${VISUALIZATIONS_PATH}/${savedChart._id}`);
    expect((await company.as.get(VISUALIZATIONS_PATH)).body.total).toBe(countBefore);
  });

  it('runs the query each time, with the values that are sent', async () => {
    const count = 'SELECT count(*) FROM sales WHERE region = {{region}}';
    const previewValues = async (values: unknown) =>
      (await requestPreview(count, { parameters: [{ ...regionParameter, default: 'east' }], values })).body.result;
    expect((await previewValues({ region: 'south' })).rows).toEqual([[3]]);
    expect((await previewValues({ region: 'north' })).rows).toEqual([[2]]);
    expect((await previewValues(undefined)).rows).toEqual([[1]]);
    const now = 'SELECT clock_timestamp()::text';
    const [one, two] = [await requestPreview(now), await requestPreview(now)];
    expect([one.body.result.cached, two.body.result.cached]).toEqual([false, false]);
    expect(one.body.result.rows).not.toEqual(two.body.result.rows);
  });

  it('truncates a result like an execution', async () => {
    const { result } = (await requestPreview('SELECT g FROM generate_series(1, 20000) AS g')).body;
    expect([result.row_count, result.rows.length, result.truncated]).toEqual([10_000, 10_000, true]);
  });

  it('reports at which character of the template the query failed', async () => {
    const values = { region: 'south' };
    const previewOptions = { parameters: [regionParameter, makeParameter('n', 'number')], values };
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
      if (at === undefined) expect((await requestPreview(sql)).status).toBe(200);
      else
        expect([sql, await readFailureOffset(sql, previewOptions)]).toEqual([
          sql,
          [...sql.slice(0, sql.indexOf(at))].length + 1,
        ]);
    }
    // At the end of the input: after its last character that means something.
    expect(await readFailureOffset('SELECT 1 +')).toBe('SELECT 1 +'.length + 1);
    expect(await readFailureOffset('SELECT (1 ; -- open', {})).toBe('SELECT (1'.length + 1);
    expect(
      await readFailureOffset('SELECT 1 + [[ {{n}} ]]', { parameters: [makeParameter('n', 'number')] }),
    ).toBeGreaterThan(10);
    // A value that does not fit its place: where the parameter stands.
  });

  it('reports the database’s message to its author', async () => {
    const { body } = await requestPreview('SELECT nothing FROM sales');
    expect(body).toEqual({
      error: 'DB_QUERY_ERROR',
      message: 'column "nothing" does not exist',
      details: { position: 8 },
    });
    expect((await requestPreview('SELECT region::integer FROM sales')).body).toEqual({
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
      expect((await requestPreview(sql, {}, company.as, 'pt')).body).toMatchObject({
        error: 'DB_QUERY_ERROR',
        message,
      });
    },
  );

  it('refuses a write, a second statement, system tables and settings', async () => {
    for (const sql of [
      'DELETE FROM sales',
      "UPDATE sales SET region = 'x'",
      'WITH gone AS (DELETE FROM sales RETURNING *) SELECT * FROM gone',
      'SELECT 1; DROP TABLE sales',
      'SELECT 1; COMMIT; DELETE FROM sales',
      'SELECT * FROM pg_class',
      "SELECT set_config('statement_timeout', '0', false)",
    ]) {
      await readFailureOffset(sql);
    }
    expect((await requestPreview('SELECT count(*) FROM sales')).body.result.rows).toEqual([[6]]);
  });

  it('refuses an invalid template and values that do not fit, and names the field', async () => {
    const n = makeParameter('n', 'number');
    for (const [json, field] of [
      [{ sql: 'SELECT {{other}}' }, 'sql'],
      [{ sql: 'SELECT [[ 1' }, 'sql'],
      [{ sql: '' }, 'sql'],
      [{ sql: 'x'.repeat(20_001) }, 'sql'],
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
    ] as const) {
      const { status, body } = await company.as.post(`${VISUALIZATIONS_PATH}/preview`, { json });
      expect([json, status, body.error, body.details?.[0]?.field]).toEqual([json, 422, 'VALIDATION_ERROR', field]);
    }
    const openBracketMessage = (await requestPreview("SELECT '🙂' [[ 1")).body.details[0].message;
    expect(openBracketMessage).toBe('an optional clause "[[" is not closed (at character 12)');
    const exactParameters = { parameters: [n], values: { n: '12345678901234567890123' } };
    expect((await requestPreview('SELECT {{n}}', exactParameters)).body.result.rows).toEqual([
      ['12345678901234567890123'],
    ]);
  });

  it('reads only the tables of its own company, by a connection of the company’s reader role', async () => {
    const otherCompany = await createProvisionedCompany();
    expect((await requestPreview('SELECT * FROM sales', {}, otherCompany.as)).body.details).toEqual({ position: 15 });
    const emptyCompany = await createOwnedCompany();
    expect((await requestPreview('SELECT 1', {}, emptyCompany.as)).body.error).toBe('MANAGED_DATABASE_NOT_PROVISIONED');
    const limitConnections = (connectionCount: number) =>
      runInCompanyDatabase(otherCompany.id, (database) =>
        database.query(`ALTER ROLE ${makeTenantNames(otherCompany.id).reader} CONNECTION LIMIT ${connectionCount}`),
      );
    await limitConnections(0);
    const readStatus = () => requestPreview('SELECT 1', {}, otherCompany.as).then(({ status }) => status);
    // The pooler ends what nobody used for a second.
    await expect.poll(readStatus, { timeout: 20_000, interval: 1_500 }).toBe(503);
  });
});
