/**
 * Measures how fast a confirmed upload becomes a table, in the whole running system, beside `psql \copy` (or a plain
 * COPY through pg-copy-streams without psql) of the same file into an equivalent table with a UUID key, in the same
 * database and run.
 *
 *   npm run bench -- load   (or: npx node bench/load.ts [rows])
 *
 * 300,000 rows of six column types. From confirm to done must be at least 0.9 times as fast.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasPsql, measurePlainCopy } from './baseline.ts';
import { loadJob, type System, startSystem, uploadFile, waitForJob } from './system.ts';
import { formatRate, makeLowerLimit, printVerdict } from './verdict.ts';

const MIN_RATIO = 0.9;
const ROUND_COUNT = 5;
const ROW_COUNT = Number(process.argv[2] ?? 300_000);

const padToTwo = (number: number): string => String(number).padStart(2, '0');
const makeRow = (n: number): string =>
  [
    n,
    `"Cliente ${n}, filial ${n % 17}"`,
    `${n % 9973}.${padToTwo(n % 100)}`,
    n % 3 === 0 ? 'true' : 'false',
    n % 20 === 0 ? '' : `20${padToTwo(n % 25)}-${padToTwo(1 + (n % 12))}-${padToTwo(1 + (n % 28))}`,
    `2024-${padToTwo(1 + (n % 12))}-${padToTwo(1 + (n % 28))}T${padToTwo(n % 24)}:${padToTwo(n % 60)}:${padToTwo(n % 59)}Z`,
  ].join(',');

const HEADER = 'codigo,nome,valor,ativo,vencimento,criado_em';
const csv = Buffer.from(`${HEADER}\n${Array.from({ length: ROW_COUNT }, (_, n) => makeRow(n)).join('\n')}\n`);

const TABLE_COLUMNS_SQL = `(id uuid PRIMARY KEY DEFAULT uuidv7(), codigo bigint, nome text, valor numeric, ativo boolean,
  vencimento date, criado_em timestamptz)`;

/** Measures the milliseconds from upload to waiting (by polling), and from confirm to done (by the job's timestamps). */
async function measureUploadAndLoad(system: System, round: number): Promise<{ inferMs: number; loadMs: number }> {
  const uploadedAt = performance.now();
  const jobId = await uploadFile(system, new File([csv], 'carga.csv', { type: 'text/csv' }));
  const waitingJob = await waitForJob(system, jobId, 'waiting_confirm');
  const inferredAt = performance.now();
  const confirmedAt = Date.now();
  const job = await loadJob(system, waitingJob, { display_name: `carga_${round}` });
  if (job.progress.rows_processed !== ROW_COUNT) throw new Error(`loaded ${job.progress.rows_processed} rows`);
  return { inferMs: inferredAt - uploadedAt, loadMs: Date.parse(job.updated_at) - confirmedAt };
}

const folder = await mkdtemp(join(tmpdir(), 'data-console-load-'));
const file = join(folder, 'rows.csv');
await writeFile(file, csv);
const system = await startSystem();
try {
  const bestMs = { plain: Number.POSITIVE_INFINITY, load: Number.POSITIVE_INFINITY };
  console.log(
    `${ROW_COUNT.toLocaleString('en')} rows, ${(csv.length / 1e6).toFixed(1)} MB; baseline ${hasPsql ? 'psql \\copy' : 'pg-copy-streams'}`,
  );
  for (let round = 0; round <= ROUND_COUNT; round++) {
    const copyMs = await measurePlainCopy(system, file, TABLE_COLUMNS_SQL, HEADER);
    const { inferMs, loadMs } = await measureUploadAndLoad(system, round);
    const kind = round === 0 ? 'warm-up' : `round ${round}`;
    console.log(
      `${kind}: baseline ${copyMs.toFixed(0)} ms, confirm to done ${loadMs.toFixed(0)} ms, upload to waiting ${inferMs.toFixed(0)} ms`,
    );
    if (round === 0) continue;
    bestMs.plain = Math.min(bestMs.plain, copyMs);
    bestMs.load = Math.min(bestMs.load, loadMs);
  }
  const ratio = bestMs.plain / bestMs.load;
  console.log(
    `best: baseline ${formatRate(ROW_COUNT, bestMs.plain)}, confirm to done ${formatRate(ROW_COUNT, bestMs.load)}`,
  );
  printVerdict(
    '300,000 rows from confirm to done, against psql \\copy',
    ratio,
    makeLowerLimit(MIN_RATIO),
    'times as fast',
  );
} finally {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
