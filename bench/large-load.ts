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
import { copyPlainly, hasPsql } from './baseline.ts';
import { ORDERS_TABLE, writeOrdersCsv } from './orders.ts';
import { papaparse } from './papaparse.ts';
import { loadJob, type System, startSystem, uploadFile, waitForJob } from './system.ts';
import { readCpuSeconds, readResidentMemory } from './usage.ts';
import { formatRate, makeLowerLimit, makeUpperLimit, measureMilliseconds, printVerdict } from './verdict.ts';

const LOAD_LIMIT = 1.1;
const INFER_LIMIT = 1.5;
const ROUNDS = 3;
const ROWS = Number(process.argv[2] ?? 1_000_000);

const csv = writeOrdersCsv(ROWS);
const header = new TextDecoder().decode(csv.subarray(0, csv.indexOf(10)));

/** Process id of the server process for the company's Postgres. */
async function findPostmaster(system: System): Promise<number> {
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8');
  await client.end();
  return Number(/PPid:\s+(\d+)/.exec(status)?.[1]);
}

/** Times in ms, CPU in seconds. */
async function measureOurs(system: System, server: number, round: number) {
  const worker = await system.workerd();
  const workerAtFirst = await readCpuSeconds(worker);
  const sent = Date.now();
  const jobId = await uploadFile(system, new File([csv], 'pedidos.csv', { type: 'text/csv' }));
  const received = Date.now();
  const waiting = await waitForJob(system, jobId, 'waiting_confirm');
  const workerInferred = await readCpuSeconds(worker);
  const postgresBefore = await readCpuSeconds(server, true);
  const hereBefore = process.cpuUsage();
  const confirmed = Date.now();
  const done = await loadJob(system, waiting, { display_name: `pedidos_${round}` });
  const workerLoaded = await readCpuSeconds(worker);
  const here = process.cpuUsage(hereBefore);
  if (done.progress.rows_processed !== ROWS) throw new Error(`loaded ${done.progress.rows_processed} rows`);
  // The server counts a session's time once the session has ended.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const postgresLoad = (await readCpuSeconds(server, true)) - postgresBefore;
  return {
    receive: received - sent,
    infer: Date.parse(waiting.updated_at) - received,
    load: Date.parse(done.updated_at) - confirmed,
    cpu: {
      workerInfer: workerInferred - workerAtFirst,
      workerLoad: workerLoaded - workerInferred,
      postgresLoad,
      here: (here.user + here.system) / 1e6,
    },
  };
}

function barePass(): void {
  if (papaparse(csv) !== ROWS) throw new Error('papaparse saw other rows');
}

const folder = await mkdtemp(join(tmpdir(), 'data-console-load-'));
const file = join(folder, 'rows.csv');
await writeFile(file, csv);
const system = await startSystem();
try {
  console.log(`${ROWS.toLocaleString('en')} rows, nine columns, ${(csv.length / 1e6).toFixed(1)} MB`);
  const server = await findPostmaster(system);
  const never = Number.POSITIVE_INFINITY;
  const best = { papaparse: never, plain: never, receive: never, infer: never, load: never };
  for (let round = 0; round <= ROUNDS; round++) {
    const bare = await measureMilliseconds(barePass);
    const plain = await copyPlainly(system, file, ORDERS_TABLE, header);
    const { receive, infer, load, cpu } = await measureOurs(system, server, round);
    const times = { papaparse: bare, plain, receive, infer, load };
    const said = Object.entries(times).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
    console.log(`${round === 0 ? 'warm-up' : `round ${round}`}: ${said.join(', ')}`);
    console.log(
      `  CPU: workerd ${cpu.workerInfer.toFixed(1)} s to receive and infer, ${cpu.workerLoad.toFixed(1)} s to load;` +
        ` meanwhile PostgreSQL ${cpu.postgresLoad.toFixed(1)} s, its proxy and this ${cpu.here.toFixed(1)} s`,
    );
    if (round === 0) continue;
    for (const name of Object.keys(best) as (keyof typeof best)[]) best[name] = Math.min(best[name], times[name]);
  }
  const rate = (ms: number) => formatRate(ROWS, ms);
  console.log(
    `best: ${hasPsql ? 'psql \\copy' : 'pg-copy-streams'} ${rate(best.plain)}, confirm to done ${rate(best.load)}`,
  );
  console.log(`      papaparse ${rate(best.papaparse)}, upload to waiting_confirm ${rate(best.infer)}`);
  const { peak } = await readResidentMemory(await system.workerd());
  console.log(`peak resident memory of workerd ${peak.toFixed(0)} MB, R2's simulator included`);
  const loading = best.plain / best.load;
  const inferring = best.infer / best.papaparse;
  printVerdict(
    '1M rows from upload to waiting_confirm, against a bare papaparse pass',
    inferring,
    makeUpperLimit(INFER_LIMIT),
  );
  printVerdict(
    '1M rows from confirm to done, against psql \\copy',
    loading,
    makeLowerLimit(LOAD_LIMIT),
    'times as fast',
  );
} finally {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
