import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CFB } from '@e965/xlsx';
import { zipSync } from 'fflate';
import { FILE_KINDS, type FileKind, loadByTus, MILLION } from '../../bench/huge-files.ts';
import { writeOrdersWorkbook } from '../../bench/orders.ts';
import { type System, waitForJob } from '../../bench/system.ts';
import { makeCsv } from '../../bench/upload-memory/csv.ts';
import {
  makeNumbersRecord,
  makeSharedTextRecord,
  makeSharedTexts,
  makeWorkbookOfRecords,
} from '../uploads/workbook/records.ts';
import { makeSheetWorkbook } from '../uploads/workbooks.ts';
import type { MemoryCase } from './case.ts';

type FileContent = string | Blob | Uint8Array<ArrayBuffer>;

const MIB_BYTES = 1024 * 1024;

/** Uploads files, and waits until they are analysed and loaded. */
async function loadNewTable(system: System, name: string, contents: FileContent[]) {
  const form = new FormData();
  for (const content of contents) form.append('files', new File([content], name));
  const { job_id: jobId } = await system.call('POST', '/v1/managed-tables/upload', form);
  const { inferred_schema: schema } = await waitForJob(system, jobId, 'waiting_confirm');
  const display_name = `t${crypto.randomUUID().replaceAll('-', '_')}`;
  const confirmation = { display_name, columns: schema.columns };
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, confirmation);
  return waitForJob(system, jobId, 'done');
}

/** Loads a file into an existing table. @returns the id of the job */
async function loadIntoTable(
  system: System,
  table: string,
  uploadFields: Record<string, string>,
  file: File,
): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries(uploadFields)) form.append(name, value);
  form.append('files', file);
  const { job_id: jobId } = await system.call('POST', `/v1/managed-tables/${table}/upload`, form);
  const { inferred_schema: schema } = await waitForJob(system, jobId, 'waiting_confirm');
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, { columns: schema.columns });
  await waitForJob(system, jobId, 'done');
  return jobId;
}

/** Makes a case that uploads files. They are made once, as both runs can share them. */
function upload(
  title: string,
  name: string,
  makeContent: () => FileContent | Promise<FileContent>,
  count = 1,
): MemoryCase {
  let content: FileContent;
  return {
    name: title,
    prepare: async () => {
      content = await makeContent();
    },
    run: (system, runNumber) =>
      loadNewTable(
        system,
        `${runNumber}_${name}`,
        Array.from({ length: count }, () => content),
      ),
  };
}

/** Makes different texts that have about the given number of bytes together. */
function makeTexts(bytes: number): string[] {
  const text =
    'pedido entregue na portaria, com nota fiscal e assinatura do cliente, conforme o combinado por telefone';
  return Array.from({ length: Math.floor(bytes / (text.length + 12)) }, (_, n) => `${text} ${n + 100_000}`);
}

/** Makes a workbook whose cells use shared texts of about the given number of bytes, each text once. */
function makeTextsWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const strings = makeTexts(bytes).map((text) => `<t>${text}</t>`);
  return makeSheetWorkbook(
    strings.map((_, n) => [{ t: 's', v: String(n) }]),
    { strings },
  );
}

/** Makes an Excel 97 workbook of shared texts in its container; it has at most 65,536 rows. */
function makeOldTextsWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const texts = makeTexts(bytes);
  const columnCount = 8;
  const cells = texts.map((_, n) => makeSharedTextRecord(Math.floor(n / columnCount), n % columnCount, n));
  const container = CFB.utils.cfb_new();
  CFB.utils.cfb_add(container, '/Workbook', makeWorkbookOfRecords(cells, makeSharedTexts(texts)));
  return Uint8Array.from(CFB.write(container, { type: 'array' }) as Uint8Array);
}

/** Makes an Excel 97 workbook of about the given number of bytes, with as many cells as possible, and its last row first. */
function makeUnorderedWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const columnCount = 256;
  const rows = Math.floor(bytes / (columnCount * 6 + 10)) - 1;
  const makeRowValues = (row: number) =>
    Array.from({ length: columnCount }, (_, n) => 1_000_000 + row * columnCount + n);
  return makeWorkbookOfRecords(
    Array.from({ length: rows }, (_, n) => makeNumbersRecord(rows - n, makeRowValues(rows - n))),
  );
}

