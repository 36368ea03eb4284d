import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { listTables, loadFiles, makeFile, readRows } from './support.ts';

const makeBytes = (...values: number[]) => new Uint8Array(values);
const encoder = new TextEncoder();

/** A thousand valid rows, so that the invalid part comes late. */
const thousandRows = Array.from({ length: 1000 }, (_, row) => `${row},nome ${row},1.5`).join('\n');

const company = await createProvisionedCompany();

describe('the content of an upload', () => {
  it.each([
    ['an empty file', '', { code: 'NO_ROWS' }],
    [
      'a row with too many fields',
      `a,b,c\n${thousandRows}\n1,2,3,4\n`,
      { code: 'TOO_MANY_FIELDS', line: 1002, file: 'dados.csv' },
    ],
    ['bytes that are not text', makeBytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0, 0, 0, 13), { code: 'NUL_BYTE' }],
  ])('fails its job with %s', async (_, content, error) => {
    const job = await loadFiles(company, [makeFile('dados.csv', content)]);
    expect(job).toMatchObject({
      status: 'failed',
      user_table_id: null,
      error,
      progress: { phase: 'failed', rows_total: null },
    });
    expect(job.error.message).toMatch(/\p{L}{3}/u);
    expect(await listTables(company)).toEqual([]);
  });

  it('fails its job when its files have different headers', async () => {
    const job = await loadFiles(company, [makeFile('um.csv', 'a,b\n1,x\n'), makeFile('dois.csv', 'a,c\n1,x\n')]);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'HEADERS_DIFFER', file: 'dois.csv' } });
  });

  it('fails its job with the line of a value that does not fit its column, and leaves no table', async () => {
    const rows = Array.from({ length: 1000 }, (_, row) => `nome ${row},7`).join('\n');
    const files = [
      makeFile('boa.csv', `nome,valor\n${rows}\n`),
      makeFile('má.csv', `nome,valor\n${rows}\n"nome, 2","x"\n`),
    ];
    const job = await loadFiles(company, files, {
      columns: [
        { name: 'nome', display_name: 'nome', type: 'text', nullable: true },
        { name: 'quanto', display_name: 'Quanto', type: 'integer', nullable: true, source_index: 1 },
      ],
    });
    expect(job).toMatchObject({
      status: 'failed',
      user_table_id: null,
      error: { code: 'VALUE_DOES_NOT_FIT', file: 'má.csv', column: 'quanto', line: 1002, value: 'x' },
      progress: { phase: 'failed' },
    });
    expect(job.error.message).toContain('"x"');
    expect(await listTables(company)).toEqual([]);
    expect((await company.as.get('/v1/managed-tables')).body).toMatchObject({ total: 0 });
  });

  it('fails its job with the line of a row that only Postgres refuses', async () => {
    // Each value is of a size to be stored, and all of them together are not.
    const wideRow = Array.from({ length: 1000 }, () => 'x'.repeat(30));
    const emptyRow = wideRow.map(() => '');
    const file = [
      wideRow.map((_, index) => `c${index}`),
      emptyRow.with(3, 'x').with(5, 'y'),
      wideRow,
      emptyRow.with(3, 'z').with(5, 'y'),
    ]
      .map((row) => row.join(','))
      .join('\n');
    const job = await loadFiles(company, [makeFile('larga.csv', file)]);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'ROW_REFUSED', file: 'larga.csv', line: 3 } });
    expect(await listTables(company)).toEqual([]);
  });

  it.each([
    ['values of several lines', '', 4],
    ['values of several lines, and lines without a row', '\n\n', 6],
  ])('fails its job with the first line of a row that only Postgres refuses, with %s', async (_, blankLines, line) => {
    const wideRow = Array.from({ length: 1000 }, () => 'x'.repeat(30));
    const emptyRow = wideRow.map(() => '');
    const rows = [
      emptyRow.with(3, '"x\nx"').with(5, 'y'),
      wideRow.with(7, '"y\ny"'),
      emptyRow.with(3, 'z').with(5, 'y'),
    ];
    const [header, firstRow, ...others] = [wideRow.map((_value, index) => `c${index}`), ...rows].map((row) =>
      row.join(','),
    );
    const file = `${header}\n${firstRow}\n${blankLines}${others.join('\n')}`;
    const job = await loadFiles(company, [makeFile('larga.csv', file)]);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'ROW_REFUSED', file: 'larga.csv', line } });
  });

  it('fails its job with the line of a row that only Postgres refuses, behind rows that are long only in the table', async () => {
    const columns = Array.from({ length: 1000 }, (_, index) => index);
    const rows = [
      columns.map((index) => `c${index}`).join(),
      ...Array.from({ length: 4000 }, (_, row) => `${row},x`),
      columns.map(() => 'x'.repeat(30)).join(),
    ];
    const job = await loadFiles(company, [makeFile('larga.csv', rows.join('\n'))]);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'ROW_REFUSED', file: 'larga.csv', line: 4002 } });
    expect(job.progress.rows_processed).toBeGreaterThan(2000);
  });

  it('is loaded into one table from several files, in their order, each in its own dialect', async () => {
    const latinBytes = makeBytes(...encoder.encode('valor;nome\n1234.5;'), 0xc9, ...encoder.encode('rica\n'));
    const job = await loadFiles(
      company,
      [makeFile('um.csv', 'nome,valor\n"Ana\nMaria",1.5\n'), makeFile('dois.csv', latinBytes)],
      {
        display_name: 'varios',
      },
    );
    expect(job).toMatchObject({ status: 'done', progress: { rows_processed: 2 } });
    expect(job.progress.bytes_processed).toBe(job.progress.bytes_total);
    expect(await readRows(company, job.user_table_id)).toMatchObject([
      { nome: 'Ana\nMaria', valor: 1.5 },
      { nome: 'Érica', valor: 1234.5 },
    ]);
  });

  it('is read file by file in the notation of dates and numbers that each file shows, even if the notation shows only in the last row', async () => {
    const ambiguousRows = Array.from({ length: 1500 }, (_, row) => `${row};01/02/2024;1,234`).join('\n');
    const job = await loadFiles(
      company,
      [
        makeFile('meses.csv', `k;dia;valor\n${ambiguousRows}\n1500;12/31/2024;1,234.5\n`),
        makeFile('dias.csv', `k;dia;valor\n${ambiguousRows}\n1500;31/12/2024;1.234,5\n`),
      ],
      { display_name: 'notacoes' },
    );
    expect(job).toMatchObject({ error: null, status: 'done' });
    const rows = (await readRows(company, job.user_table_id)).map(({ dia, valor }) => [dia, valor]);
    expect([rows[0], rows[1500], rows[1501], rows.at(-1)]).toEqual([
      ['2024-01-02', 1234],
      ['2024-12-31', 1234.5],
      ['2024-02-01', 1.234],
      ['2024-12-31', 1234.5],
    ]);
  });

  it('keeps quotation marks that quote nothing', async () => {
    const job = await loadFiles(
      company,
      [makeFile('filmes.csv', 'id\ttitulo\n1\t"Giliap\n2\t"Heat" 2\n3\t\\.\x08\n')],
      {
        display_name: 'filmes',
      },
    );
    expect(job).toMatchObject({ status: 'done', inferred_schema: { dialect: { quote: null } } });
    expect((await readRows(company, job.user_table_id)).map(({ titulo }) => titulo)).toEqual([
      '"Giliap',
      '"Heat" 2',
      '\\.\x08',
    ]);
    const plainJob = await loadFiles(company, [makeFile('filmes.csv', 'id\ttitulo\n1\t"Giliap\n2\t"Heat" 2\n')], {
      display_name: 'mais_filmes',
    });
    expect((await readRows(company, plainJob.user_table_id)).map(({ titulo }) => titulo)).toEqual([
      '"Giliap',
      '"Heat" 2',
    ]);
  });

  const datetimeColumn = { name: 'm', display_name: 'm', type: 'datetime', nullable: true, source_index: 1 };

  it.each([
    ['datetime', 'America/Sao_Paulo', '9999-12-31 21:00', null],
    ['datetime', 'America/Sao_Paulo', '9999-12-31 20:59:59.999999', '9999-12-31T23:59:59.999999Z'],
    ['datetime', 'Asia/Tokyo', '9999-12-31 23:59', '9999-12-31T14:59:00.000Z'],
    // Before there were time zones, Tokyo was 9:18:59 ahead.
    ['datetime', 'Asia/Tokyo', '0001-01-01 09:18:58', null],
    ['datetime', 'Asia/Tokyo', '0001-01-01 09:18:59', '0001-01-01T00:00:00.000Z'],
    ['datetime', 'America/Sao_Paulo', '0001-01-01 00:00', '0001-01-01T03:06:28.000Z'],
    ['date', 'Asia/Tokyo', '0001-01-01', null],
    ['date', 'America/Sao_Paulo', '9999-12-31', '9999-12-31T03:00:00.000Z'],
    ['text', 'America/Sao_Paulo', '9999-12-31 22:00', null],
  ])(
    'is never stored as a UTC time beyond the years 1 to 9999: a %s in %s, %s',
    async (type, time_zone, value, storedValue) => {
      // A text column is one that is retyped.
      const other = { datetime: '2024-01-31 10:00', date: '2024-01-31', text: '31/01/2024 10:00' }[type];
      const display_name = `anos_${crypto.randomUUID().slice(0, 8)}`;
      const file = makeFile('anos.csv', `k,m\na,${other}\nb,${value}\n`);
      const job = await loadFiles(company, [file], { columns: [datetimeColumn], time_zone, display_name });
      if (storedValue === null) {
        const error = { code: 'VALUE_DOES_NOT_FIT', file: 'anos.csv', line: 3, column: 'm', value };
        expect(job).toMatchObject({ status: 'failed', error });
      } else {
        expect(job).toMatchObject({ error: null, inferred_schema: { columns: [{}, { type }] } });
        expect((await readRows(company, job.user_table_id)).at(-1)).toMatchObject({ m: storedValue });
      }
    },
  );

  it('may have every type at its limits, empty and quoted values, and text that looks like SQL or COPY', async () => {
    const file = [
      'inteiro,exato,sim,dia,momento,texto',
      '9223372036854775807,12345678901234567890.123456789,true,0001-01-01,2024-01-31T23:59:59.123456Z,"\\N"',
      '-9223372036854775808,-0.5,false,9999-12-31,1999-12-31T00:00:00-03:00,"\\."',
      '"","","","","",""',
      ',,,,,"a ""b"" \'); drop table x; --"',
      ',,,,,"tab\there"',
      '0,1,false,2024-01-31,2024-01-31T00:00:00Z,fim',
    ].join('\n');
    const job = await loadFiles(company, [makeFile('limites.csv', file)], { display_name: 'limites' });
    expect(job.error).toBeNull();
    const rows = await readRows(company, job.user_table_id);
    expect(rows).toMatchObject([
      {
        inteiro: '9223372036854775807',
        exato: '12345678901234567890.123456789',
        sim: true,
        dia: '0001-01-01',
        momento: '2024-01-31T23:59:59.123456Z',
        texto: '\\N',
      },
      { inteiro: '-9223372036854775808', exato: -0.5, sim: false, dia: '9999-12-31', texto: '\\.' },
      { texto: 'a "b" \'); drop table x; --' },
      { texto: 'tab\there' },
      { texto: 'fim' },
    ]);
  });
});
