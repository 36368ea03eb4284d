import { describe, expect, it } from 'vitest';
import { runInCompanyDatabase } from '../managed-tables/support.ts';
import { createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createPolicyGroup, createSignedCaller, expectSuccess, makeDeny, storePolicy } from '../support/signed.ts';
import { createSalesTable, makeParameter, postVisualization, VISUALIZATIONS_PATH } from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);

const executeVisualization = (id: string, json: unknown = {}, as = company.as) =>
  as.post(`${VISUALIZATIONS_PATH}/${id}/execute`, { json });
const executeSql = async (sql: string, json: unknown = {}, otherFields: Record<string, unknown> = {}) =>
  executeVisualization((await postVisualization(company.as, sql, otherFields))._id, json);

describe('the execution of a visualization', () => {
  it('returns columns and rows', async () => {
    const createdChart = await postVisualization(
      company.as,
      'SELECT region, sum(amount) AS total FROM sales GROUP BY 1 ORDER BY 1',
    );
    const { status, body } = await executeVisualization(createdChart._id);
    expect([status, body]).toEqual([
      200,
      {
        result: {
          visualization_id: createdChart._id,
          columns: [
            { name: 'region', type: 'text' },
            { name: 'total', type: 'decimal' },
          ],
          rows: [
            ['east', 60],
            ['north', 30],
            ['south', 120],
          ],
          row_count: 3,
          truncated: false,
          duration_ms: expect.any(Number),
          cached: false,
        },
      },
    ]);
    const bodilessExecution = await company.as.post(`${VISUALIZATIONS_PATH}/${createdChart._id}/execute`);
    expect([bodilessExecution.status, bodilessExecution.body.result.row_count]).toEqual([200, 3]);
  });

  it('binds each kind of parameter with its type', async () => {
    const sql = `SELECT count(*) FROM sales WHERE true [[AND region = {{one}}]] [[AND region = ANY({{some}})]]
      [[AND region ILIKE '%' || {{part}} || '%']] [[AND amount > {{min}}]] [[AND day = {{day}}]]
      [[AND day >= {{period.from}}]] [[AND day <= {{period.to}}]]`;
    const parameters = [
      makeParameter('one', 'select'),
      makeParameter('some', 'multi_select'),
      makeParameter('part', 'text'),
      makeParameter('min', 'number'),
      makeParameter('day', 'date'),
      makeParameter('period', 'date_range'),
    ];
    const { _id } = await postVisualization(company.as, sql, { parameters });
    const count = async (sentParameters: Record<string, unknown>) =>
      (await executeVisualization(_id, { parameters: sentParameters })).body.result.rows[0][0];
    expect(await count({})).toBe(6);
    expect(await count({ one: 'south' })).toBe(3);
    expect(await count({ some: ['north', 'east'] })).toBe(3);
    expect(await count({ part: 'OUT' })).toBe(3);
    expect(await count({ part: '%' })).toBe(6);
    expect(await count({ min: 30 })).toBe(3);
    expect(await count({ min: '30.5', one: 'south' })).toBe(2);
    expect(await count({ day: '2024-01-03' })).toBe(1);
    expect(await count({ period: { from: '2024-01-02' } })).toBe(5);
    expect(await count({ period: { from: '2024-01-02', to: '2024-01-03' } })).toBe(2);
    expect(await count({ one: null, some: [], part: '', min: null })).toBe(6);
    expect(await count({ one: "south' OR true --" })).toBe(0);
    expect(await count({ some: ['south"}', '{north}', "'"] })).toBe(0);
  });

  it('is refused to a caller who is denied getting the visualization', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1');
    const { id, as } = await createAllowedUser(company, { can: ['visualizations:*'] });
    expect((await executeVisualization(_id, {}, as)).status).toBe(200);
    const group = await createPolicyGroup(company, await storePolicy(company, [makeDeny('visualizations:get')]));
    const json = { principal_type: 'user', principal_id: id, account_id: company.accountId };
    await expectSuccess(createSignedCaller(company.apiKey).post(`/groups/${group}/bindings`, { json }));
    const { status, body } = await executeVisualization(_id, {}, as);
    expect([status, body.result]).toEqual([403, undefined]);
  });

  it('uses defaults unless null is sent, and refuses a missing required parameter', async () => {
    const sql = 'SELECT count(*) FROM sales WHERE true [[AND region = {{region}}]] [[AND amount >= {{min}}]]';
    const defaultChart = await postVisualization(company.as, sql, {
      parameters: [makeParameter('region', 'select', { default: 'east' }), makeParameter('min', 'number')],
    });
    const count = async (sentParameters: unknown) =>
      (await executeVisualization(defaultChart._id, { parameters: sentParameters })).body.result.rows[0][0];
    expect([await count({}), await count({ region: null }), await count({ region: 'south' })]).toEqual([1, 6, 3]);
    const requiringChart = await postVisualization(company.as, sql, {
      parameters: [makeParameter('region', 'select', { required: true }), makeParameter('min', 'number')],
    });
    for (const parameters of [undefined, {}, { region: null }, { region: '' }, { region: [] }]) {
      const { status, body } = await executeVisualization(requiringChart._id, { parameters });
      expect([status, body.error, body.details]).toEqual([
        422,
        'VALIDATION_ERROR',
        [{ field: 'parameters.region', reason: 'required', message: 'is required' }],
      ]);
    }
  });

  it('refuses unknown parameters and values that do not fit their parameters', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT {{n}}, {{t}}', {
      parameters: [makeParameter('n', 'number'), makeParameter('t', 'text')],
    });
    const deepValue = JSON.parse(`${'['.repeat(20)}${']'.repeat(20)}`);
    for (const parameters of [
      { n: 'x' },
      { n: [1, 2] },
      { n: { a: 1 } },
      { t: { deep: deepValue } },
      { t: deepValue },
      { other: 1 },
      { n: '1; DROP TABLE sales' },
      { t: 'a\0b' },
      { t: 'x'.repeat(1001) },
    ]) {
      const { status, body } = await executeVisualization(_id, { parameters });
      expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    }
    for (const parameters of [[], 'x', 7, null])
      expect((await executeVisualization(_id, { parameters })).status).toBe(422);
    const executeRaw = (body: string) =>
      company.as.post(`${VISUALIZATIONS_PATH}/${_id}/execute`, {
        body,
        headers: { 'content-type': 'application/json' },
      });
    expect((await executeRaw('{"parameters": {"__proto__": {"n": 1}}}')).status).toBe(422);
    expect((await executeRaw('{"parameters": {"n": 1, "n": 2}}')).body.result.rows).toEqual([[2, null]]);
    expect((await executeRaw(`{"parameters": {"t": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}`)).status).toBe(400);
    expect((await executeRaw('{"parameters": {"n": 12345678901234567890123}}')).body.result.rows[0][0]).toBe(
      '12345678901234567890123',
    );
    expect((await executeRaw('{"parameters"')).body.error).toBe('INVALID_JSON');
    const manyParameters = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`p${n}`, 1]));
    expect((await executeVisualization(_id, { parameters: manyParameters })).body.details).toHaveLength(1);
  });

  it('returns at most 10,000 rows, and reports that there are more', async () => {
    const { body } = await executeSql('SELECT g FROM generate_series(1, 20000) AS g');
    expect([body.result.row_count, body.result.rows.length, body.result.truncated]).toEqual([10_000, 10_000, true]);
  });

  it('reports a failed query in its result, with the database’s message to authors only', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT region::integer FROM sales');
    const { status, body } = await executeVisualization(_id);
    expect(status).toBe(200);
    expect(body.result).toEqual({
      visualization_id: _id,
      error: { error_code: 'DB_QUERY_ERROR', message: expect.stringContaining('invalid input syntax') },
      duration_ms: expect.any(Number),
      cached: false,
    });
    const { as } = await createAllowedUser(company, { can: ['visualizations:execute'] });
    expect((await executeVisualization(_id, {}, as)).body.result.error).toEqual({
      error_code: 'DB_QUERY_ERROR',
      message: 'The query failed.',
    });
  });

  it('reports a failed query in its result in the language of the request', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT region::integer FROM sales');
    const { as } = await createAllowedUser(company, { can: ['visualizations:execute'] });
    const headers = { 'accept-language': 'es' };
    const { body } = await as.post(`${VISUALIZATIONS_PATH}/${_id}/execute`, { json: {}, headers });
    expect(body.result.error).toEqual({ error_code: 'DB_QUERY_ERROR', message: 'La consulta falló.' });
  });

  it.each([
    'SELECT 1; DROP TABLE sales',
    'DROP TABLE sales',
    "SELECT set_config('role', 'postgres', false)",
    'SELECT * FROM pg_class',
    'SELECT * FROM console.managed_tables',
    'SELECT * FROM trash.x',
    "COPY sales TO PROGRAM 'id'",
    'COMMIT',
    'SELECT pg_advisory_lock(1)',
  ])('refuses %s', async (sql) => {
    const { status, body } = await executeSql(sql);
    expect([status, body.result.error.error_code, body.result.rows]).toEqual([200, 'DB_QUERY_ERROR', undefined]);
    expect((await executeSql('SELECT count(*) FROM sales')).body.result.rows).toEqual([[6]]);
  });

  it('reads only the company’s own tables, in their current state', async () => {
    const other = await createProvisionedCompany();
    const { _id } = await postVisualization(other.as, 'SELECT count(*) FROM sales');
    expect((await executeVisualization(_id, {}, other.as)).body.result.error.error_code).toBe('DB_QUERY_ERROR');
    await createSalesTable(other);
    expect((await executeVisualization(_id, {}, other.as)).body.result.rows).toEqual([[6]]);
    const { body } = await other.as.get('/v1/managed-tables');
    await other.as.delete(`/v1/managed-tables/${body.records[0]._id}`);
    expect((await executeVisualization(_id, {}, other.as)).body.result.error.error_code).toBe('DB_QUERY_ERROR');
  });

  it('requires a provisioned database', async () => {
    const emptyCompany = await createOwnedCompany();
    const { _id } = await postVisualization(emptyCompany.as, 'SELECT 1');
    const { status, body } = await executeVisualization(_id, {}, emptyCompany.as);
    expect([status, body.error]).toEqual([400, 'MANAGED_DATABASE_NOT_PROVISIONED']);
  });

  it('leaves no transaction open', async () => {
    for (const sql of ['SELECT 1', 'SELECT 1 / 0', "SELECT repeat('x', 30000000)"]) await executeSql(sql);
    // The pooler ends a connection that nobody used for a second, but none that is in a transaction.
    await expect
      .poll(() =>
        runInCompanyDatabase(company.id, (database) =>
          database.query(
            "SELECT count(*) AS n FROM pg_stat_activity WHERE usename LIKE 'reader%' AND datname = current_database()",
          ),
        ),
      )
      .toEqual([{ n: '0' }]);
  });
});
