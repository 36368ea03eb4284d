import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeOrdersCsv } from '../../bench/orders.ts';
import { type System, startSystem } from '../../bench/system.ts';

/** The number of kills of the runtime during its work; for more: `KILLS=30 npx vitest run test/local/kills.test.ts`. */
const KILL_COUNT = Number(process.env.KILLS ?? 3);
const ROW_COUNT = 40_000;
/** The bytes that one message loads: so few that a load of megabytes takes dozens of messages. */
const UPLOAD_MESSAGE_BYTES = String(256 * 1024);
/** The maximum time of a kill and the start after it, even on a busy machine. */
const MAX_RESTART_MS = 120_000;

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

const file = new File([writeOrdersCsv(ROW_COUNT)], 'pedidos.csv', { type: 'text/csv' });
const formatJobPath = (id: string) => `/v1/managed-tables/upload-jobs/${id}`;

/** Reads a job's status from the company's Postgres, independent of the API. */
async function readStatus(jobId: string): Promise<string> {
  const { rows } = await postgres.query('SELECT status FROM console.upload_jobs WHERE id = $1', [jobId]);
  return rows[0].status;
}

const hasEnded = (status: string): boolean => status === 'done' || status === 'failed';

interface TableLoad {
  jobId: string;
  mode: string;
  table: string;
  /** The number of rows in the table before the load. */
  rowCountBefore: number;
}

/** Begins a load: in turn, it creates a table, appends rows to it, or replaces its rows. */
async function beginLoad(count: number, last: TableLoad | undefined): Promise<TableLoad> {
  const mode = ['create', 'append', 'replace'][count % 3] as string;
  const form = new FormData();
  if (mode !== 'create') form.append('mode', mode);
  form.append('files', file);
  const table = mode === 'create' || !last ? `pedidos_${count}` : last.table;
  const rowCountBefore = mode === 'create' ? 0 : await countRows(table);
  const { records } = await system.call('GET', '/v1/managed-tables');
  const id = records.find(({ display_name: name }: { display_name: string }) => name === table)?._id;
  const path = id === undefined ? '/v1/managed-tables/upload' : `/v1/managed-tables/${id}/upload`;
  const { job_id: jobId } = await system.call('POST', path, form);
  return { jobId, mode, table, rowCountBefore };
}

async function countRows(table: string): Promise<number> {
  const { rows } = await postgres.query(`SELECT count(*)::int AS count FROM public."${table}"`);
  return rows[0].count;
}

/** Confirms the job when it waits for a confirmation, until the job has ended or the API does not answer any more. */
async function followJob({ jobId, table }: TableLoad): Promise<void> {
  for (const deadline = Date.now() + MAX_RESTART_MS; ; ) {
    const job = await system.call('GET', formatJobPath(jobId));
    if (hasEnded(job.status)) return;
    if (Date.now() > deadline) throw new Error(`nobody takes up ${JSON.stringify({ ...job, inferred_schema: null })}`);
    if (job.status === 'waiting_confirm') {
      await system.call('POST', `${formatJobPath(jobId)}/confirm`, {
        display_name: table,
        columns: job.inferred_schema.columns,
      });
    }
    await sleep(50);
  }
}

/** Requires that the job has ended correctly: all of its rows are there, once and in their order, or none of them. */
async function checkJob({ jobId, mode, table, rowCountBefore: rowsBefore }: TableLoad): Promise<string> {
  const job = await system.call('GET', formatJobPath(jobId));
  const { rows: leftoverTables } = await postgres.query(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'`,
  );
  expect(leftoverTables).toEqual([]);
  const { records } = await system.call('GET', '/v1/managed-tables');
  const record = records.find(({ display_name: name }: { display_name: string }) => name === table);
  if (job.status === 'failed') {
    if (mode === 'create') expect(record).toBeUndefined();
    else expect(await countRows(table)).toBe(rowsBefore);
    return 'failed';
  }
  expect(job).toMatchObject({ status: 'done', error: null, user_table_id: record._id });
  const expectedCount = mode === 'append' ? rowsBefore + ROW_COUNT : ROW_COUNT;
  const { rows } = await postgres.query(
    `SELECT count(*)::int AS count, bool_and(pedido = 1 + (place - 1) % ${ROW_COUNT}) AS in_order
     FROM (SELECT pedido, row_number() OVER (ORDER BY id) AS place FROM public."${table}") AS numbered`,
  );
  expect(rows).toEqual([{ count: expectedCount, in_order: true }]);
  expect(record.row_count).toBe(expectedCount);
  return 'done';
}

let sweepCount = 0;

/** Makes the scheduled run, each time as if one more minute had passed, as a run continues a job only after a minute. */
async function runSweep(): Promise<void> {
  sweepCount += 1;
  await system.call('POST', `/sweep?minutes=${1 + sweepCount}`);
}

/** Requires that the job makes no progress: its message was lost with the runtime, and only the scheduled run resumes it. */
async function expectNoProgress({ jobId }: TableLoad): Promise<void> {
  const readStep = async () =>
    (await postgres.query('SELECT step FROM console.upload_jobs WHERE id = $1', [jobId])).rows;
  const stepBefore = await readStep();
  await sleep(200);
  expect(await readStep()).toEqual(stepBefore);
}

it(
  `an upload during which the runtime is killed ends with exactly its rows, or fails with none (${KILL_COUNT} kills)`,
  async () => {
    // An undisturbed load says how long one takes.
    let load = await beginLoad(0, undefined);
    const startedAt = Date.now();
    await followJob(load);
    const durationMs = Date.now() - startedAt;
    expect(await checkJob(load)).toBe('done');

    const counts: Record<string, number> = {};
    const countOutcome = (outcome: string) => {
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    };
    for (let count = 1, killCount = 0, isUnfinished = false; killCount < KILL_COUNT; ) {
      if (!isUnfinished) load = await beginLoad(count++, load);
      const pendingFollower = followJob(load).catch(() => undefined);
      await sleep(Math.random() * durationMs);
      process.kill(await system.findWorkerdPid(), 'SIGKILL');
      await pendingFollower;
      const status = await readStatus(load.jobId);
      isUnfinished = !hasEnded(status);
      if (isUnfinished) {
        killCount += 1;
        countOutcome(`killed while ${status}`);
      }
      await system.restart();
      if (isUnfinished && killCount < KILL_COUNT && Math.random() < 0.5) {
        // The same load is killed again, soon after it was taken up.
        await runSweep();
        continue;
      }
      if (isUnfinished) {
        if (status !== 'waiting_confirm') await expectNoProgress(load);
        await runSweep();
      }
      await followJob(load);
      countOutcome(await checkJob(load));
      isUnfinished = false;
    }
    console.log(`${KILL_COUNT} kills: ${JSON.stringify(counts)}`);
    expect(counts.done ?? 0).toBeGreaterThan(0);
  },
  (KILL_COUNT + 2) * MAX_RESTART_MS,
);
