import { strToU8, type Zippable, zipSync } from 'fflate';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { loadSource } from './sources.ts';
import {
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForAnalysis,
  waitForEnd,
} from './support.ts';
import { beginUpload, parseUploadId, sendPart } from './tus.ts';
import { makeSheetWorkbook, parseCells } from './workbooks.ts';

type FileBytes = Uint8Array<ArrayBuffer>;
const makeZip = (files: Zippable): FileBytes => zipSync(files) as FileBytes;

const company = await createProvisionedCompany();

let tableCount = 0;

const readFailure = async (name: string, content: FileBytes) => {
  const jobId = await uploadFiles(company, [makeFile(name, content)]);
  return waitForAnalysis(company, jobId);
};

describe('a zip file', () => {
  it('has all its files loaded into one table in their order, whatever their type and CSV dialect', async () => {
    const zip = makeZip({
      'janeiro.csv': strToU8('n,nome\n1,Ana\n2,Bia\n'),
      'leia-me.txt': strToU8('nada'),
      '__MACOSX/._janeiro.csv': strToU8('x'),
      'trimestre/fevereiro.csv': strToU8('nome;n\n"Caio; o bom";3\n'),
      'trimestre/março.xlsx': makeSheetWorkbook(parseCells('n|nome', '4|Davi')),
    });
    const jobId = await uploadFiles(company, [
      makeFile('vendas 2024.zip', zip),
      makeFile('abril.csv', 'n,nome\n5,Eva\n'),
    ]);
    const { inferred_schema: schema } = await waitForAnalysis(company, jobId);
    expect(schema).toMatchObject({ total_row_count_estimate: 5, suggested_table_name: 'vendas_2024' });
    await confirmJob(company, jobId, { display_name: `arquivo_${++tableCount}`, columns: schema.columns });
    const { user_table_id: id, progress } = await waitForEnd(company, jobId);
    expect((await readRows(company, id)).map(({ n, nome }) => `${n} ${nome}`)).toEqual([
      '1 Ana',
      '2 Bia',
      '3 Caio; o bom',
      '4 Davi',
      '5 Eva',
    ]);
    expect(progress.bytes_processed).toBe(progress.bytes_total);
  });

  it('has files of all kinds loaded from an address or a resumable upload, and those of forms alone from a form', async () => {
    const columnData = [
      { name: 'n', data: [5], type: 'INT32' as const },
      { name: 'nome', data: ['5'], type: 'STRING' as const },
    ];
    const zip = makeZip({
      'a.csv': strToU8('n,nome\n1,1\n'),
      'b.tsv': strToU8('nome\tn\n2,5\t2\n'),
      'c/c.json': strToU8('[{"n": 3, "nome": "3"}]'),
      'c/d.jsonl': strToU8('{"n": 4, "nome": "4"}\n'),
      'e.parquet': new Uint8Array(parquetWriteBuffer({ columnData })),
      'f.txt': strToU8('nada'),
    });
    const { types, rows } = await loadSource(company, 'todos.zip', zip);
    // The Parquet file says that it is text.
    expect(types).toEqual({ n: 'integer', nome: 'text' });
    expect(rows.map(({ n, nome }) => `${n} ${nome}`)).toEqual(['1 1', '2 2,5', '3 3', '4 4', '5 5']);
    const path = await beginUpload(company.as, zip.length, { metadata: { filename: 'todos.zip' } });
    await sendPart(company.as, path, 0, zip);
    expect((await waitForAnalysis(company, parseUploadId(path))).inferred_schema.total_row_count_estimate).toBe(5);
    const sentFailure = await readFailure('todos.zip', zip);
    expect(sentFailure.inferred_schema.total_row_count_estimate).toBe(1);
  });

  it('is unpacked by several queue messages, and each message does a bounded share', async () => {
    const makeRows = (from: number) => strToU8(`n\n${Array.from({ length: 20_000 }, (_, n) => from + n).join('\n')}\n`);
    const zip = makeZip({ 'a.csv': makeRows(0), 'b.csv': makeRows(20_000), 'c.csv': [makeRows(40_000), { level: 0 }] });
    const queue = createTestQueue();
    const smallMessages = { UPLOAD_MESSAGE_BYTES: '16384' };
    const jobId = await uploadFiles(company, [makeFile('tres.zip', zip)], queue);
    expect(await deliverAllMessages(queue, smallMessages)).toBeGreaterThanOrEqual(6);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    await confirmJob(company, jobId, { display_name: `arquivo_${++tableCount}`, columns }, queue);
    expect(await deliverAllMessages(queue, smallMessages)).toBeGreaterThanOrEqual(10);
    const { user_table_id: id } = await readJob(company, jobId);
    expect((await readRows(company, id)).map(({ n }) => n)).toEqual(Array.from({ length: 60_000 }, (_, n) => n));
  });

  it('fails its job with the path of the file inside that cannot be loaded', async () => {
    const differentHeaders = makeZip({ 'a.csv': strToU8('n,x\n1,2\n'), 'pasta/b.csv': strToU8('n,y\n1,2\n') });
    expect(await readFailure('x.zip', differentHeaders)).toMatchObject({
      status: 'failed',
      error: { code: 'HEADERS_DIFFER', file: 'pasta/b.csv', message: expect.stringContaining('pasta/b.csv') },
    });
    const brokenRow = makeZip({ 'a.csv': strToU8('n,x\n1,2\n'), 'b.csv': strToU8('n,x\n1,2\n1,2,3\n') });
    expect(await readFailure('x.zip', brokenRow)).toMatchObject({
      error: { code: 'TOO_MANY_FIELDS', file: 'b.csv', line: 3 },
    });
    const invalidWorkbook = makeZip({ 'fev/b.xlsx': strToU8('nada') });
    expect(await readFailure('x.zip', invalidWorkbook)).toMatchObject({
      error: { code: 'WORKBOOK_UNREADABLE', file: 'fev/b.xlsx' },
    });
  });

  it('fails its job when it is damaged, encrypted or nested', async () => {
    const validZip = makeZip({ 'a.csv': strToU8('n\n1\n'.repeat(1000)) });
    const flippedZip = validZip.slice();
    flippedZip[60] = (flippedZip[60] as number) ^ 0xff;
    const encryptedZip = validZip.slice();
    // The bit in the entry's directory record that says so.
    const directoryOffset = new DataView(validZip.buffer, validZip.byteOffset).getUint32(validZip.length - 6, true);
    encryptedZip[directoryOffset + 8] = 1;
    const cases: [FileBytes, string][] = [
      [validZip.slice(0, validZip.length / 2), 'ZIP_CORRUPT'],
      [flippedZip, 'ZIP_CORRUPT'],
      [encryptedZip, 'ZIP_ENCRYPTED'],
      [makeZip({ 'a.csv': strToU8('n\n1\n'), 'b.zip': validZip }), 'ZIP_NESTED'],
    ];
    for (const [content, code] of cases) {
      const job = await readFailure('mau.zip', content);
      expect([job.status, job.error?.code, job.error?.file]).toEqual(['failed', code, 'mau.zip']);
    }
  });
});
