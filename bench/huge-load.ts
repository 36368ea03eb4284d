/**
 * Loads the largest files in the whole running system, sent by tus: 1 GiB of CSV, 1 GiB of NDJSON, 10M rows of Parquet.
 *
 *   npm run bench -- huge-load   (or: npx node bench/huge-load.ts [csv] [ndjson] [parquet] [rows in millions])
 *
 * From the first byte sent to done, less the time in which bytes were sent, against `psql \\copy` of the same rows as CSV into an
 * equivalent table with a UUID key in the same database. Prints the peak of resident memory of workerd; the limit of an isolate is
 * held by `npm run test:memory`.
 */
import { openAsBlob } from 'node:fs';
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, withToken } from '../client/client.ts';
import { copyPlainly, hasPsql } from './baseline.ts';
import { ORDERS_TABLE, orders, ordersLines, ordersParquet } from './orders.ts';
import { jobWhen, type System, startSystem } from './system.ts';
import { residentMemory } from './usage.ts';
import { atMost, verdict } from './verdict.ts';

const MILLION = 1_000_000;

/** Each kind: its millions of rows, how it is written, and what it may take. */
const KINDS = {
  csv: { millions: 11, limit: 1.25, write: writeCsv },
  ndjson: { millions: 5.7, limit: 2, write: writeLines },
  parquet: { millions: 10, limit: 2, write: writeParquet },
};
type Kind = keyof typeof KINDS;

const asked = process.argv.slice(2);
const kinds = (Object.keys(KINDS) as Kind[]).filter(
  (kind) => asked.includes(kind) || !asked.some((each) => each in KINDS),
);
const millions = asked.map(Number).find((number) => number > 0);

/** A million rows after the other: they are the same. */
async function writeCsv(path: string, rows: number): Promise<void> {
  const file = await open(path, 'w');
  for (let left = rows; left > 0; left -= MILLION) {
    const csv = orders(Math.min(left, MILLION));
    await file.writeFile(left === rows ? csv : csv.subarray(csv.indexOf(10) + 1));
  }
  await file.close();
}

async function writeLines(path: string, rows: number): Promise<void> {
  const file = await open(path, 'w');
  for (const lines of ordersLines(rows)) await file.writeFile(lines);
  await file.close();
}

async function writeParquet(path: string, rows: number): Promise<void> {
  await writeFile(path, Buffer.from(ordersParquet(rows)));
}

/** Sends a file by tus and has it loaded. @returns milliseconds */
async function ours(system: System, path: string, kind: Kind, rows: number) {
  const api = createClient({ baseUrl: system.baseUrl, credential: withToken(await system.logIn()) });
  const began = performance.now();
  const { _id: jobId } = await api.upload(new File([await openAsBlob(path)], `pedidos.${kind}`));
  const sent = performance.now();
  await system.renewToken();
  const waiting = await jobWhen(system, jobId, 'waiting_confirm');
  const read = performance.now();
  await system.renewToken();
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, {
    display_name: `pedidos_${kind}`,
    columns: waiting.inferred_schema.columns,
  });
  const done = await jobWhen(system, jobId, 'done');
  const loaded = performance.now();
  if (done.progress.rows_processed !== rows) throw new Error(`loaded ${done.progress.rows_processed} rows`);
  return { send: sent - began, infer: read - sent, load: loaded - read };
}

const folder = await mkdtemp(join(tmpdir(), 'data-console-huge-'));
const system = await startSystem();
try {
  for (const kind of kinds) {
    const { limit, write, ...standard } = KINDS[kind];
    const rows = Math.round((millions ?? standard.millions) * MILLION);
    const path = join(folder, `rows.${kind}`);
    const plain = join(folder, 'rows.csv');
    await write(path, rows);
    if (kind !== 'csv') await writeCsv(plain, rows);
    const header = new TextDecoder().decode(orders(0)).trim();
    console.log(`${kind}: ${rows.toLocaleString('en')} rows, ${((await stat(path)).size / 1024 ** 3).toFixed(2)} GiB`);
    const copied = await copyPlainly(system, plain, ORDERS_TABLE, header);
    const times = await ours(system, path, kind, rows);
    const said = Object.entries({ copied, ...times }).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`);
    console.log(`  ${said.join(', ')}`);
    const { peak } = await residentMemory(await system.workerd());
    console.log(`  peak resident memory of workerd ${peak.toFixed(0)} MB, both Workers and R2's simulator included`);
    const how = hasPsql ? 'psql \\copy' : 'pg-copy-streams';
    verdict(
      `${kind} by tus, once its bytes are there, against ${how}`,
      (times.infer + times.load) / copied,
      atMost(limit),
    );
    for (const each of new Set([path, plain])) await rm(each);
  }
} finally {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
