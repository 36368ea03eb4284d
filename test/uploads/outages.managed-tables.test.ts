import { env } from 'cloudflare:test';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { makeColumn, createTable as makeTable } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { disturbTunnel } from '../support/tunnel.ts';
import {
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  listTables,
  makeCsvTable,
  makeFile,
  postFiles,
  queryDatabase,
  readJob,
  readRows,
  runSweep,
  uploadFiles,
} from './support.ts';

const ROW_COUNT = 4_000;
/** Variables that limit a message to so few bytes that the file takes a dozen messages. */
const SMALL_MESSAGES = { UPLOAD_MESSAGE_BYTES: '12000' };
/** The number of cuts: fewer than a job's attempts without progress, because on a slow machine every attempt may be cut. */
const KILL_COUNT = 10;
const MINUTE_MS = 60_000;

const company = await createProvisionedCompany();

let tableCount = 0;

/** Creates a confirmed job. @returns its id and its message */
async function createConfirmedJob(queue: ReturnType<typeof createTestQueue>, tableId?: string) {
  const jobId = await uploadFiles(company, [makeFile('dados.csv', makeCsvTable(ROW_COUNT))], {
    ...queue,
    ...(tableId && { into: tableId }),
  });
  await deliverAllMessages(queue);
  const { columns } = (await readJob(company, jobId)).inferred_schema;
  await confirmJob(company, jobId, { display_name: `queda_${++tableCount}`, columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  return { jobId, message };
}

/** Cuts every other connection to the company's Postgres, as a killed runtime or a lost network does. */
const cutConnections = () =>
  queryDatabase(company, (database) =>
    database.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    ),
  );

/** Runs `work` while the company's Postgres accepts no connection. */
const runWhileDatabaseIsFull = (work: () => Promise<void>) =>
  queryDatabase(company, async (database) => {
    const limitConnections = (connectionCount: number) =>
      database.query(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT ${connectionCount}', current_database()); END $$`,
      );
    await limitConnections(0);
    try {
      await work();
    } finally {
      await limitConnections(-1);
    }
  });

const expectedCodes = Array.from({ length: ROW_COUNT }, (_, row) => row);

/** Finishes the job from whatever state it is in, as the scheduled run does. */
async function finishJob(queue: ReturnType<typeof createTestQueue>, jobId: string) {
  await runSweep(queue, 2 * MINUTE_MS);
  await deliverAllMessages(queue);
  return readJob(company, jobId);
}

describe('a load whose connection is cut at random moments', () => {
  it.each(['create', 'append'])('ends in the mode %s with exactly its rows', async (mode) => {
    const queue = createTestQueue();
    const name = `alvo_${++tableCount}`;
    const tableId =
      mode === 'append' ? await makeTable(company.as, name, [makeColumn('codigo', 'integer')]) : undefined;
    const { jobId, message } = await createConfirmedJob(queue, tableId);
    for (let killIndex = 0; killIndex < KILL_COUNT; killIndex += 1) {
      const delivery = deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 120));
      await cutConnections();
      await delivery;
      // What the message would have sent next is lost, too.
      queue.messages.length = 0;
    }
    const job = await finishJob(queue, jobId);
    expect(job).toMatchObject({ status: 'done', error: null });
    expect((await readRows(company, job.user_table_id)).map(({ codigo }) => codigo)).toEqual(expectedCodes);
    expect(await listTables(company)).not.toContainEqual(expect.stringMatching(/^console/));
  });
});

describe('a load whose database or object store is down', () => {
  it('waits for the database, and continues where it stopped', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES });
    const jobBefore = await readJob(company, jobId);
    expect(jobBefore.progress.rows_processed).toBeGreaterThan(0);

    await runWhileDatabaseIsFull(async () => {
      for (let attempt = 0; attempt < 20; attempt += 1) expect(await deliverMessage(message, queue.env)).toBe('again');
    });
    queue.messages.length = 0;
    expect(await readJob(company, jobId)).toMatchObject({ status: 'inserting', progress: jobBefore.progress });

    const job = await finishJob(queue, jobId);
    expect(job).toMatchObject({ status: 'done', progress: { rows_processed: ROW_COUNT } });
    expect((await readRows(company, job.user_table_id)).map(({ codigo }) => codigo)).toEqual(expectedCodes);
  });

  it('waits for the object store, and loads all rows', async () => {
    const queue = createTestQueue();
    const { jobId, message } = await createConfirmedJob(queue);
    const FILES = {
      get: async () => {
        throw new Error('the object store is down');
      },
    };
    expect(await deliverMessage(message, { ...queue.env, FILES })).toBe('again');
    expect(await finishJob(queue, jobId)).toMatchObject({ status: 'done', progress: { rows_processed: ROW_COUNT } });
  });

  it('does not report a zip archive as damaged when the object store fails to read it', async () => {
    const queue = createTestQueue();
    const zip = zipSync({ 'dados.csv': new TextEncoder().encode(makeCsvTable(ROW_COUNT)) }) as Uint8Array<ArrayBuffer>;
    const jobId = await uploadFiles(company, [makeFile('dados.zip', zip)], queue);
    const message = queue.messages.shift() as JobMessage;
    // The object store fails at the first read, then at the second, and so on through all that the work takes.
    let failureCount = 0;
    for (let outcome = 'again'; outcome === 'again'; failureCount += 1) {
      let readCount = 0;
      const FILES = {
        put: (...args: Parameters<R2Bucket['put']>) => env.FILES.put(...args),
        get: async (key: string, options: R2GetOptions) => {
          if (readCount++ === failureCount) throw new Error('the object store is down');
          return env.FILES.get(key, options);
        },
      };
      outcome = await deliverMessage(message, { ...queue.env, FILES });
    }
    expect(failureCount).toBeGreaterThan(3);
    await deliverAllMessages(queue);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm', error: null });
  });
});

it('an upload whose answer from the database is lost is answered with RESULT_UNKNOWN, keeps its files, and has its job resumed by the sweep', async () => {
  const queue = createTestQueue();
  await disturbTunnel(company.id, { statement: 'INSERT INTO console.upload_jobs', effect: 'lose_answer' });
  const answer = await postFiles(company, [makeFile('dados.csv', makeCsvTable(3))], queue);
  expect(answer).toMatchObject({ status: 503, body: { error_code: 'RESULT_UNKNOWN' } });
  // PostgreSQL does what it was told, and may come to it after we have answered.
  const countQueued = async () => {
    const { body } = await company.as.get('/v1/managed-tables/upload-jobs/active');
    return body.records.filter(({ status }: { status: string }) => status === 'queued');
  };
  await expect.poll(countQueued, { timeout: 10_000 }).toHaveLength(1);
  const [job] = await countQueued();
  await runSweep(queue, 2 * MINUTE_MS);
  await deliverAllMessages(queue);
  expect(await readJob(company, job._id)).toMatchObject({ status: 'waiting_confirm', error: null });
});
