import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createStagedJob, makeFileOf } from './staged-job.ts';
import { createTestQueue, loadFiles, postFiles, queryDatabase, readRows, undoJob } from './support.ts';

/** Matches a statement before an undo has locked anything: concurrent work that runs here is completed first. */
const SELECT_UNDO_STATE_PATTERN = /added_rows, undone_at FROM console\.upload_jobs WHERE id/;
/**
 * Matches a statement when an undo has changed the rows, and holds its locks until it commits: concurrent work waits for them.
 */
const SET_UNDONE_AT_PATTERN = /SET undone_at = /;
/** Matches a statement when an undo has locked the table that its load created, and found it unused: concurrent work waits. */
const SET_DELETED_AT_PATTERN = /SET deleted_at = /;

let tableCount = 0;
const company = await createProvisionedCompany();

async function createLoadedTable(mode: string) {
  const id = await createTable(company.as, `disputa_${++tableCount}`, [makeColumn('n', 'integer')]);
  const routes = createTableClient(company.as, id);
  await routes.insert([{ n: 0 }, { n: 1 }, { n: 2 }]);
  const job = await createStagedJob(company, id, [10, 11], mode);
  expect(await job.publish()).toBe('done');
  const readNumbers = async () => (await readRows(company, id)).map(({ n }) => n as number);
  const expectConsistent = async () => expect((await routes.get()).body.row_count).toBe((await readNumbers()).length);
  return { id, routes, jobId: job.jobId, numbers: readNumbers, isWhole: expectConsistent };
}

const readReason = ({ status, body }: { status: number; body: { details?: { reason?: string } } }) =>
  status === 200 ? 'undone' : body.details?.reason;

