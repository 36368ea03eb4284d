import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import {
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  listStoredFiles,
  listTables,
  loadFiles,
  makeFile,
  postFiles,
  readJob,
  readRows,
  uploadFiles,
  waitForAnalysis,
  waitForEnd,
} from './support.ts';

const company = await createProvisionedCompany();

let tableCount = 0;
const TABLE_COLUMNS = [
  makeColumn('codigo', 'integer', false),
  makeColumn('nome'),
  { ...makeColumn('valor', 'decimal'), display_name: 'Preço Total' },
  makeColumn('dia', 'date'),
];

/** Creates a table with two rows. */
async function createFilledTable(columns = TABLE_COLUMNS) {
  const id = await createTable(company.as, `destino_${++tableCount}`, columns);
  const routes = createTableClient(company.as, id);
  await routes.insert([
    { codigo: 1, nome: 'Ana', valor: 1.5, dia: '2024-01-31' },
    { codigo: 2, nome: 'Bia', valor: null, dia: null },
  ]);
  return { id, routes };
}

/** Reads the rows without their ids. */
const readValues = async (id: string) => (await readRows(company, id)).map(({ id: _, ...values }) => values);

/** Reads a table's export as a file to upload. */
async function readExport(id: string, format: string): Promise<File> {
  const { status, body } = await company.as.get(`/v1/managed-tables/${id}/export?format=${format}`);
  expect(status).toBe(200);
  return makeFile(`export.${format}`, body);
}

const CSV_FILE = 'Código;Nome;Preço Total;extra;dia\n3;Caio;1.234,5;x;28/02/2024\n4;"Davi; o outro";;y;\n';

