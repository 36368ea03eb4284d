import { read, utils, type WorkSheet } from '@e965/xlsx';
import { beforeAll, describe, expect, it } from 'vitest';
import { allow, aServiceAccountThat, must, withServiceToken } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, parameter, someSales, VISUALIZATIONS_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
});

const SALES =
  'SELECT region, sum(amount) AS total FROM sales WHERE true [[AND region = ANY({{regions}})]] GROUP BY 1 ORDER BY 1';
const REGIONS = { parameters: [parameter('regions', 'multi_select')] };

const pathOf = (kind: string, id: string, query: Record<string, string>) =>
  `${kind}/${id}/execute?${new URLSearchParams(query)}`;
const file = (id: string, query: Record<string, string>, json: unknown = {}, as = company.as) =>
  as.post(pathOf(VISUALIZATIONS_PATH, id, query), { json });
const fileOfSql = async (sql: string, query: Record<string, string>, more: Record<string, unknown> = {}) =>
  file((await aVisualization(company.as, sql, more))._id, query);

/** The rows of a workbook's only sheet. */
async function sheetOf(path: string): Promise<{ name: string | undefined; rows: unknown[][]; sheet: WorkSheet }> {
  const { headers, body } = await company.as.post(path);
  expect(headers.get('content-type')).toBe('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
  const book = read(body, { cellDates: false });
  const sheet = book.Sheets[book.SheetNames[0] as string] as WorkSheet;
  return { name: book.SheetNames[0], rows: utils.sheet_to_json(sheet, { header: 1 }), sheet };
}

describe('the result of a visualization that is downloaded as a file', () => {
  it('is a CSV under the visualization’s name, with the parameters of the request', async () => {
    const { _id } = await aVisualization(company.as, SALES, { name: 'Vendas: "São Paulo"/mês', ...REGIONS });
    const { status, headers, body } = await file(
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
    const { headers, body } = await fileOfSql(`SELECT 1 AS n, 'a' AS n UNION ALL SELECT NULL, E'b\\nc'`, {
      format: 'ndjson',
    });
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(body).toBe('{"n":1,"n_2":"a"}\n{"n":null,"n_2":"b\\nc"}\n');
  });

  it('is a workbook with numbers, dates and texts', async () => {
    const { _id } = await aVisualization(
      company.as,
      `SELECT '2024-01-31'::date AS day, '2024-01-31T12:00:00Z'::timestamptz AS at, 1.5 AS n, 12345678901234567890 AS big,
         true AS yes, NULL AS nothing, '=1+1' AS text`,
      { name: 'Sales [of/the] year that was a very long one' },
    );
    const { name, rows, sheet } = await sheetOf(pathOf(VISUALIZATIONS_PATH, _id, { format: 'xlsx' }));
    expect(name).toBe('Sales  of the  year that was a');
    expect(rows).toEqual([
      ['day', 'at', 'n', 'big', 'yes', 'nothing', 'text'],
      [45322, 45322.5, 1.5, '12345678901234567890', true, undefined, '=1+1'],
    ]);
    expect(sheet.G2?.f).toBeUndefined();
  });

  it('escapes texts that spreadsheets would take for formulas, if asked, also in headers, and no numbers', async () => {
    const sql = `SELECT '=1' AS "=a", '-1' AS b, -1 AS c, -12345678901234567890 AS "@d"`;
    const { body } = await fileOfSql(sql, { format: 'csv', safe: 'true' });
    expect(body).toBe("'=a,b,c,'@d\r\n'=1,'-1,-1,-12345678901234567890\r\n");
    const { _id } = await aVisualization(company.as, sql);
    const { rows } = await sheetOf(pathOf(VISUALIZATIONS_PATH, _id, { format: 'xlsx', safe: 'true' }));
    expect(rows).toEqual([
      ["'=a", 'b', 'c', "'@d"],
      ["'=1", "'-1", -1, '-12345678901234567890'],
    ]);
  });

  it('reports that it was truncated', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT n FROM generate_series(1, 10001) AS n');
    const { headers, body } = await file(_id, { format: 'csv' });
    expect([headers.get('x-truncated'), body.trim().split('\r\n').length]).toEqual(['true', 10_001]);
    expect((await sheetOf(pathOf(VISUALIZATIONS_PATH, _id, { format: 'xlsx' }))).rows.at(-1)).toEqual([10_000]);
  });

  it('is refused when the SQL fails, with the database’s message to authors only', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT region::integer FROM sales');
    const told = await must(file(_id, {}));
    const refused = await file(_id, { format: 'csv' });
    const { error_code: code, message } = told.result.error;
    expect([refused.status, refused.body.error, refused.body.message]).toEqual([422, code, message]);
    expect([code, message]).toEqual(['DB_QUERY_ERROR', expect.stringContaining('invalid input syntax')]);
    const reader = await withServiceToken(await aServiceAccountThat(company, allow('visualizations:execute')));
    const { status, body } = await file(_id, { format: 'csv' }, {}, reader);
    expect([status, body.error, body.message]).toEqual([422, 'DB_QUERY_ERROR', 'The query failed.']);
  });

  it('is refused as a workbook when a text is longer than a cell can hold', async () => {
    const sql = (length: number) => `SELECT 1 AS n, repeat('=', ${length}) AS "long"`;
    const { status, body } = await fileOfSql(sql(32_768), { format: 'xlsx' });
    expect([status, body.details]).toEqual([
      422,
      [expect.objectContaining({ field: 'format', message: expect.stringMatching(/^cannot be xlsx: "long"/) })],
    ]);
    expect((await fileOfSql(sql(32_767), { format: 'xlsx', safe: 'true' })).status).toBe(422);
    expect((await fileOfSql(sql(32_767), { format: 'xlsx' })).status).toBe(200);
    expect((await fileOfSql(sql(32_768), { format: 'csv' })).status).toBe(200);
  });

  it.each([
    [{ format: 'json' }, 'format'],
    [{ format: 'parquet' }, 'format'],
    [{ format: 'csv', safe: 'yes' }, 'safe'],
    [{ format: 'csv', visualization_id: 'x' }, 'visualization_id'],
  ])('is refused with the query %j', async (query, field) => {
    const { status, body } = await fileOfSql('SELECT 1', query as Record<string, string>);
    expect([status, body.details[0].field]).toEqual([422, field]);
  });

  it('is made again under the same idempotency key, since it changes nothing', async () => {
    const { _id } = await aVisualization(company.as, "SELECT random() AS n, 'é' AS t");
    const headers = { 'idempotency-key': 'file-1' };
    const once = () => company.as.post(pathOf(VISUALIZATIONS_PATH, _id, { format: 'xlsx' }), { headers });
    const [first, second] = [await once(), await once()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(second.body).not.toEqual(first.body);
  });
});

describe('the result of a visualization on a dashboard that is downloaded as a file', () => {
  const widget = (id: string, query: Record<string, string>, json: unknown = {}, as = company.as) =>
    as.post(pathOf(DASHBOARDS_PATH, id, query), { json });

  it("has the values of the dashboard, and its name is the visualization's", async () => {
    const sales = await aVisualization(company.as, SALES, REGIONS);
    const failing = await aVisualization(company.as, 'SELECT 1 / 0 AS n', { name: 'Never' });
    const filters = [{ slug: 'regions', label: 'Regions', kind: 'multi_select', default: ['south'] }];
    const { _id } = await aDashboard(company.as, [failing, sales], { filters });
    const { headers, body } = await widget(_id, { format: 'csv', visualization_id: sales._id });
    expect(headers.get('content-disposition')).toContain('filename="Sales.csv"');
    expect(body).toBe('region,total\r\nsouth,120\r\n');
    const chosen = { parameters: { regions: ['east'] } };
    expect((await widget(_id, { format: 'csv', visualization_id: sales._id }, chosen)).body).toBe(
      'region,total\r\neast,60\r\n',
    );
    const failed = await widget(_id, { format: 'csv', visualization_id: failing._id });
    expect([failed.status, failed.body.error, failed.body.message]).toEqual([
      422,
      'DB_QUERY_ERROR',
      'division by zero',
    ]);
    expect(
      (await widget(_id, { format: 'csv', visualization_id: sales._id }, { parameters: { nope: 1 } })).status,
    ).toBe(422);
  });

  it('needs both a format and a visualization on the dashboard', async () => {
    const [on, off] = [
      await aVisualization(company.as, 'SELECT 1 AS one'),
      await aVisualization(company.as, 'SELECT 2'),
    ];
    const { _id } = await aDashboard(company.as, [on]);
    const refused = async (query: Record<string, string>) => {
      const { status, body } = await widget(_id, query);
      return [status, body.details[0]];
    };
    const field = 'visualization_id';
    expect(await refused({ format: 'csv' })).toEqual([
      422,
      { field, reason: 'required', message: 'is required with format' },
    ]);
    for (const id of [off._id, 'x', ''])
      expect(await refused({ format: 'csv', visualization_id: id })).toEqual([
        422,
        { field, reason: 'not_found', message: 'must be on the dashboard' },
      ]);
    expect(await refused({ visualization_id: on._id })).toEqual([
      422,
      { field, reason: 'conflict', message: 'is only accepted with format' },
    ]);
    expect((await refused({ format: 'json', visualization_id: on._id }))[0]).toBe(422);
    expect((await widget(_id, { format: 'csv', visualization_id: on._id })).status).toBe(200);
  });
});
