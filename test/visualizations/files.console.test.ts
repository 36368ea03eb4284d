import { read, utils, type WorkSheet } from '@e965/xlsx';
import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { createAllowedAccount, createTokenCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import {
  createSalesTable,
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);

const SALES_SQL =
  'SELECT region, sum(amount) AS total FROM sales WHERE true [[AND region = ANY({{regions}})]] GROUP BY 1 ORDER BY 1';
const REGIONS_PARAMETER = { parameters: [makeParameter('regions', 'multi_select')] };

const makePath = (kind: string, id: string, query: Record<string, string>) =>
  `${kind}/${id}/execute?${new URLSearchParams(query)}`;
const downloadFile = (id: string, query: Record<string, string>, json: unknown = {}, as = company.as) =>
  as.post(makePath(VISUALIZATIONS_PATH, id, query), { json });
const downloadSqlResult = async (
  sql: string,
  query: Record<string, string>,
  otherFields: Record<string, unknown> = {},
) => downloadFile((await postVisualization(company.as, sql, otherFields))._id, query);

/** Downloads a workbook. @returns the rows of its only sheet */
async function downloadSheet(path: string): Promise<{ name: string | undefined; rows: unknown[][]; sheet: WorkSheet }> {
  const { headers, body } = await company.as.post(path);
  expect(headers.get('content-type')).toBe('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
  const workbook = read(body, { cellDates: false });
  const sheet = workbook.Sheets[workbook.SheetNames[0] as string] as WorkSheet;
  return { name: workbook.SheetNames[0], rows: utils.sheet_to_json(sheet, { header: 1 }), sheet };
}

describe('the result of a visualization that is downloaded as a file', () => {
  it('is a CSV under the visualization’s name, with the parameters of the request', async () => {
    const { _id } = await postVisualization(company.as, SALES_SQL, {
      name: 'Vendas: "São Paulo"/mês',
      ...REGIONS_PARAMETER,
    });
    const { status, headers, body } = await downloadFile(
      _id,
      { format: 'csv' },
      { parameters: { regions: ['north', 'east'] } },
    );
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="Vendas_ _S_o Paulo__m_s.csv"; filename*=UTF-8''Vendas_%20_S%C3%A3o%20Paulo__m%C3%AAs.csv`,
    );
    expect(headers.get('x-truncated')).toBeNull();
    expect(headers.get('access-control-expose-headers')).toMatch(/X-Truncated,Content-Disposition/);
    expect(body).toBe('region,total\r\neast,60\r\nnorth,30\r\n');
  });

  it('is NDJSON', async () => {
    const { headers, body } = await downloadSqlResult(`SELECT 1 AS n, 'a' AS n UNION ALL SELECT NULL, E'b\\nc'`, {
      format: 'ndjson',
    });
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(body).toBe('{"n":1,"n_2":"a"}\n{"n":null,"n_2":"b\\nc"}\n');
  });

  it('is a workbook with numbers, dates and texts', async () => {
    const { _id } = await postVisualization(
      company.as,
      `SELECT '2024-01-31'::date AS day, '2024-01-31T12:00:00Z'::timestamptz AS at, 1.5 AS n, 12345678901234567890 AS big,
         true AS yes, NULL AS nothing, '=1+1' AS text`,
      { name: 'Sales [of/the] year that was a very long one' },
    );
    const { name, rows, sheet } = await downloadSheet(makePath(VISUALIZATIONS_PATH, _id, { format: 'xlsx' }));
    expect(name).toBe('Sales  of the  year that was a');
    expect(rows).toEqual([
      ['day', 'at', 'n', 'big', 'yes', 'nothing', 'text'],
      [45322, 45322.5, 1.5, '12345678901234567890', true, undefined, '=1+1'],
    ]);
    expect(sheet.G2?.f).toBeUndefined();
  });

  it('escapes texts that spreadsheets would treat as formulas if requested, also in headers, and escapes no numbers', async () => {
    const sql = `SELECT '=1' AS "=a", '-1' AS b, -1 AS c, -12345678901234567890 AS "@d"`;
    const { body } = await downloadSqlResult(sql, { format: 'csv', safe: 'true' });
    expect(body).toBe("'=a,b,c,'@d\r\n'=1,'-1,-1,-12345678901234567890\r\n");
    const { _id } = await postVisualization(company.as, sql);
    const { rows } = await downloadSheet(makePath(VISUALIZATIONS_PATH, _id, { format: 'xlsx', safe: 'true' }));
    expect(rows).toEqual([
      ["'=a", 'b', 'c', "'@d"],
      ["'=1", "'-1", -1, '-12345678901234567890'],
    ]);
  });

  it('reports that it was truncated', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT n FROM generate_series(1, 10001) AS n');
    const { headers, body } = await downloadFile(_id, { format: 'csv' });
    expect([headers.get('x-truncated'), body.trim().split('\r\n').length]).toEqual(['true', 10_001]);
    expect((await downloadSheet(makePath(VISUALIZATIONS_PATH, _id, { format: 'xlsx' }))).rows.at(-1)).toEqual([10_000]);
  });

  it('is refused when the SQL fails, with the database’s message to authors only', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT region::integer FROM sales');
    const executionResult = await expectSuccess(downloadFile(_id, {}));
    const refusedDownload = await downloadFile(_id, { format: 'csv' });
    const { error_code: code, message } = executionResult.result.error;
    expect([refusedDownload.status, refusedDownload.body.error, refusedDownload.body.message]).toEqual([
      422,
      code,
      message,
    ]);
    expect([code, message]).toEqual(['DB_QUERY_ERROR', expect.stringContaining('invalid input syntax')]);
    const reader = await createTokenCaller(await createAllowedAccount(company, makeAllow('visualizations:execute')));
    const { status, body } = await downloadFile(_id, { format: 'csv' }, {}, reader);
    expect([status, body.error, body.message]).toEqual([422, 'DB_QUERY_ERROR', 'The query failed.']);
  });

  it('is refused as a workbook when a text is longer than a cell can hold', async () => {
    const makeSql = (length: number) => `SELECT 1 AS n, repeat('=', ${length}) AS "long"`;
    const { status, body } = await downloadSqlResult(makeSql(32_768), { format: 'xlsx' });
    expect([status, body.details]).toEqual([
      422,
      [expect.objectContaining({ field: 'format', message: expect.stringMatching(/^cannot be xlsx: "long"/) })],
    ]);
    expect((await downloadSqlResult(makeSql(32_767), { format: 'xlsx', safe: 'true' })).status).toBe(422);
    expect((await downloadSqlResult(makeSql(32_767), { format: 'xlsx' })).status).toBe(200);
    expect((await downloadSqlResult(makeSql(32_768), { format: 'csv' })).status).toBe(200);
  });

  it.each([
    [{ format: 'json' }, 'format'],
    [{ format: 'parquet' }, 'format'],
    [{ format: 'csv', visualization_id: 'x' }, 'visualization_id'],
  ])('is refused with the query %j', async (query, field) => {
    const { status, body } = await downloadSqlResult('SELECT 1', query as Record<string, string>);
    expect([status, body.details[0].field]).toEqual([422, field]);
  });

  it('is made again under the same idempotency key, since it changes nothing', async () => {
    const { _id } = await postVisualization(company.as, "SELECT random() AS n, 'é' AS t");
    const headers = { 'idempotency-key': 'file-1' };
    const downloadWithKey = () => company.as.post(makePath(VISUALIZATIONS_PATH, _id, { format: 'xlsx' }), { headers });
    const [first, second] = [await downloadWithKey(), await downloadWithKey()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(second.body).not.toEqual(first.body);
  });
});

describe('the result of a visualization on a dashboard that is downloaded as a file', () => {
  const downloadWidget = (id: string, query: Record<string, string>, json: unknown = {}, as = company.as) =>
    as.post(makePath(DASHBOARDS_PATH, id, query), { json });

  it("has the values of the dashboard, and its name is the visualization's", async () => {
    const sales = await postVisualization(company.as, SALES_SQL, REGIONS_PARAMETER);
    const failingChart = await postVisualization(company.as, 'SELECT 1 / 0 AS n', { name: 'Never' });
    const filters = [{ slug: 'regions', label: 'Regions', kind: 'multi_select', default: ['south'] }];
    const { _id } = await postDashboard(company.as, [failingChart, sales], { filters });
    const { headers, body } = await downloadWidget(_id, { format: 'csv', visualization_id: sales._id });
    expect(headers.get('content-disposition')).toContain('filename="Sales.csv"');
    expect(body).toBe('region,total\r\nsouth,120\r\n');
    const chosenParameters = { parameters: { regions: ['east'] } };
    expect((await downloadWidget(_id, { format: 'csv', visualization_id: sales._id }, chosenParameters)).body).toBe(
      'region,total\r\neast,60\r\n',
    );
    const failedDownload = await downloadWidget(_id, { format: 'csv', visualization_id: failingChart._id });
    expect([failedDownload.status, failedDownload.body.error, failedDownload.body.message]).toEqual([
      422,
      'DB_QUERY_ERROR',
      'division by zero',
    ]);
    expect(
      (await downloadWidget(_id, { format: 'csv', visualization_id: sales._id }, { parameters: { nope: 1 } })).status,
    ).toBe(422);
  });

  it('requires both a format and a visualization on the dashboard', async () => {
    const [on, off] = [
      await postVisualization(company.as, 'SELECT 1 AS one'),
      await postVisualization(company.as, 'SELECT 2'),
    ];
    const { _id } = await postDashboard(company.as, [on]);
    const readRefusal = async (query: Record<string, string>) => {
      const { status, body } = await downloadWidget(_id, query);
      return [status, body.details[0]];
    };
    const field = 'visualization_id';
    expect(await readRefusal({ format: 'csv' })).toEqual([
      422,
      { field, reason: 'required', message: 'is required with format' },
    ]);
    for (const id of [off._id, 'x', ''])
      expect(await readRefusal({ format: 'csv', visualization_id: id })).toEqual([
        422,
        { field, reason: 'not_found', message: 'must be on the dashboard' },
      ]);
    expect(await readRefusal({ visualization_id: on._id })).toEqual([
      422,
      { field, reason: 'conflict', message: 'is only accepted with format' },
    ]);
    expect((await readRefusal({ format: 'json', visualization_id: on._id }))[0]).toBe(422);
    expect((await downloadWidget(_id, { format: 'csv', visualization_id: on._id })).status).toBe(200);
  });
});
