import { type FileMetaData, parquetMetadata, parquetRead } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { MAX_PARTS } from '../../src/formats/parquet/write.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { createTable, createTableClient, makeColumn, readRaw, runInCompanyDatabase } from './support.ts';

const company = await createProvisionedCompany();

/** Reads an exported file with another reader. @returns its columns with their types, and its rows with unconverted values */
async function readExportedFile(table: ReturnType<typeof createTableClient>, extraQuery = '') {
  const response = await readRaw(company, table.exportPath(`?format=parquet${extraQuery}`));
  const file = await response.arrayBuffer();
  const metadata = parquetMetadata(file);
  const types = metadata.schema.slice(1).map(({ name, type, converted_type, repetition_type, precision, scale }) => {
    const decimal = converted_type === 'DECIMAL' ? `(${precision},${scale})` : '';
    return `${name} ${type} ${converted_type}${decimal} ${repetition_type}`;
  });
  return { response, types, rows: await readRows(file, metadata), groups: metadata.row_groups.length };
}

/** Reads rows without the reader's conversions to numbers and Dates, which would lose digits. */
async function readRows(file: ArrayBuffer, metadata: FileMetaData): Promise<unknown[][]> {
  const schema = metadata.schema.map(({ logical_type, converted_type, ...element }) =>
    converted_type === 'UTF8' ? { ...element, logical_type, converted_type } : element,
  );
  let rows: unknown[][] = [];
  await parquetRead({
    file,
    metadata: { ...metadata, schema },
    onComplete: (parsedRows) => {
      rows = parsedRows;
    },
  });
  return rows;
}

/** Converts a sixteen-byte decimal to an integer without its decimal point. */
const toUnscaled = (bytes: unknown): unknown =>
  bytes instanceof Uint8Array
    ? BigInt.asIntN(128, BigInt(`0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`))
    : bytes;

const toMicroseconds = (text: string, fraction = 0n) => BigInt(Date.parse(text)) * 1000n + fraction;
const toDays = (text: string) => Date.parse(text) / 86_400_000;

