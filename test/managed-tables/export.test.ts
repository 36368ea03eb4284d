import { read, utils, type WorkSheet } from '@e965/xlsx';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { loadFiles, makeFile, readRows } from '../uploads/support.ts';
import { createTable, createTableClient, makeColumn, readRaw, runInCompanyDatabase } from './support.ts';

const SAMPLE_ROWS = [
  { t: 'São Paulo', i: 10, d: 10, b: true, day: '2024-01-31', at: '2024-01-31T10:00:00Z' },
  { t: 'a,b "c"\r\nd', i: -3, d: '0.10', b: false, day: '0001-01-01', at: '2024-02-29T00:00:00.000001Z' },
  { t: '=1+1', i: '9223372036854775807', d: '1.500', b: null, day: null, at: null },
  { t: '', i: null, d: '-123456789012345678.25', b: true, day: '9999-12-31', at: '2024-01-31T00:00:00-03:00' },
  { t: null, i: 0, d: null, b: false, day: '2024-02-29', at: '9999-12-31T23:59:59Z' },
];

const company = await createProvisionedCompany();
const tableId = await createTable(company.as, 'exported', [
  makeColumn('t'),
  makeColumn('i', 'integer'),
  makeColumn('d', 'decimal'),
  makeColumn('b', 'boolean'),
  makeColumn('day', 'date'),
  makeColumn('at', 'datetime'),
  makeColumn('__proto__'),
]);
const table = createTableClient(company.as, tableId);
expect((await table.insert(SAMPLE_ROWS)).status).toBe(201);
const ids: string[] = (await table.rows()).body.records.map(({ id }: { id: string }) => id);

const joinLines = (...texts: string[]) => texts.map((text) => `${text}\r\n`).join('');
const formatQuery = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;

