/**
 * Compares each reader of `src/formats` with the package that one would use instead, over the same file, each in a
 * process of its own: seconds of CPU, and peak memory beyond that of the process before.
 *
 *   npm run bench -- formats
 *
 * The limit is on the reason for writing the reader: memory, or CPU, or both.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CellObject, utils, write } from '@e965/xlsx';
import { unzipSync, zipSync } from 'fflate';
import { PNG } from 'pngjs';
import { MAX_SIDE } from '../src/formats/image/picture.ts';
import { writeOrdersCsv, writeOrdersWorkbook } from './orders.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const ROUND_COUNT = 3;

interface ReaderRun {
  count: number;
  seconds: number;
  megabytes: number;
}

const folder = mkdtempSync(join(tmpdir(), 'formats-'));

/** Runs a reader several times over a file. @returns the medians of its CPU and of its memory */
function measureReader(reader: string, path: string): ReaderRun {
  const runs = Array.from({ length: ROUND_COUNT }, (): ReaderRun => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [join(import.meta.dirname, 'formats/read.ts'), reader, path],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`${reader}: ${stderr}`);
    return JSON.parse(stdout);
  });
  const [{ count }] = runs as [ReaderRun];
  return {
    count,
    seconds: computeMedian(runs.map(({ seconds }) => seconds)),
    megabytes: computeMedian(runs.map(({ megabytes }) => megabytes)),
  };
}

/**
 * Reads bytes with this project's reader and with a package, and prints the ratios of CPU time and peak memory.
 * @param limits the largest ratio to the package's CPU and memory; null for no limit
 */
function compareReaders(
  format: string,
  packageName: string,
  bytes: Uint8Array,
  limits: { cpuRatio: number | null; memoryRatio: number | null },
) {
  const path = join(folder, format);
  writeFileSync(path, bytes);
  const ownRun = measureReader(`${format} own`, path);
  const packageRun = measureReader(`${format} ${packageName}`, path);
  if (ownRun.count !== packageRun.count) throw new Error(`${format}: ${ownRun.count} is not ${packageRun.count}`);
  const formatRun = ({ seconds, megabytes }: ReaderRun) => `${seconds.toFixed(2)} s of CPU, ${megabytes.toFixed(0)} MB`;
  console.log(
    `${format}, ${(statSync(path).size / 1e6).toFixed(1)} MB: ${formatRun(ownRun)}; ${packageName}: ${formatRun(packageRun)}`,
  );
  if (limits.cpuRatio !== null)
    printVerdict(
      `CPU of reading ${format}, against ${packageName}`,
      ownRun.seconds / packageRun.seconds,
      makeUpperLimit(limits.cpuRatio),
    );
  if (limits.memoryRatio !== null) {
    printVerdict(
      `memory of reading ${format}, against ${packageName}`,
      ownRun.megabytes / packageRun.megabytes,
      makeUpperLimit(limits.memoryRatio),
    );
  }
}

/** Makes a workbook of Excel 97 to 2003 with the rows of a CSV. */
function makeOldWorkbook(csv: Uint8Array): Uint8Array {
  const cells = new TextDecoder()
    .decode(csv)
    .trimEnd()
    .split('\n')
    .map((line) => line.split(',').map((text): CellObject => ({ t: 's', v: text })));
  const book = utils.book_new(utils.aoa_to_sheet(cells), 'Pedidos');
  return new Uint8Array(write(book, { type: 'array', bookType: 'biff8', bookSST: true }));
}

/** Makes a PNG picture of the largest size that a logo may have. */
function makePicture(): Uint8Array {
  const png = new PNG({ width: MAX_SIDE, height: MAX_SIDE });
  for (let at = 0; at < png.data.length; at += 1) png.data[at] = (at >> 8) & 0xff;
  return PNG.sync.write(png);
}

try {
  const csv = writeOrdersCsv(300_000);
  const workbook = writeOrdersWorkbook(100_000);
  const parts = Object.entries(unzipSync(writeOrdersWorkbook(30_000)));
  const [, xml] = parts.find(([name]) => name.includes('worksheets/')) as [string, Uint8Array];
  compareReaders('csv', 'papaparse', csv, { cpuRatio: 0.8, memoryRatio: null });
  compareReaders('xlsx', 'read-excel-file', workbook, { cpuRatio: 1, memoryRatio: 0.5 });
  compareReaders('xls', '@e965/xlsx', makeOldWorkbook(writeOrdersCsv(30_000)), { cpuRatio: null, memoryRatio: 0.5 });
  compareReaders('zip', 'fflate', zipSync({ 'pedidos.csv': csv }), { cpuRatio: 1, memoryRatio: null });
  compareReaders('xml', '@xmldom/xmldom', xml, { cpuRatio: 0.5, memoryRatio: 0.5 });
  compareReaders('png', 'pngjs', makePicture(), { cpuRatio: 1, memoryRatio: 0.75 });
} finally {
  rmSync(folder, { recursive: true });
}
