import { read, type WorkSheet } from '@e965/xlsx';
import { parquetMetadata } from 'hyparquet';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXPORT_FORMATS, type ExportFormat } from '../../src/modules/managed-tables/export-formats.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { column, createTable, makeTableRoutes, readRaw, runBehindApi } from './support.ts';

/** More than two batches. */
const ROWS = 45_000;
/** What locks the table and reads the catalogue; what reads rows then. */
const ENTERING = /LOCK TABLE/;
const READING = /COPY|min_scale|bool_or/;

let company: Company;
let name: string;
let table: ReturnType<typeof makeTableRoutes>;
let createdCount = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
});

beforeEach(async () => {
  createdCount += 1;
  name = `changed_${createdCount}`;
  table = makeTableRoutes(company.as, await createTable(company.as, name, [column('t'), column('d', 'decimal')]));
  await runSql(`INSERT INTO public.${name} (t, d) SELECT n, n FROM generate_series(1, ${ROWS}) AS n`);
});

const runSql = (text: string) => runBehindApi(company.id, (database) => database.query(text));

/** How many rows a whole file has, as other readers find it. */
const countRows: Record<ExportFormat, (file: ArrayBuffer) => number> = {
  csv: (file) => countLines(file) - 1,
  ndjson: (file) => countLines(file),
  xlsx: (file) => {
    const book = read(new Uint8Array(file), { dense: true });
    return ((book.Sheets[book.SheetNames[0] as string] as WorkSheet)['!data']?.length ?? 0) - 1;
  },
  parquet: (file) => Number(parquetMetadata(file).num_rows),
};

const countLines = (file: ArrayBuffer): number => new TextDecoder().decode(file).split('\n').length - 1;

const beginExport = (format: ExportFormat, asked = '') =>
  readRaw(company, table.exportPath(`?format=${format}${asked}`));

describe.each(EXPORT_FORMATS)('an export as %s', (format) => {
  const reading = format === 'ndjson' ? /AS batch/ : READING;

  it.each(['delete', 'truncate'] as const)('is complete before another request can %s the table', async (change) => {
    const rival = await rivalBeforeStatement(company.id, reading, () => table[change]());
    const response = await beginExport(format);
    expect([response.status, countRows[format](await response.arrayBuffer())]).toEqual([200, ROWS]);
    expect([200, 204]).toContain((await rival.outcome).status);
  });

  it('has the name and columns that the table has when it begins', async () => {
    const change = () => table.put({ display_name: `${name}_new`, columns: [column('t'), column('d', 'integer')] });
    const rival = await rivalBeforeStatement(company.id, ENTERING, change);
    const response = await beginExport(format);
    expect([response.status, countRows[format](await response.arrayBuffer())]).toEqual([200, ROWS]);
    expect(response.headers.get('content-disposition')).toContain(`"${name}_new.${format}"`);
    expect((await rival.outcome).status).toBe(200);
  });

  it('answers 404 when the table is deleted before it begins', async () => {
    const rival = await rivalBeforeStatement(company.id, ENTERING, () => table.delete());
    expect((await beginExport(format)).status).toBe(404);
    expect((await rival.outcome).status).toBe(204);
  });

  // What takes PostgreSQL longer than it may is ended with this code.
  it.each(['', '&search=x'])('is refused when its rows take too long to find (%s)', async (asked) => {
    await runSql(`
      CREATE FUNCTION public.${name}_slow() RETURNS text LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'canceling statement' USING ERRCODE = 'query_canceled'; END$$;
      ALTER TABLE public.${name} RENAME TO "${name}$";
      CREATE VIEW public.${name} AS SELECT uuidv7() AS id, public.${name}_slow() AS t, public.${name}_slow()::numeric AS d`);
    const { status, body } = await table.export(`?format=${format}${asked}`);
    const isSearched = asked !== '' || format === 'xlsx' || format === 'parquet';
    expect([status, body.error_code]).toEqual(
      isSearched ? [422, 'MANAGED_TABLE_QUERY_TIMEOUT'] : [503, 'SERVICE_UNAVAILABLE'],
    );
  });
});

it('values of an export have the type that their column has when it begins', async () => {
  const toInteger = () => table.put({ columns: [column('t'), column('d', 'integer')] });
  const rival = await rivalBeforeStatement(company.id, ENTERING, toInteger);
  expect((await table.export('?filter[d][eq]=7')).body).toMatch(/,7,7\r\n$/);
  expect((await rival.outcome).status).toBe(200);
  const toDecimal = () => table.put({ columns: [column('t'), column('d', 'decimal')] });
  const another = await rivalBeforeStatement(company.id, ENTERING, toDecimal);
  const { schema } = parquetMetadata(await (await beginExport('parquet')).arrayBuffer());
  expect(schema.at(-1)).toMatchObject({ name: 'd', converted_type: 'DECIMAL' });
  expect((await another.outcome).status).toBe(200);
});
