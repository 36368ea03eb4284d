import { env } from 'cloudflare:test';
import { zipSync } from 'fflate';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { column, aTable as makeTable } from '../managed-tables/support.ts';
import { disturb } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import {
  aFile,
  aHeldQueue,
  aTable,
  confirm,
  deliver,
  deliverAll,
  inDatabase,
  jobOf,
  postFiles,
  rowsOf,
  sweep,
  tablesOf,
  upload,
} from './support.ts';

const ROWS = 4_000;
/** A dozen messages for the file. */
const SMALL = { UPLOAD_MESSAGE_BYTES: '12000' };
/** Fewer than the attempts that a job has without progress, which a slow machine may make of all of them. */
const KILLS = 10;
const MINUTE = 60_000;

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

let tableCount = 0;

/** A confirmed job, and its message. */
async function aConfirmedJob(queue: ReturnType<typeof aHeldQueue>, into?: string) {
  const jobId = await upload(company, [aFile('dados.csv', aTable(ROWS))], { ...queue, ...(into && { into }) });
  await deliverAll(queue);
  const { columns } = (await jobOf(company, jobId)).inferred_schema;
  await confirm(company, jobId, { display_name: `queda_${++tableCount}`, columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  return { jobId, message };
}

/** Cuts every connection to the company's Postgres but the one that does it, as a killed runtime or a lost network does. */
const cutConnections = () =>
  inDatabase(company, (database) =>
    database.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    ),
  );

/** While `work` runs, the company's Postgres takes no connection. */
const whileDatabaseIsFull = (work: () => Promise<void>) =>
  inDatabase(company, async (database) => {
    const limit = (connections: number) =>
      database.query(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT ${connections}', current_database()); END $$`,
      );
    await limit(0);
    try {
      await work();
    } finally {
      await limit(-1);
    }
  });

const codes = Array.from({ length: ROWS }, (_, row) => row);

/** Ends the job, from wherever it stands, as the scheduled run does. */
async function finish(queue: ReturnType<typeof aHeldQueue>, jobId: string) {
  await sweep(queue, 2 * MINUTE);
  await deliverAll(queue);
  return jobOf(company, jobId);
}

describe('a load whose connection is cut at random moments', () => {
  it.each(['create', 'append'])('ends in the mode %s with exactly its rows', async (mode) => {
    const queue = aHeldQueue();
    const name = `alvo_${++tableCount}`;
    const into = mode === 'append' ? await makeTable(company.as, name, [column('codigo', 'integer')]) : undefined;
    const { jobId, message } = await aConfirmedJob(queue, into);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const delivery = deliver(message, { ...queue.env, ...SMALL });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 120));
      await cutConnections();
      await delivery;
      // What the message would have sent next is lost, too.
      queue.messages.length = 0;
    }
    const job = await finish(queue, jobId);
    expect(job).toMatchObject({ status: 'done', error: null });
    expect((await rowsOf(company, job.user_table_id)).map(({ codigo }) => codigo)).toEqual(codes);
    expect(await tablesOf(company)).not.toContainEqual(expect.stringMatching(/^console/));
  });
});

describe('a load whose database or object store is down', () => {
  it('waits for the database, and goes on where it stopped', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await aConfirmedJob(queue);
    await deliver(message, { ...queue.env, ...SMALL });
    const before = await jobOf(company, jobId);
    expect(before.progress.rows_processed).toBeGreaterThan(0);

    await whileDatabaseIsFull(async () => {
      for (let attempt = 0; attempt < 20; attempt += 1) expect(await deliver(message, queue.env)).toBe('again');
    });
    queue.messages.length = 0;
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'inserting', progress: before.progress });

    const job = await finish(queue, jobId);
    expect(job).toMatchObject({ status: 'done', progress: { rows_processed: ROWS } });
    expect((await rowsOf(company, job.user_table_id)).map(({ codigo }) => codigo)).toEqual(codes);
  });

  it('waits for the object store, and loads all rows', async () => {
    const queue = aHeldQueue();
    const { jobId, message } = await aConfirmedJob(queue);
    const FILES = {
      get: async () => {
        throw new Error('the object store is down');
      },
    };
    expect(await deliver(message, { ...queue.env, FILES })).toBe('again');
    expect(await finish(queue, jobId)).toMatchObject({ status: 'done', progress: { rows_processed: ROWS } });
  });

  it('does not report a zip archive as damaged when the object store fails to read it', async () => {
    const queue = aHeldQueue();
    const zip = zipSync({ 'dados.csv': new TextEncoder().encode(aTable(ROWS)) }) as Uint8Array<ArrayBuffer>;
    const jobId = await upload(company, [aFile('dados.zip', zip)], queue);
    const message = queue.messages.shift() as JobMessage;
    // The object store fails at the first read, then at the second, and so on through all that the work takes.
    let failures = 0;
    for (let outcome = 'again'; outcome === 'again'; failures += 1) {
      let reads = 0;
      const FILES = {
        put: (...args: Parameters<R2Bucket['put']>) => env.FILES.put(...args),
        get: async (key: string, options: R2GetOptions) => {
          if (reads++ === failures) throw new Error('the object store is down');
          return env.FILES.get(key, options);
        },
      };
      outcome = await deliver(message, { ...queue.env, FILES });
    }
    expect(failures).toBeGreaterThan(3);
    await deliverAll(queue);
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'waiting_confirm', error: null });
  });
});

describe('an upload whose answer from the database is lost', () => {
  it('is answered with RESULT_UNKNOWN, keeps its files, and has its job resumed by the sweep', async () => {
    const queue = aHeldQueue();
    await disturb(company.id, { statement: 'INSERT INTO console.upload_jobs', effect: 'lose_answer' });
    const answer = await postFiles(company, [aFile('dados.csv', aTable(3))], queue);
    expect(answer).toMatchObject({ status: 503, body: { error_code: 'RESULT_UNKNOWN' } });
    // PostgreSQL does what it was told, and may come to it after we have answered.
    const queued = async () => {
      const { body } = await company.as.get('/v1/managed-tables/upload-jobs/active');
      return body.records.filter(({ status }: { status: string }) => status === 'queued');
    };
    await expect.poll(queued, { timeout: 10_000 }).toHaveLength(1);
    const [job] = await queued();
    await sweep(queue, 2 * MINUTE);
    await deliverAll(queue);
    expect(await jobOf(company, job._id)).toMatchObject({ status: 'waiting_confirm', error: null });
  });
});
