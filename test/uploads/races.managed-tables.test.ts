import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createStagedJob, makeFileOf } from './staged-job.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  listTables,
  postFiles,
  queryDatabase,
  readJob,
  readRows,
  runSweep,
  uploadFiles,
  waitForAnalysis,
  waitForEnd,
} from './support.ts';

/** Matches a statement before a load has locked anything: concurrent work that runs here is completed first. */
const SELECT_JOB_STATUS_PATTERN = /SELECT status, step, state/;
/**
 * Matches a statement when a load has moved its rows and holds its locks until it commits: concurrent work that runs here waits
 * for the locks.
 */
const DROP_STAGING_TABLE_PATTERN = /DROP TABLE/;

const company = await createProvisionedCompany();

let tableCount = 0;

/** Creates a table with the numbers from 0 below `count`. */
async function createNumberTable(count: number) {
  const id = await createTable(company.as, `corrida_${++tableCount}`, [makeColumn('n', 'integer', false)]);
  const routes = createTableClient(company.as, id);
  const rows = Array.from({ length: count }, (_, n) => ({ n }));
  for (let at = 0; at < count; at += 10_000) await routes.insert(rows.slice(at, at + 10_000));
  return { id, routes };
}

const makeNumbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n);
const readNumbers = async (id: string) => (await readRows(company, id)).map(({ n }) => n as number);

/** Expects that the table's row count is exact, and that nothing is left of any load. */
async function expectConsistentTable(id: string): Promise<void> {
  const rows = await readNumbers(id);
  expect((await createTableClient(company.as, id).get()).body.row_count).toBe(rows.length);
  expect(await listTables(company)).not.toContainEqual(expect.stringMatching(/^console/));
}

describe('a reader of rows that are replaced', () => {
  it.each([/DELETE FROM "?public/, /INSERT INTO "?public/, DROP_STAGING_TABLE_PATTERN, /COMMIT/])(
    'gets the old rows, without waiting, while the load reaches %s',
    async (statement) => {
      const { id, routes } = await createNumberTable(6);
      const job = await createStagedJob(company, id, makeNumbers(1000, 9), 'replace');
      const readCountAndNumbers = async () => [(await routes.rows()).body, await readNumbers(id)];
      const { outcome } = await runBeforeNextStatement(company.id, statement, readCountAndNumbers);
      expect(await job.publish()).toBe('done');
      expect(await outcome).toEqual([expect.objectContaining({ total: 6, quantity: 6 }), makeNumbers(0, 6)]);
      expect(await readCountAndNumbers()).toEqual([
        expect.objectContaining({ total: 9, quantity: 9 }),
        makeNumbers(1000, 9),
      ]);
      await expectConsistentTable(id);
    },
  );
});

describe('two loads into one table', () => {
  const A = makeNumbers(1000, 50);
  const B = makeNumbers(2000, 50);
  const OLD_NUMBERS = makeNumbers(0, 10);
  const makeLoadedRows = (rows: number[], mode: string, loadedNumbers: number[]) =>
    mode === 'replace' ? loadedNumbers : [...rows, ...loadedNumbers];
  const getKey = (mode: string) => (mode === 'upsert' ? ['n'] : []);

  describe.each([
    ['append', 'append'],
    ['append', 'replace'],
    ['replace', 'append'],
    ['replace', 'replace'],
    ['append', 'upsert'],
    ['upsert', 'append'],
    ['replace', 'upsert'],
    ['upsert', 'replace'],
  ])('%s and %s', (first, second) => {
    it.each([
      ['the first is done before the second locks anything', SELECT_JOB_STATUS_PATTERN, true],
      ['the first waits for the second', DROP_STAGING_TABLE_PATTERN, false],
    ])('end as if one load came after the other: %s', async (_order, statement, isFirstLoadFirst) => {
      const { id } = await createNumberTable(OLD_NUMBERS.length);
      const firstJob = await createStagedJob(company, id, A, first, getKey(first));
      const other = await createStagedJob(company, id, B, second, getKey(second));
      const { outcome } = await runBeforeNextStatement(company.id, statement, firstJob.publish);
      expect([await other.publish(), await outcome]).toEqual(['done', 'done']);
      for (const { jobId } of [firstJob, other])
        expect(await readJob(company, jobId)).toMatchObject({ status: 'done' });
      expect(await readNumbers(id)).toEqual(
        isFirstLoadFirst
          ? makeLoadedRows(makeLoadedRows(OLD_NUMBERS, first, A), second, B)
          : makeLoadedRows(makeLoadedRows(OLD_NUMBERS, second, B), first, A),
      );
      await expectConsistentTable(id);
    });
  });

  it('both succeed when their messages alternate', async () => {
    const { id } = await createNumberTable(OLD_NUMBERS.length);
    const queue = createTestQueue();
    const jobIds = [await uploadFiles(company, [makeFileOf(A)], { ...queue, into: id })];
    jobIds.push(await uploadFiles(company, [makeFileOf(B)], { ...queue, into: id }));
    await deliverAllMessages(queue);
    for (const jobId of jobIds) {
      const { columns } = (await readJob(company, jobId)).inferred_schema;
      expect((await confirmJob(company, jobId, { columns }, queue)).status).toBe(200);
    }
    await deliverAllMessages(queue);
    for (const jobId of jobIds) expect(await readJob(company, jobId)).toMatchObject({ status: 'done' });
    expect(await readNumbers(id)).toEqual([...OLD_NUMBERS, ...A, ...B]);
    await expectConsistentTable(id);
  });
});

