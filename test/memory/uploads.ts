import { ordersWorkbook } from '../../bench/orders.ts';
import { jobWhen, type System } from '../../bench/system.ts';
import { csvOf } from '../../bench/upload-memory/csv.ts';
import { aSheet } from '../uploads/workbooks.ts';
import type { Case } from './cases.ts';

type Content = string | Blob | Uint8Array<ArrayBuffer>;

const MIB = 1024 * 1024;

/** Uploads files and has them analysed and loaded. */
async function load(system: System, name: string, contents: Content[]): Promise<void> {
  const form = new FormData();
  for (const content of contents) form.append('files', new File([content], name));
  const { job_id: jobId } = await system.call('POST', '/v1/managed-tables/upload', form);
  const { inferred_schema: schema } = await jobWhen(system, jobId, 'waiting_confirm');
  const display_name = `t${crypto.randomUUID().replaceAll('-', '_')}`;
  const confirmed = { display_name, columns: schema.columns };
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, confirmed);
  await jobWhen(system, jobId, 'done');
}

/** Files are made once, as the two uploads of a case may share them. */
function upload(title: string, name: string, make: () => Content, count = 1): Case {
  let content: Content;
  return {
    name: title,
    prepare: async () => {
      content = make();
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

export const UPLOADS: Case[] = [
  upload('CSV of 99 MiB: upload, analysis, load', 'grande.csv', () => csvOf(99 * MIB)),
  upload('ten CSVs, 99 MiB', 'parte.csv', () => csvOf(9.85 * MIB), 10),
  upload('XLSX of 100,000 rows', 'pedidos.xlsx', () => ordersWorkbook(100_000)),
  upload('XLSX with 46 MiB of shared texts', 'textos.xlsx', () => textsWorkbook(46 * MIB)),
];