/** Makes an archive of ten files with about the given number of bytes together. */
async function makeArchive(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const csv = new Uint8Array(await makeCsv(bytes / 10).arrayBuffer());
  return zipSync(Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`parte_${n}.csv`, csv])), { level: 1 });
}

/** Makes a case that upserts rows into a table that already contains all of them. */
function makeUpsertCase(title: string, bytes: number): MemoryCase {
  const csv = makeCsv(bytes);
  const tables: string[] = [];
  return {
    name: title,
    prepare: async (system) => {
      for (const runNumber of [0, 1])
        tables[runNumber] = (await loadNewTable(system, `${runNumber}_antes.csv`, [csv])).user_table_id;
    },
    run: (system, runNumber) =>
      loadIntoTable(
        system,
        tables[runNumber] as string,
        { mode: 'upsert', key: 'codigo' },
        new File([csv], 'depois.csv'),
      ),
  };
}

/** Makes a case that undoes a load of the given number of bytes, which has replaced as many. */
function makeUndoCase(title: string, bytes: number): MemoryCase {
  const csv = makeCsv(bytes);
  const jobs: string[] = [];
  return {
    name: title,
    prepare: async (system) => {
      for (const runNumber of [0, 1]) {
        const table = (await loadNewTable(system, `${runNumber}_antes.csv`, [csv])).user_table_id;
        jobs[runNumber] = await loadIntoTable(system, table, { mode: 'replace' }, new File([csv], 'depois.csv'));
      }
    },
    run: (system, runNumber) => system.call('POST', `/v1/managed-tables/upload-jobs/${jobs[runNumber]}/undo`),
  };
}

/** Makes a case of the largest files, sent by the tus protocol. */
function makeTusCase(title: string, kind: FileKind, { millions, write } = FILE_KINDS[kind]): MemoryCase {
  const folder = mkdtempSync(join(tmpdir(), 'data-console-memory-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, `pedidos.${kind}`);
  return {
    name: title,
    prepare: async () => write(path, millions * MILLION),
    async run(system) {
      const { rows } = await loadByTus(system, path, `t${crypto.randomUUID().replaceAll('-', '_')}`);
      if (rows !== millions * MILLION) throw new Error(`${rows} rows were loaded`);
    },
  };
}

const WIDE_COLUMNS = Array.from({ length: 1000 }, (_, n) => `c${n}`);

/** Writes NDJSON of 1,000 members, of which each object but the first has one. */
const writeSparseNdjson = (path: string, rowCount: number) =>
  writeFile(
    path,
    `${JSON.stringify(Object.fromEntries(WIDE_COLUMNS.map((name, n) => [name, n])))}\n${'{"c999":1}\n'.repeat(rowCount - 1)}`,
  );

export const UPLOAD_CASES: MemoryCase[] = [
  upload('CSV of 99 MiB: upload, analysis, load', 'grande.csv', () => makeCsv(99 * MIB_BYTES)),
  upload('CSV of short rows in 1,000 columns', 'curtas.csv', () => `${WIDE_COLUMNS}\n${'1,2\n'.repeat(40_000)}`),
  upload('ten CSVs, 99 MiB', 'parte.csv', () => makeCsv(9.85 * MIB_BYTES), 10),
  upload('ZIP of ten CSVs, 99 MiB unpacked', 'partes.zip', () => makeArchive(99 * MIB_BYTES)),
  makeUpsertCase('upsert of a CSV of 20 MiB', 20 * MIB_BYTES),
  upload('XLSX of 100,000 rows', 'pedidos.xlsx', () => writeOrdersWorkbook(100_000)),
  upload('XLSX with 46 MiB of shared texts', 'textos.xlsx', () => makeTextsWorkbook(46 * MIB_BYTES)),
  upload('XLS with 46 MiB of shared texts', 'textos.xls', () => makeOldTextsWorkbook(46 * MIB_BYTES)),
  upload('XLS of 4 MiB out of order', 'desordem.xls', () => makeUnorderedWorkbook(4 * MIB_BYTES)),
  makeUndoCase('undo of a load of 99 MiB', 99 * MIB_BYTES),
  makeTusCase('CSV of 1 GiB by tus', 'csv'),
  makeTusCase('NDJSON of 1 GiB by tus', 'ndjson'),
  makeTusCase('sparse NDJSON of 1,000 members', 'ndjson', { millions: 0.04, write: writeSparseNdjson }),
  makeTusCase('Parquet of 10 million rows by tus', 'parquet'),
];
