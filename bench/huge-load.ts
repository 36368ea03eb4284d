/**
 * Loads the largest files in the whole running system, sent by tus: 1 GiB of CSV, 1 GiB of NDJSON, 10M rows of Parquet.
 *
 *   npm run bench -- huge-load   (or: npx node bench/huge-load.ts [csv] [ndjson] [parquet] [rows in millions])
 *
 * The time from the first byte sent until the job is done, less the time in which bytes were sent, is compared with
 * `psql \\copy` of the same rows as CSV into an equivalent table with a UUID key in the same database. Prints the peak
 * of resident memory of workerd; the memory limit of an isolate is tested by `npm run test:memory`.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasPsql, measurePlainCopy } from './baseline.ts';
import { FILE_KINDS, type FileKind, loadByTus, MILLION, writeCsv } from './huge-files.ts';
import { ORDERS_COLUMNS_SQL, writeOrdersCsv } from './orders.ts';
import { startSystem } from './system.ts';
import { readResidentMemory } from './usage.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

/** Upper limit of the load time of each kind of file, in multiples of the baseline's time. */
const MAX_RATIOS: Record<FileKind, number> = { csv: 1.25, ndjson: 2, parquet: 2 };

const requestedArguments = process.argv.slice(2);
const requestedKinds = (Object.keys(FILE_KINDS) as FileKind[]).filter(
  (kind) =>
    requestedArguments.includes(kind) ||
    !requestedArguments.some((requestedArgument) => requestedArgument in FILE_KINDS),
);
const rowMillions = requestedArguments.map(Number).find((number) => number > 0);

const folder = await mkdtemp(join(tmpdir(), 'data-console-huge-'));
const system = await startSystem();
try {
  for (const kind of requestedKinds) {
    const { write, ...standard } = FILE_KINDS[kind];
    const rows = Math.round((rowMillions ?? standard.millions) * MILLION);
    const path = join(folder, `rows.${kind}`);
    const csvPath = join(folder, 'rows.csv');
    await write(path, rows);
    if (kind !== 'csv') await writeCsv(csvPath, rows);
    const header = new TextDecoder().decode(writeOrdersCsv(0)).trim();
    console.log(`${kind}: ${rows.toLocaleString('en')} rows, ${((await stat(path)).size / 1024 ** 3).toFixed(2)} GiB`);
    const copyMs = await measurePlainCopy(system, csvPath, ORDERS_COLUMNS_SQL, header);
    const { rows: loadedRows, ...times } = await loadByTus(system, path, `pedidos_${kind}`);
    if (loadedRows !== rows) throw new Error(`loaded ${loadedRows} rows`);
    const timesText = Object.entries({ copied: copyMs, ...times }).map(
      ([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`,
    );
    console.log(`  ${timesText.join(', ')}`);
    const { peakMb } = await readResidentMemory(await system.findWorkerdPid());
    console.log(`  peak resident memory of workerd ${peakMb.toFixed(0)} MB, both Workers and R2's simulator included`);
    const copyTool = hasPsql ? 'psql \\copy' : 'pg-copy-streams';
    printVerdict(
      `${kind} by tus, once its bytes are there, against ${copyTool}`,
      (times.infer + times.load) / copyMs,
      makeUpperLimit(MAX_RATIOS[kind]),
    );
    for (const file of new Set([path, csvPath])) await rm(file);
  }
} finally {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}
