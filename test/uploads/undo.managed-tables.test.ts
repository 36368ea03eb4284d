import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { postVisualization } from '../visualizations/support.ts';
import { makeFileOf } from './staged-job.ts';
import {
  createTestQueue,
  loadFiles,
  makeFile,
  queryDatabase,
  readJob,
  readRows,
  runSweep,
  undoJob,
  uploadFiles,
} from './support.ts';

const HOUR_MS = 60 * 60_000;

let tableCount = 0;
const company = await createProvisionedCompany();

/** Creates a table with the numbers 0, 1 and 2. */
async function createFilledTable() {
  const name = `desfeita_${++tableCount}`;
  const id = await createTable(company.as, name, [makeColumn('n', 'integer')]);
  const routes = createTableClient(company.as, id);
  await routes.insert([{ n: 0 }, { n: 1 }, { n: 2 }]);
  const loadInto = async (mode: string, values: number[]): Promise<string> => {
    const job = await loadFiles(company, [makeFileOf(values)], {}, { into: id, mode });
    expect(job).toMatchObject({ status: 'done', undone_at: null, undone_by: null });
    return job._id;
  };
  const readNumbers = async () => (await readRows(company, id)).map(({ n }) => n);
  return { id, name, routes, into: loadInto, numbers: readNumbers };
}

const makeUndoneResult = (removedCount: number, restoredCount = 0) => [
  200,
  { status: 'undone', removed: removedCount, restored: restoredCount },
];
const undoAndRead = async (jobId: string) => {
  const { status, body } = await undoJob(company, jobId);
  return [status, body];
};
const readUndoRefusal = async (jobId: string) => {
  const { status, body } = await undoJob(company, jobId);
  return [status, body.error_code, body.details?.reason];
};
const makeNotUndoableError = (reason: string) => [409, 'UPLOAD_JOB_NOT_UNDOABLE', reason];

