import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import {
  aFile,
  aHeldQueue,
  aTable,
  cancel,
  confirm,
  deliver,
  deliverAll,
  inDatabase,
  jobOf,
  load,
  rowsOf,
  storedFiles,
  sweep,
  tablesOf,
  upload,
} from './support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Small enough for a file of tests to take many messages. */
const SMALL = { UPLOAD_MESSAGE_BYTES: '32768' };
const ROWS = 20_000;
const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('an upload job', () => {
  let company: Company;
  let name: string;
  beforeAll(async () => {
    company = await aProvisionedCompany();
  });

  /** A confirmed job whose load has not begun, with its message. */
  async function confirmed(queue: ReturnType<typeof aHeldQueue>): Promise<{ jobId: string; message: JobMessage }> {
    name = `tabela_${Math.random().toString(36).slice(2)}`;
    const jobId = await upload(company, [aFile('dados.csv', aTable(ROWS))], queue);
    await deliverAll(queue);
    const { columns } = (await jobOf(company, jobId)).inferred_schema;
    await confirm(company, jobId, { display_name: name, columns }, queue);
    return { jobId, message: queue.messages.shift() as JobMessage };
  }

  async function hasExactlyItsRows(jobId: string): Promise<void> {
    const job = await jobOf(company, jobId);
    expect(job).toMatchObject({ status: 'done', error: null, progress: { phase: 'done', rows_processed: ROWS } });
    const rows = await rowsOf(company, job.user_table_id);
    expect(rows.map((row) => row.codigo)).toEqual(Array.from({ length: ROWS }, (_, row) => row));
    expect(new Set(rows.map((row) => row.id)).size).toBe(ROWS);
    expect(rows.filter((row) => !VERSION_7.test(String(row.id)))).toEqual([]);
    expect((await company.as.get(`/v1/managed-tables/${job.user_table_id}`)).body).toMatchObject({
      display_name: name,
      source: 'upload',
      row_count: ROWS,
    });
    expect(await tablesOf(company)).not.toContainEqual(expect.stringMatching(/^console/));
  }

  it('goes on from one queue message to the next, and shows its progress', async () => {
    const queue = aHeldQueue();
    name = 'devagar';
    const jobId = await upload(company, [aFile('dados.csv', aTable(ROWS))], queue);
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'queued', progress: null });

    await deliver(queue.messages.shift() as JobMessage, { ...queue.env, ...SMALL });
    const analysing = await jobOf(company, jobId);
    expect(analysing).toMatchObject({ status: 'analisando', progress: { phase: 'analisando', rows_total: null } });
    expect(analysing.progress.rows_processed).toBeGreaterThan(0);
    expect(await deliverAll(queue, SMALL)).toBeGreaterThan(3);

    const { columns } = (await jobOf(company, jobId)).inferred_schema;
    await confirm(company, jobId, { display_name: name, columns }, queue);
    await deliver(queue.messages.shift() as JobMessage, { ...queue.env, ...SMALL });
    const { progress } = await jobOf(company, jobId);
    expect(progress).toMatchObject({ phase: 'inserting', rows_total: ROWS });
    expect(progress.rows_processed).toBeGreaterThan(0);
    expect(progress.rows_processed).toBeLessThan(ROWS);
    expect(progress.bytes_processed).toBeLessThan(progress.bytes_total);
    expect(await deliverAll(queue, SMALL)).toBeGreaterThanOrEqual(9);
    await hasExactlyItsRows(jobId);
  });

  it('loads its rows once, however often and in parallel its messages are delivered', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await confirmed(queue);
    // In whatever order they come: those that decide are brought about below.
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([message, message, message].map((copy) => deliver(copy, { ...queue.env, ...SMALL })));
    }
    await deliverAll(queue, SMALL);
    await deliver(message, queue.env);
    await hasExactlyItsRows(jobId);
  });

  it('is analysed once, however often its messages are delivered', async () => {
    const queue = aHeldQueue();
    const jobId = await upload(company, [aFile('dados.csv', aTable(ROWS))], queue);
    const message = queue.messages.shift() as JobMessage;
    await Promise.all([message, message, message].map((copy) => deliver(copy, { ...queue.env, ...SMALL })));
    await deliverAll(queue, SMALL);
    await deliver(message, queue.env);
    expect(await jobOf(company, jobId)).toMatchObject({
      status: 'waiting_confirm',
      inferred_schema: { total_row_count_estimate: ROWS },
    });
    await cancel(company, jobId);
  });

  it('is not changed by a delivery that another one overtakes in the analysis', async () => {
    const queue = aHeldQueue();
    const jobId = await upload(company, [aFile('dados.csv', aTable(ROWS))], queue);
    const message = queue.messages.shift() as JobMessage;
    const { outcome } = await rivalBeforeStatement(company.id, /SET step = step \+ 1, state = \$4/, async () => {
      await deliver(message, { ...queue.env, ...SMALL });
      await deliverAll(queue, SMALL);
      return jobOf(company, jobId);
    });
    await deliver(message, { ...queue.env, ...SMALL });
    const analysed = await outcome;
    expect(analysed).toMatchObject({ status: 'waiting_confirm' });
    expect(await jobOf(company, jobId)).toEqual(analysed);
    expect(queue.messages).toEqual([]);
    await cancel(company, jobId);
  });

  it('loads each chunk once when one delivery overtakes another', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await confirmed(queue);
    const again = () => deliver(message, { ...queue.env, ...SMALL });
    const { outcome } = await rivalBeforeStatement(company.id, /SELECT 1 \/ count/, again);
    await again();
    await outcome;
    await deliverAll(queue, SMALL);
    await hasExactlyItsRows(jobId);
  });

  it('survives the loss of its database connection in the middle of a chunk', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await confirmed(queue);
    await deliver(message, { ...queue.env, ...SMALL });
    await inDatabase(company, async (database) => {
      const [staging] = await database.query<{ name: string }>(
        `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'`,
      );
      // The COPY that waits for this lock is under way when its connection is cut.
      const outcome = await database.transaction(async (tx) => {
        await tx.execute(`LOCK TABLE console."${staging?.name}"`);
        const delivery = deliver(message, { ...queue.env, ...SMALL });
        let killed = 0;
        while (killed === 0) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          await tx.execute('SELECT pg_stat_clear_snapshot()');
          killed = await tx.execute(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE '%COPY %' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`,
          );
        }
        return delivery;
      });
      expect(outcome).toBe('again');
    });
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'inserting' });
    await deliver(message, queue.env);
    await hasExactlyItsRows(jobId);
  });

  it('is resumed when its messages are lost', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await confirmed(queue);
    await deliver(message, { ...queue.env, ...SMALL });
    // As if the isolate had died before it sent the next message.
    queue.messages.length = 0;
    await sweep(queue);
    expect(queue.messages).toEqual([]);
    await sweep(queue, 2 * MINUTE);
    expect(queue.messages).toContainEqual(
      expect.objectContaining({ type: 'upload.load', companyId: company.id, jobId }),
    );
    await deliverAll(queue);
    await hasExactlyItsRows(jobId);
  });

  it('fails after twelve attempts without progress', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await confirmed(queue);
    await inDatabase(company, (database) =>
      database.execute('UPDATE console.upload_jobs SET attempts = 12 WHERE id = $1', [jobId]),
    );
    expect(await deliver(message, queue.env)).toBe('done');
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'RETRIES_EXHAUSTED' } });
  });

  it('ends when it is cancelled in the middle of the load, and leaves no table', async () => {
    const queue = aHeldQueue();
    const before = await tablesOf(company);
    const { jobId, message } = await confirmed(queue);
    await deliver(message, { ...queue.env, ...SMALL });
    expect((await tablesOf(company)).length).toBe(before.length + 1);
    expect(await cancel(company, jobId)).toMatchObject({ status: 200, body: { status: 'failed' } });
    expect(await tablesOf(company)).toEqual(before);
    expect(await deliver(message, queue.env)).toBe('done');
    expect(await tablesOf(company)).toEqual(before);
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } });
    expect((await cancel(company, jobId)).body.error_code).toBe('UPLOAD_JOB_ENDED');
  });

  it('expires when nobody confirms it within a day', async () => {
    const queue = aHeldQueue();
    const jobId = await upload(company, [aFile('dados.csv', aTable(10))], queue);
    await deliverAll(queue);
    await sweep(queue, 24 * HOUR - MINUTE);
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
    await sweep(queue, 24 * HOUR + MINUTE);
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'EXPIRED' } });
  });

  it('has its files deleted a day after its end, as are stored files without a job', async () => {
    const company = await aProvisionedCompany();
    const queue = aHeldQueue();
    const done = await load(company, [aFile('a.csv', aTable(10)), aFile('b.csv', aTable(10))]);
    const open = await upload(company, [aFile('c.csv', aTable(10))], queue);
    const orphan = `uploads/${company.id}/${Math.floor(Date.now() / 1000).toString(16)}0123456789abcdef/0`;
    await env.FILES.put(orphan, 'a,b');
    await deliverAll(queue);
    await sweep(queue, 24 * HOUR - MINUTE);
    expect(await storedFiles(company)).toHaveLength(4);
    await sweep(queue, 24 * HOUR + MINUTE);
    expect(await storedFiles(company)).toEqual([`uploads/${company.id}/${open}/0`]);
    await sweep(queue, 49 * HOUR);
    expect(await storedFiles(company)).toEqual([]);
    expect(await rowsOf(company, done.user_table_id)).toHaveLength(20);
  });
});
