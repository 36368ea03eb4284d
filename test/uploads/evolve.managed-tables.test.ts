import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  makeFile,
  queryDatabase,
  readJob,
  readRows,
  undoJob,
  waitForEnd,
} from './support.ts';
import { makeWorkbook, parseCells } from './workbooks.ts';

let tableCount = 0;
const company = await createProvisionedCompany();

type FileContent = string | Uint8Array<ArrayBuffer>;
const INTEGER_COLUMN = makeColumn('n', 'integer');
const queue = createTestQueue();
/** A separate queue for the messages that re-check what reads a table. */
const recheckQueue = createTestQueue();
Object.assign(queue.env, { RECHECKS: recheckQueue.env.JOBS });

/** Posts an upload form with the field `evolve`. */
function postEvolvingForm(
  id: string,
  evolve: string,
  files: [name: string, content: FileContent][],
  otherFields: Record<string, string> = {},
  as = company.as,
) {
  const form = new FormData();
  form.append('evolve', evolve);
  for (const [name, value] of Object.entries(otherFields)) form.append(name, value);
  for (const [name, content] of files) form.append('files', makeFile(name, content));
  return as.post(`/v1/managed-tables/${id}/upload`, { body: form, env: queue.env as never });
}

/** Takes the message for a job from the queue; all other messages re-check knowledge. */
const takeJobMessage = (jobId: string) =>
  queue.messages.findLast((message) => 'jobId' in message && message.jobId === jobId);

/** Creates a job that loads into a table, and that waits for its confirmation. */
async function createWaitingJob(
  id: string,
  evolve: string,
  content: FileContent,
  otherFields: Record<string, string> = {},
) {
  const files: [string, FileContent][] = [[typeof content === 'string' ? 'a.csv' : 'a.xlsx', content]];
  const { status, body } = await postEvolvingForm(id, evolve, files, otherFields);
  expect(status).toBe(201);
  await deliverAllMessages(queue);
  const job = await readJob(company, body.job_id);
  expect(job).toMatchObject({ status: 'waiting_confirm', evolve, error: null });
  return { jobId: body.job_id as string, schema: job.inferred_schema };
}

type ProposedSchema = { columns: JsonObject[]; new_columns: JsonObject[] };
type JsonObject = Record<string, unknown>;
const listColumns = ({ columns, new_columns }: ProposedSchema) => [...columns, ...new_columns];

/** Confirms a job with these columns, and finishes it. @returns the finished job */
async function confirmAndFinish(jobId: string, columns: JsonObject[]) {
  const { status, body } = await confirmJob(company, jobId, { columns }, queue);
  expect([status, body]).toEqual([200, { status: 'inserting' }]);
  await deliverAllMessages(queue);
  return waitForEnd(company, jobId);
}

async function createFilledTable(columns = [INTEGER_COLUMN], rows: JsonObject[] = [{ n: 1 }, { n: 2 }]) {
  const name = `cresce_${++tableCount}`;
  const id = await createTable(company.as, name, columns);
  const routes = createTableClient(company.as, id);
  if (rows.length > 0) expect((await routes.insert(rows)).status).toBe(201);
  const readValues = async () => (await readRows(company, id)).map(({ id: _, ...row }) => row);
  const readTypes = async () =>
    Object.fromEntries((await routes.get()).body.columns.map(({ name, type }: JsonObject) => [name, type]));
  return { id, name, routes, values: readValues, types: readTypes };
}

const DONE_JOB = { status: 'done', error: null };
const makeUndoneResult = (removedCount: number, restoredCount = 0) => ({
  status: 200,
  body: { status: 'undone', removed: removedCount, restored: restoredCount },
});
const makeNotUndoneResult = (reason: string, name?: string) => ({
  status: 409,
  body: { error_code: 'UPLOAD_JOB_NOT_UNDOABLE', details: { reason, ...(name && { column: name }) } },
});

