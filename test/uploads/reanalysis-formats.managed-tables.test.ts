import { env } from 'cloudflare:test';
import { utils, write } from '@e965/xlsx';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createAnalysisHelpers, listNames } from './reanalysis.ts';
import { cancelJob, deliverAllMessages, deliverMessage, listStoredFiles, readJob } from './support.ts';
import { makeSheet, makeWorkbook, parseCells } from './workbooks.ts';

type FileBytes = Uint8Array<ArrayBuffer>;

const company = await createProvisionedCompany();

const { queue, analyze, aWaitingJob, look, rowsWhenConfirmed } = createAnalysisHelpers(() => company);

const readInvalidFields = ({ status, body }: { status: number; body: { details?: { field: string }[] } }) => [
  status,
  body.details?.map(({ field }) => field),
];

const DATA_ROWS = parseCells('n|nome', '1|Ana', '2|Bia');
const PRICE_ROWS = parseCells('mes|preco', 'jan|1.5');

/** Makes a workbook of Excel 97 to 2003 with these sheets. */
function makeOldWorkbook(
  sheets: Record<string, unknown[][]>,
  bookType: 'biff8' | 'biff5' | 'biff2' = 'biff8',
): FileBytes {
  const workbook = utils.book_new();
  for (const [name, rows] of Object.entries(sheets)) utils.book_append_sheet(workbook, utils.aoa_to_sheet(rows), name);
  return new Uint8Array(write(workbook, { type: 'array', bookType }));
}

const SPREADSHEET_URI = 'urn:schemas-microsoft-com:office:spreadsheet';
const formatXmlSheet = (name: string, rows: unknown[][], sheetOptions = '') => {
  const formatCell = (value: unknown) =>
    `<Cell><Data ss:Type="${typeof value === 'number' ? 'Number' : 'String'}">${value}</Data></Cell>`;
  const table = rows.map((row) => `<Row>${row.map(formatCell).join('')}</Row>`).join('');
  return `<Worksheet ss:Name="${name}"><Table>${table}</Table>${sheetOptions}</Worksheet>`;
};
const formatXmlWorkbook = (...sheets: string[]): string =>
  `<?xml version="1.0"?><Workbook xmlns="${SPREADSHEET_URI}" xmlns:ss="${SPREADSHEET_URI}">${sheets.join('')}</Workbook>`;
const HIDDEN_OPTIONS =
  '<WorksheetOptions xmlns="urn:schemas-microsoft-com:office:excel"><Visible>SheetHidden</Visible></WorksheetOptions>';