describe.each(['append', 'replace'])('the undo of an upload in the mode %s', (mode) => {
  const LOADED_NUMBERS = mode === 'append' ? [0, 1, 2, 10, 11] : [10, 11];
  const NUMBERS_BEFORE = [0, 1, 2];

  it.each([
    ['finds it undone', SELECT_UNDO_STATE_PATTERN],
    ['waits for it, and finds it undone', SET_UNDONE_AT_PATTERN],
  ])('is done once when two undo requests come at the same time: the second %s', async (_what, statement) => {
    const { jobId, numbers, isWhole } = await createLoadedTable(mode);
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => undoJob(company, jobId));
    const reasons = [readReason(await undoJob(company, jobId)), readReason(await outcome)];
    expect(reasons.toSorted()).toEqual(['already_undone', 'undone']);
    expect(await numbers()).toEqual(NUMBERS_BEFORE);
    await isWhole();
  });

  it('keeps another undo waiting once it has locked the job', async () => {
    const { jobId, numbers } = await createLoadedTable(mode);
    const { outcome } = await runBeforeNextStatement(company.id, /FOR NO KEY UPDATE/, () => undoJob(company, jobId));
    expect([readReason(await undoJob(company, jobId)), readReason(await outcome)]).toEqual([
      'undone',
      'already_undone',
    ]);
    expect(await numbers()).toEqual(NUMBERS_BEFORE);
  });

  it.each(['append', 'replace', 'upsert'])(
    'comes before a load in the mode %s, or is refused after the load',
    async (second) => {
      const key = second === 'upsert' ? ['n'] : [];
      const first = await createLoadedTable(mode);
      const earlierLoad = await createStagedJob(company, first.id, [20], second, key);
      const concurrentLoad = await runBeforeNextStatement(company.id, SELECT_UNDO_STATE_PATTERN, earlierLoad.publish);
      expect(readReason(await undoJob(company, first.jobId))).toBe('later_load');
      expect(await concurrentLoad.outcome).toBe('done');
      expect(await first.numbers()).toEqual(second === 'replace' ? [20] : [...LOADED_NUMBERS, 20]);
      await first.isWhole();

      const other = await createLoadedTable(mode);
      const laterLoad = await createStagedJob(company, other.id, [20], second, key);
      const waitingLoad = await runBeforeNextStatement(company.id, SET_UNDONE_AT_PATTERN, laterLoad.publish);
      expect(readReason(await undoJob(company, other.jobId))).toBe('undone');
      expect(await waitingLoad.outcome).toBe('done');
      expect(await other.numbers()).toEqual(second === 'replace' ? [20] : [...NUMBERS_BEFORE, 20]);
      await other.isWhole();
      if (second === 'upsert') return;
      // The load that came after can be undone in its turn.
      expect(readReason(await undoJob(company, laterLoad.jobId))).toBe('undone');
      expect(await other.numbers()).toEqual(NUMBERS_BEFORE);
      await other.isWhole();
    },
  );

  it('comes before or after manual changes of rows', async () => {
    const changeRows = async (routes: ReturnType<typeof createTableClient>, numbers: { id: string; n: number }[]) => {
      const findId = (wantedNumber: number) => numbers.find(({ n }) => n === wantedNumber)?.id as string;
      return [
        (await routes.updateRow(findId(10), { n: 100 })).status,
        (await routes.deleteRow(findId(11))).status,
        (await routes.insert([{ n: 77 }])).status,
      ];
    };
    for (const [statement, statuses] of [
      [SELECT_UNDO_STATE_PATTERN, [200, 204, 201]],
      [SET_UNDONE_AT_PATTERN, [404, 404, 201]],
    ] as const) {
      const { id, routes, jobId, numbers, isWhole } = await createLoadedTable(mode);
      const rows = (await readRows(company, id)) as { id: string; n: number }[];
      const { outcome } = await runBeforeNextStatement(company.id, statement, () => changeRows(routes, rows));
      expect(readReason(await undoJob(company, jobId))).toBe('undone');
      expect(await outcome).toEqual(statuses);
      expect(await numbers()).toEqual([...NUMBERS_BEFORE, 77]);
      await isWhole();
    }
  });

  it.each([
    ['truncated', 'truncated', (routes: ReturnType<typeof createTableClient>) => routes.truncate()],
    [
      'columns_changed',
      'retyped',
      (routes: ReturnType<typeof createTableClient>) => routes.put({ columns: [makeColumn('n', 'decimal')] }),
    ],
    ['table_deleted', 'deleted', (routes: ReturnType<typeof createTableClient>) => routes.delete()],
  ])('is refused as %s where its table is %s first, and otherwise succeeds', async (reason, _what, change) => {
    const first = await createLoadedTable(mode);
    const concurrentChangeBefore = await runBeforeNextStatement(company.id, SELECT_UNDO_STATE_PATTERN, () =>
      change(first.routes),
    );
    expect(readReason(await undoJob(company, first.jobId))).toBe(reason);
    expect((await concurrentChangeBefore.outcome).status).toBeLessThan(300);

    const other = await createLoadedTable(mode);
    const concurrentChangeAfter = await runBeforeNextStatement(company.id, SET_UNDONE_AT_PATTERN, () =>
      change(other.routes),
    );
    expect(readReason(await undoJob(company, other.jobId))).toBe('undone');
    expect((await concurrentChangeAfter.outcome).status).toBeLessThan(300);
    if (reason === 'table_deleted') expect((await other.routes.restore()).status).toBe(200);
    expect(await other.numbers()).toEqual(reason === 'truncated' ? [] : NUMBERS_BEFORE);
    await other.isWhole();
  });

  it('shows readers the rows from before, without a wait, until it ends', async () => {
    const { jobId, numbers } = await createLoadedTable(mode);
    const { outcome } = await runBeforeNextStatement(company.id, SET_UNDONE_AT_PATTERN, numbers);
    expect(readReason(await undoJob(company, jobId))).toBe('undone');
    expect(await outcome).toEqual(LOADED_NUMBERS);
    expect(await numbers()).toEqual(NUMBERS_BEFORE);
  });
});