const listKeptTables = () =>
  queryDatabase(company, async (database) =>
    (await database.query<{ name: string }>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'kept'`)).map(
      ({ name }) => name,
    ),
  );
const ageLoad = (jobId: string, time: string) =>
  queryDatabase(company, (database) =>
    database.execute(`UPDATE console.upload_jobs SET loaded_at = now() - $2::interval WHERE id = $1`, [jobId, time]),
  );

describe('the undo of an append', () => {
  it('deletes the rows that the append added, changed or not, and leaves all other rows', async () => {
    const { routes, into, numbers } = await createFilledTable();
    const jobId = await into('append', [10, 11, 12, 13]);
    await routes.insert([{ n: 20 }, { n: 21 }]);
    const rows = (await routes.rows()).body.records;
    const findRowId = (n: number) => rows.find((row: { n: number }) => row.n === n).id;
    await routes.updateRow(findRowId(11), { n: 111 });
    await routes.updateRow(findRowId(1), { n: 101 });
    await routes.deleteRow(findRowId(12));

    expect(await undoAndRead(jobId)).toEqual(makeUndoneResult(3));
    expect(await numbers()).toEqual([0, 101, 2, 20, 21]);
    expect((await routes.get()).body.row_count).toBe(5);
    expect(await readJob(company, jobId)).toMatchObject({
      status: 'done',
      error: null,
      undone_at: expect.stringMatching(/Z$/),
      undone_by: company.owner.id,
    });
    expect(await readUndoRefusal(jobId)).toEqual(makeNotUndoableError('already_undone'));
    expect(await numbers()).toEqual([0, 101, 2, 20, 21]);
  });

  it('is refused while a later load is not undone, so loads are undone one after the other', async () => {
    const { routes, into, numbers } = await createFilledTable();
    const jobs = [await into('append', [10]), await into('replace', [20, 21]), await into('append', [30])] as const;
    expect(await readUndoRefusal(jobs[0])).toEqual(makeNotUndoableError('later_load'));
    expect(await readUndoRefusal(jobs[1])).toEqual(makeNotUndoableError('later_load'));
    expect(await undoAndRead(jobs[2])).toEqual(makeUndoneResult(1));
    expect(await readUndoRefusal(jobs[0])).toEqual(makeNotUndoableError('later_load'));
    expect(await undoAndRead(jobs[1])).toEqual(makeUndoneResult(2, 4));
    expect(await numbers()).toEqual([0, 1, 2, 10]);
    expect(await undoAndRead(jobs[0])).toEqual(makeUndoneResult(1));
    expect(await numbers()).toEqual([0, 1, 2]);
    expect((await routes.get()).body.row_count).toBe(3);
    expect(await into('append', [40])).toBeDefined();
    expect(await readUndoRefusal(jobs[2])).toEqual(makeNotUndoableError('already_undone'));
  });
});

describe('the undo of a replacement', () => {
  it('restores the previous rows, and keeps rows that were inserted after the replacement', async () => {
    const { routes, into, numbers } = await createFilledTable();
    const rowsBefore = (await routes.rows()).body.records;
    const jobId = await into('replace', [10, 11]);
    await routes.insert([{ n: 20 }]);
    const [loaded] = (await routes.rows()).body.records;
    await routes.updateRow(loaded.id, { n: 100 });
    expect(await listKeptTables()).toContain(jobId);

    expect(await undoAndRead(jobId)).toEqual(makeUndoneResult(2, 3));
    expect(await numbers()).toEqual([0, 1, 2, 20]);
    expect((await routes.rows()).body.records.slice(0, 3)).toEqual(rowsBefore);
    expect((await routes.get()).body.row_count).toBe(4);
    expect(await listKeptTables()).not.toContain(jobId);
  });

  it('uses rows that are kept where no user’s SQL can read the rows, not even in statistics', async () => {
    const { name, into, id } = await createFilledTable();
    const jobId = await into('replace', [10, 11]);
    await queryDatabase(company, (database) => database.execute(`ANALYZE kept."${jobId}"`));
    const readerPrivileges = await queryDatabase(company, (database) =>
      database.query(
        `SELECT has_schema_privilege($1, 'kept', 'USAGE') AS schema, has_table_privilege($1, $2::regclass, 'SELECT') AS rows,
           has_any_column_privilege($1, $2::regclass, 'SELECT') AS statistics,
           has_table_privilege($1, $3::regclass, 'SELECT') AS own`,
        [`reader_${company.id}`, `kept."${jobId}"`, `public.${name}`],
      ),
    );
    expect(readerPrivileges).toEqual([{ schema: false, rows: false, statistics: false, own: true }]);
    const [row] = (await createTableClient(company.as, id).rows()).body.records;
    expect(Object.keys(row)).toEqual(['id', 'n']);
    const allRowsChart = await postVisualization(company.as, `SELECT * FROM ${name}`);
    const { result } = (await company.as.post(`/v1/visualizations/${allRowsChart._id}/execute`, { json: {} })).body;
    expect([result.columns.map((column: { name: string }) => column.name), result.row_count]).toEqual([['id', 'n'], 2]);
  });

  it('is refused, and changes nothing, when it would violate a unique index', async () => {
    const { name, routes, into, numbers } = await createFilledTable();
    const jobId = await into('replace', [10]);
    await routes.insert([{ n: 1 }]);
    await queryDatabase(company, (database) =>
      database.execute(`CREATE UNIQUE INDEX of_${name} ON public.${name} (n)`),
    );
    expect(await readUndoRefusal(jobId)).toEqual(makeNotUndoableError('unique_index'));
    expect(await numbers()).toEqual([10, 1]);
    const secondRowId = (await routes.rows()).body.records[1].id;
    await routes.deleteRow(secondRowId);
    expect(await undoAndRead(jobId)).toEqual(makeUndoneResult(1, 3));
  });

  it('is possible for 30 days, after which the replaced rows are dropped', async () => {
    const { into, routes } = await createFilledTable();
    const [old, young] = [await into('replace', [10]), await into('append', [11])];
    expect(await undoAndRead(young)).toEqual(makeUndoneResult(1));
    await ageLoad(old, '29 days 23 hours');
    expect((await routes.loads()).body.records.map(({ undoable }: { undoable: boolean }) => undoable)).toEqual([
      false,
      true,
    ]);
    await runSweep(createTestQueue(), 90_000);
    expect(await listKeptTables()).toContain(old);
    await ageLoad(old, '30 days 1 second');
    expect(await readUndoRefusal(old)).toEqual(makeNotUndoableError('too_old'));
    expect((await routes.loads()).body.records).toMatchObject([{ job_id: young }]);
    await runSweep(createTestQueue(), 2 * HOUR_MS);
    expect(await listKeptTables()).not.toContain(old);
  });
});

describe('the undo of an upload that made a table', () => {
  it('deletes the table, which can be restored', async () => {
    const job = await loadFiles(company, [makeFileOf([1, 2, 3])], { display_name: 'feita_por_carga' });
    const routes = createTableClient(company.as, job.user_table_id);
    expect((await routes.loads()).body.records).toMatchObject([
      { job_id: job._id, mode: 'create', row_count: 3, inserted: 3, undoable: true },
    ]);
    await routes.insert([{ n: 4 }]);
    expect(await undoAndRead(job._id)).toEqual(makeUndoneResult(4));
    expect((await routes.get()).status).toBe(404);
    expect((await routes.loads()).status).toBe(404);
    expect(await readUndoRefusal(job._id)).toEqual(makeNotUndoableError('already_undone'));
    expect((await routes.restore()).status).toBe(200);
    expect((await routes.rows()).body.total).toBe(4);
    expect(await readUndoRefusal(job._id)).toEqual(makeNotUndoableError('already_undone'));
  });
});

describe('an upload', () => {
  it.each([
    ['truncated', 'truncated', (routes: ReturnType<typeof createTableClient>) => routes.truncate()],
    [
      'retyped',
      'columns_changed',
      (routes: ReturnType<typeof createTableClient>) => routes.put({ columns: [makeColumn('n', 'decimal')] }),
    ],
    [
      'given a column',
      'columns_changed',
      (routes: ReturnType<typeof createTableClient>) =>
        routes.put({ columns: [makeColumn('n', 'integer'), makeColumn('m')] }),
    ],
    ['deleted', 'table_deleted', (routes: ReturnType<typeof createTableClient>) => routes.delete()],
  ])('cannot be undone once its table was %s', async (_what, reason, change) => {
    const { routes, into } = await createFilledTable();
    const jobId = await into('replace', [10, 11]);
    expect((await change(routes)).status).toBeLessThan(300);
    expect(await readUndoRefusal(jobId)).toEqual(makeNotUndoableError(reason));
    if (reason === 'table_deleted') return;
    expect((await routes.loads()).body.records).toMatchObject([{ job_id: jobId, undoable: false }]);
    const next = await into('append', [30]);
    expect(await undoAndRead(next)).toEqual(makeUndoneResult(1));
    expect(await readUndoRefusal(jobId)).toEqual(makeNotUndoableError(reason));
  });

  it('can be undone after its table was renamed, or deleted and restored', async () => {
    const { routes, into, numbers } = await createFilledTable();
    const jobId = await into('replace', [10, 11]);
    await routes.put({ display_name: `renomeada_${tableCount}` });
    await routes.delete();
    await routes.restore();
    expect(await undoAndRead(jobId)).toEqual(makeUndoneResult(2, 3));
    expect(await numbers()).toEqual([0, 1, 2]);
  });

  it('cannot be undone when it is not done, or was done by an earlier version of the Worker', async () => {
    const { id, into } = await createFilledTable();
    const queuedJobId = await uploadFiles(company, [makeFileOf([1])], { ...createTestQueue(), into: id });
    expect(await readUndoRefusal(queuedJobId)).toEqual(makeNotUndoableError('not_done'));
    const first = await uploadFiles(company, [makeFileOf([1])], createTestQueue());
    expect(await readUndoRefusal(first)).toEqual(makeNotUndoableError('not_done'));
    const jobId = await into('append', [10]);
    for (const loadNumber of [0, null]) {
      await queryDatabase(company, (database) =>
        database.execute('UPDATE console.upload_jobs SET load_number = $2 WHERE id = $1', [jobId, loadNumber]),
      );
      expect(await readUndoRefusal(jobId)).toEqual(makeNotUndoableError('earlier_version'));
    }
  });

  it('requires for its undo the permissions upload and data-write, or upload and delete if it created the table', async () => {
    const { id, into } = await createFilledTable();
    const appendedJobId = await into('append', [10]);
    const createdTableJob = await loadFiles(company, [makeFileOf([1])], { display_name: 'de_quem_pode' });
    const readUndoStatus = async (jobId: string, ...allowedActions: string[]) => {
      const { as } = await createAllowedUser(company, {
        can: allowedActions.map((action) => `managed-tables:${action}`),
      });
      return (await undoJob(company, jobId, as)).status;
    };
    expect(await readUndoStatus(appendedJobId, 'upload', 'delete')).toBe(403);
    expect(await readUndoStatus(appendedJobId, 'data-write', 'delete')).toBe(403);
    expect(await readUndoStatus(createdTableJob._id, 'upload', 'data-write')).toBe(403);
    const { as: deniedCaller } = await createAllowedUser(company, {
      can: ['managed-tables:upload', 'managed-tables:data-write'],
      denied: ['managed-tables:data-write'],
      deniedArns: [`arn:svc:managed-tables::${company.id}:table/${id}`],
    });
    expect((await undoJob(company, appendedJobId, deniedCaller)).status).toBe(403);
    expect(await readUndoStatus(appendedJobId, 'upload', 'data-write')).toBe(200);
    expect(await readUndoStatus(createdTableJob._id, 'upload', 'delete')).toBe(200);
  });
});

it('the uploads of a table are listed, the last first, and each shows whether it can be undone', async () => {
  const { id, routes, into } = await createFilledTable();
  const first = await into('append', [10, 11]);
  const files = [makeFile('a.csv', 'n\n1\n'), makeFile('b.csv', 'n\n2\n')];
  const secondJobId = (await loadFiles(company, files, {}, { into: id, mode: 'replace' }))._id;
  const { body } = await routes.loads();
  expect(body).toMatchObject({ total: 2, quantity: 2 });
  expect(body.records[0]).toStrictEqual({
    job_id: secondJobId,
    mode: 'replace',
    file_names: ['a.csv', 'b.csv'],
    row_count: 2,
    inserted: 2,
    updated: 0,
    loaded_at: expect.stringMatching(/^\d{4}-.*Z$/),
    loaded_by: company.owner.id,
    undoable: true,
  });
  expect(body.records[1]).toMatchObject({ job_id: first, mode: 'append', file_names: ['n.csv'], undoable: false });
  await undoJob(company, secondJobId);
  expect((await routes.loads('?per_page=1')).body).toMatchObject({ total: 2, records: [{ undoable: false }] });
  expect((await routes.loads('?page=2&per_page=1')).body.records).toMatchObject([{ job_id: first, undoable: true }]);
});
