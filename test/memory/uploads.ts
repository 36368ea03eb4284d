import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CFB } from '@e965/xlsx';
import { zipSync } from 'fflate';
import { KINDS, type Kind, loadByTus, MILLION } from '../../bench/huge-files.ts';
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
import type { Case } from './case.ts';

type Content = string | Blob | Uint8Array<ArrayBuffer>;

const MIB = 1024 * 1024;

/** Uploads files and has them analysed and loaded. */
async function load(system: System, name: string, contents: Content[]) {
  const form = new FormData();
  for (const content of contents) form.append('files', new File([content], name));
  const { job_id: jobId } = await system.call('POST', '/v1/managed-tables/upload', form);
  const { inferred_schema: schema } = await waitForJob(system, jobId, 'waiting_confirm');
  const display_name = `t${crypto.randomUUID().replaceAll('-', '_')}`;
  const confirmed = { display_name, columns: schema.columns };
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, confirmed);
  return waitForJob(system, jobId, 'done');
}

/** Has a file loaded into a table that is there. @returns the job */
async function loadInto(system: System, table: string, how: Record<string, string>, file: File): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries(how)) form.append(name, value);
  form.append('files', file);
  const { job_id: jobId } = await system.call('POST', `/v1/managed-tables/${table}/upload`, form);
  const { inferred_schema: schema } = await waitForJob(system, jobId, 'waiting_confirm');
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, { columns: schema.columns });
  await waitForJob(system, jobId, 'done');
  return jobId;
}

/** Files are made once, as the two uploads of a case may share them. */
function upload(title: string, name: string, make: () => Content | Promise<Content>, count = 1): Case {
  let content: Content;
  return {
    name: title,
    prepare: async () => {
      content = await make();
    },
    run: (system, which) =>
      load(
        system,
        `${which}_${name}`,
        Array.from({ length: count }, () => content),
      ),
  };
}

/** Texts of about as many bytes together, all of them different. */
function textsOf(bytes: number): string[] {
  const text =
    'pedido entregue na portaria, com nota fiscal e assinatura do cliente, conforme o combinado por telefone';
  return Array.from({ length: Math.floor(bytes / (text.length + 12)) }, (_, n) => `${text} ${n + 100_000}`);
}

/** A workbook whose cells share texts of about as many bytes, each of them once. */
function textsWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const strings = textsOf(bytes).map((text) => `<t>${text}</t>`);
  return makeSheetWorkbook(
    strings.map((_, n) => [{ t: 's', v: String(n) }]),
    { strings },
  );
}

/** The same of Excel 97, which has no more than 65,536 rows, in its container. */
function oldTextsWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const texts = textsOf(bytes);
  const columns = 8;
  const cells = texts.map((_, n) => makeSharedTextRecord(Math.floor(n / columns), n % columns, n));
  const container = CFB.utils.cfb_new();
  CFB.utils.cfb_add(container, '/Workbook', makeWorkbookOfRecords(cells, makeSharedTexts(texts)));
  return Uint8Array.from(CFB.write(container, { type: 'array' }) as Uint8Array);
}

/** A workbook of Excel 97 whose last row comes first, of about as many bytes, with as many cells as these can have. */
function unorderedWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const columns = 256;
  const rows = Math.floor(bytes / (columns * 6 + 10)) - 1;
  const valuesOf = (row: number) => Array.from({ length: columns }, (_, n) => 1_000_000 + row * columns + n);
  return makeWorkbookOfRecords(Array.from({ length: rows }, (_, n) => makeNumbersRecord(rows - n, valuesOf(rows - n))));
}

/** Ten files of about as many bytes together, in an archive. */
async function archiveOf(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const csv = new Uint8Array(await makeCsv(bytes / 10).arrayBuffer());
  return zipSync(Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`parte_${n}.csv`, csv])), { level: 1 });
}

/** Rows into a table of the same rows, every one of which is there already. */
function upsert(title: string, bytes: number): Case {
  const csv = makeCsv(bytes);
  const tables: string[] = [];
  return {
    name: title,
    prepare: async (system) => {
      for (const which of [0, 1]) tables[which] = (await load(system, `${which}_antes.csv`, [csv])).user_table_id;
    },
    run: (system, which) =>
      loadInto(system, tables[which] as string, { mode: 'upsert', key: 'codigo' }, new File([csv], 'depois.csv')),
  };
}

/** Takes back a load of as many bytes, which has replaced as many. */
function undo(title: string, bytes: number): Case {
  const csv = makeCsv(bytes);
  const jobs: string[] = [];
  return {
    name: title,
    prepare: async (system) => {
      for (const which of [0, 1]) {
        const table = (await load(system, `${which}_antes.csv`, [csv])).user_table_id;
        jobs[which] = await loadInto(system, table, { mode: 'replace' }, new File([csv], 'depois.csv'));
      }
    },
    run: (system, which) => system.call('POST', `/v1/managed-tables/upload-jobs/${jobs[which]}/undo`),
  };
}

/** The largest files, sent by tus. */
function byTus(title: string, kind: Kind): Case {
  const { millions, write } = KINDS[kind];
  const folder = mkdtempSync(join(tmpdir(), 'data-console-memory-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, `pedidos.${kind}`);
  return {
    name: title,
    prepare: async () => write(path, millions * MILLION),
    async run(system, which) {
      const { rows } = await loadByTus(system, path, `huge_${kind}_${which}`);
      if (rows !== millions * MILLION) throw new Error(`${rows} rows were loaded`);
    },
  };
}

export const UPLOADS: Case[] = [
  upload('CSV of 99 MiB: upload, analysis, load', 'grande.csv', () => makeCsv(99 * MIB)),
  upload('ten CSVs, 99 MiB', 'parte.csv', () => makeCsv(9.85 * MIB), 10),
  upload('ZIP of ten CSVs, 99 MiB unpacked', 'partes.zip', () => archiveOf(99 * MIB)),
  upsert('upsert of a CSV of 20 MiB', 20 * MIB),
  upload('XLSX of 100,000 rows', 'pedidos.xlsx', () => writeOrdersWorkbook(100_000)),
  upload('XLSX with 46 MiB of shared texts', 'textos.xlsx', () => textsWorkbook(46 * MIB)),
  upload('XLS with 46 MiB of shared texts', 'textos.xls', () => oldTextsWorkbook(46 * MIB)),
  upload('XLS of 4 MiB out of order', 'desordem.xls', () => unorderedWorkbook(4 * MIB)),
  undo('undo of a load of 99 MiB', 99 * MIB),
  byTus('CSV of 1 GiB by tus', 'csv'),
  byTus('NDJSON of 1 GiB by tus', 'ndjson'),
  byTus('Parquet of 10 million rows by tus', 'parquet'),
];