describe('a load that another delivery of its message publishes first', () => {
  it.each([['append'], ['replace'], ['upsert', 'n']])(
    'does nothing more in the mode %s, and leaves each row once',
    async (mode, ...key) => {
      const { id } = await createNumberTable(3);
      const job = await createStagedJob(company, id, [10, 11], mode, key);
      const { outcome } = await runBeforeNextStatement(company.id, /SELECT status, step, state/, job.publish);
      expect(await job.publish()).toBe('done');
      expect(await outcome).toBe('done');
      expect(await readJob(company, job.jobId)).toMatchObject({ status: 'done', error: null });
      expect(await readNumbers(id)).toEqual(mode === 'replace' ? [10, 11] : [0, 1, 2, 10, 11]);
      await expectConsistentTable(id);
    },
  );
});

describe('a load that has locked its job', () => {
  it('keeps another delivery of its message waiting until its rows are in the table', async () => {
    const { id } = await createNumberTable(3);
    const job = await createStagedJob(company, id, [10, 11], 'append');
    const { outcome } = await runBeforeNextStatement(company.id, /FROM console\.managed_tables/, job.publish);
    expect(await job.publish()).toBe('done');
    expect(await outcome).toBe('done');
    expect(await readJob(company, job.jobId)).toMatchObject({ status: 'done', error: null });
    expect(await readNumbers(id)).toEqual([0, 1, 2, 10, 11]);
    await expectConsistentTable(id);
  });

  it('fails when the columns of its table differ from the confirmed columns', async () => {
    const { id } = await createNumberTable(3);
    const job = await createStagedJob(company, id, [10, 11], 'append');
    // Routes refuse to change a table under a load: somebody has worked by hand, or restored a backup.
    await queryDatabase(company, (database) =>
      database.query(
        `UPDATE console.managed_tables SET columns = replace(columns::text, 'integer', 'decimal')::json WHERE id = $1`,
        [id],
      ),
    );
    await job.publish();
    expect(await readJob(company, job.jobId)).toMatchObject({ status: 'failed', error: { code: 'TABLE_CHANGED' } });
  });
});

it('an upload job that has waited too long for its confirmation continues when it is confirmed just before the sweep expires it', async () => {
  const queue = createTestQueue();
  const { id } = await createNumberTable(1);
  const jobId = await uploadFiles(company, [makeFileOf([7])], { ...queue, into: id });
  await deliverAllMessages(queue);
  const { columns } = (await readJob(company, jobId)).inferred_schema;
  await queryDatabase(company, (database) =>
    database.query(`UPDATE console.upload_jobs SET updated_at = updated_at - interval '2 days' WHERE id = $1`, [jobId]),
  );
  const { outcome } = await runBeforeNextStatement(company.id, /SELECT status, step, state/, () =>
    confirmJob(company, jobId, { columns }, queue),
  );
  await runSweep(queue, 2 * 60_000);
  expect((await outcome).status).toBe(200);
  await deliverAllMessages(queue);
  expect(await readJob(company, jobId)).toMatchObject({ status: 'done', error: null });
  expect(await readNumbers(id)).toEqual([0, 7]);
});

describe('a load beside manual changes of the same table', () => {
  const LOADED_NUMBERS = makeNumbers(1000, 20);

  async function changeTableAt(statement: RegExp, mode: string) {
    const { id, routes } = await createNumberTable(4);
    const [zero, one] = await readRows(company, id);
    const job = await createStagedJob(company, id, LOADED_NUMBERS, mode);
    const { outcome } = await runBeforeNextStatement(company.id, statement, async () => [
      (await routes.updateRow(zero?.id as string, { n: 99 })).status,
      (await routes.deleteRow(one?.id as string)).status,
      (await routes.insert([{ n: 77 }, { n: 78 }])).status,
    ]);
    expect(await job.publish()).toBe('done');
    const statuses = await outcome;
    expect(await readJob(company, job.jobId)).toMatchObject({ status: 'done' });
    await expectConsistentTable(id);
    return { statuses, rows: await readNumbers(id) };
  }

  it('is done after changes that come before its locks', async () => {
    const CHANGE_STATUSES = [200, 204, 201];
    const appendedRows = await changeTableAt(SELECT_JOB_STATUS_PATTERN, 'append');
    expect(appendedRows).toEqual({ statuses: CHANGE_STATUSES, rows: [99, 2, 3, 77, 78, ...LOADED_NUMBERS] });
    expect(await changeTableAt(SELECT_JOB_STATUS_PATTERN, 'replace')).toEqual({
      statuses: CHANGE_STATUSES,
      rows: LOADED_NUMBERS,
    });
  });

  it('is done before changes that wait for its locks', async () => {
    const appendedRows = await changeTableAt(DROP_STAGING_TABLE_PATTERN, 'append');
    expect(appendedRows).toEqual({ statuses: [200, 204, 201], rows: [99, 2, 3, ...LOADED_NUMBERS, 77, 78] });
    // What it replaces is gone for whoever waited.
    const replacedRows = await changeTableAt(DROP_STAGING_TABLE_PATTERN, 'replace');
    expect(replacedRows).toEqual({ statuses: [404, 404, 201], rows: [...LOADED_NUMBERS, 77, 78] });
  });
});

