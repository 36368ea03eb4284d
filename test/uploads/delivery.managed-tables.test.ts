import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createProvisionedCompany } from '../support/companies.ts';
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
  readRows,
  runSweep,
  uploadFiles,
} from './support.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Variables that limit a message to so few bytes that a test file takes many messages. */
const SMALL_MESSAGES = { UPLOAD_MESSAGE_BYTES: '16384' };
const ROW_COUNT = 12_000;
const UUID_V7_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const company = await createProvisionedCompany();

describe('an upload job', () => {
  let name: string;
  /** Creates a confirmed job whose load has not begun. @returns its id and message */
  async function createConfirmedJob(
    queue: ReturnType<typeof createTestQueue>,
  ): Promise<{ jobId: string; message: JobMessage }> {
    name = `tabela_${Math.random().toString(36).slice(2)}`;
    const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(ROW_COUNT))], queue);
    await deliverAllMessages(queue);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    await confirmJob(company, jobId, { display_name: name, columns }, queue);
    return { jobId, message: queue.messages.shift() as JobMessage };
  }

  async function expectExactRows(jobId: string): Promise<void> {
    const job = await readJob(company, jobId);
    expect(job).toMatchObject({ status: 'done', error: null, progress: { phase: 'done', rows_processed: ROW_COUNT } });
    const rows = await readRows(company, job.user_table_id);
    expect(rows.map((row) => row.codigo)).toEqual(Array.from({ length: ROW_COUNT }, (_, row) => row));
    expect(new Set(rows.map((row) => row.id)).size).toBe(ROW_COUNT);
    expect(rows.filter((row) => !UUID_V7_PATTERN.test(String(row.id)))).toEqual([]);
    expect((await company.as.get(`/v1/managed-tables/${job.user_table_id}`)).body).toMatchObject({
      display_name: name,
      source: 'upload',
      row_count: ROW_COUNT,
    });
    expect(await listTables(company)).not.toContainEqual(expect.stringMatching(/^console/));
  }

  it('continues from one queue message to the next, and shows its progress', async () => {
    const queue = createTestQueue();
    name = 'devagar';
    const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(ROW_COUNT))], queue);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'queued', progress: null });

    await deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, ...SMALL_MESSAGES });
    const analysingJob = await readJob(company, jobId);
    expect(analysingJob).toMatchObject({ status: 'analisando', progress: { phase: 'analisando', rows_total: null } });
    expect(analysingJob.progress.rows_processed).toBeGreaterThan(0);
    expect(await deliverAllMessages(queue, SMALL_MESSAGES)).toBeGreaterThan(3);

    const { columns } = (await readJob(company, jobId)).inferred_schema;
    await confirmJob(company, jobId, { display_name: name, columns }, queue);
    await deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, ...SMALL_MESSAGES });
    const { progress } = await readJob(company, jobId);
    expect(progress).toMatchObject({ phase: 'inserting', rows_total: ROW_COUNT });
    expect(progress.rows_processed).toBeGreaterThan(0);
    expect(progress.rows_processed).toBeLessThan(ROW_COUNT);
    expect(progress.bytes_processed).toBeLessThan(progress.bytes_total);
    expect(await deliverAllMessages(queue, SMALL_MESSAGES)).toBeGreaterThanOrEqual(9);
    await expectExactRows(jobId);
  });

  it('loads its rows once, however often and in parallel its messages are delivered', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    // In whatever order they come: those that decide are brought about below.
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(
        [message, message, message].map((copy) => deliverMessage(copy, { ...queue.env, ...SMALL_MESSAGES })),
      );
    }
    await deliverAllMessages(queue, SMALL_MESSAGES);
    await deliverMessage(message, queue.env);
    await expectExactRows(jobId);
  });

  it('is analysed once, however often its messages are delivered', async () => {
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(ROW_COUNT))], queue);
    const message = queue.messages.shift() as JobMessage;
    await Promise.all(
      [message, message, message].map((copy) => deliverMessage(copy, { ...queue.env, ...SMALL_MESSAGES })),
    );
    await deliverAllMessages(queue, SMALL_MESSAGES);
    await deliverMessage(message, queue.env);
    expect(await readJob(company, jobId)).toMatchObject({
      status: 'waiting_confirm',
      inferred_schema: { total_row_count_estimate: ROW_COUNT },
    });
    await cancelJob(company, jobId);
  });

  it('is not changed by a delivery that another delivery overtakes in the analysis', async () => {
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(ROW_COUNT))], queue);
    const message = queue.messages.shift() as JobMessage;
    const { outcome } = await runBeforeNextStatement(company.id, /SET step = step \+ 1, state = \$4/, async () => {
      await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
      await deliverAllMessages(queue, SMALL_MESSAGES);
      return readJob(company, jobId);
    });
    await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
    const analysedJob = await outcome;
    expect(analysedJob).toMatchObject({ status: 'waiting_confirm' });
    expect(await readJob(company, jobId)).toEqual(analysedJob);
    expect(queue.messages).toEqual([]);
    await cancelJob(company, jobId);
  });

  it('loads each chunk once when one delivery overtakes another', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    const redeliverMessage = () => deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
    const { outcome } = await runBeforeNextStatement(company.id, /SELECT 1 \/ count/, redeliverMessage);
    await redeliverMessage();
    await outcome;
    await deliverAllMessages(queue, SMALL_MESSAGES);
    await expectExactRows(jobId);
  });

  it('survives the loss of its database connection in the middle of a chunk', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
    await queryDatabase(company, async (database) => {
      const [staging] = await database.query<{ name: string }>(
        `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'`,
      );
      // The COPY that waits for this lock is under way when its connection is cut.
      const outcome = await database.runInTransaction(async (tx) => {
        await tx.execute(`LOCK TABLE console."${staging?.name}"`);
        const delivery = deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
        let killedCount = 0;
        while (killedCount === 0) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          await tx.execute('SELECT pg_stat_clear_snapshot()');
          killedCount = await tx.execute(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE '%COPY %' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`,
          );
        }
        return delivery;
      });
      expect(outcome).toBe('again');
    });
    expect(await readJob(company, jobId)).toMatchObject({ status: 'inserting' });
    await deliverMessage(message, queue.env);
    await expectExactRows(jobId);
  });

  it('is resumed when its messages are lost', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
    // As if the isolate had died before it sent the next message.
    queue.messages.length = 0;
    await runSweep(queue);
    expect(queue.messages).toEqual([]);
    await runSweep(queue, 2 * MINUTE_MS);
    expect(queue.messages).toContainEqual(
      expect.objectContaining({ type: 'upload.load', companyId: company.id, jobId }),
    );
    await deliverAllMessages(queue);
    await expectExactRows(jobId);
  });

  it('fails after twelve attempts without progress', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    await queryDatabase(company, (database) =>
      database.execute('UPDATE console.upload_jobs SET attempts = 12 WHERE id = $1', [jobId]),
    );
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'RETRIES_EXHAUSTED' } });
  });

  it('ends when it is cancelled in the middle of the load, and leaves no table', async () => {
    const queue = createTestQueue();
    const tablesBefore = await listTables(company);
    const { jobId, message } = await createConfirmedJob(queue);
    await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
    expect((await listTables(company)).length).toBe(tablesBefore.length + 1);
    expect(await cancelJob(company, jobId)).toMatchObject({ status: 200, body: { status: 'failed' } });
    expect(await listTables(company)).toEqual(tablesBefore);
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect(await listTables(company)).toEqual(tablesBefore);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } });
    expect((await cancelJob(company, jobId)).body.error_code).toBe('UPLOAD_JOB_ENDED');
  });

  it('expires when nobody confirms it within a day', async () => {
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(10))], queue);
    await deliverAllMessages(queue);
    await runSweep(queue, 24 * HOUR_MS - MINUTE_MS);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
    await runSweep(queue, 24 * HOUR_MS + MINUTE_MS);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'EXPIRED' } });
  });

  it('has its files deleted a day after its end, and stored files without a job are deleted too', async () => {
    const company = await createProvisionedCompany();
    const queue = createTestQueue();
    const finishedJob = await loadFiles(company, [
      makeFile('a.csv', makeCsvTable(10)),
      makeFile('b.csv', makeCsvTable(10)),
    ]);
    const openJobId = await uploadFiles(company, [makeFile('c.csv', makeCsvTable(10))], queue);
    const orphanKey = `uploads/${company.id}/${Math.floor(Date.now() / 1000).toString(16)}0123456789abcdef/made/0`;
    await env.FILES.put(orphanKey, 'a,b');
    await deliverAllMessages(queue);
    await runSweep(queue, 24 * HOUR_MS - MINUTE_MS);
    expect(await listStoredFiles(company)).toHaveLength(4);
    await runSweep(queue, 24 * HOUR_MS + MINUTE_MS);
    expect(await listStoredFiles(company)).toEqual([`uploads/${company.id}/${openJobId}/0`]);
    await runSweep(queue, 49 * HOUR_MS);
    expect(await listStoredFiles(company)).toEqual([]);
    expect(await readRows(company, finishedJob.user_table_id)).toHaveLength(20);
  });
});
