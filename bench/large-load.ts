/**
 * Loads a large file in the whole running system: 1M rows of nine columns, about 99 MB.
 *
 *   npm run bench -- large-load   (or: npx node bench/large-load.ts [rows])
 *
 * From confirm to done must be at least 1.1 times as fast as `psql \copy` of the same file into an equivalent table
 * with a UUID key in the same database. From upload to waiting_confirm (by the job's timestamps) may take 1.5 times as
 * long as a bare papaparse pass over the same bytes in Node. Also prints rows/s, the CPU time of each process, and the
 * peak resident memory of workerd. CPU and memory need Linux.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { hasPsql, measurePlainCopy } from './baseline.ts';
import { ORDERS_COLUMNS_SQL, writeOrdersCsv } from './orders.ts';
import { countRowsWithPapaparse } from './papaparse.ts';
import { loadJob, type System, startSystem, uploadFile, waitForJob } from './system.ts';
import { readCpuSeconds, readResidentMemory } from './usage.ts';
import { formatRate, makeLowerLimit, makeUpperLimit, measureMilliseconds, printVerdict } from './verdict.ts';

const MIN_LOAD_RATIO = 1.1;
const MAX_INFER_RATIO = 1.5;
const ROUND_COUNT = 3;
const ROW_COUNT = Number(process.argv[2] ?? 1_000_000);

const csv = writeOrdersCsv(ROW_COUNT);
const header = new TextDecoder().decode(csv.subarray(0, csv.indexOf(10)));

/** Finds the process id of the server process of the company's Postgres. */
async function findPostmaster(system: System): Promise<number> {
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8');
  await client.end();
  return Number(/PPid:\s+(\d+)/.exec(status)?.[1]);
}

/** Uploads and loads the file through the API. @returns times in ms, CPU in seconds */
async function measureUploadAndLoad(system: System, postgresPid: number, round: number) {
  const workerPid = await system.findWorkerdPid();
  const workerCpuBefore = await readCpuSeconds(workerPid);
  const sentAt = Date.now();
  const jobId = await uploadFile(system, new File([csv], 'pedidos.csv', { type: 'text/csv' }));
  const receivedAt = Date.now();
  const waitingJob = await waitForJob(system, jobId, 'waiting_confirm');
  const workerCpuInferred = await readCpuSeconds(workerPid);
  const postgresCpuBefore = await readCpuSeconds(postgresPid, true);
  const ownCpuBefore = process.cpuUsage();
  const confirmedAt = Date.now();
  const loadedJob = await loadJob(system, waitingJob, { display_name: `pedidos_${round}` });
  const workerCpuLoaded = await readCpuSeconds(workerPid);
  const ownCpu = process.cpuUsage(ownCpuBefore);
  if (loadedJob.progress.rows_processed !== ROW_COUNT)
    throw new Error(`loaded ${loadedJob.progress.rows_processed} rows`);
  // The server counts a session's time once the session has ended.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const postgresLoadCpu = (await readCpuSeconds(postgresPid, true)) - postgresCpuBefore;
  return {
    receive: receivedAt - sentAt,
    infer: Date.parse(waitingJob.updated_at) - receivedAt,
    load: Date.parse(loadedJob.updated_at) - confirmedAt,
    cpu: {
      workerInfer: workerCpuInferred - workerCpuBefore,
      workerLoad: workerCpuLoaded - workerCpuInferred,
      postgresLoad: postgresLoadCpu,
      here: (ownCpu.user + ownCpu.system) / 1e6,
    },
  };
}

function parseWithPapaparse(): void {
  if (countRowsWithPapaparse(csv) !== ROW_COUNT) throw new Error('papaparse saw other rows');
}

const folder = await mkdtemp(join(tmpdir(), 'data-console-load-'));
const file = join(folder, 'rows.csv');
await writeFile(file, csv);
const system = await startSystem();
try {
  console.log(`${ROW_COUNT.toLocaleString('en')} rows, nine columns, ${(csv.length / 1e6).toFixed(1)} MB`);
  const postgresPid = await findPostmaster(system);
  const infinity = Number.POSITIVE_INFINITY;
  const best = { papaparse: infinity, plain: infinity, receive: infinity, infer: infinity, load: infinity };
  for (let round = 0; round <= ROUND_COUNT; round++) {
    const papaparseMs = await measureMilliseconds(parseWithPapaparse);
    const copyMs = await measurePlainCopy(system, file, ORDERS_COLUMNS_SQL, header);
    const { receive, infer, load, cpu } = await measureUploadAndLoad(system, postgresPid, round);
    const times = { papaparse: papaparseMs, plain: copyMs, receive, infer, load };
    const timeTexts = Object.entries(times).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
    console.log(`${round === 0 ? 'warm-up' : `round ${round}`}: ${timeTexts.join(', ')}`);
    console.log(
      `  CPU: workerd ${cpu.workerInfer.toFixed(1)} s to receive and infer, ${cpu.workerLoad.toFixed(1)} s to load;` +
        ` meanwhile PostgreSQL ${cpu.postgresLoad.toFixed(1)} s, its proxy and this ${cpu.here.toFixed(1)} s`,
    );
    if (round === 0) continue;
    for (const name of Object.keys(best) as (keyof typeof best)[]) best[name] = Math.min(best[name], times[name]);
  }
  const formatRowRate = (ms: number) => formatRate(ROW_COUNT, ms);
  console.log(
    `best: ${hasPsql ? 'psql \\copy' : 'pg-copy-streams'} ${formatRowRate(best.plain)}, confirm to done ${formatRowRate(best.load)}`,
  );
  console.log(
    `      papaparse ${formatRowRate(best.papaparse)}, upload to waiting_confirm ${formatRowRate(best.infer)}`,
  );
  const { peakMb } = await readResidentMemory(await system.findWorkerdPid());
  console.log(`peak resident memory of workerd ${peakMb.toFixed(0)} MB, R2's simulator included`);
  const loadRatio = best.plain / best.load;
  const inferRatio = best.infer / best.papaparse;
  printVerdict(
    '1M rows from upload to waiting_confirm, against a bare papaparse pass',
    inferRatio,
    makeUpperLimit(MAX_INFER_RATIO),
  );
  printVerdict(
    '1M rows from confirm to done, against psql \\copy',
    loadRatio,
    makeLowerLimit(MIN_LOAD_RATIO),
    'times as fast',
  );
} finally {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
