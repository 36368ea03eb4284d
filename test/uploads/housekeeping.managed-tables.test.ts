import { zipSync } from 'fflate';
import { beforeEach, describe, expect, it } from 'vitest';
import { clock } from '../../src/kernel/clock.ts';
import { scheduleSweep } from '../../src/modules/managed-database/service.ts';
import { createTableClient, makeColumn, createTable as makeTable } from '../managed-tables/support.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { selectRow, sendDuringRace } from '../support/race.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  listStoredFiles,
  listTables,
  loadFiles,
  makeCsvTable,
  makeFile,
  queryDatabase,
  readJob,
  runSweep,
  uploadFiles,
} from './support.ts';
import { makeSheetWorkbook, parseCells } from './workbooks.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

let company: Company;
let queue: ReturnType<typeof createTestQueue>;
beforeEach(async () => {
  // A sweep of weeks later ends sessions, too.
  company = await createProvisionedCompany();
  queue = createTestQueue();
});

const listJobRows = () =>
  queryDatabase(company, (database) =>
    database.query<{ id: string }>('SELECT id FROM console.upload_jobs ORDER BY id'),
  );

it('files that were unpacked from a zip archive and its workbooks are deleted a day after their job ends', async () => {
  const workbook = makeSheetWorkbook(parseCells('codigo|nome|criado_em', '1|Ana|2024-01-31'));
  const zip = zipSync({
    'a.csv': new TextEncoder().encode(makeCsvTable(5)),
    'b.xlsx': workbook,
  }) as Uint8Array<ArrayBuffer>;
  const jobId = await uploadFiles(company, [makeFile('tudo.zip', zip)], queue);
  await deliverAllMessages(queue);
  expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
  // The archive, two entries unpacked, the workbook's sheet unpacked, and its text.
  expect(await listStoredFiles(company)).toHaveLength(5);
  await cancelJob(company, jobId);
  await runSweep(queue, DAY_MS - HOUR_MS);
  expect(await listStoredFiles(company)).toHaveLength(5);
  await runSweep(queue, DAY_MS + HOUR_MS);
  expect(await listStoredFiles(company)).toEqual([]);
});

it('files of a running job are kept, however long the job takes', async () => {
  const analysedJob = await uploadFiles(company, [makeFile('a.csv', makeCsvTable(10))], queue);
  await deliverAllMessages(queue);
  const { columns } = (await readJob(company, analysedJob)).inferred_schema;
  await confirmJob(company, analysedJob, { display_name: 'demorada', columns }, queue);
  const waitingJob = await uploadFiles(company, [makeFile('b.csv', makeCsvTable(10))], queue);
  // As if the queue had been away all the while.
  queue.messages.length = 0;
  await runSweep(queue, 3 * DAY_MS);
  expect(await listStoredFiles(company)).toHaveLength(2);
  await deliverAllMessages(queue);
  expect(await readJob(company, analysedJob)).toMatchObject({ status: 'done', progress: { rows_processed: 10 } });
  expect(await readJob(company, waitingJob)).toMatchObject({ status: 'waiting_confirm' });
});

it('staged rows of a job that is gone are dropped, but not those of a running job', async () => {
  const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(20_000))], queue);
  await deliverAllMessages(queue);
  const { columns } = (await readJob(company, jobId)).inferred_schema;
  await confirmJob(company, jobId, { display_name: 'em_carga', columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  await deliverMessage(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: '32768' });
  const tablesBefore = await listTables(company);
  await queryDatabase(company, (database) =>
    database.execute('CREATE TABLE console."0123456789abcdef01234567" (id uuid, codigo bigint)'),
  );
  await runSweep(queue, 2 * 60_000);
  expect(await listTables(company)).toEqual(tablesBefore);
  expect(tablesBefore).toContainEqual(expect.stringMatching(/^console/));
  await deliverAllMessages(queue);
  expect(await readJob(company, jobId)).toMatchObject({ status: 'done', progress: { rows_processed: 20_000 } });
});

it('a deleted table is kept in the trash for 30 days, and then dropped by the sweep', async () => {
  const ids = [
    await makeTable(company.as, 'apagada', [makeColumn('a')]),
    await makeTable(company.as, 'ficou', [makeColumn('a')]),
  ] as const;
  expect((await createTableClient(company.as, ids[0]).delete()).status).toBe(204);
  await runSweep(queue, 30 * DAY_MS - HOUR_MS);
  expect(await listTables(company)).toContain(`trash.${ids[0]}`);
  await runSweep(queue, 30 * DAY_MS + HOUR_MS);
  const tables = await listTables(company);
  expect(tables).not.toContain(`trash.${ids[0]}`);
  expect(tables).toContain('public.ficou');
});