describe('an export of a table', () => {
  it('is CSV of RFC 4180 with a header', async () => {
    const { status, headers, body } = await table.export();
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="exported.csv"; filename*=UTF-8''exported.csv`,
    );
    expect(body).toBe(
      joinLines(
        'id,t,i,d,b,day,at,__proto__',
        `${ids[0]},São Paulo,10,10.0,true,2024-01-31,2024-01-31T10:00:00Z,`,
        `${ids[1]},"a,b ""c""\r\nd",-3,0.10,false,0001-01-01,2024-02-29T00:00:00.000001Z,`,
        `${ids[2]},=1+1,9223372036854775807,1.5000,,,,`,
        `${ids[3]},"",,-123456789012345678.25,true,9999-12-31,2024-01-31T03:00:00Z,`,
        `${ids[4]},,0,,false,2024-02-29,9999-12-31T23:59:59Z,`,
      ),
    );
  });

  it('has the same rows as NDJSON as the list of rows', async () => {
    const { headers, body } = await table.export('?format=ndjson');
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(headers.get('content-disposition')).toContain('filename="exported.ndjson"');
    expect(body.split('\n').map((line: string) => line && JSON.parse(line))).toEqual([
      ...(await table.rows()).body.records,
      '',
    ]);
  });

  it.each(['csv', 'ndjson'])(
    'applies the filters, search, order and fields of the list of rows (%s)',
    async (format) => {
      const selection = { 'filter[b][ne]': 'false', search: 'a', sort_by: '-i', fields: 'd,t' };
      const listedRows = (await table.rows(formatQuery(selection))).body.records;
      expect(listedRows).toHaveLength(1);
      const { body } = await table.export(formatQuery({ ...selection, format }));
      const [{ id, d, t }] = listedRows;
      expect(body).toBe(
        format === 'csv' ? joinLines('id,d,t', `${id},${d}.0,${t}`) : `${JSON.stringify({ id, d, t })}\n`,
      );
    },
  );

  it.each(['sort_by=i', 'sort_by=-i', 'sort_by=-id', 'sort_by=t DESC', 'sort_by=b'])(
    'has the order of the list of rows for %s',
    async (order) => {
      const { body } = await table.export(`?format=ndjson&${order}`);
      const exportedValues = body
        .trimEnd()
        .split('\n')
        .map((line: string) => JSON.parse(line));
      expect(exportedValues).toEqual((await table.rows(`?${order}`)).body.records);
    },
  );

  it('has only a header when no row is found', async () => {
    expect((await table.export('?fields=id&search=nowhere')).body).toBe('id\r\n');
    expect((await table.export('?format=ndjson&search=nowhere')).body).toBe('');
  });

  it('escapes texts that spreadsheets would take for formulas, if requested, but no numbers', async () => {
    const formulaTableId = await createTable(company.as, 'formulas', [makeColumn('t'), makeColumn('i', 'integer')]);
    const formulas = createTableClient(company.as, formulaTableId);
    await formulas.insert(['=1', '+1', '-1', '@a', '\ta', '\ra', 'a=1', "'=1", '', null].map((t) => ({ t, i: -1 })));
    const { body } = await formulas.export('?safe=true');
    const texts = ["'=1", "'+1", "'-1", "'@a", "'\ta", `"'\ra"`, 'a=1', "'=1", '""', ''];
    expect(body.replace(/^[0-9a-f-]{36},/gm, '')).toBe(joinLines('id,t,i', ...texts.map((t) => `${t},-1`)));
  });

  it('can be uploaded again as the same rows and types', async () => {
    const columns = ['texto', 'inteiro', 'decimal', 'sim', 'dia', 'quando'] as const;
    const types = ['text', 'integer', 'decimal', 'boolean', 'date', 'datetime'];
    const sourceTableId = await createTable(
      company.as,
      'there',
      columns.map((name, at) => makeColumn(name, types[at])),
    );
    const rows = [
      { texto: 'a;b,"c"\r\nd', inteiro: 1, decimal: 1, sim: true, dia: '2024-01-02', quando: '2024-01-02' },
      {
        texto: "'x",
        inteiro: '9223372036854775807',
        decimal: '1.500',
        sim: false,
        dia: '2024-03-04',
        quando: '2024-03-04',
      },
      { texto: 'ação', inteiro: null, decimal: '1234.567', sim: null, dia: null, quando: null },
      { texto: null, inteiro: -5, decimal: -20, sim: true, dia: '2024-12-11', quando: '1999-12-31T23:59:59.5Z' },
    ];
    const sourceTable = createTableClient(company.as, sourceTableId);
    await sourceTable.insert(rows);
    const { body } = await sourceTable.export();
    const job = await loadFiles(company, [makeFile('there.csv', body)], { display_name: 'back' });
    const reloadedTable = await createTableClient(company.as, job.user_table_id).get();
    const typesByName = new Map(
      reloadedTable.body.columns.map((listedColumn: { name: string; type: string }) => [
        listedColumn.name,
        listedColumn.type,
      ]),
    );
    expect(columns.map((name) => typesByName.get(name))).toEqual(types);
    const listValues = (records: Record<string, unknown>[]) =>
      records.map((record) => columns.map((name) => record[name]));
    expect(listValues(await readRows(company, job.user_table_id))).toEqual(
      listValues((await sourceTable.rows()).body.records),
    );
  });

  it.each([
    ['format=pdf', 'format', 'deve ser um destes: csv, ndjson, xlsx, parquet'],
    ['safe=yes', 'safe', 'deve ser true ou false'],
    ['page=2', 'page', 'não é um parâmetro desta rota'],
    ['fields=nope', 'fields', '"nope" não é uma coluna da tabela'],
    ['sort_by=nope', 'sort_by', 'deve indicar uma coluna da tabela ou "id"'],
    ['filter[nope][eq]=1', 'filter[nope][eq]', 'deve indicar uma coluna da tabela'],
  ])('is refused with %s', async (extraQuery, field, message) => {
    const { status, body } = await table.export(`?${extraQuery}`);
    expect([status, body.details]).toEqual([422, [expect.objectContaining({ field, message })]]);
  });

  it('answers 404 for an unknown table', async () => {
    expect((await createTableClient(company.as, 'x'.repeat(24)).export()).status).toBe(404);
    expect((await createTableClient(company.as, '0'.repeat(24)).export()).status).toBe(404);
  });
});

describe('an export as a workbook', () => {
  /** Reads the rows of an exported workbook with another reader. */
  async function readSheet(tableClient: ReturnType<typeof createTableClient>, extraQuery = ''): Promise<unknown[][]> {
    const response = await readRaw(company, tableClient.exportPath(`?format=xlsx${extraQuery}`));
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ]);
    const parsedWorkbook = read(new Uint8Array(await response.arrayBuffer()), {
      cellDates: true,
      UTC: true,
      dense: true,
    });
    expect(parsedWorkbook.SheetNames).toHaveLength(1);
    return utils.sheet_to_json(parsedWorkbook.Sheets[parsedWorkbook.SheetNames[0] as string] as WorkSheet, {
      header: 1,
      defval: null,
      UTC: true,
      blankrows: true,
    });
  }

  it('has each value with its type', async () => {
    // This reader takes CR LF for LF.
    expect(await readSheet(table)).toEqual([
      ['id', 't', 'i', 'd', 'b', 'day', 'at', '__proto__'],
      [ids[0], 'São Paulo', 10, 10, true, new Date('2024-01-31'), new Date('2024-01-31T10:00:00Z'), null],
      [ids[1], 'a,b "c"\nd', -3, 0.1, false, '0001-01-01', '2024-02-29T00:00:00.000001Z', null],
      [ids[2], '=1+1', '9223372036854775807', 1.5, null, null, null, null],
      [
        ids[3],
        '',
        null,
        '-123456789012345678.25',
        true,
        new Date('9999-12-31'),
        new Date('2024-01-31T03:00:00Z'),
        null,
      ],
      [ids[4], null, 0, null, false, new Date('2024-02-29'), new Date('9999-12-31T23:59:59Z'), null],
    ]);
  });

  it('keeps texts unchanged, and escapes formulas if requested', async () => {
    const textTableId = await createTable(company.as, `sheet_of_${'x'.repeat(40)}`, [makeColumn('t')]);
    const texts = ['<&>"\'', ' a ', '\u0001_x000D_\ufffe', '=1', '-1', '\ta', '😀', 'a\rb\n'];
    const routes = createTableClient(company.as, textTableId);
    await routes.insert(texts.map((t) => ({ t })));
    const readTexts = (rows: unknown[][]) => rows.slice(1).map(([, t]) => t);
    expect(readTexts(await readSheet(routes))).toEqual(texts);
    expect(readTexts(await readSheet(routes, '&safe=true')).slice(3, 6)).toEqual(["'=1", "'-1", "'\ta"]);
  });

  it('is refused before it begins if a text in any row is longer than a cell can hold', async () => {
    const longTableId = await createTable(company.as, 'long_texts', [makeColumn('n', 'integer'), makeColumn('t')]);
    const longTable = createTableClient(company.as, longTableId);
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`INSERT INTO public.long_texts (n) SELECT generate_series(1, 20001)`),
    );
    const longestText = '😀'.repeat(16_383);
    await longTable.insert([
      { n: 1, t: `${longestText}x` },
      { n: 2, t: `=${longestText}` },
      { n: 3, t: `${longestText}xx` },
    ]);
    const message = '"t" tem um texto de mais de 32767 caracteres, que nenhuma célula comporta';
    const tooLongDetail = { field: 'fields', reason: 'too_long', message, limits: { max: 32_767 } };
    const readAnswer = async (extraQuery: string) => {
      const { status, body } = await longTable.export(`?format=xlsx${extraQuery}`);
      return [status, body.details];
    };
    expect(await readAnswer('')).toEqual([422, [tooLongDetail]]);
    expect(await readAnswer('&safe=true&filter[n][eq]=2')).toEqual([422, [tooLongDetail]]);
    const [header, row] = await readSheet(longTable, '&filter[n][lt]=2&filter[t][is_null]=false');
    expect([header, row?.[2]]).toEqual([['id', 'n', 't'], `${longestText}x`]);
    expect((await longTable.export('?format=xlsx&fields=n')).status).toBe(200);
  });

  it('is refused with more rows than a sheet can have', async () => {
    const longTableId = await createTable(company.as, 'too_long', [makeColumn('n', 'integer')]);
    const longTable = createTableClient(company.as, longTableId);
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`INSERT INTO public.too_long (n) SELECT generate_series(1, 1048576)`),
    );
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`UPDATE console.managed_tables SET row_count = 1048576 WHERE id = $1`, [longTableId]),
    );
    for (const extraQuery of ['', '&filter[n][gte]=1']) {
      const { status, body } = await longTable.export(`?format=xlsx${extraQuery}`);
      expect([status, body.details]).toEqual([413, { rows: 1_048_576, limit: 1_048_575 }]);
    }
    const largestExport = await readRaw(company, longTable.exportPath('?format=xlsx&filter[n][gt]=1'));
    expect(largestExport.status).toBe(200);
    await largestExport.body?.cancel();
  });
});

describe('an export of many rows', () => {
  const LARGE_ROW_COUNT = 45_000;
  let largeTable: ReturnType<typeof createTableClient>;

  beforeAll(async () => {
    largeTable = createTableClient(company.as, await createTable(company.as, 'large', [makeColumn('n', 'integer')]));
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`INSERT INTO public.large (n) SELECT generate_series(1, ${LARGE_ROW_COUNT})`),
    );
  });

  const parseNumbers = (body: string) =>
    body
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => Number(line.split(',')[1]));

  it('is complete and in order', async () => {
    const up = Array.from({ length: LARGE_ROW_COUNT }, (_, at) => at + 1);
    expect(parseNumbers((await largeTable.export()).body)).toEqual(up);
    expect(parseNumbers((await largeTable.export('?sort_by=-n')).body)).toEqual(up.toReversed());
    expect((await largeTable.export('?format=ndjson&sort_by=n')).body.split('\n')).toHaveLength(LARGE_ROW_COUNT + 1);
    expect(parseNumbers((await largeTable.export('?filter[n][gt]=10')).body)).toHaveLength(LARGE_ROW_COUNT - 10);
  });

  it('is complete when its rows are much larger than their stored size', async () => {
    const compressedId = await createTable(company.as, 'compressed', [makeColumn('n', 'integer'), makeColumn('t')]);
    const compressed = createTableClient(company.as, compressedId);
    const [stored] = await runInCompanyDatabase(company.id, async (database) => {
      await database.execute(
        `INSERT INTO public.compressed (n, t) SELECT n, CASE WHEN n > 1000 THEN repeat('"', 100000) END FROM generate_series(1, 1100) AS n`,
      );
      return database.query<{ apart: string }>(
        `SELECT pg_relation_size(reltoastrelid) AS apart FROM pg_class WHERE oid = 'public.compressed'::regclass`,
      );
    });
    expect(stored?.apart).toBe('0');
    for (const order of ['', '&sort_by=n']) {
      const { body } = await compressed.export(`?${order}`);
      expect(parseNumbers(body)).toEqual(Array.from({ length: 1100 }, (_, at) => at + 1));
      expect(body.match(/"{200002}\r/g)).toHaveLength(100);
    }
  });

  it('is complete when its rows have large values', async () => {
    const wideTableId = await createTable(company.as, 'wide', [makeColumn('n', 'integer'), makeColumn('t')]);
    const wideTable = createTableClient(company.as, wideTableId);
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`INSERT INTO public.wide (n, t) SELECT n, repeat('"', 1500000) FROM generate_series(1, 7) AS n`),
    );
    for (const order of ['', '&sort_by=n']) {
      const { body } = await wideTable.export(`?${order}`);
      expect([parseNumbers(body), body.length]).toEqual([
        [1, 2, 3, 4, 5, 6, 7],
        8 + 7 * (36 + 1 + 1 + 1 + 3_000_002 + 2),
      ]);
    }
  });
});