describe('an upload into an existing table', () => {
  it('matches the table’s columns by header, and adds its rows', async () => {
    const { id, routes } = await createFilledTable();
    const jobId = await uploadFiles(company, [makeFile('mais.csv', CSV_FILE)], { into: id });
    const job = await waitForAnalysis(company, jobId);
    expect(job).toMatchObject({ user_table_id: id, mode: 'append', status: 'waiting_confirm', error: null });
    expect(job.inferred_schema.columns).toMatchObject([
      { name: 'codigo', type: 'integer', nullable: false, source_index: 0 },
      { name: 'nome', type: 'text', source_index: 1 },
      {
        name: 'valor',
        display_name: 'Preço Total',
        type: 'decimal',
        source_index: 2,
        evidence: { format: '1.234,56' },
      },
      { name: 'dia', type: 'date', source_index: 4 },
    ]);
    expect(job.inferred_schema.ignored_columns).toMatchObject([{ name: 'extra', source_index: 3 }]);
    expect(job.inferred_schema.sample_rows[0]).toEqual({ codigo: 3, nome: 'Caio', valor: 1234.5, dia: '2024-02-28' });

    const rowsBefore = await readRows(company, id);
    const answer = await confirmJob(company, jobId, {
      display_name: 'NÃO É OLHADO!',
      columns: job.inferred_schema.columns,
    });
    expect(answer).toMatchObject({ status: 200, body: { status: 'inserting' } });
    const { status, user_table_id, error } = await waitForEnd(company, jobId);
    expect({ status, user_table_id, error }).toEqual({ status: 'done', user_table_id: id, error: null });
    const rows = await readRows(company, id);
    expect(rows.slice(0, 2)).toEqual(rowsBefore);
    expect(rows.slice(2).map(({ id: _, ...values }) => values)).toEqual([
      { codigo: 3, nome: 'Caio', valor: 1234.5, dia: '2024-02-28' },
      { codigo: 4, nome: 'Davi; o outro', valor: null, dia: null },
    ]);
    expect((await routes.get()).body).toMatchObject({
      row_count: 4,
      source: 'manual',
      display_name: `destino_${tableCount}`,
    });
    expect(await listTables(company)).not.toContainEqual(expect.stringMatching(/^console/));
  });

  it.each(['csv', 'xlsx'])(
    'takes the table’s own export back as %s, with columns whose headers would make other names',
    async (format) => {
      const names = ['source_id', '_x', 'x', 'foo_', 'foo', '__', '_id', '_9', '__proto__'];
      const columns = names.map((name) => ({ ...makeColumn(name), display_name: name === '_x' ? 'X label' : name }));
      const id = await createTable(company.as, `destino_${++tableCount}`, columns);
      const routes = createTableClient(company.as, id);
      const record = Object.fromEntries(names.map((name) => [name, `of ${name}`]));
      expect((await routes.insert([record, { source_id: 'second' }])).status).toBe(201);
      const rows = await readRows(company, id);
      const values = await readValues(id);
      const file = await readExport(id, format);

      const upsert = { into: id, mode: 'upsert', key: ['id'] };
      expect(await loadFiles(company, [file], {}, upsert)).toMatchObject({ status: 'done', result: { unchanged: 2 } });
      expect(await readRows(company, id)).toEqual(rows);
      const job = await loadFiles(company, [file], {}, { into: id, mode: 'replace' });
      expect(job).toMatchObject({ status: 'done', error: null });
      expect(job.inferred_schema.ignored_columns).toMatchObject([{ display_name: 'id', source_index: 0 }]);
      expect(await readValues(id)).toEqual(values);
      expect(await loadFiles(company, [file], {}, { into: id })).toMatchObject({ status: 'done' });
      expect(await readValues(id)).toEqual([...values, ...values]);
    },
  );

  it('takes the file that the table was made from and the table’s export with the same headers', async () => {
    const file = makeFile('clientes.csv', 'id,source_id,name\nC-1,S-1,Ana\n');
    const changes = { display_name: `destino_${++tableCount}` };
    const { user_table_id: id } = await loadFiles(company, [file], changes);
    const [values] = await readValues(id);
    expect(values).toEqual({ source_id: 'C-1', source_id_2: 'S-1', name: 'Ana' });
    for (const sentFile of [file, await readExport(id, 'csv')]) {
      expect(await loadFiles(company, [sentFile], {}, { into: id })).toMatchObject({ status: 'done' });
    }
    expect(await readValues(id)).toEqual([values, values, values]);

    const [row] = await readRows(company, id);
    const edited = makeFile('editado.csv', `id,source_id\n${row?.id},C-100\n`);
    await loadFiles(company, [edited], {}, { into: id, mode: 'upsert', key: ['id'] });
    expect((await readRows(company, id))[0]).toEqual({ ...row, source_id: 'C-100' });
  });

  it('proposes a column beside one whose name it would make under a name of its own', async () => {
    const id = await createTable(company.as, `destino_${++tableCount}`, [makeColumn('source_id')]);
    const file = makeFile('mais.csv', 'id,source_id\nC-1,S-1\n');
    const jobId = await uploadFiles(company, [file], { into: id, evolve: 'add' });
    const { inferred_schema: schema } = await waitForAnalysis(company, jobId);
    expect(schema).toMatchObject({
      columns: [{ name: 'source_id', source_index: 1 }],
      new_columns: [{ name: 'source_id_2', display_name: 'id', source_index: 0 }],
      sample_rows: [{ source_id: 'S-1', source_id_2: 'C-1' }],
    });
    await confirmJob(company, jobId, { columns: [...schema.columns, ...schema.new_columns] });
    expect(await waitForEnd(company, jobId)).toMatchObject({ status: 'done', error: null });
    expect(await readValues(id)).toEqual([{ source_id: 'S-1', source_id_2: 'C-1' }]);
  });

  it('takes files whose headers make the same names in different orders', async () => {
    const id = await createTable(company.as, `destino_${++tableCount}`, [makeColumn('source_id')]);
    const files = [
      makeFile('a.csv', 'id,source_id,Nome\nC-1,S-1,Ana\n'),
      makeFile('b.csv', 'source_id,id,nome\nS-2,C-2,Bia\n'),
    ];
    expect(await loadFiles(company, files, {}, { into: id })).toMatchObject({ status: 'done' });
    expect(await readValues(id)).toEqual([{ source_id: 'S-1' }, { source_id: 'S-2' }]);
    const changes = { display_name: `destino_${++tableCount}` };
    const { user_table_id: newId } = await loadFiles(company, files, changes);
    expect(await readValues(newId)).toEqual([
      { source_id: 'C-1', source_id_2: 'S-1', nome: 'Ana' },
      { source_id: 'C-2', source_id_2: 'S-2', nome: 'Bia' },
    ]);
    const repeatedFiles = [makeFile('c.csv', 'x,X\na,b\n'), makeFile('d.csv', 'X,X\nc,d\n')];
    const repeatedChanges = { display_name: `destino_${++tableCount}` };
    const { user_table_id: repeatedId } = await loadFiles(company, repeatedFiles, repeatedChanges);
    expect(await readValues(repeatedId)).toEqual([
      { x: 'a', x_2: 'b' },
      { x: 'c', x_2: 'd' },
    ]);
  });

  it('takes an export whose headers look like its values', async () => {
    const id = await createTable(company.as, `destino_${++tableCount}`, [makeColumn('sim', 'boolean')]);
    await createTableClient(company.as, id).insert([{ sim: true }, { sim: false }]);
    const file = await readExport(id, 'csv');
    expect(await loadFiles(company, [file], {}, { into: id, mode: 'replace' })).toMatchObject({ status: 'done' });
    expect(await readValues(id)).toEqual([{ sim: true }, { sim: false }]);
  });

  it.each([
    ['loja,#,1,2', ['loja', 'column_2', '_1', '_2'], 'A,x,10,20\nB,y,30,40\n'],
    ['loja,1,1', ['loja', '_1', '_1_2'], 'A,10,20\nB,30,40\n'],
  ])(
    'takes a file whose header %s looks like its values and has other names in the table',
    async (header, names, rows) => {
      const cells = header.split(',');
      const columns = names.map((name, index) => ({ ...makeColumn(name), display_name: cells[index] as string }));
      const id = await createTable(company.as, `destino_${++tableCount}`, columns);
      const job = await loadFiles(company, [makeFile('lojas.csv', `${header}\n${rows}`)], {}, { into: id });
      expect(job).toMatchObject({ status: 'done', error: null });
      expect((await readValues(id)).map((values) => names.map((name) => values[name]).join())).toEqual(
        rows.trim().split('\n'),
      );
    },
  );

  it('replaces the table’s rows in the mode replace', async () => {
    const { id, routes } = await createFilledTable();
    const file = makeFile('novo.csv', 'codigo,nome\n7,Gil\n8,Hugo\n9,Iara\n');
    const job = await loadFiles(company, [file], { display_name: undefined }, { into: id, mode: 'replace' });
    expect(job).toMatchObject({ status: 'done', mode: 'replace', error: null });
    expect(await readValues(id)).toEqual(
      [
        [7, 'Gil'],
        [8, 'Hugo'],
        [9, 'Iara'],
      ].map(([codigo, nome]) => ({ codigo, nome, valor: null, dia: null })),
    );
    expect((await routes.get()).body.row_count).toBe(3);
  });

  it('adds its rows after rows that were inserted before its confirmation', async () => {
    const { id, routes } = await createFilledTable();
    const jobId = await uploadFiles(company, [makeFile('mais.csv', 'codigo\n5\n6\n')], { into: id });
    const { inferred_schema: schema } = await waitForAnalysis(company, jobId);
    await routes.insert([{ codigo: 3 }]);
    await confirmJob(company, jobId, { columns: schema.columns });
    await waitForEnd(company, jobId);
    await routes.insert([{ codigo: 7 }]);
    expect((await readRows(company, id)).map(({ codigo }) => codigo)).toEqual([1, 2, 3, 5, 6, 7]);
  });

  it('may have files of different dialects and orders of columns', async () => {
    const { id } = await createFilledTable();
    const files = [
      makeFile('a.csv', 'codigo,nome,dia\n3,Caio,2024-03-01\n'),
      makeFile('b.csv', 'dia;nome;codigo\n2024-03-02;"Davi";4\n'),
    ];
    expect(await loadFiles(company, files, {}, { into: id })).toMatchObject({ status: 'done' });
    expect((await readValues(id)).slice(2)).toEqual([
      { codigo: 3, nome: 'Caio', valor: null, dia: '2024-03-01' },
      { codigo: 4, nome: 'Davi', valor: null, dia: '2024-03-02' },
    ]);
  });

  it.each([
    ['a column that is not nullable is missing', 'nome\nCaio\n', { code: 'COLUMN_MISSING', column: 'codigo' }],
    ['no column matches one of the table', 'isto,aquilo\n1,2\n', { code: 'NO_COLUMN_MATCHES', file: 'f.csv' }],
    [
      'a value does not fit its column',
      'codigo,nome\n3,Caio\ntrês,Davi\n',
      { code: 'VALUE_DOES_NOT_FIT', file: 'f.csv', line: 3, column: 'codigo', value: 'três' },
    ],
    [
      'a value of a column that is not nullable is missing',
      'codigo,nome\n3,Caio\n,Davi\n',
      { code: 'VALUE_DOES_NOT_FIT', file: 'f.csv', line: 3, column: 'codigo', value: '' },
    ],
  ])('fails and leaves the table as it was when %s', async (_, content, error) => {
    const { id, routes } = await createFilledTable();
    const rowsBefore = await readRows(company, id);
    for (const mode of ['append', 'replace']) {
      const job = await loadFiles(company, [makeFile('f.csv', content)], {}, { into: id, mode });
      expect(job).toMatchObject({ status: 'failed', error });
    }
    expect(await readRows(company, id)).toEqual(rowsBefore);
    expect((await routes.get()).body.row_count).toBe(2);
    expect(await listTables(company)).not.toContainEqual(expect.stringMatching(/^console/));
  });

  it('is refused with an unknown mode, for a table that does not exist, and without a provisioned database', async () => {
    const { id } = await createFilledTable();
    const file = makeFile('f.csv', 'codigo\n3\n');
    const storedFileCount = (await listStoredFiles(company)).length;
    const answer = await postFiles(company, [file], { into: id, mode: 'merge' });
    expect(answer).toMatchObject({ status: 422, body: { details: [{ field: 'mode' }] } });
    for (const table of ['ffffffffffffffffffffffff', 'nenhuma'])
      expect((await postFiles(company, [file], { into: table })).status).toBe(404);
    expect(await listStoredFiles(company)).toHaveLength(storedFileCount);

    expect((await postFiles(await createOwnedCompany(), [file], { into: id })).body.error_code).toBe(
      'MANAGED_DATABASE_NOT_PROVISIONED',
    );
  });
});