describe('a deleted table that a sweep is about to drop', () => {
  const TABLE_DELETION_PATTERN = /DELETE FROM console\.managed_tables/;
  /** Runs `work` by the real clock, which the sweeps of these tests are weeks ahead of. */
  const runByRealClock = async <T>(work: () => Promise<T>): Promise<T> => {
    const { now } = clock;
    const sweepClock = () => Date.now();
    clock.now = sweepClock;
    try {
      return await work();
    } finally {
      // Unless the sweep has ended meanwhile.
      if (clock.now === sweepClock) clock.now = now;
    }
  };
  const createDeletedTable = async (name: string) => {
    const id = await makeTable(company.as, name, [makeColumn('a')]);
    const routes = createTableClient(company.as, id);
    await routes.insert([{ a: 'x' }]);
    expect((await routes.delete()).status).toBe(204);
    return { id, routes };
  };

  it('is kept when it is restored just before the sweep drops it', async () => {
    const { id, routes } = await createDeletedTable('de_volta');
    const { outcome } = await runBeforeNextStatement(company.id, TABLE_DELETION_PATTERN, () =>
      runByRealClock(() => routes.restore()),
    );
    await runSweep(queue, 30 * DAY_MS + HOUR_MS);
    expect((await outcome).status).toBe(200);
    expect((await routes.rows()).body).toMatchObject({ total: 1, records: [{ a: 'x' }] });
    expect(await listTables(company)).toEqual(['public.de_volta']);
    expect(await listTables(company)).not.toContain(`trash.${id}`);
  });

  it('is kept when it is restored and deleted again just before the sweep drops it', async () => {
    const { id, routes } = await createDeletedTable('de_novo');
    const restoreAndDelete = async () => [(await routes.restore()).status, (await routes.delete()).status];
    const { outcome } = await runBeforeNextStatement(company.id, TABLE_DELETION_PATTERN, async () => {
      const statuses = await runByRealClock(restoreAndDelete);
      await queryDatabase(company, (database) =>
        database.execute(`UPDATE console.managed_tables SET deleted_at = now() + interval '30 days' WHERE id = $1`, [
          id,
        ]),
      );
      return statuses;
    });
    await runSweep(queue, 30 * DAY_MS + HOUR_MS);
    expect(await outcome).toEqual([200, 204]);
    expect(await listTables(company)).toEqual([`trash.${id}`]);
  });

  it('cannot be restored while it is dropped', async () => {
    const { routes } = await createDeletedTable('foi_se');
    const { outcome } = await runBeforeNextStatement(company.id, /DROP TABLE .*trash/, () =>
      runByRealClock(() => routes.restore()),
    );
    await runSweep(queue, 30 * DAY_MS + HOUR_MS);
    expect((await outcome).status).toBe(404);
    expect(await listTables(company)).toEqual([]);
  });
});

it('an index whose build failed is dropped by the sweep, but not one that is being built', async () => {
  const id = await makeTable(company.as, 'half_indexed', [makeColumn('a')]);
  const routes = createTableClient(company.as, id);
  await routes.insert([{ a: 'x' }, { a: 'x' }]);
  // It schedules the sweep.
  expect((await routes.index(['a'], true)).status).toBe(422);
  const brokenIndexSql = `CREATE UNIQUE INDEX CONCURRENTLY "idx$${'0'.repeat(24)}" ON "public"."half_indexed" ("a")`;
  const listRemainingFiles = () =>
    queryDatabase(company, (database) => database.query('SELECT FROM pg_index WHERE NOT indisvalid')).then(
      (all) => all.length,
    );
  await queryDatabase(company, async (indexDatabase) => {
    await indexDatabase.executeOutsideTransaction(brokenIndexSql, 10_000).catch(() => undefined);
    await indexDatabase.query('SELECT pg_advisory_lock(728346191, hashtext($1))', [id]);
    await runSweep(queue, HOUR_MS);
    expect(await listRemainingFiles()).toBe(1);
    await indexDatabase.query('SELECT pg_advisory_unlock(728346191, hashtext($1))', [id]);
  });
  await runSweep(queue, 2 * HOUR_MS);
  expect(await listRemainingFiles()).toBe(0);
});

it('a sweep that is scheduled while another sweep runs stays scheduled', async () => {
  const dueAt = Date.now() + 60_000;
  const scheduleConcurrentSweep = () =>
    runInContext({ kind: 'system' as const, companyId: company.id }, (ctx) => scheduleSweep(ctx, dueAt));
  await cancelJob(company, await uploadFiles(company, [makeFile('a.csv', makeCsvTable(1))], queue));
  await sendDuringRace(/"sweep_marks" = \?/, scheduleConcurrentSweep, (racingEnv) =>
    runSweep({ ...queue, env: { ...queue.env, ...racingEnv } }, DAY_MS - HOUR_MS),
  );
  const sweepQuery = 'SELECT sweep_at FROM managed_databases WHERE company_id = ?';
  expect(await selectRow(sweepQuery, company.id)).toEqual({ sweep_at: dueAt });
});