describe('an upload into a table', () => {
  const changes: [
    what: string,
    change: (routes: ReturnType<typeof createTableClient>) => Promise<{ status: number }>,
  ][] = [
    ['emptied', (routes) => routes.truncate()],
    ['deleted', (routes) => routes.delete()],
    ['renamed', (routes) => routes.put({ display_name: `outra_${tableCount}` })],
  ];

  it.each(changes)(
    'starts with the changed table, or is refused, when the table is %s just before the upload',
    async (changeName, change) => {
      const { id, routes } = await createNumberTable(3);
      const { outcome } = await runBeforeNextStatement(company.id, /FOR KEY SHARE/, () => change(routes));
      const uploadAnswer = await postFiles(company, [makeFileOf([10, 11])], { into: id });
      expect((await outcome).status).toBe(changeName === 'deleted' ? 204 : 200);
      if (changeName === 'deleted') return expect(uploadAnswer.status).toBe(404);
      const { inferred_schema: schema } = await waitForAnalysis(company, uploadAnswer.body.job_id);
      await confirmJob(company, uploadAnswer.body.job_id, { columns: schema.columns });
      expect(await waitForEnd(company, uploadAnswer.body.job_id)).toMatchObject({ status: 'done', user_table_id: id });
      expect(await readNumbers(id)).toEqual(changeName === 'emptied' ? [10, 11] : [0, 1, 2, 10, 11]);
      expect((await routes.get()).body.display_name).toBe(
        changeName === 'renamed' ? `outra_${tableCount}` : `corrida_${tableCount}`,
      );
      await expectConsistentTable(id);
    },
  );

  // Emptied, it is as if it had been before the upload, whose rows come later.
  it.each(changes.slice(1))('keeps the table from being %s once the upload has begun', async (_what, change) => {
    const { id, routes } = await createNumberTable(3);
    const jobInsertPattern = /INSERT INTO console\.upload_jobs/;
    const { outcome } = await runBeforeNextStatement(company.id, jobInsertPattern, () => change(routes));
    const uploadAnswer = await postFiles(company, [makeFileOf([10, 11])], { into: id });
    expect([uploadAnswer.status, (await outcome).status]).toEqual([201, 409]);
    expect(await readNumbers(id)).toEqual([0, 1, 2]);
    await waitForAnalysis(company, uploadAnswer.body.job_id);
    await cancelJob(company, uploadAnswer.body.job_id);
  });
});

it('the analysis of an upload stays cancelled when it is cancelled just before its end', async () => {
  const queue = createTestQueue();
  const jobId = await uploadFiles(company, [makeFileOf([1, 2])], queue);
  const cancelConcurrently = () => cancelJob(company, jobId);
  const { outcome } = await runBeforeNextStatement(company.id, /SET status = 'waiting_confirm'/, cancelConcurrently);
  await deliverAllMessages(queue);
  await outcome;
  expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } });
});

describe('the confirmation of an upload job', () => {
  const createWaitingJob = async () => {
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, [makeFileOf([1, 2])], queue);
    await deliverAllMessages(queue);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    return (display_name: string) => confirmJob(company, jobId, { display_name, columns }, queue);
  };
  const jobConfirmationPattern = /SET status = 'inserting'/;

  it('is refused when another request confirms the job at the same moment', async () => {
    const confirmAs = await createWaitingJob();
    const { outcome } = await runBeforeNextStatement(company.id, jobConfirmationPattern, () =>
      confirmAs('confirmada_antes'),
    );
    const lateConfirmation = await confirmAs('confirmada_depois');
    expect([(await outcome).status, lateConfirmation.status]).toEqual([200, 400]);
    expect(lateConfirmation.body.error_code).toBe('UPLOAD_JOB_NOT_WAITING_CONFIRM');
  });

  it('is refused when another job is confirmed with the same table name at the same moment', async () => {
    const [first, second] = [await createWaitingJob(), await createWaitingJob()];
    const { outcome } = await runBeforeNextStatement(company.id, jobConfirmationPattern, () => first('disputada'));
    const lateConfirmation = await second('disputada');
    expect([(await outcome).status, lateConfirmation.status]).toEqual([200, 400]);
    expect(lateConfirmation.body.error_code).toBe('MANAGED_TABLE_DUPLICATE_NAME');
  });
});