describe('the confirmation of an upload into an existing table', () => {
  async function createWaitingJob(content = CSV_FILE) {
    const { id, routes } = await createFilledTable();
    const jobId = await uploadFiles(company, [makeFile('f.csv', content)], { into: id });
    const { inferred_schema: schema } = await waitForAnalysis(company, jobId);
    return { id, routes, jobId, schema, columns: schema.columns as Record<string, unknown>[] };
  }

  let refusedJob: ReturnType<typeof createWaitingJob> | undefined;

  it.each<[string, (columns: Record<string, unknown>[]) => unknown[], string]>([
    ['another column type', (columns) => columns.map((column) => ({ ...column, type: 'text' })), 'columns.0.type'],
    ['a column that the table does not have', (columns) => [...columns, makeColumn('novo')], 'columns.4.name'],
    ['leaving out a column that is not nullable', (columns) => columns.slice(1), 'columns'],
    [
      'the source_index null for a column that is not nullable',
      ([first, ...rest]) => [{ ...first, source_index: null }, ...rest],
      'columns',
    ],
    [
      'a source_index beyond the columns of the files',
      ([first, ...rest]) => [{ ...first, source_index: 9 }, ...rest],
      'columns.0.source_index',
    ],
    [
      'the same source_index twice',
      ([a, b, ...rest]) => [a, { ...b, source_index: 0 }, ...rest],
      'columns.1.source_index',
    ],
  ])('is refused for %s, and the job stays unconfirmed', async (_, change, field) => {
    refusedJob ??= createWaitingJob();
    const { jobId, columns } = await refusedJob;
    const { status, body } = await confirmJob(company, jobId, { columns: change(columns) });
    expect({ status, fields: body.details?.map((problem: { field: string }) => problem.field) }).toEqual({
      status: 422,
      fields: expect.arrayContaining([field]),
    });
    expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
  });

  it('may leave out columns, and fill one from another column of the files', async () => {
    const { id, jobId, columns } = await createWaitingJob();
    const [codigo, nome] = columns;
    await confirmJob(company, jobId, { columns: [codigo, { ...nome, source_index: 3 }] });
    expect(await waitForEnd(company, jobId)).toMatchObject({ status: 'done' });
    expect((await readValues(id)).slice(2)).toEqual([
      { codigo: 3, nome: 'x', valor: null, dia: null },
      { codigo: 4, nome: 'y', valor: null, dia: null },
    ]);
  });
});