describe('the second analysis of a workbook of an older format', () => {
  it.each([
    ['BIFF 8', makeOldWorkbook({ Dados: DATA_ROWS, Precos: PRICE_ROWS, Nada: [] })],
    ['BIFF 5', makeOldWorkbook({ Dados: DATA_ROWS, Precos: PRICE_ROWS, Nada: [] }, 'biff5')],
    [
      'XML',
      formatXmlWorkbook(
        formatXmlSheet('Dados', DATA_ROWS),
        formatXmlSheet('Precos', PRICE_ROWS, HIDDEN_OPTIONS),
        formatXmlSheet('Nada', []),
      ),
    ],
  ])('reads the requested sheet: %s', async (_, content) => {
    const jobId = await aWaitingJob(['velha.xls', content]);
    const sheets = ['Dados', 'Precos', 'Nada'];
    expect((await readJob(company, jobId)).inferred_schema.dialect).toMatchObject({ sheet: 'Dados', sheets });
    expect(await look(jobId, { sheet: 'Precos' })).toMatchObject({ dialect: { sheet: 'Precos', sheets } });
    for (const [sheet, message] of [
      ['Outra', 'A planilha "velha.xls" não tem nenhuma aba chamada "Outra".'],
      ['Nada', 'A planilha "velha.xls" não tem nenhuma linha de dados.'],
    ])
      expect(await look(jobId, { sheet })).toMatchObject({
        dialect: { sheet: 'Precos', sheets },
        problem: { field: 'sheet', message },
      });
    expect(readInvalidFields(await analyze(jobId, { delimiter: ';', encoding: 'utf-8' }))).toEqual([
      422,
      ['delimiter', 'encoding'],
    ]);
    expect(await rowsWhenConfirmed(jobId)).toEqual([{ mes: 'jan', preco: 1.5 }]);
  });

  it('lists the sheets after the first table, even if the file is cut off after it', async () => {
    const xml = formatXmlWorkbook(formatXmlSheet('Dados', DATA_ROWS), formatXmlSheet('Precos', PRICE_ROWS));
    const jobId = await aWaitingJob(['cortada.xls', xml.slice(0, -60)]);
    expect((await readJob(company, jobId)).inferred_schema.dialect).toMatchObject({
      sheet: 'Dados',
      sheets: ['Dados', 'Precos'],
    });
    expect((await look(jobId, { sheet: 'Outra' })).problem).toBeDefined();
    expect(await rowsWhenConfirmed(jobId)).toHaveLength(2);
  });

  it('refuses a sheet name when the format has none', async () => {
    const page = '<html><table><tr><td>n</td><td>x</td></tr><tr><td>1</td><td>a</td></tr></table></html>';
    for (const content of [makeOldWorkbook({ Dados: DATA_ROWS }, 'biff2'), page]) {
      const jobId = await aWaitingJob(['velha.xls', content]);
      expect((await readJob(company, jobId)).inferred_schema.dialect).toMatchObject({ sheet: null, sheets: null });
      expect(readInvalidFields(await analyze(jobId, { sheet: 'Dados' }))).toEqual([422, ['sheet']]);
      expect(readInvalidFields(await analyze(jobId, { quote: null }))).toEqual([422, ['quote']]);
      expect((await look(jobId, { header: false })).dialect.header).toBe(false);
      await cancelJob(company, jobId);
    }
  });

  it('lists at most 200 sheet names of at most 255 characters', async () => {
    const manySheets = Array.from({ length: 300 }, (_, index) =>
      formatXmlSheet(index === 1 ? 'x'.repeat(256) : `s${index}`, []),
    );
    const jobId = await aWaitingJob([
      'muitas.xls',
      formatXmlWorkbook(formatXmlSheet('Dados', DATA_ROWS), ...manySheets),
    ]);
    const { sheets } = (await readJob(company, jobId)).inferred_schema.dialect;
    expect([sheets.length, sheets[0], sheets[1], sheets[2]]).toEqual([200, 'Dados', 's0', 's2']);
    await cancelJob(company, jobId);
  });
});