it('an upload job is deleted 90 days after its end, but its table is kept', async () => {
  const job = await loadFiles(company, [makeFile('dados.csv', makeCsvTable(3))], { display_name: 'lembrada' });
  await runSweep(queue, 89 * DAY_MS);
  expect(await listJobRows()).toContainEqual({ id: job._id });
  await runSweep(queue, 91 * DAY_MS);
  expect(await listJobRows()).toEqual([]);
  expect(await listTables(company)).toEqual(['public.lembrada']);
});

describe('a sweep of upload jobs', () => {
  const readErrorCode = async (id: string, inCompany = company): Promise<string | undefined> => {
    const errorQuery = `SELECT error ->> 'code' AS code FROM console.upload_jobs WHERE id = $1`;
    const [row] = await queryDatabase(inCompany, (database) => database.query<{ code: string }>(errorQuery, [id]));
    return row?.code;
  };
  const createWaitingJob = async (of: Company) => {
    const jobId = await uploadFiles(of, [makeFile('a.csv', makeCsvTable(1))], queue);
    await deliverAllMessages(queue);
    return jobId;
  };

  it('succeeds when the state of a job holds half of a surrogate pair', async () => {
    const waitingJob = await createWaitingJob(company);
    const workingJob = await uploadFiles(company, [makeFile('b.csv', makeCsvTable(1))], queue);
    queue.messages.length = 0;
    await queryDatabase(company, async (database) => {
      await database.execute('UPDATE console.upload_jobs SET state = $2::json WHERE id = $1', [
        workingJob,
        '{"read":"\\ud83d"}',
      ]);
      await database.execute('CREATE TABLE console."0123456789abcdef01234567" (id uuid)');
    });
    await runSweep(queue, DAY_MS + HOUR_MS);
    expect(await readErrorCode(waitingJob)).toBe('EXPIRED');
    expect(await listTables(company)).toEqual([]);
    expect(queue.messages).toContainEqual(expect.objectContaining({ type: 'upload.analyse', jobId: workingJob }));
  });

  it('expires jobs and drops tables when the object store is down, and deletes files later', async () => {
    const waitingJob = await createWaitingJob(company);
    const id = await makeTable(company.as, 'apagada', [makeColumn('a')]);
    await createTableClient(company.as, id).delete();
    const FILES = {
      list: async () => {
        throw new Error('the object store is down');
      },
    };
    await runSweep({ ...queue, env: { ...queue.env, FILES } }, 31 * DAY_MS);
    expect(await readErrorCode(waitingJob)).toBe('EXPIRED');
    expect(await listTables(company)).toEqual([]);
    // It is tried again a minute later.
    await runSweep(queue, 31 * DAY_MS + 2 * 60_000);
    await runSweep(queue, 32 * DAY_MS + HOUR_MS);
    expect(await listStoredFiles(company)).toEqual([]);
  });

  it('resumes a silent job behind more unconfirmed jobs than one query reads', async () => {
    const silentJob = await uploadFiles(company, [makeFile('a.csv', makeCsvTable(1))], queue);
    queue.messages.length = 0;
    await queryDatabase(company, (database) =>
      database.execute(
        `INSERT INTO console.upload_jobs (id, company_id, created_by_user_id, mode, status, files, created_at, updated_at)
         SELECT lpad(n::text, 24, '0'), company_id, created_by_user_id, mode, 'waiting_confirm', files, created_at,
           updated_at - interval '1 hour'
         FROM console.upload_jobs, generate_series(1, 1001) AS n WHERE id = $1`,
        [silentJob],
      ),
    );
    await runSweep(queue, 2 * 60_000);
    expect(queue.messages).toEqual([expect.objectContaining({ type: 'upload.analyse', jobId: silentJob })]);
  });

  it.each([0, 1])(
    'reaches one company while the database of another company does not answer, whichever comes first (%i)',
    async (stuckIndex) => {
      const companies = [company, await createProvisionedCompany()] as const;
      const waitingJobs = [await createWaitingJob(companies[0]), await createWaitingJob(companies[1])] as const;
      const freeIndex = 1 - stuckIndex;
      const { outcome } = await runBeforeNextStatement(
        (companies[stuckIndex] as Company).id,
        /upload_jobs/,
        async () => {
          const isExpired = async () =>
            (await readErrorCode(waitingJobs[freeIndex] as string, companies[freeIndex])) === 'EXPIRED';
          while (!(await isExpired())) await new Promise((resolve) => setTimeout(resolve, 50));
        },
      );
      await runSweep(queue, DAY_MS + HOUR_MS);
      await outcome;
      // It waited for the other one, and was not given up.
      expect(await readErrorCode(waitingJobs[stuckIndex] as string, companies[stuckIndex])).toBe('EXPIRED');
    },
  );
});
