import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Upload } from 'tus-js-client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { writeOrdersCsv } from '../../bench/orders.ts';
import { type System, startSystem } from '../../bench/system.ts';
import { type CuttingProxy, startCuttingProxy } from '../packages/cutting-proxy.ts';
import { createRandomChoices, type RandomChoices } from '../support/random.ts';

/** The number of kills of the runtime during its work; for more: `KILLS=30 npx vitest run test/local/kills.test.ts`. */
const KILL_COUNT = Number(process.env.KILLS ?? 3);
const ROW_COUNT = 20_000;
/** The bytes that one message loads: so few that a load of megabytes takes dozens of messages. */
const UPLOAD_MESSAGE_BYTES = String(128 * 1024);
/** The maximum time of a kill and the start after it, even on a busy machine. */
const MAX_RESTART_MS = 120_000;

let system: System;
let postgres: Client;
let proxy: CuttingProxy;
beforeAll(async () => {
  system = await startSystem('test/local/kills-worker.ts', { UPLOAD_MESSAGE_BYTES });
  postgres = new Client({ connectionString: system.postgresUrl });
  await postgres.connect();
  proxy = await startCuttingProxy(system.baseUrl);
}, 180_000);
afterAll(async () => {
  proxy?.close();
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

const PART_BYTES = 8 * 1024 * 1024;
/** The number of uploads; for more: `RANDOM_UPLOADS=1000 npx vitest run test/local/kills.test.ts`. */
const UPLOAD_COUNT = Number(process.env.RANDOM_UPLOADS ?? 40);
/** The number of uploads of which one kills the runtime, which takes seconds to start again. */
const UPLOADS_PER_KILL = 20;
/** The maximum time of an upload, even on a busy machine. */
const MAX_UPLOAD_MS = 120_000;

const FILE_BYTES = Buffer.alloc(3 * PART_BYTES);
for (let at = 0; at < FILE_BYTES.length; at += 1)
  FILE_BYTES[at] = at % 64 === 63 ? 10 : 97 + ((Math.imul(at, 2_654_435_761) >>> 16) % 26);

/** Disturbances of an upload: connections are cut, its client dies and another one continues, or the runtime is killed. */
interface Disturbances {
  /** For each of the next connections, the number of bytes after which it is cut. */
  cutOffsets: number[];
  /** For each client, the number of sent bytes after which it dies. */
  clientAbortOffsets: number[];
  /** The number of sent bytes after which workerd is killed, and the delay in milliseconds. */
  killPoint?: { byteCount: number; delayMs: number };
}

function makeDisturbances(random: RandomChoices, length: number, isKilled: boolean): Disturbances {
  const makeByteCounts = (maxCount: number) => Array.from({ length: random.upTo(maxCount) }, () => random.upTo(length));
  return {
    cutOffsets: makeByteCounts(3).map((bytes) => bytes + random.upTo(2_000)),
    clientAbortOffsets: makeByteCounts(2),
    ...(isKilled && { killPoint: { byteCount: random.upTo(length), delayMs: random.upTo(100) } }),
  };
}

let pendingRestart: Promise<void> | undefined;

async function killRuntime(): Promise<void> {
  process.kill(await system.findWorkerdPid(), 'SIGKILL');
  await system.restart();
}

/** Sends bytes with clients that die and are replaced by others. @returns the id of the job */
async function sendBytes(
  bytes: Buffer,
  token: string,
  random: RandomChoices,
  { cutOffsets, clientAbortOffsets, killPoint }: Disturbances,
  counts: { killCount: number; deathCount: number },
): Promise<string> {
  proxy.cutOffsets = cutOffsets;
  let address: string | null = null;
  for (;;) {
    const clientAbortOffset = clientAbortOffsets.shift();
    const outcome = await new Promise<'whole' | 'dead'>((resolve, reject) => {
      const upload: Upload = new Upload(bytes, {
        endpoint: `${proxy.url}/v1/managed-tables/uploads`,
        ...(address && { uploadUrl: address }),
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: 'vendas.csv' },
        ...(random.chance(0.5) && { chunkSize: 1 + random.upTo(bytes.length) + (bytes.length >> 4) }),
        retryDelays: [0, 50, 100, 200, 500, ...Array(40).fill(1_000)],
        onUploadUrlAvailable: () => {
          address = upload.url;
        },
        onProgress: (sentBytes) => {
          if (killPoint && sentBytes >= killPoint.byteCount) {
            const { delayMs } = killPoint;
            killPoint = undefined;
            counts.killCount += 1;
            pendingRestart = sleep(delayMs).then(killRuntime);
          }
          if (clientAbortOffset !== undefined && sentBytes >= clientAbortOffset && address)
            void upload.abort().then(() => resolve('dead'), reject);
        },
        onError: reject,
        onSuccess: () => resolve('whole'),
      });
      upload.start();
    });
    if (outcome === 'whole') break;
    counts.deathCount += 1;
  }
  await pendingRestart;
  return (address as unknown as string).split('/').at(-1) as string;
}

/** The time after which a token is replaced: well before it expires, as an upload takes long on a slow machine. */
const MAX_TOKEN_AGE_MS = 5 * 60_000;

/** Computes the SHA-256 of the stored bytes of a job. */
async function computeStoredDigest(jobId: string): Promise<string> {
  const { rows } = await postgres.query('SELECT files FROM console.upload_jobs WHERE id = $1', [jobId]);
  return (await system.call('POST', '/digest', rows[0].files[0])).digest;
}

it(
  `resumable uploads arrive byte for byte when client, network and runtime fail at random (${UPLOAD_COUNT})`,
  async () => {
    const seed = inject('seed');
    const failedUploads: string[] = [];
    const counts = { cuts: 0, killCount: 0, deathCount: 0 };
    let token = '';
    let tokenTime = Number.NEGATIVE_INFINITY;
    for (let uploadNumber = 0; uploadNumber < UPLOAD_COUNT; uploadNumber += 1) {
      const random = createRandomChoices(seed + uploadNumber);
      const length = random.chance(0.95)
        ? 1 + random.upTo(200_000)
        : random.of([PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES, 2 * PART_BYTES + 7]);
      const bytes = FILE_BYTES.subarray(random.upTo(FILE_BYTES.length - length)).subarray(0, length);
      const isKilled = uploadNumber % UPLOADS_PER_KILL === UPLOADS_PER_KILL - 1;
      if (isKilled || performance.now() - tokenTime > MAX_TOKEN_AGE_MS) {
        token = await system.logIn();
        tokenTime = performance.now();
      }
      const connectionsBefore = proxy.cutCount;
      const jobId = await sendBytes(bytes, token, random, makeDisturbances(random, length, isKilled), counts);
      counts.cuts += proxy.cutCount - connectionsBefore;
      if ((await computeStoredDigest(jobId)) !== createHash('sha256').update(bytes).digest('hex'))
        failedUploads.push(`seed ${seed + uploadNumber}, ${length} bytes`);
    }
    console.log(`${UPLOAD_COUNT} uploads: ${JSON.stringify(counts)}`);
    expect(failedUploads).toEqual([]);
    expect(counts.cuts).toBeGreaterThan(0);
  },
  UPLOAD_COUNT * MAX_UPLOAD_MS,
);
