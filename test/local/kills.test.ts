import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeOrdersCsv } from '../../bench/orders.ts';
import { type System, startSystem } from '../../bench/system.ts';

/** Kills of the runtime in mid-work; more of them: `KILLS=30 npx vitest run test/local/kills.test.ts`. */
const KILLS = Number(process.env.KILLS ?? 3);
const ROWS = 40_000;
/** So little for each message that a load of megabytes takes dozens of them. */
const UPLOAD_MESSAGE_BYTES = String(256 * 1024);
/** What a kill and the start after it may take where the machine is busy: a bound for what hangs. */
const KILL_MS = 120_000;

let system: System;
let postgres: Client;
beforeAll(async () => {
  system = await startSystem('test/local/kills-worker.ts', { UPLOAD_MESSAGE_BYTES });
  postgres = new Client({ connectionString: system.postgresUrl });
  await postgres.connect();
}, 180_000);
afterAll(async () => {
  await postgres?.end();
  await system?.stop();
}, 180_000);

const file = new File([writeOrdersCsv(ROWS)], 'pedidos.csv', { type: 'text/csv' });
const jobPath = (id: string) => `/v1/managed-tables/upload-jobs/${id}`;

/** What the company's Postgres itself says of a job, whether or not anybody answers for it. */
async function readStatus(jobId: string): Promise<string> {
  const { rows } = await postgres.query('SELECT status FROM console.upload_jobs WHERE id = $1', [jobId]);
  return rows[0].status;
}

const hasEnded = (status: string): boolean => status === 'done' || status === 'failed';

interface Load {
  jobId: string;
  mode: string;
  table: string;
  /** Rows of the table before. */
  before: number;
}

/** A new table, more rows for it, other rows for it, in turn. */
async function beginLoad(count: number, last: Load | undefined): Promise<Load> {
  const mode = ['create', 'append', 'replace'][count % 3] as string;
  const form = new FormData();
  if (mode !== 'create') form.append('mode', mode);
  form.append('files', file);
  const table = mode === 'create' || !last ? `pedidos_${count}` : last.table;
  const before = mode === 'create' ? 0 : await countRows(table);
  const { records } = await system.call('GET', '/v1/managed-tables');
  const id = records.find(({ display_name: name }: { display_name: string }) => name === table)?._id;
  const path = id === undefined ? '/v1/managed-tables/upload' : `/v1/managed-tables/${id}/upload`;
  const { job_id: jobId } = await system.call('POST', path, form);
  return { jobId, mode, table, before };
}

async function countRows(table: string): Promise<number> {
  const { rows } = await postgres.query(`SELECT count(*)::int AS count FROM public."${table}"`);
  return rows[0].count;
}

/** Plays the person, who confirms when asked to; until the job has ended or nobody answers any more. */
async function followJob({ jobId, table }: Load): Promise<void> {
  for (const patience = Date.now() + KILL_MS; ; ) {
    const job = await system.call('GET', jobPath(jobId));
    if (hasEnded(job.status)) return;
    if (Date.now() > patience) throw new Error(`nobody takes up ${JSON.stringify({ ...job, inferred_schema: null })}`);
    if (job.status === 'waiting_confirm') {
      await system.call('POST', `${jobPath(jobId)}/confirm`, {
        display_name: table,
        columns: job.inferred_schema.columns,
      });
    }
    await sleep(50);
  }
}

/** The job ended as it must: all of its rows are there once and in their order, or none of them. */
async function checkJob({ jobId, mode, table, before }: Load): Promise<string> {
  const job = await system.call('GET', jobPath(jobId));
  const { rows: loose } = await postgres.query(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'`,
  );
  expect(loose).toEqual([]);
  const { records } = await system.call('GET', '/v1/managed-tables');
  const record = records.find(({ display_name: name }: { display_name: string }) => name === table);
  if (job.status === 'failed') {
    if (mode === 'create') expect(record).toBeUndefined();
    else expect(await countRows(table)).toBe(before);
    return 'failed';
  }
  expect(job).toMatchObject({ status: 'done', error: null, user_table_id: record._id });
  const expected = mode === 'append' ? before + ROWS : ROWS;
  const { rows } = await postgres.query(
    `SELECT count(*)::int AS count, bool_and(pedido = 1 + (place - 1) % ${ROWS}) AS in_order
     FROM (SELECT pedido, row_number() OVER (ORDER BY id) AS place FROM public."${table}") AS numbered`,
  );
  expect(rows).toEqual([{ count: expected, in_order: true }]);
  expect(record.row_count).toBe(expected);
  return 'done';
}

let sweeps = 0;

/** The scheduled run of a later minute each time: having taken up a job, it comes back to it after a minute. */
async function runSweep(): Promise<void> {
  sweeps += 1;
  await system.call('POST', `/sweep?minutes=${1 + sweeps}`);
}

/** The message of the job died with the runtime: nothing happens until the scheduled run comes by. */
async function isMessageLost({ jobId }: Load): Promise<void> {
  const step = async () => (await postgres.query('SELECT step FROM console.upload_jobs WHERE id = $1', [jobId])).rows;
  const before = await step();
  await sleep(200);
  expect(await step()).toEqual(before);
}

it(
  `an upload during which the runtime is killed ends with exactly its rows, or fails with none (${KILLS} kills)`,
  async () => {
    // An undisturbed load says how long one takes.
    let load = await beginLoad(0, undefined);
    const began = Date.now();
    await followJob(load);
    const duration = Date.now() - began;
    expect(await checkJob(load)).toBe('done');

    const seen: Record<string, number> = {};
    const saw = (what: string) => {
      seen[what] = (seen[what] ?? 0) + 1;
    };
    for (let count = 1, kills = 0, open = false; kills < KILLS; ) {
      if (!open) load = await beginLoad(count++, load);
      const person = followJob(load).catch(() => undefined);
      await sleep(Math.random() * duration);
      process.kill(await system.workerd(), 'SIGKILL');
      await person;
      const status = await readStatus(load.jobId);
      open = !hasEnded(status);
      if (open) {
        kills += 1;
        saw(`killed while ${status}`);
      }
      await system.restart();
      if (open && kills < KILLS && Math.random() < 0.5) {
        // The same load is killed again, soon after it was taken up.
        await runSweep();
        continue;
      }
      if (open) {
        if (status !== 'waiting_confirm') await isMessageLost(load);
        await runSweep();
      }
      await followJob(load);
      saw(await checkJob(load));
      open = false;
    }
    console.log(`${KILLS} kills: ${JSON.stringify(seen)}`);
    expect(seen.done ?? 0).toBeGreaterThan(0);
  },
  (KILLS + 2) * KILL_MS,
);
