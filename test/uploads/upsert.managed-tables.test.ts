import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createStagedJob } from './staged-job.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  loadFiles,
  makeFile,
  postFiles,
  readJob,
  readRows,
  undoJob,
  uploadFiles,
  waitForAnalysis,
} from './support.ts';

let tableCount = 0;
const company = await createProvisionedCompany();

const TABLE_COLUMNS = [
  makeColumn('code', 'text'),
  makeColumn('store', 'integer'),
  makeColumn('name'),
  makeColumn('price', 'decimal'),
];

/** Creates a table with three rows, whose codes are unique. */
async function createFilledTable(columns = TABLE_COLUMNS) {
  const id = await createTable(company.as, `mesclada_${++tableCount}`, columns);
  const routes = createTableClient(company.as, id);
  const insertedRows = await routes.insert([
    { code: 'a', store: 1, name: 'Ana', price: 1.5 },
    { code: 'b', store: 1, name: 'Bia', price: 2 },
    { code: 'c', store: 2, name: 'Caio', price: null },
  ]);
  expect(insertedRows.status).toBe(201);
  const loadUpsert = (csv: string, key = ['code'], changes: Record<string, unknown> = {}) =>
    loadFiles(company, [makeFile('f.csv', csv)], changes, { into: id, mode: 'upsert', key });
  const listIndexes = async () => (await company.as.get(`/v1/managed-tables/${id}/indexes`)).body.records;
  return { id, routes, upsert: loadUpsert, indexes: listIndexes };
}

const readValues = async (id: string) =>
  (await readRows(company, id)).map(({ code, store, name, price }) => [code, store, name, price]);

const SMALL_MESSAGES = { UPLOAD_MESSAGE_BYTES: '4096' };

const ROWS_BEFORE = [
  ['a', 1, 'Ana', 1.5],
  ['b', 1, 'Bia', 2],
  ['c', 2, 'Caio', null],
];

