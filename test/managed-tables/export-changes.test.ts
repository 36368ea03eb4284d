import { strFromU8, unzipSync } from 'fflate';
import { parquetMetadata } from 'hyparquet';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXPORT_FORMATS, type ExportFormat } from '../../src/modules/managed-tables/export-formats.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createTable, createTableClient, makeColumn, readRaw, runInCompanyDatabase } from './support.ts';

/** The number of rows: more than two batches of an export. */
const ROW_COUNT = 45_000;
/** Matches the statement that locks the table before its columns are read. */
const LOCK_STATEMENT_PATTERN = /LOCK TABLE/;
/** Matches the statement that reads rows after the table is locked. */
const READ_STATEMENT_PATTERN = /COPY|min_scale|bool_or/;

let name: string;
let table: ReturnType<typeof createTableClient>;
let createdCount = 0;

const company = await createProvisionedCompany();

beforeEach(async () => {
  name = `changed_${++createdCount}`;
  table = createTableClient(
    company.as,
    await createTable(company.as, name, [makeColumn('t'), makeColumn('d', 'decimal')]),
  );
  await runSql(`INSERT INTO public.${name} (t, d) SELECT n, n FROM generate_series(1, ${ROW_COUNT}) AS n`);
});

const runSql = (text: string) => runInCompanyDatabase(company.id, (database) => database.query(text));

/** Functions that count the rows of a complete file with other readers, by format. */
const ROW_COUNTERS: Record<ExportFormat, (file: ArrayBuffer) => number> = {
  csv: (file) => countLines(file) - 1,
  ndjson: (file) => countLines(file),
  xlsx: (file) => {
    const { 'xl/worksheets/sheet1.xml': sheet } = unzipSync(new Uint8Array(file));
    return strFromU8(sheet as Uint8Array).split('</row>').length - 2;
  },
  parquet: (file) => Number(parquetMetadata(file).num_rows),
};

const countLines = (file: ArrayBuffer): number => new TextDecoder().decode(file).split('\n').length - 1;

const beginExport = (format: ExportFormat, extraQuery = '') =>
  readRaw(company, table.exportPath(`?format=${format}${extraQuery}`));

describe.each(EXPORT_FORMATS)('an export as %s', (format) => {
  const rowsStatementPattern = format === 'ndjson' ? /AS batch/ : READ_STATEMENT_PATTERN;

  it.each(['delete', 'truncate'] as const)('is complete before another request can %s the table', async (change) => {
    const concurrentChange = await runBeforeNextStatement(company.id, rowsStatementPattern, () => table[change]());
    const response = await beginExport(format);
    expect([response.status, ROW_COUNTERS[format](await response.arrayBuffer())]).toEqual([200, ROW_COUNT]);
    expect([200, 204]).toContain((await concurrentChange.outcome).status);
  });

  it('has the name and columns that the table has when it begins', async () => {
    const renameTable = () =>
      table.put({ display_name: `${name}_new`, columns: [makeColumn('t'), makeColumn('d', 'integer')] });
    const concurrentRename = await runBeforeNextStatement(company.id, LOCK_STATEMENT_PATTERN, renameTable);
    const response = await beginExport(format);
    expect([response.status, ROW_COUNTERS[format](await response.arrayBuffer())]).toEqual([200, ROW_COUNT]);
    expect(response.headers.get('content-disposition')).toContain(`"${name}_new.${format}"`);
    expect((await concurrentRename.outcome).status).toBe(200);
  });

  it('answers 404 when the table is deleted before it begins', async () => {
    const concurrentDeletion = await runBeforeNextStatement(company.id, LOCK_STATEMENT_PATTERN, () => table.delete());
    expect((await beginExport(format)).status).toBe(404);
    expect((await concurrentDeletion.outcome).status).toBe(204);
  });

  // What takes PostgreSQL longer than it may is ended with this code.
  it.each(['', '&search=x'])('is refused when its rows take too long to find (%s)', async (extraQuery) => {
    await runSql(`
      CREATE FUNCTION public.${name}_slow() RETURNS text LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'canceling statement' USING ERRCODE = 'query_canceled'; END$$;
      ALTER TABLE public.${name} RENAME TO "${name}$";
      CREATE VIEW public.${name} AS SELECT uuidv7() AS id, public.${name}_slow() AS t, public.${name}_slow()::numeric AS d`);
    const { status, body } = await table.export(`?format=${format}${extraQuery}`);
    const isSearched = extraQuery !== '' || format === 'xlsx' || format === 'parquet';
    expect([status, body.error_code]).toEqual(
      isSearched ? [422, 'MANAGED_TABLE_QUERY_TIMEOUT'] : [503, 'SERVICE_UNAVAILABLE'],
    );
  });
});

it('values of an export have the type that their column has when it begins', async () => {
  const convertToInteger = () => table.put({ columns: [makeColumn('t'), makeColumn('d', 'integer')] });
  const concurrentConversion = await runBeforeNextStatement(company.id, LOCK_STATEMENT_PATTERN, convertToInteger);
  expect((await table.export('?filter[d][eq]=7')).body).toMatch(/,7,7\r\n$/);
  expect((await concurrentConversion.outcome).status).toBe(200);
  const convertToDecimal = () => table.put({ columns: [makeColumn('t'), makeColumn('d', 'decimal')] });
  const secondConversion = await runBeforeNextStatement(company.id, LOCK_STATEMENT_PATTERN, convertToDecimal);
  const { schema } = parquetMetadata(await (await beginExport('parquet')).arrayBuffer());
  expect(schema.at(-1)).toMatchObject({ name: 'd', converted_type: 'DECIMAL' });
  expect((await secondConversion.outcome).status).toBe(200);
});
