import { zipSync } from 'fflate';
import { ordersWorkbook } from '../../bench/orders.ts';
import { jobWhen, type System } from '../../bench/system.ts';
import { csvOf } from '../../bench/upload-memory/csv.ts';
import { aSheet } from '../uploads/workbooks.ts';
import type { Case } from './cases.ts';

type Content = string | Blob | Uint8Array<ArrayBuffer>;

const MIB = 1024 * 1024;

/** Uploads files and has them analysed and loaded. */
async function load(system: System, name: string, contents: Content[]) {
  const form = new FormData();
  for (const content of contents) form.append('files', new File([content], name));
  const { job_id: jobId } = await system.call('POST', '/v1/managed-tables/upload', form);
  const { inferred_schema: schema } = await jobWhen(system, jobId, 'waiting_confirm');
  const display_name = `t${crypto.randomUUID().replaceAll('-', '_')}`;
  const confirmed = { display_name, columns: schema.columns };
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, confirmed);
  return jobWhen(system, jobId, 'done');
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

/** A workbook whose cells share texts of about as many bytes, each of them once. */
function textsWorkbook(bytes: number): Uint8Array<ArrayBuffer> {
  const text =
    'pedido entregue na portaria, com nota fiscal e assinatura do cliente, conforme o combinado por telefone';
  const count = Math.floor(bytes / (text.length + 12));
  const strings = Array.from({ length: count }, (_, n) => `<t>${text} ${n + 100_000}</t>`);
  return aSheet(
    strings.map((_, n) => [{ t: 's', v: String(n) }]),
    { strings },
  );
}

/** Ten files of about as many bytes together, in an archive. */
async function archiveOf(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const csv = new Uint8Array(await csvOf(bytes / 10).arrayBuffer());
  return zipSync(Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`parte_${n}.csv`, csv])), { level: 1 });
}

/** Rows into a table of the same rows, every one of which is there already. */
function upsert(title: string, bytes: number): Case {
  const csv = csvOf(bytes);
  const tables: string[] = [];
  return {
    name: title,
    prepare: async (system) => {
      for (const which of [0, 1]) tables[which] = (await load(system, `${which}_antes.csv`, [csv])).user_table_id;
    },
    run: async (system, which) => {
      const form = new FormData();
      form.append('mode', 'upsert');
      form.append('key', 'codigo');
      form.append('files', new File([csv], 'depois.csv'));
      const { job_id: jobId } = await system.call('POST', `/v1/managed-tables/${tables[which]}/upload`, form);
      const { inferred_schema: schema } = await jobWhen(system, jobId, 'waiting_confirm');
      await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, { columns: schema.columns });
      await jobWhen(system, jobId, 'done');
    },
  };
}

export const UPLOADS: Case[] = [
  upload('CSV of 99 MiB: upload, analysis, load', 'grande.csv', () => csvOf(99 * MIB)),
  upload('ten CSVs, 99 MiB', 'parte.csv', () => csvOf(9.85 * MIB), 10),
  upload('ZIP of ten CSVs, 99 MiB unpacked', 'partes.zip', () => archiveOf(99 * MIB)),
  upsert('upsert of a CSV of 20 MiB', 20 * MIB),
  upload('XLSX of 100,000 rows', 'pedidos.xlsx', () => ordersWorkbook(100_000)),
  upload('XLSX with 46 MiB of shared texts', 'textos.xlsx', () => textsWorkbook(46 * MIB)),
];