describe('an upload into a table with a unique index', () => {
  /** Loads rows of these numbers. @returns the job, and the numbers in the table afterwards */
  async function loadNumbers(
    mode: string,
    presentNumbers: number[],
    sentNumbers: (number | string)[],
    columns = ['codigo'],
  ) {
    const id = await createTable(company.as, `unico_${++tableCount}`, [
      makeColumn('codigo', 'integer'),
      makeColumn('nome'),
    ]);
    const routes = createTableClient(company.as, id);
    await routes.insert(presentNumbers.map((codigo) => ({ codigo })));
    expect((await routes.index(columns, columns[0] === 'codigo')).status).toBe(201);
    const file = makeFile(
      'n.csv',
      ['codigo,nome', ...sentNumbers.map((text) => `${text}${/,/.test(`${text}`) ? '' : ','}`)].join('\n'),
    );
    const job = await loadFiles(company, [file], {}, { into: id, mode });
    return { job, codes: (await readRows(company, id)).map((row) => row.codigo) };
  }

  it.each([
    ['append', [1, 2], [3, 2], '2'],
    ['append', [1], [3, 3], '3'],
    ['replace', [1], [3, 3], '3'],
  ])(
    'fails in the mode %s for a duplicate value, and loads nothing',
    async (mode, presentNumbers, sentNumbers, value) => {
      const { job, codes } = await loadNumbers(mode, presentNumbers, sentNumbers);
      const error = { code: 'MANAGED_TABLE_DUPLICATE_VALUE', column: 'codigo', value };
      expect(job).toMatchObject({ status: 'failed', error });
      expect(job.error.message).toContain(`"${value}"`);
      expect(codes).toEqual(presentNumbers);
    },
  );

  it.each([
    ['append', undefined, 1, 'MANAGED_TABLE_DUPLICATE_VALUE'],
    ['upsert', ['dia'], 2, 'UPSERT_KEY_NOT_UNIQUE'],
  ])('shows a duplicate value as rows show it when it fails in the mode %s', async (mode, key, count, code) => {
    const id = await createTable(company.as, `unico_${++tableCount}`, [makeColumn('dia', 'datetime')]);
    const routes = createTableClient(company.as, id);
    await routes.insert(Array.from({ length: count }, () => ({ dia: '2030-01-01T00:00:00Z' })));
    if (mode === 'append') await routes.index(['dia'], true);
    const file = makeFile('n.csv', 'dia\n2030-01-01 00:00:00\n');
    const { error } = await loadFiles(company, [file], {}, { into: id, mode, ...(key && { key }) });
    expect(error).toMatchObject({ code, value: '2030-01-01T00:00:00.000Z' });
  });

  it('succeeds when every value is unique, even if it repeats values of rows that it replaces', async () => {
    expect(await loadNumbers('append', [1, 2], [3, 4])).toMatchObject({ job: { status: 'done' }, codes: [1, 2, 3, 4] });
    expect(await loadNumbers('replace', [1, 2], [2, 1])).toMatchObject({ job: { status: 'done' }, codes: [2, 1] });
  });

  it.each([
    ['for its index', 12],
    ['for any index', 64],
  ])('fails for a value that is too long %s, and loads nothing', async (_which, blockCount) => {
    const longValue = Array.from({ length: blockCount }, () =>
      crypto.getRandomValues(new Uint8Array(256)).toHex(),
    ).join('');
    const { job, codes } = await loadNumbers('append', [1], ['2,curto', `3,${longValue}`, '4,curto'], ['nome']);
    const errorPosition = { file: 'n.csv', line: 3, column: 'nome', value: `${longValue.slice(0, 199)}…` };
    expect(job).toMatchObject({ status: 'failed', error: { code: 'VALUE_TOO_LONG_FOR_INDEX', ...errorPosition } });
    expect(job.error.message).toContain('coluna "nome", na linha 3 de "n.csv",');
    expect(codes).toEqual([1]);
  });

  it('fails for a value too long for its index, and names no line where the value stands too far into the file', async () => {
    const id = await createTable(company.as, `unico_${++tableCount}`, [
      makeColumn('codigo', 'integer'),
      makeColumn('nome'),
    ]);
    expect((await createTableClient(company.as, id).index(['nome'])).status).toBe(201);
    const longValue = Array.from({ length: 12 }, () => crypto.getRandomValues(new Uint8Array(256)).toHex()).join('');
    const readErrorAt = async (row: number) => {
      const rows = Array.from({ length: 1000 }, (_, n) => `${n},"${n === row ? longValue : 'curto'}"`);
      const queue = createTestQueue();
      const file = makeFile('n.csv', `codigo,nome\n${rows.join('\n')}\n`);
      const jobId = await uploadFiles(company, [file], { ...queue, into: id });
      await deliverAllMessages(queue);
      const { columns } = (await readJob(company, jobId)).inferred_schema;
      await confirmJob(company, jobId, { columns }, queue);
      await deliverAllMessages(queue, { UPLOAD_MESSAGE_BYTES: '8192' });
      const { error } = await readJob(company, jobId);
      return [error.code, error.file, error.line, error.column];
    };
    expect(await readErrorAt(800)).toEqual(['VALUE_TOO_LONG_FOR_INDEX', 'n.csv', 802, 'nome']);
    expect(await readErrorAt(999)).toEqual(['VALUE_TOO_LONG_FOR_INDEX', undefined, undefined, 'nome']);
  });
});