describe('an upsert', () => {
  it('updates rows of the same key in the columns that the file has, and inserts all other rows', async () => {
    const { id, routes, upsert, indexes } = await createFilledTable();
    const rowsBefore = await readRows(company, id);
    const job = await upsert('code,price\nd,4\nb,9\na,1.50\nB,7\n');
    expect(job).toMatchObject({
      status: 'done',
      mode: 'upsert',
      key: ['code'],
      result: { inserted: 2, updated: 1, unchanged: 1 },
    });
    expect(await readValues(id)).toEqual([
      ['a', 1, 'Ana', 1.5],
      ['b', 1, 'Bia', 9],
      ['c', 2, 'Caio', null],
      ['d', null, null, 4],
      ['B', null, null, 7],
    ]);
    expect((await readRows(company, id)).slice(0, 3).map((row) => row.id)).toEqual(rowsBefore.map((row) => row.id));
    expect((await routes.get()).body.row_count).toBe(5);
    expect(await indexes()).toMatchObject([{ columns: ['code'], unique: true }]);
    expect((await routes.loads()).body.records).toMatchObject([
      { job_id: job._id, mode: 'upsert', row_count: 4, inserted: 2, updated: 1, undoable: false },
    ]);
    expect(await undoJob(company, job._id)).toMatchObject({ status: 409, body: { details: { reason: 'upsert' } } });

    expect(await upsert('code\na\nz\n')).toMatchObject({ result: { inserted: 1, updated: 0, unchanged: 1 } });
    expect(await indexes()).toHaveLength(1);
  });

  it('matches rows by several columns, and uses an existing unique index on them in any order', async () => {
    const { id, upsert, indexes } = await createFilledTable();
    const createdIndex = await company.as.post(`/v1/managed-tables/${id}/indexes`, {
      json: { columns: ['store', 'code'], unique: true },
    });
    expect(createdIndex.status).toBe(201);
    const job = await upsert('code,store,name\na,1,Eva\na,2,Fia\n', ['code', 'store']);
    expect(job).toMatchObject({ result: { inserted: 1, updated: 1, unchanged: 0 } });
    expect((await readValues(id))[0]).toEqual(['a', 1, 'Eva', 1.5]);
    expect(await indexes()).toHaveLength(1);
  });

  it('by id updates rows from an edited export, and inserts none', async () => {
    const { id, routes, upsert, indexes } = await createFilledTable();
    const csv = String((await routes.export()).body);
    const changedCsv = csv
      .replace('Bia', 'Bea')
      .toUpperCase()
      .replace(/^ID/, ' Id ')
      .replace('CODE,STORE,NAME,PRICE', 'code,store,name,price');
    expect(await upsert(csv.replace('Bia', 'Bea'), ['id'])).toMatchObject({
      status: 'done',
      key: ['id'],
      result: { inserted: 0, updated: 1, unchanged: 2 },
    });
    expect((await readValues(id))[1]).toEqual(['b', 1, 'Bea', 2]);
    expect(await upsert(changedCsv, ['id'])).toMatchObject({ result: { inserted: 0, updated: 3, unchanged: 0 } });
    expect((await readValues(id))[1]).toEqual(['B', 1, 'BEA', 2]);
    expect(await indexes()).toEqual([]);
    expect((await routes.get()).body.row_count).toBe(3);
  });

  it.each([
    [
      'an unknown id',
      (ids: string[]) => `id,name\n${ids[0]},x\n00000000-0000-0000-0000-000000000000,y\n`,
      'UPSERT_ID_UNKNOWN',
      3,
    ],
    ['a malformed id', (ids: string[]) => `id,name\n${ids[0]},x\n\nabc,y\n`, 'UPSERT_ID_UNKNOWN', 4],
    [
      'the same id twice',
      (ids: string[]) => `id,name\n${ids[0]},x\n${ids[1]},y\n${ids[0]?.toUpperCase()},z\n`,
      'UPSERT_KEY_TWICE',
      4,
    ],
    ['an empty id', (ids: string[]) => `id,name\n${ids[0]},x\n,y\n`, 'VALUE_DOES_NOT_FIT', 3],
  ])('by id fails, with the line, for %s', async (_, makeCsv, code, line) => {
    const { id, upsert } = await createFilledTable();
    const ids = (await readRows(company, id)).map((row) => row.id as string);
    expect(await upsert(makeCsv(ids), ['id'])).toMatchObject({
      status: 'failed',
      error: { code, file: 'f.csv', line, column: 'id' },
    });
    expect(await readValues(id)).toEqual(ROWS_BEFORE);
  });

  it('by id fails without an id column in the file', async () => {
    const { upsert } = await createFilledTable();
    expect(await upsert('code,name\na,x\n', ['id'])).toMatchObject({
      status: 'failed',
      error: { code: 'COLUMN_MISSING', column: 'id' },
    });
  });

  it('by id does not change a column called source_id', async () => {
    const columns = [makeColumn('source_id'), makeColumn('name')];
    const id = await createTable(company.as, `mesclada_${++tableCount}`, columns);
    await createTableClient(company.as, id).insert([{ source_id: 's', name: 'n' }]);
    const [row] = await readRows(company, id);
    const job = await loadFiles(
      company,
      [makeFile('f.csv', `id,name\n${row?.id},m\n`)],
      {},
      { into: id, mode: 'upsert', key: ['id'] },
    );
    expect(job).toMatchObject({ status: 'done', result: { updated: 1 } });
    expect(await readRows(company, id)).toEqual([{ ...row, name: 'm' }]);
  });

  it('accepts its mode and key after the files in the form', async () => {
    const { id } = await createFilledTable();
    const form = new FormData();
    form.append('files', makeFile('f.csv', 'code,store,name\na,1,Eva\n'));
    for (const name of ['store', 'code']) form.append('key', name);
    form.append('mode', 'upsert');
    const { status, body } = await company.as.post(`/v1/managed-tables/${id}/upload`, { body: form });
    expect([status, await readJob(company, body.job_id)]).toMatchObject([
      201,
      { mode: 'upsert', key: ['store', 'code'] },
    ]);
    await waitForAnalysis(company, body.job_id);
    await cancelJob(company, body.job_id);
  });

  it('sets a value to null where the value in the file is empty', async () => {
    const { id, upsert } = await createFilledTable();
    expect(await upsert('code,name,price\na,,3\n')).toMatchObject({ result: { updated: 1 } });
    expect((await readValues(id))[0]).toEqual(['a', 1, null, 3]);
  });

  it.each([
    [
      'a key is empty',
      'code,price\na,1\n,2\n',
      { code: 'VALUE_DOES_NOT_FIT', file: 'f.csv', line: 3, column: 'code', value: '' },
    ],
    [
      'a part of a key is empty',
      'code,store\na,1\nb,\n',
      { code: 'VALUE_DOES_NOT_FIT', file: 'f.csv', line: 3, column: 'store', value: '' },
      ['code', 'store'],
    ],
    [
      'a key of several columns is twice in the file',
      'code,store\na,1\na,2\na,1\n',
      { code: 'UPSERT_KEY_TWICE', file: 'f.csv', line: 4, value: 'a, 1' },
      ['code', 'store'],
    ],
    [
      'a key is twice in the file',
      'code,name\nx,"two\nlines"\n\ny,1\nx,2\n',
      { code: 'UPSERT_KEY_TWICE', file: 'f.csv', line: 6, column: 'code', value: 'x' },
    ],
  ])('fails, and leaves the table as it was, when %s', async (_what, csv, error, key = ['code']) => {
    const { id, upsert, indexes } = await createFilledTable();
    expect(await upsert(csv, key)).toMatchObject({ status: 'failed', error, result: null });
    expect(await readValues(id)).toEqual(ROWS_BEFORE);
    expect(await indexes()).toEqual([]);
  });

  it('fails with the file and line of a duplicate key far into the second file', async () => {
    const { id } = await createFilledTable();
    const manyLines = Array.from({ length: 3000 }, (_, n) => `k${n},"${n}"`);
    const files = [
      makeFile('um.csv', `code,name\n${manyLines.slice(0, 1000).join('\n')}\n`),
      makeFile(
        'dois.csv',
        `name,code\n${manyLines
          .slice(1000)
          .map((row) => row.split(',').reverse().join(','))
          .join('\n')}\nx,k7\n`,
      ),
    ];
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, files, { ...queue, into: id, mode: 'upsert', key: ['code'] });
    await deliverAllMessages(queue, SMALL_MESSAGES);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    await confirmJob(company, jobId, { columns }, queue);
    // Every chunk in a message of its own.
    expect(await deliverAllMessages(queue, SMALL_MESSAGES)).toBeGreaterThan(5);
    const job = await readJob(company, jobId);
    expect(job.error).toMatchObject({ code: 'UPSERT_KEY_TWICE', file: 'dois.csv', line: 2002, value: 'k7' });
    expect(await readValues(id)).toEqual(ROWS_BEFORE);
  });

  it('fails for a key too long for an index with its line if it is in the file, and only with its column if it is in the table', async () => {
    const longValue = Array.from({ length: 12 }, () => crypto.getRandomValues(new Uint8Array(256)).toHex()).join('');
    const { id, routes, upsert } = await createFilledTable();
    const manyLines = Array.from({ length: 300 }, (_, n) => `k${n},"${'x'.repeat(20)}"`);
    const job = await upsert(`code,name\n${manyLines.join('\n')}\n${longValue},x\nz,x\n`);
    const error = { code: 'VALUE_TOO_LONG_FOR_INDEX', column: 'code' };
    const errorPosition = { file: 'f.csv', line: 302, value: `${longValue.slice(0, 199)}…` };
    expect(job).toMatchObject({ status: 'failed', error: { ...error, ...errorPosition } });
    expect(await readValues(id)).toEqual(ROWS_BEFORE);
    expect((await routes.insert([{ code: longValue }])).status).toBe(201);
    const { message, ...told } = (await upsert('code\na\n')).error;
    expect(told).toEqual(error);
    expect(message).toContain('"code"');
  });

  it('fails without a change when its key is not unique in the table', async () => {
    const { id, upsert, indexes, routes } = await createFilledTable();
    const job = await upsert('store,name\n7,x\n', ['store']);
    expect(job.error).toMatchObject({ code: 'UPSERT_KEY_NOT_UNIQUE', column: 'store', value: '1' });
    expect(await readValues(id)).toEqual(ROWS_BEFORE);
    expect(await indexes()).toEqual([]);
    const code = 'z'.repeat(5_000);
    expect((await routes.insert([{ code }, { code }])).status).toBe(201);
    expect((await upsert('code\na\n', ['code'])).error).toMatchObject({ value: `${code.slice(0, 199)}…` });
  });

  it('fails without a column that is not nullable if it inserts a row, but not if it only updates rows', async () => {
    const columns = [
      makeColumn('code', 'text'),
      makeColumn('store', 'integer'),
      makeColumn('name', 'text', false),
      makeColumn('price', 'decimal'),
    ];
    const { id, upsert } = await createFilledTable(columns);
    expect(await upsert('code,price\nb,5\n')).toMatchObject({ status: 'done', result: { updated: 1 } });
    const job = await upsert('code,price\nb,6\nnovo,7\n');
    expect(job.error).toMatchObject({ code: 'COLUMN_MISSING', file: 'f.csv', line: 3, column: 'name' });
    expect((await readValues(id))[1]).toEqual(['b', 1, 'Bia', 5]);
  });

  it('fails when its key would require an eleventh index', async () => {
    const { id, upsert, indexes } = await createFilledTable();
    for (let n = 0; n < 10; n += 1) {
      const json = { columns: n % 2 ? ['store', 'price'] : ['name'] };
      expect((await company.as.post(`/v1/managed-tables/${id}/indexes`, { json })).status).toBe(201);
    }
    expect((await upsert('code\nz\n')).error).toMatchObject({ code: 'MANAGED_TABLE_TOO_MANY_INDEXES' });
    expect(await indexes()).toHaveLength(10);
    expect(await readValues(id)).toEqual(ROWS_BEFORE);
  });

  it('creates no more than ten indexes when another request creates an index at the same moment', async () => {
    const id = await createTable(company.as, `mesclada_${++tableCount}`, [
      makeColumn('n', 'integer'),
      makeColumn('m', 'integer'),
    ]);
    const path = `/v1/managed-tables/${id}/indexes`;
    const createIndex = () => company.as.post(path, { json: { columns: ['m'] } });
    for (let n = 0; n < 9; n += 1) expect((await createIndex()).status).toBe(201);
    const { jobId, publish } = await createStagedJob(company, id, [1, 2], 'upsert', ['n']);
    const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX CONCURRENTLY/, publish);
    expect((await createIndex()).status).toBe(201);
    expect([await outcome, await publish()]).toEqual(['again', 'done']);
    expect((await readJob(company, jobId)).error).toMatchObject({ code: 'MANAGED_TABLE_TOO_MANY_INDEXES' });
    expect((await company.as.get(path)).body.records).toHaveLength(10);
  });

  let refusingTable: ReturnType<typeof createFilledTable> | undefined;

  it.each([
    ['upsert', [], 'é obrigatório'],
    ['upsert', ['code', 'store', 'name', 'price', 'code'], 'deve indicar de 1 a 4 colunas'],
    ['upsert', ['code', 'code'], 'deve indicar cada coluna uma só vez'],
    ['upsert', ['Code'], '"Code" não é uma coluna da tabela'],
    ['upsert', ['id', 'code'], '"id" identifica as linhas sozinho: omita as outras colunas'],
    ['append', ['code'], 'é para o modo upsert'],
  ])('is refused when it is sent: mode %s with the key %j', async (mode, key, message) => {
    refusingTable ??= createFilledTable();
    const { id } = await refusingTable;
    const refusedUpload = await postFiles(company, [makeFile('f.csv', 'code\na\n')], { into: id, mode, key });
    expect(refusedUpload).toMatchObject({ status: 422, body: { details: [{ field: 'key', message }] } });
  });

  it('cannot be confirmed without the column of its key', async () => {
    const { id } = await createFilledTable();
    const jobId = await uploadFiles(company, [makeFile('f.csv', 'name\nx\n')], {
      into: id,
      mode: 'upsert',
      key: ['code'],
    });
    const { inferred_schema: schema } = await waitForAnalysis(company, jobId);
    const refusedConfirmation = await confirmJob(company, jobId, { columns: schema.columns });
    expect(refusedConfirmation).toMatchObject({
      status: 422,
      body: {
        details: [{ field: 'columns', reason: 'required', message: expect.stringContaining('"code" faz parte') }],
      },
    });
    await cancelJob(company, jobId);
  });
});

