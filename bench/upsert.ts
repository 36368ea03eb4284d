/**
 * Measures an upsert of 300,000 rows in the whole running system, beside `INSERT … ON CONFLICT DO UPDATE` of the same rows
 * from a staging table in `psql` (or by node-postgres without psql), in the same database and run. Both go into a table of
 * 300,000 rows with a UUID key and a unique index; half of the rows are there already, with another value.
 *
 *   npm run bench -- upsert   (or: npx node bench/upsert.ts [rows])
 *
 * From confirm to done, the copy into staging included, must be at least 0.5 times as fast.
 */
import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { hasPsql } from './baseline.ts';
import { loadJob, type System, startSystem, uploadFile, waitForJob } from './system.ts';
import { makeLowerLimit, printVerdict } from './verdict.ts';

const MIN_RATIO = 0.5;
const ROUND_COUNT = 3;
const ROW_COUNT = Number(process.argv[2] ?? 300_000);

const HEADER = 'codigo,nome,valor';
const makeRows = (from: number, nameSuffix: string): string =>
  Array.from(
    { length: ROW_COUNT },
    (_, n) => `${from + n},"Cliente ${from + n} ${nameSuffix}",${(from + n) % 9973}.25`,
  ).join('\n');
const CSV_BEFORE = `${HEADER}\n${makeRows(0, 'antes')}\n`;
const CSV_AFTER = `${HEADER}\n${makeRows(ROW_COUNT / 2, 'depois')}\n`;

/** Uploads a file and waits for its inference. @returns its job, which waits for its confirmation */
async function uploadAndInfer(system: System, csv: string, fields?: Record<string, string>, table?: string) {
  const jobId = await uploadFile(system, new File([csv], 'carga.csv', { type: 'text/csv' }), fields, table);
  return waitForJob(system, jobId, 'waiting_confirm');
}

const UPSERT_SQL = `INSERT INTO baseline (codigo, nome, valor) SELECT codigo, nome, valor FROM baseline_staged
  ON CONFLICT (codigo) DO UPDATE SET nome = excluded.nome, valor = excluded.valor`;

/**
 * Measures the milliseconds of the upsert in SQL: the rows of `tableAfter`, from a staging table, into a copy of `tableBefore`.
 */
async function measurePlainUpsert(system: System, tableBefore: string, tableAfter: string): Promise<number> {
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    await client.query(`DROP TABLE IF EXISTS baseline, baseline_staged;
      CREATE TABLE baseline (id uuid PRIMARY KEY DEFAULT uuidv7(), codigo bigint, nome text, valor numeric);
      INSERT INTO baseline (codigo, nome, valor) SELECT codigo, nome, valor FROM public.${tableBefore};
      CREATE UNIQUE INDEX ON baseline (codigo);
      CREATE TABLE baseline_staged AS SELECT codigo, nome, valor FROM public.${tableAfter}`);
    await client.query('VACUUM ANALYZE baseline, baseline_staged');
    const startedAt = performance.now();
    if (hasPsql) {
      const { status, stderr } = spawnSync('psql', [system.postgresUrl, '-qc', UPSERT_SQL]);
      if (status !== 0) throw new Error(String(stderr));
    } else await client.query(UPSERT_SQL);
    return performance.now() - startedAt;
  } finally {
    await client.query('DROP TABLE IF EXISTS baseline, baseline_staged');
    await client.end();
  }
}

const system = await startSystem();
try {
  const bestMs = { plain: Number.POSITIVE_INFINITY, ours: Number.POSITIVE_INFINITY };
  await loadJob(system, await uploadAndInfer(system, CSV_AFTER), { display_name: 'depois' });
  for (let round = 0; round <= ROUND_COUNT; round++) {
    const name = `antes_${round}`;
    const loadedJob = await loadJob(system, await uploadAndInfer(system, CSV_BEFORE), { display_name: name });
    const plainMs = await measurePlainUpsert(system, name, 'depois');
    const table = `/v1/managed-tables/${loadedJob.user_table_id}`;
    await system.call('POST', `${table}/indexes`, { columns: ['codigo'], unique: true });
    const waitingJob = await uploadAndInfer(system, CSV_AFTER, { mode: 'upsert', key: 'codigo' }, table);
    const startedAt = Date.now();
    const job = await loadJob(system, waitingJob);
    const milliseconds = Date.parse(job.updated_at) - startedAt;
    const half = ROW_COUNT / 2;
    if (job.result.inserted !== half || job.result.updated !== half) throw new Error(JSON.stringify(job.result));
    console.log(
      `${round === 0 ? 'warm-up' : `round ${round}`}: baseline ${plainMs.toFixed(0)} ms, confirm to done ${milliseconds} ms`,
    );
    if (round === 0) continue;
    bestMs.plain = Math.min(bestMs.plain, plainMs);
    bestMs.ours = Math.min(bestMs.ours, milliseconds);
  }
  const label = 'an upsert of 300,000 rows from confirm to done, against INSERT … ON CONFLICT from a staging table';
  printVerdict(label, bestMs.plain / bestMs.ours, makeLowerLimit(MIN_RATIO), 'times as fast');
} finally {
  await system.stop();
}
