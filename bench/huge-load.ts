/**
 * Loads the largest files in the whole running system, sent by tus: 1 GiB of CSV, 1 GiB of NDJSON, 10M rows of Parquet.
 *
 *   npm run bench -- huge-load   (or: npx node bench/huge-load.ts [csv] [ndjson] [parquet] [rows in millions])
 *
 * From the first byte sent to done, less the time in which bytes were sent, against `psql \\copy` of the same rows as CSV into an
 * equivalent table with a UUID key in the same database. Prints the peak of resident memory of workerd; the limit of an isolate is
 * held by `npm run test:memory`.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyPlainly, hasPsql } from './baseline.ts';
import { KINDS, type Kind, loadByTus, MILLION, writeCsv } from './huge-files.ts';
import { ORDERS_TABLE, writeOrdersCsv } from './orders.ts';
import { startSystem } from './system.ts';
import { readResidentMemory } from './usage.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

/** What each kind may take, in times of the baseline. */
const LIMITS: Record<Kind, number> = { csv: 1.25, ndjson: 2, parquet: 2 };

const requestedSteps = process.argv.slice(2);
const kinds = (Object.keys(KINDS) as Kind[]).filter(
  (kind) => requestedSteps.includes(kind) || !requestedSteps.some((each) => each in KINDS),
);
const millions = requestedSteps.map(Number).find((number) => number > 0);

const folder = await mkdtemp(join(tmpdir(), 'data-console-huge-'));
const system = await startSystem();
try {
  for (const kind of kinds) {
    const { write, ...standard } = KINDS[kind];
    const rows = Math.round((millions ?? standard.millions) * MILLION);
    const path = join(folder, `rows.${kind}`);
    const plain = join(folder, 'rows.csv');
    await write(path, rows);
    if (kind !== 'csv') await writeCsv(plain, rows);
    const header = new TextDecoder().decode(writeOrdersCsv(0)).trim();
    console.log(`${kind}: ${rows.toLocaleString('en')} rows, ${((await stat(path)).size / 1024 ** 3).toFixed(2)} GiB`);
    const copied = await copyPlainly(system, plain, ORDERS_TABLE, header);
    const { rows: loaded, ...times } = await loadByTus(system, path, `pedidos_${kind}`);
    if (loaded !== rows) throw new Error(`loaded ${loaded} rows`);
    const said = Object.entries({ copied, ...times }).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`);
    console.log(`  ${said.join(', ')}`);
    const { peak } = await readResidentMemory(await system.workerd());
    console.log(`  peak resident memory of workerd ${peak.toFixed(0)} MB, both Workers and R2's simulator included`);
    const how = hasPsql ? 'psql \\copy' : 'pg-copy-streams';
    printVerdict(
      `${kind} by tus, once its bytes are there, against ${how}`,
      (times.infer + times.load) / copied,
      makeUpperLimit(LIMITS[kind]),
    );
    for (const each of new Set([path, plain])) await rm(each);
  }
} finally {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