describe('the undo of an upload that made a table', () => {
  async function createTableByUpload() {
    const job = await loadFiles(company, [makeFileOf([10, 11])], { display_name: `feita_${++tableCount}` });
    const routes = createTableClient(company.as, job.user_table_id);
    return { id: job.user_table_id as string, jobId: job._id as string, routes };
  }
  const readStatus = ({ status, body }: ApiResponse) => [status, body?.removed ?? body?.inserted];

  it.each([
    ['finds it undone', SELECT_UNDO_STATE_PATTERN],
    ['waits for it, and finds it undone', SET_UNDONE_AT_PATTERN],
  ])('is done once when two undo requests come at the same time: the second %s', async (_what, statement) => {
    const { jobId, routes } = await createTableByUpload();
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => undoJob(company, jobId));
    const reasons = [readReason(await undoJob(company, jobId)), readReason(await outcome)];
    expect(reasons.toSorted()).toEqual(['already_undone', 'undone']);
    expect((await routes.get()).status).toBe(404);
    expect((await routes.restore()).status).toBe(200);
    expect((await routes.rows()).body.total).toBe(2);
  });

  it('comes before or after an insert of rows', async () => {
    const first = await createTableByUpload();
    const insertBefore = await runBeforeNextStatement(company.id, SELECT_UNDO_STATE_PATTERN, () =>
      first.routes.insert([{ n: 77 }]),
    );
    expect(readStatus(await undoJob(company, first.jobId))).toEqual([200, 3]);
    expect(readStatus(await insertBefore.outcome)).toEqual([201, 1]);

    const other = await createTableByUpload();
    const concurrentInsert = await runBeforeNextStatement(company.id, SET_DELETED_AT_PATTERN, () =>
      other.routes.insert([{ n: 77 }]),
    );
    expect(readStatus(await undoJob(company, other.jobId))).toEqual([200, 2]);
    expect((await concurrentInsert.outcome).status).toBe(404);
    expect((await other.routes.restore()).status).toBe(200);
    expect((await other.routes.rows()).body.total).toBe(2);
  });

  it('comes before an upload into the table, or is refused while the upload is unfinished', async () => {
    const uploadInto = (id: string) => postFiles(company, [makeFileOf([20])], { ...createTestQueue(), into: id });
    const first = await createTableByUpload();
    const earlierUpload = await runBeforeNextStatement(company.id, SELECT_UNDO_STATE_PATTERN, () =>
      uploadInto(first.id),
    );
    expect(await undoJob(company, first.jobId)).toMatchObject({
      status: 409,
      body: { error_code: 'MANAGED_TABLE_LOCKED' },
    });
    expect((await earlierUpload.outcome).status).toBe(201);

    const other = await createTableByUpload();
    const laterUpload = await runBeforeNextStatement(company.id, SET_DELETED_AT_PATTERN, () => uploadInto(other.id));
    expect(readReason(await undoJob(company, other.jobId))).toBe('undone');
    expect((await laterUpload.outcome).status).toBe(404);
  });
});

describe('replaced rows that are kept for an undo', () => {
  it('are not restored when they are dropped just before the undo', async () => {
    const { jobId, numbers, isWhole } = await createLoadedTable('replace');
    const { outcome } = await runBeforeNextStatement(company.id, /IN ACCESS SHARE MODE/, () =>
      queryDatabase(company, (database) => database.execute(`DROP TABLE kept."${jobId}"`)),
    );
    expect(readReason(await undoJob(company, jobId))).toBe('too_old');
    await outcome;
    expect(await numbers()).toEqual([10, 11]);
    await isWhole();
  });

  it('include a manual change that comes just before they are replaced', async () => {
    const id = await createTable(company.as, `disputa_${++tableCount}`, [makeColumn('n', 'integer')]);
    const routes = createTableClient(company.as, id);
    await routes.insert([{ n: 0 }, { n: 1 }]);
    const [zero] = (await routes.rows()).body.records;
    const job = await createStagedJob(company, id, [10], 'replace');
    const { outcome } = await runBeforeNextStatement(company.id, /CREATE TABLE "kept"/, () =>
      routes.updateRow(zero.id, { n: 99 }),
    );
    expect(await job.publish()).toBe('done');
    expect((await outcome).status).toBe(200);
    expect(readReason(await undoJob(company, job.jobId))).toBe('undone');
    expect((await readRows(company, id)).map(({ n }) => n)).toEqual([99, 1]);
  });
});