describe('the second analysis of files of several kinds', () => {
  const makeTestWorkbook = () =>
    makeWorkbook({
      sheets: [makeSheet('Capa', 'a|b|c|d|e', '1|2|3|4|5', '1|2|3|4|5'), makeSheet('Dados', 'n|nome', '3|Eva')],
    });

  it('applies the delimiter to text files and the sheet to workbooks', async () => {
    const jobId = await aWaitingJob(
      ['a.csv', 'n;nome\n1;"Ana^a"\n2;Bia\n'],
      [
        'b.xlsx',
        makeWorkbook({
          sheets: [makeSheet('Dados', 'n|nome', '3|Eva'), makeSheet('Mais', 'n|nome', '4|"Rui"', '5|Lia')],
        }),
      ],
    );
    const schema = await look(jobId, { sheet: 'Mais', quote: null, delimiter: ';' });
    expect(schema).not.toHaveProperty('problem');
    expect(schema).toMatchObject({
      total_row_count_estimate: 4,
      dialect: { delimiter: ';', quote: null, sheet: null },
    });
    expect(await rowsWhenConfirmed(jobId)).toEqual([
      { n: 1, nome: '"Ana^a"' },
      { n: 2, nome: 'Bia' },
      { n: 4, nome: '"Rui"' },
      { n: 5, nome: 'Lia' },
    ]);
  });

  it('applies to the files of a zip archive, and names the file that has a problem', async () => {
    const oldWorkbook = makeOldWorkbook({
      Dados: DATA_ROWS,
      Outra: parseCells('n|nome', '9|Zoe'),
    });
    const zip = zipSync({ 'a.xls': oldWorkbook, 'b.csv': strToU8('n,nome\n7,Gil\n') }) as FileBytes;
    const jobId = await aWaitingJob(['tudo.zip', zip]);
    expect(await look(jobId, { sheet: 'Outra', header: true })).toMatchObject({ total_row_count_estimate: 2 });
    const { problem } = await look(jobId, { sheet: 'Outra', delimiter: '|' });
    expect(problem).toEqual({ field: 'delimiter', message: 'O separador "|" não aparece no arquivo b.csv.' });
    expect(await rowsWhenConfirmed(jobId)).toEqual([
      { n: 9, nome: 'Zoe' },
      { n: 7, nome: 'Gil' },
    ]);
  });

  it('reports a problem when only one of two workbooks has the sheet', async () => {
    const other = makeWorkbook({
      sheets: [makeSheet('Dados', 'n|nome', '8|Ivo')],
    });
    const first = makeWorkbook({
      sheets: [makeSheet('Dados', 'n|nome', '3|Eva'), { name: 'Mais', rows: DATA_ROWS as never }],
    });
    const jobId = await aWaitingJob(['a.xlsx', first], ['b.xlsx', other]);
    expect((await look(jobId, { sheet: 'Mais' })).problem).toEqual({
      field: 'sheet',
      message: 'A planilha "b.xlsx" não tem nenhuma aba chamada "Mais".',
    });
    expect((await look(jobId, { sheet: 'Dados' })).total_row_count_estimate).toBe(2);
    await cancelJob(company, jobId);
  });

  it('may infer different columns from another sheet', async () => {
    const jobId = await aWaitingJob(['a.xlsx', makeTestWorkbook()]);
    expect(listNames((await readJob(company, jobId)).inferred_schema)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(listNames(await look(jobId, { sheet: 'Dados' }))).toEqual(['n', 'nome']);
    await cancelJob(company, jobId);
  });
});

describe('a second analysis corrects a wrong guess', () => {
  it('of the encoding of a text without a byte order mark', async () => {
    const utf16 = new Uint8Array(
      new Uint16Array([...'n;x\n1;ação\n'].map((character) => character.charCodeAt(0))).buffer,
    );
    const jobId = await aWaitingJob([
      'a.csv',
      Uint8Array.from('n;x\n1;a\xe7\xe3o\n', (character) => character.charCodeAt(0)) as FileBytes,
    ]);
    expect((await look(jobId, { encoding: 'utf-16be' })).problem).toMatchObject({ field: 'encoding' });
    expect(await rowsWhenConfirmed(jobId)).toEqual([{ n: 1, x: 'ação' }]);
    const otherJob = await aWaitingJob(['b.csv', utf16]);
    expect((await look(otherJob, { encoding: 'utf-16le' })).dialect.encoding).toBe('utf-16le');
    expect(await rowsWhenConfirmed(otherJob)).toEqual([{ n: 1, x: 'ação' }]);
  });
});

describe('a second analysis that is interrupted', () => {
  const SMALL_MESSAGES = { UPLOAD_MESSAGE_BYTES: '1' };
  const listMadeFiles = async (jobId: string) =>
    (await listStoredFiles(company)).filter((key) => key.includes(`${jobId}/made/`)).toSorted();
  const makeTestWorkbook = () =>
    makeWorkbook({
      sheets: [
        { name: 'Dados', rows: [['n'], ...Array.from({ length: 2000 }, (_, n) => [n])] },
        { name: 'Mais', rows: [['m'], ...Array.from({ length: 3000 }, (_, m) => [m])] },
      ],
    });

  it.each(['put', 'get'] as const)('continues at the next delivery: R2 fails to %s', async (call) => {
    const jobId = await aWaitingJob(['a.xlsx', makeTestWorkbook()]);
    expect((await analyze(jobId, { sheet: 'Mais' })).status).toBe(200);
    const message = queue.messages.shift() as JobMessage;
    let callCount = 0;
    let failureCount = 0;
    const FILES = new Proxy(env.FILES, {
      get: (bucket, name: keyof R2Bucket) => {
        const realMethod = (bucket[name] as (...args: unknown[]) => unknown).bind(bucket);
        if (name !== call) return realMethod;
        return (...args: unknown[]) => {
          callCount += 1;
          if (![1, 3, 6, 10, 15].includes(callCount)) return realMethod(...args);
          failureCount += 1;
          throw new Error('the isolate dies');
        };
      },
    });
    for (let attempt = 0; attempt < 60 && (await readJob(company, jobId)).status !== 'waiting_confirm'; attempt++)
      await deliverMessage(message, { ...queue.env, ...SMALL_MESSAGES, FILES });
    expect(failureCount).toBeGreaterThan(0);
    await deliverAllMessages(queue);
    expect(await readJob(company, jobId)).toMatchObject({
      status: 'waiting_confirm',
      inferred_schema: { total_row_count_estimate: 3000, dialect: { sheet: 'Mais' } },
    });
    expect(await rowsWhenConfirmed(jobId)).toHaveLength(3000);
  });

  it.each([
    ['finds the sheet', { sheet: 'Mais' }, 3000],
    ['does not find the sheet', { sheet: 'Falta' }, 2000],
  ])('has the result of another delivery that finishes first and %s', async (_, analysisOptions, rows) => {
    const jobId = await aWaitingJob(['a.xlsx', makeTestWorkbook()]);
    expect((await analyze(jobId, analysisOptions)).status).toBe(200);
    const message = queue.messages.shift() as JobMessage;
    const redeliverMessage = () => deliverMessage(message, queue.env);
    const { outcome } = await runBeforeNextStatement(company.id, /SET status = 'waiting_confirm'/, redeliverMessage);
    while ((await readJob(company, jobId)).status !== 'waiting_confirm') expect(await redeliverMessage()).toBe('done');
    expect(await outcome).toBe('done');
    await deliverMessage(message, queue.env);
    await deliverAllMessages(queue);
    const { status, inferred_schema: schema } = await readJob(company, jobId);
    expect([status, schema.total_row_count_estimate, 'problem' in schema]).toEqual([
      'waiting_confirm',
      rows,
      rows === 2000,
    ]);
    // The texts that the load reads are all still there.
    expect(await rowsWhenConfirmed(jobId)).toHaveLength(rows);
  });

  it('leaves only the files that the load needs, and is refused once the job is cancelled', async () => {
    const jobId = await aWaitingJob(['a.xlsx', makeTestWorkbook()]);
    const first = await listMadeFiles(jobId);
    await look(jobId, { sheet: 'Mais' });
    const secondFiles = await listMadeFiles(jobId);
    expect(secondFiles.filter((key) => first.includes(key))).toEqual([]);
    expect(secondFiles.length).toBeLessThanOrEqual(first.length);
    await look(jobId, { sheet: 'Falta' });
    expect(await listMadeFiles(jobId)).toEqual(secondFiles);
    await cancelJob(company, jobId);
    expect((await analyze(jobId, {})).body.error_code).toBe('UPLOAD_JOB_NOT_WAITING_CONFIRM');
  });

  it('is refused for a job that is done', async () => {
    const jobId = await aWaitingJob(['a.csv', 'a,b\n1,2\n']);
    await rowsWhenConfirmed(jobId);
    expect(await analyze(jobId, { header: true })).toMatchObject({
      status: 400,
      body: { error_code: 'UPLOAD_JOB_NOT_WAITING_CONFIRM' },
    });
  });
});
