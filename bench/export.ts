/**
 * Exports a table of 1M rows and nine columns as CSV from the whole running system.
 *
 *   npm run bench -- export   (or: npx node bench/export.ts [rows])
 *
 * It must be at least 0.5 times as fast as `psql \copy TO` of the columns as they are, and 0.8 times as fast as one Node
 * process that only passes the same COPY on to the same client. They take turns, and the best of each counts. The peak of
 * workerd's memory may be 1.25 times that of an export of a tenth of the rows. Memory needs Linux.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { makeCsvSelectList } from '../src/modules/managed-tables/row-batches.ts';
import { makeFromSql } from '../src/modules/managed-tables/row-pages.ts';
import { hasPsql } from './baseline.ts';
import { type System, startSystem } from './system.ts';
import { readResidentMemory, resetPeak } from './usage.ts';
import { makeLowerLimit, makeUpperLimit, measureMilliseconds, printVerdict } from './verdict.ts';

const ROUND_COUNT = 5;
const ROW_COUNT = Number(process.argv[2] ?? 1_000_000);

const COLUMNS = {
  pedido: ['integer', 'n'],
  cliente: ['text', `'Cliente ' || n % 50000`],
  cidade: ['text', `'São ' || n % 900`],
  quantidade: ['integer', 'n % 100'],
  valor: ['decimal', '(n % 10000000) / 100.0'],
  pago: ['boolean', 'n % 2 = 0'],
  vencimento: ['date', `date '2010-01-01' + n % 5000`],
  criado_em: ['datetime', `timestamptz '2024-01-01 00:00:00Z' + n * interval '7 seconds'`],
  nota: ['text', `CASE n % 3 WHEN 0 THEN 'entregar, se possível' ELSE 'sem observação' END`],
} as const;
const COLUMN_NAMES = Object.keys(COLUMNS).join(', ');
const SHOWN_COLUMNS = Object.entries(COLUMNS).map(([name, [type]]) => ({
  name,
  display_name: name,
  type,
  nullable: true,
}));

async function createTable(system: System, name: string, rowCount: number): Promise<string> {
  const { _id } = await system.call('POST', '/v1/managed-tables', { display_name: name, columns: SHOWN_COLUMNS });
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  // The login's own limit is meant for requests.
  await client.query('SET statement_timeout = 0');
  const values = Object.values(COLUMNS).map(([, sql]) => sql);
  await client.query(
    `INSERT INTO public.${name} (${COLUMN_NAMES}) SELECT ${values.join(', ')} FROM generate_series(1, ${rowCount}) AS n`,
  );
  await client.query(`VACUUM ANALYZE public.${name}`);
  await client.end();
  return _id;
}

const folder = await mkdtemp(join(tmpdir(), 'data-console-export-'));
const file = join(folder, 'rows.csv');
const system = await startSystem();

/** SELECT whose output `runPsql` copies: the columns as they are stored. */
const PLAIN_SELECT = `(SELECT id, ${COLUMN_NAMES} FROM public.pedidos ORDER BY id)`;
/** SELECT whose output an export copies, in several batches. */
const FORMATTED_SELECT = `(SELECT ${makeCsvSelectList(SHOWN_COLUMNS, false, 'source')} FROM ${makeFromSql('pedidos')} ORDER BY source.id)`;

async function runPsql(): Promise<void> {
  const command = `\\copy ${PLAIN_SELECT} TO '${file}' (FORMAT csv, HEADER)`;
  const { status, stderr } = spawnSync('psql', [system.postgresUrl, '-qc', command]);
  if (status !== 0) throw new Error(String(stderr));
}

/** Downloads a file at the speed of a client that does nothing else with it. */
async function download(url: string, headers: Record<string, string> = {}): Promise<void> {
  const [answer] = (await once(get(url, { headers, agent: false }), 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
  await pipeline(answer, createWriteStream(file));
}

const passOnProcess = spawn(process.execPath, [join(import.meta.dirname, 'export/pass-on.ts'), system.postgresUrl], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [port] = await once(passOnProcess.stdout, 'data');
const measureNode = (selectSql: string) => {
  const copyParameters = new URLSearchParams({ copy: `COPY ${selectSql} TO STDOUT (FORMAT csv, HEADER)` });
  return download(`http://127.0.0.1:${Number(port)}/?${copyParameters}`);
};

const token = await system.logIn();
const measureExport = (id: string) =>
  download(`${system.baseUrl}/v1/managed-tables/${id}/export`, { authorization: `Bearer ${token}` });

/** Measures the peak of workerd's memory while it exports, in MB. */
async function measurePeak(id: string): Promise<number> {
  const worker = await system.findWorkerdPid();
  await resetPeak(worker);
  await measureExport(id);
  return (await readResidentMemory(worker)).peakMb;
}

try {
  const smallTableId = await createTable(system, 'poucos', ROW_COUNT / 10);
  const fullTableId = await createTable(system, 'pedidos', ROW_COUNT);
  const infinity = Number.POSITIVE_INFINITY;
  const best = { psql: infinity, node: infinity, bare: infinity, ours: infinity };
  await measurePeak(smallTableId);
  const memoryPeaks = { few: await measurePeak(smallTableId), all: await measurePeak(fullTableId) };
  for (let round = 1; round <= ROUND_COUNT; round++) {
    const times = {
      psql: await measureMilliseconds(() => (hasPsql ? runPsql() : measureNode(PLAIN_SELECT))),
      node: await measureMilliseconds(() => measureNode(FORMATTED_SELECT)),
      bare: await measureMilliseconds(() => measureNode(PLAIN_SELECT)),
      ours: await measureMilliseconds(() => measureExport(fullTableId)),
    };
    console.log(
      `round ${round}: ${Object.entries(times)
        .map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`)
        .join(', ')}`,
    );
    for (const name of Object.keys(best) as (keyof typeof best)[]) best[name] = Math.min(best[name], times[name]);
  }
  console.log(
    `peak of workerd: ${memoryPeaks.few.toFixed(0)} MB for a tenth of the rows, ${memoryPeaks.all.toFixed(0)} MB for all`,
  );
  console.log(`the Node process takes ${best.bare.toFixed(0)} ms where PostgreSQL formats no column`);
  printVerdict('1M rows as CSV, against psql \\copy TO', best.psql / best.ours, makeLowerLimit(0.5), 'times as fast');
  printVerdict(
    '1M rows as CSV, against a Node process that passes the same COPY on',
    best.node / best.ours,
    makeLowerLimit(0.8),
    'times as fast',
  );
  printVerdict(
    'peak memory of an export of 1M rows, against 100,000',
    memoryPeaks.all / memoryPeaks.few,
    makeUpperLimit(1.25),
  );
} finally {
  passOnProcess.kill();
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