describe('an upload that may add columns to its table', () => {
  const CSV_FILE = 'n,nome,dia\n3,Ana,2024-01-31\n4,,2024-02-01\n';

  it('proposes the columns that the table lacks, and adds the confirmed columns', async () => {
    const { id, routes, values, types } = await createFilledTable();
    const { jobId, schema } = await createWaitingJob(id, 'add', CSV_FILE);
    expect(schema.columns).toMatchObject([{ name: 'n', type: 'integer', source_index: 0 }]);
    expect(schema.new_columns).toMatchObject([
      { name: 'nome', type: 'text', nullable: true, source_index: 1 },
      { name: 'dia', type: 'date', nullable: true, source_index: 2 },
    ]);
    expect(schema.ignored_columns).toEqual([]);
    expect(schema).not.toHaveProperty('changed_columns');
    expect(schema.sample_rows[0]).toEqual({ n: 3, nome: 'Ana', dia: '2024-01-31' });
    const etagBefore = (await routes.get()).headers.get('etag');
    expect(await confirmAndFinish(jobId, listColumns(schema))).toMatchObject(DONE_JOB);
    expect(await types()).toEqual({ n: 'integer', nome: 'text', dia: 'date' });
    expect((await routes.get()).headers.get('etag')).not.toBe(etagBefore);
    expect(await values()).toEqual([
      { n: 1, nome: null, dia: null },
      { n: 2, nome: null, dia: null },
      { n: 3, nome: 'Ana', dia: '2024-01-31' },
      { n: 4, nome: null, dia: '2024-02-01' },
    ]);
    const confirmedSchema = (await readJob(company, jobId)).confirmed_schema;
    expect(Object.keys(confirmedSchema).toSorted()).toEqual(['columns', 'display_name', 'time_zone']);
    expect(await undoJob(company, jobId)).toMatchObject(makeUndoneResult(2));
    expect(await types()).toEqual({ n: 'integer' });
    expect(await values()).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('leaves out and renames new columns as the confirmation says, by their position in the files', async () => {
    const { id, values, types } = await createFilledTable();
    const { jobId, schema } = await createWaitingJob(id, 'add', CSV_FILE);
    const dayColumn = { name: 'quando', display_name: 'Quando', type: 'text', nullable: true, source_index: 2 };
    expect(await confirmAndFinish(jobId, [...schema.columns, dayColumn])).toMatchObject(DONE_JOB);
    expect(await types()).toEqual({ n: 'integer', quando: 'text' });
    expect((await values()).at(-1)).toEqual({ n: 4, quando: '2024-02-01' });
    const unconfirmedJob = await createWaitingJob(id, 'add', CSV_FILE);
    expect(await confirmAndFinish(unconfirmedJob.jobId, unconfirmedJob.schema.columns)).toMatchObject(DONE_JOB);
    expect(await types()).toEqual({ n: 'integer', quando: 'text' });
    expect(await undoJob(company, unconfirmedJob.jobId)).toMatchObject(makeUndoneResult(2));
    expect(await types()).toEqual({ n: 'integer', quando: 'text' });
  });

  let refusedJob: ReturnType<typeof createWaitingJob> | undefined;

  it.each([
    ['a new column that is not nullable', { name: 'x', nullable: false, source_index: 1 }, 'columns.1.nullable'],
    ['a new column with a source_index that no file has', { name: 'x', source_index: 7 }, 'columns.1.source_index'],
    ['a new column with the source_index null', { name: 'x', source_index: null }, 'columns.1.name'],
    ['a new column of a name that no file has', { name: 'x' }, 'columns.1.name'],
    ['a new column with the source_index of another', { name: 'x', source_index: 0 }, 'columns.1.source_index'],
    ['a new column called id', { name: 'id', source_index: 1 }, 'columns.1.name'],
  ])('refuses %s', async (_, changedColumns, field) => {
    refusedJob ??= createFilledTable().then(({ id }) => createWaitingJob(id, 'add', CSV_FILE));
    const { jobId, schema } = await refusedJob;
    const columns = [...schema.columns, { display_name: 'x', type: 'text', nullable: true, ...changedColumns }];
    const { status, body } = await confirmJob(company, jobId, { columns });
    expect([status, body.details?.map((detail: JsonObject) => detail.field)]).toEqual([422, [field]]);
  });

  it('refuses more columns than a table can have', async () => {
    const manyColumns = Array.from({ length: 999 }, (_, index) => makeColumn(`c${index}`, 'integer'));
    const { id } = await createFilledTable([INTEGER_COLUMN, ...manyColumns], []);
    const { jobId, schema } = await createWaitingJob(id, 'add', CSV_FILE);
    const sentColumns = [schema.columns[0], ...schema.new_columns];
    expect(await confirmJob(company, jobId, { columns: sentColumns })).toMatchObject({
      status: 422,
      body: { details: [{ field: 'columns' }] },
    });
    await cancelJob(company, jobId);
  });

  it('ignores the new columns of the files, and refuses their confirmation, with evolve none', async () => {
    const { id, types } = await createFilledTable();
    const { jobId, schema } = await createWaitingJob(id, 'none', CSV_FILE);
    expect(schema).not.toHaveProperty('new_columns');
    expect(schema.ignored_columns).toHaveLength(2);
    const columns = [...schema.columns, makeColumn('nome')];
    expect((await confirmJob(company, jobId, { columns })).status).toBe(422);
    await cancelJob(company, jobId);
    expect(await types()).toEqual({ n: 'integer' });
  });
});

describe('an upload that may widen columns of its table', () => {
  it('proposes for each column the narrowest type that fits all values, which is undone with the rows', async () => {
    // The values of each column: of the row in the table, and of the file's three lines, of which the second decides.
    const wideningColumns = [
      ['integer', 'decimal', 1, '2', '3,5', '4'],
      ['integer', 'text', 1, '2', '3,5', 'sem'],
      ['decimal', 'text', 1.5, '2,5', 'a combinar', '4'],
      ['date', 'datetime', '2024-01-31', '2024-02-01', '2024-02-02 10:30', '2024-02-03'],
      ['date', 'text', '2024-01-31', '2024-02-01', 'breve', '2024-02-02 10:30'],
      ['datetime', 'text', '2024-01-31T10:00:00Z', '2024-02-01', 'breve', '2024-02-02'],
      ['boolean', 'text', true, 'false', 'talvez', 'true'],
    ].map(([from, to, stored, ...lines], index) => ({ name: `n${index}`, from, to, stored, lines }));
    const fittingColumns = [
      ['integer', '1', '', '-9223372036854775808'],
      ['integer', '" 12 "', '1', '2'],
      ['decimal', '1', '1,5', '2'],
      ['datetime', '2024-01-31', '2024-02-01', ''],
      ['text', '1', 'x', ''],
      ['boolean', '', '', ''],
    ].map(([type, ...lines], index) => ({ name: `m${index}`, from: type, to: type, stored: null, lines }));
    const allColumns = [...wideningColumns, ...fittingColumns];
    const types = (key: 'from' | 'to') => Object.fromEntries(allColumns.map((each) => [each.name, each[key]]));
    const table = await createFilledTable(
      allColumns.map(({ name, from }) => makeColumn(name, String(from))),
      [Object.fromEntries(allColumns.map(({ name, stored }) => [name, stored]))],
    );
    const valuesBefore = await table.values();
    const fileLines = [0, 1, 2].map((line) => allColumns.map(({ lines }) => lines[line]).join(';'));
    const file = [allColumns.map(({ name }) => name).join(';'), ...fileLines].join('\n');
    const { jobId, schema } = await createWaitingJob(table.id, 'widen', file);
    expect(schema.changed_columns).toEqual(
      wideningColumns.map(({ name, from, to, lines: [, value] }) => ({
        name,
        from,
        to,
        because: { file: 'a.csv', line: 3, value },
      })),
    );
    expect(schema.columns).toMatchObject(allColumns.map(({ name, to }) => ({ name, type: to })));
    expect(schema.new_columns).toEqual([]);
    expect(await confirmAndFinish(jobId, schema.columns)).toMatchObject(DONE_JOB);
    expect(await table.types()).toEqual(types('to'));
    expect((await table.routes.get()).body.row_count).toBe(4);
    expect(await undoJob(company, jobId)).toMatchObject(makeUndoneResult(3));
    expect(await table.types()).toEqual(types('from'));
    expect(await table.values()).toEqual(valuesBefore);
  });

  it('checks every row of every file, workbooks included, over many small messages', async () => {
    const { id } = await createFilledTable([INTEGER_COLUMN, makeColumn('d', 'date')], []);
    const makeLines = (last: string) =>
      `n,d\n${Array.from({ length: 3000 }, (_, n) => `${n},2024-01-31`).join('\n')}\n${last}\n`;
    const { body } = await postEvolvingForm(id, 'widen', [
      ['a.csv', makeLines('7,2024-01-31')],
      ['b.csv', makeLines('0.5,2024-01-31')],
      ['c.csv', makeLines('x,2024-01-31 10:00')],
      [
        'd.xlsx',
        makeWorkbook({
          sheets: [
            {
              rows: parseCells('n|d', '2.5|nunca'),
            },
          ],
        }),
      ],
    ]);
    const message = takeJobMessage(body.job_id);
    const smallMessages = { ...queue.env, UPLOAD_MESSAGE_BYTES: '16384' };
    for (
      let attempt = 0;
      attempt < 200 && (await readJob(company, body.job_id)).status !== 'waiting_confirm';
      attempt++
    )
      await deliverMessage(message as never, smallMessages);
    queue.messages.length = 0;
    expect((await readJob(company, body.job_id)).inferred_schema.changed_columns).toEqual([
      { name: 'n', from: 'integer', to: 'text', because: { file: 'b.csv', line: 3002, value: '0.5' } },
      { name: 'd', from: 'date', to: 'text', because: { file: 'c.csv', line: 3002, value: '2024-01-31 10:00' } },
    ]);
    await cancelJob(company, body.job_id);
  });

  it('keeps the type if the confirmation sends the old type, and fails at the value that does not fit', async () => {
    const { id, types, values } = await createFilledTable();
    const { jobId, schema } = await createWaitingJob(id, 'widen', 'n,x\n3,a\n4.5,b\n');
    const [n] = schema.columns;
    expect(await confirmJob(company, jobId, { columns: [{ ...n, type: 'text' }] })).toMatchObject({
      status: 422,
      body: { details: [{ field: 'columns.0.type', message: 'é integer na tabela, e decimal na proposta' }] },
    });
    const job = await confirmAndFinish(jobId, [{ ...n, type: 'integer' }, ...schema.new_columns]);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'VALUE_DOES_NOT_FIT', line: 3, value: '4.5' } });
    expect(await types()).toEqual({ n: 'integer' });
    expect(await values()).toHaveLength(2);
  });

  it('may replace rows, and its undo restores the previous rows and types', async () => {
    const { id, types, values } = await createFilledTable();
    const { jobId, schema } = await createWaitingJob(id, 'widen', 'n,x\n3,a\nquatro,b\n', { mode: 'replace' });
    expect(await confirmAndFinish(jobId, listColumns(schema))).toMatchObject(DONE_JOB);
    expect(await types()).toEqual({ n: 'text', x: 'text' });
    expect(await values()).toEqual([
      { n: '3', x: 'a' },
      { n: 'quatro', x: 'b' },
    ]);
    expect(await undoJob(company, jobId)).toMatchObject(makeUndoneResult(2, 2));
    expect(await types()).toEqual({ n: 'integer' });
    expect(await values()).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('may update rows by a key, and keeps the unique index of the key', async () => {
    const { id, routes, types, values } = await createFilledTable(
      [INTEGER_COLUMN, makeColumn('v', 'integer')],
      [
        { n: 1, v: 10 },
        { n: 2, v: 20 },
      ],
    );
    expect((await routes.index(['n'], true)).status).toBe(201);
    const { jobId, schema } = await createWaitingJob(id, 'widen', 'n,v,x\n1,1.5,a\nnovo,2,b\n', {
      mode: 'upsert',
      key: 'n',
    });
    expect(await confirmAndFinish(jobId, listColumns(schema))).toMatchObject({
      ...DONE_JOB,
      result: { inserted: 1, updated: 1 },
    });
    expect(await types()).toEqual({ n: 'text', v: 'decimal', x: 'text' });
    expect(await values()).toEqual([
      { n: '1', v: 1.5, x: 'a' },
      { n: '2', v: 20, x: null },
      { n: 'novo', v: 2, x: 'b' },
    ]);
    expect((await routes.indexes()).body.records).toMatchObject([{ columns: ['n'], unique: true }]);
    expect(await undoJob(company, jobId)).toMatchObject(makeNotUndoneResult('upsert'));
  });

  it('proposes the same types again after a second analysis', async () => {
    const { id } = await createFilledTable([INTEGER_COLUMN, makeColumn('m', 'integer')], []);
    const { jobId, schema } = await createWaitingJob(id, 'widen', 'n;m\n1;2,5\n');
    expect(schema.changed_columns).toMatchObject([{ name: 'm', to: 'decimal' }]);
    const path = `/v1/managed-tables/upload-jobs/${jobId}/analyze`;
    expect((await company.as.post(path, { json: { delimiter: ',' }, env: queue.env as never })).status).toBe(200);
    await deliverAllMessages(queue);
    const secondAnalysis = await readJob(company, jobId);
    expect(secondAnalysis).toMatchObject({
      status: 'waiting_confirm',
      inferred_schema: { problem: expect.anything() },
    });
    expect(secondAnalysis.inferred_schema.changed_columns).toEqual(schema.changed_columns);
    await cancelJob(company, jobId);
  });
});

describe('an undo of an upload that changed columns', () => {
  const createWidenedTable = async (file = 'n,x\n3,a\n4.5,b\n') => {
    const table = await createFilledTable();
    const { jobId, schema } = await createWaitingJob(table.id, 'widen', file);
    expect(await confirmAndFinish(jobId, listColumns(schema))).toMatchObject(DONE_JOB);
    return { ...table, jobId };
  };

  it('is refused, with the column’s name, where a remaining row has a value in a new column', async () => {
    const { routes, jobId, types } = await createWidenedTable();
    await routes.insert([{ n: 5, x: 'à mão' }]);
    expect(await undoJob(company, jobId)).toMatchObject(makeNotUndoneResult('column_filled', 'x'));
    expect(await types()).toEqual({ n: 'decimal', x: 'text' });
    const row = (await routes.rows()).body.records.find(({ x }: JsonObject) => x === 'à mão');
    await routes.updateRow(row.id, { x: null });
    expect(await undoJob(company, jobId)).toMatchObject(makeUndoneResult(2));
    expect(await types()).toEqual({ n: 'integer' });
  });

  it('is refused, with the column’s name, where a remaining row has a value that does not fit the old type', async () => {
    const { routes, jobId, types, values } = await createWidenedTable();
    await routes.insert([{ n: 5.5 }]);
    expect(await undoJob(company, jobId)).toMatchObject(makeNotUndoneResult('values_do_not_fit', 'n'));
    const row = (await routes.rows()).body.records.find(({ n }: JsonObject) => n === 5.5);
    await routes.updateRow(row.id, { n: 6 });
    expect(await undoJob(company, jobId)).toMatchObject(makeUndoneResult(2));
    expect(await types()).toEqual({ n: 'integer' });
    expect(await values()).toEqual([{ n: 1 }, { n: 2 }, { n: 6 }]);
  });

  it('is refused where it would make two values of a unique index equal', async () => {
    const { routes, jobId } = await createWidenedTable('n\n3\nx\n');
    expect((await routes.index(['n'], true)).status).toBe(201);
    await routes.insert([{ n: '9' }, { n: '+9' }]);
    expect(await undoJob(company, jobId)).toMatchObject(makeNotUndoneResult('unique_index'));
  });

  it('is refused while another upload of the table waits, which then can still be confirmed', async () => {
    for (const [evolve, content] of [
      ['add', 'n,z\n3,5\n'],
      ['widen', 'n\n2.5\n'],
    ] as const) {
      const { id, types } = await createFilledTable();
      const { jobId, schema } = await createWaitingJob(id, evolve, content);
      expect(await confirmAndFinish(jobId, listColumns(schema))).toMatchObject(DONE_JOB);
      const typesBefore = await types();
      const waitingJob = await createWaitingJob(id, 'none', content);
      expect(await undoJob(company, jobId)).toMatchObject({
        status: 409,
        body: { error_code: 'MANAGED_TABLE_LOCKED' },
      });
      expect(await types()).toEqual(typesBefore);
      expect(await confirmAndFinish(waitingJob.jobId, waitingJob.schema.columns)).toMatchObject(DONE_JOB);
    }
  });

  it('is refused after a manual change of columns, and otherwise lets the previous upload be undone next', async () => {
    const table = await createFilledTable();
    const first = await createWaitingJob(table.id, 'none', 'n\n9\n');
    expect(await confirmAndFinish(first.jobId, first.schema.columns)).toMatchObject(DONE_JOB);
    const secondJob = await createWaitingJob(table.id, 'widen', 'n,x\n3.5,a\n');
    expect(await confirmAndFinish(secondJob.jobId, listColumns(secondJob.schema))).toMatchObject(DONE_JOB);
    expect(await undoJob(company, first.jobId)).toMatchObject(makeNotUndoneResult('later_load'));
    expect(await undoJob(company, secondJob.jobId)).toMatchObject(makeUndoneResult(1));
    expect(await undoJob(company, first.jobId)).toMatchObject(makeUndoneResult(1));
    expect(await table.values()).toEqual([{ n: 1 }, { n: 2 }]);
    const thirdTable = await createWidenedTable();
    expect((await thirdTable.routes.put({ columns: [makeColumn('n', 'decimal'), makeColumn('y')] })).status).toBe(200);
    expect(await undoJob(company, thirdTable.jobId)).toMatchObject(makeNotUndoneResult('columns_changed'));
  });

  it('requires the permission to update the table', async () => {
    const { jobId, types } = await createWidenedTable();
    const { as } = await createAllowedUser(company, { can: ['managed-tables:*'], denied: ['managed-tables:update'] });
    expect((await undoJob(company, jobId, as)).status).toBe(403);
    expect(await types()).toEqual({ n: 'decimal', x: 'text' });
  });
});

describe('an upload that may change the columns of its table', () => {
  it('shows no values to a caller without permission to read rows', async () => {
    const { id } = await createFilledTable();
    const { jobId } = await createWaitingJob(id, 'widen', 'n,x\n3,segredo\noculto,b\n');
    const { as } = await createAllowedUser(company, {
      can: ['managed-tables:*'],
      denied: ['managed-tables:data-read'],
    });
    const { body } = await as.get(`/v1/managed-tables/upload-jobs/${jobId}`);
    expect(body.inferred_schema.changed_columns).toEqual([
      { name: 'n', from: 'integer', to: 'text', because: { file: 'a.csv', line: 3, value: null } },
    ]);
    expect(JSON.stringify(body)).not.toMatch(/segredo|oculto/);
    await cancelJob(company, jobId);
  });

  it('accepts evolve only as none, add or widen', async () => {
    const { id } = await createFilledTable();
    expect(await postEvolvingForm(id, 'all', [['a.csv', 'n\n1\n']])).toMatchObject({
      status: 422,
      body: { details: [{ field: 'evolve' }] },
    });
  });
});

describe('an upload that changes columns', () => {
  /** Creates a job whose rows are staged: its next delivery publishes the rows in the table. */
  async function createStagedJob(id: string, file: string, otherFields: Record<string, string> = {}) {
    const { jobId, schema } = await createWaitingJob(id, 'widen', file, otherFields);
    expect((await confirmJob(company, jobId, { columns: listColumns(schema) }, queue)).status).toBe(200);
    const message = takeJobMessage(jobId) as never;
    const header = file.indexOf('\n') + 1;
    await deliverMessage(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(file.length - header) });
    queue.messages.splice(0, queue.messages.length, ...queue.messages.filter(({ type }) => type !== 'upload.load'));
    expect((await readJob(company, jobId)).status).toBe('inserting');
    return { jobId, publish: () => deliverMessage(message, queue.env) };
  }
  const CSV_FILE = 'n,x\n3,a\n4.5,b\n';

  it('triggers a new check of the knowledge that reads the table, and so does its undo', async () => {
    const { id, name } = await createFilledTable();
    const listChecks = () =>
      recheckQueue.messages.filter((message) => 'tables' in message && message.tables?.includes(id));
    const expectedCheck = { companyId: company.id, tables: [id, name] };
    const plainJob = await createStagedJob(id, 'n\n9\n');
    await plainJob.publish();
    const { publish, jobId } = await createStagedJob(id, CSV_FILE);
    await publish();
    // It is sent after the work, and none for rows alone.
    await expect.poll(listChecks).toMatchObject([expectedCheck]);
    const path = `/v1/managed-tables/upload-jobs/${jobId}/undo`;
    expect(await company.as.post(path, { env: queue.env as never })).toMatchObject(makeUndoneResult(2));
    await expect.poll(listChecks).toMatchObject([expectedCheck, expectedCheck]);
  });

  it('succeeds when another upload makes the same change, and each can be undone', async () => {
    const { id, types, values } = await createFilledTable();
    const [first, second] = [await createStagedJob(id, CSV_FILE), await createStagedJob(id, CSV_FILE)];
    const { outcome } = await runBeforeNextStatement(company.id, /ALTER TABLE "public"/, second.publish);
    expect([await first.publish(), await outcome]).toEqual(['done', 'done']);
    expect(await readJob(company, first.jobId)).toMatchObject(DONE_JOB);
    expect(await readJob(company, second.jobId)).toMatchObject(DONE_JOB);
    expect(await values()).toHaveLength(6);
    expect(await undoJob(company, second.jobId)).toMatchObject(makeUndoneResult(2));
    expect(await types()).toEqual({ n: 'decimal', x: 'text' });
    expect(await undoJob(company, first.jobId)).toMatchObject(makeUndoneResult(2));
    expect(await types()).toEqual({ n: 'integer' });
  });

  it('makes a concurrent upload fail that would change the same columns in another way, and leaves none of the failed upload’s rows', async () => {
    const { id, types, values } = await createFilledTable();
    const [first, second] = [await createStagedJob(id, CSV_FILE), await createStagedJob(id, 'n,x\nnove,2024-01-31\n')];
    expect(await first.publish()).toBe('done');
    expect(await second.publish()).toBe('done');
    expect(await readJob(company, second.jobId)).toMatchObject({ status: 'failed', error: { code: 'TABLE_CHANGED' } });
    expect(await types()).toEqual({ n: 'decimal', x: 'text' });
    expect(await values()).toHaveLength(4);
  });

  it('locks the columns of its table, and fails where somebody still changed them directly in the database', async () => {
    const { id, name, routes, types } = await createFilledTable();
    const { publish, jobId } = await createStagedJob(id, CSV_FILE);
    expect((await routes.put({ columns: [makeColumn('n', 'text')] })).body.error_code).toBe('MANAGED_TABLE_LOCKED');
    await queryDatabase(company, async (database) => {
      await database.query(`ALTER TABLE public."${name}" ALTER n TYPE text`);
      await database.query(
        `UPDATE console.managed_tables SET columns = jsonb_set(columns, '{0,type}', '"text"') WHERE id = '${id}'`,
      );
    });
    expect(await publish()).toBe('done');
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'TABLE_CHANGED' } });
    expect(await types()).toEqual({ n: 'text' });
  });

  it('lets a row that is inserted at the same moment succeed', async () => {
    const { id, routes, values } = await createFilledTable();
    const { publish } = await createStagedJob(id, CSV_FILE);
    const { outcome } = await runBeforeNextStatement(company.id, /ALTER TABLE "public"/, () =>
      routes.insert([{ n: 7 }]),
    );
    expect(await publish()).toBe('done');
    expect((await outcome).status).toBe(201);
    expect((await values()).map(({ n }) => n).toSorted()).toEqual([1, 2, 3, 4.5, 7]);
  });

  it('changes neither columns nor rows when the database’s disk is full', async () => {
    const { id, name, types, values } = await createFilledTable();
    for (const table of [`public."${name}"`, 'console.managed_tables']) {
      const { publish, jobId } = await createStagedJob(id, CSV_FILE);
      const triggerEvent = table.startsWith('public') ? 'INSERT' : 'UPDATE OF columns';
      await queryDatabase(company, (database) =>
        database.query(`
          CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
          END $$;
          CREATE TRIGGER no_room BEFORE ${triggerEvent} ON ${table} EXECUTE FUNCTION public.no_room()`),
      );
      expect(await publish()).toBe('done');
      await queryDatabase(company, (database) => database.query(`DROP TRIGGER no_room ON ${table}`));
      expect(await readJob(company, jobId)).toMatchObject({
        status: 'failed',
        error: { code: 'MANAGED_DATABASE_FULL' },
      });
      expect(await types()).toEqual({ n: 'integer' });
      expect(await values()).toEqual([{ n: 1 }, { n: 2 }]);
    }
  });

  it('fails, and leaves the column’s type, when a value is too long for an index', async () => {
    const { id, routes, types } = await createFilledTable();
    expect((await routes.index(['n'])).status).toBe(201);
    const randomText = Array.from({ length: 6000 }, () => Math.random().toString(36)[3] ?? 'x').join('');
    const { publish, jobId } = await createStagedJob(id, `n\n${randomText}\n`);
    expect(await publish()).toBe('done');
    expect(await readJob(company, jobId)).toMatchObject({
      status: 'failed',
      error: { code: 'VALUE_TOO_LONG_FOR_INDEX' },
    });
    expect(await types()).toEqual({ n: 'integer' });
  });

  it('is undone before an insert that sets its new column, which is then refused', async () => {
    const { id, routes, types } = await createFilledTable();
    const { publish, jobId } = await createStagedJob(id, CSV_FILE);
    expect(await publish()).toBe('done');
    const { outcome } = await runBeforeNextStatement(company.id, /DROP COLUMN "x"/, () =>
      routes.insert([{ n: 8, x: 'à mão' }]),
    );
    expect(await undoJob(company, jobId)).toMatchObject(makeUndoneResult(2));
    expect((await outcome).status).toBe(422);
    expect(await types()).toEqual({ n: 'integer' });
    expect((await readRows(company, id)).map(({ n }) => n)).toEqual([1, 2]);
  });
});