it.each([
  ['is done first', /SELECT status, step, state/],
  ['waits for the first', /DROP TABLE/],
])('two upserts both succeed, and insert each key once: the second upsert %s', async (_what, statement) => {
  const id = await createTable(company.as, `mesclada_${++tableCount}`, [makeColumn('n', 'integer')]);
  const firstJob = await createStagedJob(company, id, [1, 2, 3], 'upsert', ['n']);
  const other = await createStagedJob(company, id, [3, 4], 'upsert', ['n']);
  const { outcome } = await runBeforeNextStatement(company.id, statement, other.publish);
  expect([await firstJob.publish(), await outcome]).toEqual(['done', 'done']);
  const jobs = [await readJob(company, firstJob.jobId), await readJob(company, other.jobId)];
  expect(jobs.map(({ status }) => status)).toEqual(['done', 'done']);
  expect(jobs.reduce((sum, { result }) => sum + result.inserted, 0)).toBe(4);
  expect(jobs.reduce((sum, { result }) => sum + result.unchanged, 0)).toBe(1);
  expect((await readRows(company, id)).map(({ n }) => n as number).toSorted()).toEqual([1, 2, 3, 4]);
  expect((await createTableClient(company.as, id).get()).body.row_count).toBe(4);
});

describe('an upsert of a key that another request gives to a row at the same moment', () => {
  it.each([
    ['first', /LOCK TABLE/],
    ['meanwhile', /INSERT INTO "public"/],
  ])('leaves the key unique: the other request comes %s', async (order, statement) => {
    const id = await createTable(company.as, `mesclada_${++tableCount}`, [makeColumn('n', 'integer')]);
    const routes = createTableClient(company.as, id);
    await routes.insert([{ n: 1 }]);
    // Making the index would hold the table, too.
    const json = { columns: ['n'], unique: true };
    expect((await company.as.post(`/v1/managed-tables/${id}/indexes`, { json })).status).toBe(201);
    const [row] = (await routes.rows()).body.records;
    const job = await createStagedJob(company, id, [1, 7], 'upsert', ['n']);
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => routes.updateRow(row.id, { n: 7 }));
    expect(await job.publish()).toBe('done');
    // Who comes after finds the unique index and the key taken.
    expect((await outcome).status).toBe(order === 'first' ? 200 : 409);
    expect(await readJob(company, job.jobId)).toMatchObject({ status: 'done', result: { inserted: 1, unchanged: 1 } });
    expect((await readRows(company, id)).map(({ n }) => n as number).toSorted()).toEqual([1, 7]);
  });
});

it('an upsert that is cancelled before its load creates no index', async () => {
  const { id, indexes } = await createFilledTable();
  const jobId = await uploadFiles(company, [makeFile('f.csv', 'code\nq\n')], {
    ...createTestQueue(),
    into: id,
    mode: 'upsert',
    key: ['code'],
  });
  await cancelJob(company, jobId);
  expect(await indexes()).toEqual([]);
});