describe('an export as Parquet', () => {
  it('has each value with its type', async () => {
    const columns = [
      makeColumn('t'),
      makeColumn('i', 'integer'),
      makeColumn('d', 'decimal'),
      makeColumn('b', 'boolean', false),
      makeColumn('day', 'date'),
      makeColumn('at', 'datetime'),
      makeColumn('__proto__'),
    ];
    const table = createTableClient(company.as, await createTable(company.as, 'typed', columns));
    const insertionAnswer = await table.insert([
      { t: 'São "Paulo", 😀\r\n', i: 10, d: '0.10', b: true, day: '2024-01-31', at: '2024-01-31T10:00:00Z' },
      {
        t: '',
        i: '9223372036854775807',
        d: '-123456789012345678.125',
        b: false,
        day: '0001-01-01',
        at: '0001-01-01T00:00:00.000001Z',
      },
      { t: null, i: '-9223372036854775808', d: 0, b: true, day: null, at: null },
      { t: '=1+1', i: null, d: null, b: false, day: '9999-12-31', at: '9999-12-31T23:59:59.999999Z' },
      { t: '-', i: 0, d: '-0.5', b: true, day: '1969-12-31', at: '1969-12-31T23:59:59.5Z' },
    ]);
    expect(insertionAnswer.status).toBe(201);
    const ids = (await table.rows()).body.records.map(({ id }: { id: string }) => id);
    const { response, types, rows } = await readExportedFile(table);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/vnd.apache.parquet']);
    expect(response.headers.get('content-disposition')).toContain('filename="typed.parquet"');
    expect(types).toEqual([
      'id BYTE_ARRAY UTF8 REQUIRED',
      't BYTE_ARRAY UTF8 OPTIONAL',
      'i INT64 undefined OPTIONAL',
      'd FIXED_LEN_BYTE_ARRAY DECIMAL(38,3) OPTIONAL',
      'b BOOLEAN undefined REQUIRED',
      'day INT32 DATE OPTIONAL',
      'at INT64 TIMESTAMP_MICROS OPTIONAL',
      '__proto__ BYTE_ARRAY UTF8 OPTIONAL',
    ]);
    const absentValue = null;
    expect(rows.map((row) => row.map((value) => toUnscaled(value ?? null)))).toEqual([
      [
        ids[0],
        'São "Paulo", 😀\r\n',
        10n,
        100n,
        true,
        toDays('2024-01-31'),
        toMicroseconds('2024-01-31T10:00:00Z'),
        absentValue,
      ],
      [
        ids[1],
        '',
        2n ** 63n - 1n,
        -123456789012345678125n,
        false,
        toDays('0001-01-01'),
        toMicroseconds('0001-01-01T00:00:00Z', 1n),
        absentValue,
      ],
      [ids[2], null, -(2n ** 63n), 0n, true, null, null, absentValue],
      [
        ids[3],
        '=1+1',
        null,
        null,
        false,
        toDays('9999-12-31'),
        toMicroseconds('9999-12-31T23:59:59Z', 999_999n),
        absentValue,
      ],
      [ids[4], '-', 0n, -500n, true, -1, toMicroseconds('1969-12-31T23:59:59.5Z'), absentValue],
    ]);
  });

  it('has a column of decimals as text when one of them has more digits than Parquet allows', async () => {
    const columns = ['whole', 'exact', 'long', 'far'].map((name) => makeColumn(name, 'decimal'));
    const table = createTableClient(company.as, await createTable(company.as, 'decimals', columns));
    const exactDecimal = `-${'9'.repeat(36)}.25`;
    const longDecimal = `${'9'.repeat(37)}.25`;
    await table.insert([{ whole: 7, exact: exactDecimal, long: longDecimal, far: '1e-39' }, { whole: '8.000' }]);
    const { types, rows } = await readExportedFile(table);
    expect(types.slice(1).map((type) => type.split(' ')[2])).toEqual([
      'DECIMAL(38,0)',
      'DECIMAL(38,2)',
      'UTF8',
      'UTF8',
    ]);
    expect(rows.map((row) => row.slice(1).map((value) => toUnscaled(value ?? null)))).toEqual([
      [7n, BigInt(`-${'9'.repeat(36)}25`), longDecimal, `0.${'0'.repeat(38)}1`],
      [8n, null, null, null],
    ]);
    // Only the selected rows count.
    const filteredFile = await readExportedFile(table, '&filter[whole][eq]=8');
    expect(filteredFile.types[3]).toContain('DECIMAL(38,0)');
  });

  it('has the decimals of a table of 1,000 columns', async () => {
    const columns = Array.from({ length: 1000 }, (_, index) => makeColumn(`c${index}`, 'decimal'));
    const table = createTableClient(company.as, await createTable(company.as, 'wide', columns));
    expect((await table.insert([{ c0: '1.5', c998: '1'.repeat(40), c999: '-0.25' }])).status).toBe(201);
    const { response, types, rows } = await readExportedFile(table);
    expect(response.status).toBe(200);
    expect([types[1], types[999], types[1000]].map((type) => type?.split(' ')[2])).toEqual([
      'DECIMAL(38,1)',
      'UTF8',
      'DECIMAL(38,2)',
    ]);
    expect([rows[0]?.[1], rows[0]?.[999], rows[0]?.[1000]].map(toUnscaled)).toEqual([15n, '1'.repeat(40), -25n]);
  });

  it('applies filters, order and fields, and writes groups of rows', async () => {
    const largeTable = createTableClient(
      company.as,
      await createTable(company.as, 'many', [makeColumn('n', 'integer'), makeColumn('t')]),
    );
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`INSERT INTO public.many (n, t) SELECT n, 'x' || n FROM generate_series(1, 45000) AS n`),
    );
    const { rows, groups } = await readExportedFile(largeTable, '&filter[n][gt]=10&sort_by=-n&fields=n');
    expect(groups).toBe(3);
    expect(rows.map(([, n]) => n)).toEqual(Array.from({ length: 44_990 }, (_, at) => BigInt(45_000 - at)));
  });

  it('has the columns even without rows', async () => {
    const emptyTable = createTableClient(
      company.as,
      await createTable(company.as, 'none', [makeColumn('t'), makeColumn('d', 'decimal')]),
    );
    const { types, rows } = await readExportedFile(emptyTable);
    expect(types).toEqual([
      'id BYTE_ARRAY UTF8 REQUIRED',
      't BYTE_ARRAY UTF8 OPTIONAL',
      'd FIXED_LEN_BYTE_ARRAY DECIMAL(38,0) OPTIONAL',
    ]);
    expect(rows).toEqual([]);
  });

  it('is refused for more rows than its parts can hold', async () => {
    const id = await createTable(
      company.as,
      'huge',
      Array.from({ length: 999 }, (_, at) => makeColumn(`c${at}`)),
    );
    const rows = Math.floor(MAX_PARTS / 1000) * 88 + 1;
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`UPDATE console.managed_tables SET row_count = $2 WHERE id = $1`, [id, rows]),
    );
    const { status, body } = await createTableClient(company.as, id).export('?format=parquet');
    expect([status, body.details]).toEqual([413, { rows, limit: rows - 1 }]);
  });

  it('is refused before it begins for rows whose values are so long that its parts cannot hold them', async () => {
    const columns = Array.from({ length: 998 }, (_, at) => makeColumn(`c${at}`));
    const id = await createTable(company.as, 'long', [makeColumn('n', 'integer'), ...columns]);
    // Four rows make a group.
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(
        `INSERT INTO public.long (n, c0) SELECT n, repeat('x', 1048576) FROM generate_series(1, 250) AS n`,
      ),
    );
    const table = createTableClient(company.as, id);
    const { status, body } = await table.export('?format=parquet');
    expect([status, body.details]).toEqual([413, { rows: 250, limit: expect.any(Number) }]);
    expect(body.details.limit).toBeGreaterThan(150);
    expect(body.details.limit).toBeLessThan(200);
    const { rows, groups } = await readExportedFile(table, '&filter[n][lte]=10');
    expect([rows.length, groups]).toEqual([10, 3]);
  });
});
