import { CFB, utils, write } from '@e965/xlsx';
import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  loadFiles,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForAnalysis,
} from './support.ts';
import { type Cell, makeSheetWorkbook, makeWorkbook } from './workbooks.ts';

type FileBytes = Uint8Array<ArrayBuffer>;

const company = await createProvisionedCompany();

let tableCount = 0;

/** Loads a file. @returns its rows without their ids */
async function loadRows(name: string, content: FileBytes | string) {
  const job = await loadFiles(company, [makeFile(name, content)], { display_name: `planilha_${++tableCount}` });
  expect(job.error).toBeNull();
  const rows = await readRows(company, job.user_table_id);
  return rows.map(({ id: _, ...values }) => values);
}

/** Uploads a file, and waits for its analysis. @returns the job */
async function inferFile(name: string, content: FileBytes | string) {
  const jobId = await uploadFiles(company, [makeFile(name, content)]);
  const job = await waitForAnalysis(company, jobId);
  if (job.status !== 'failed') await cancelJob(company, jobId);
  return job;
}

describe('a workbook', () => {
  const formats = ['dd/mm/yyyy', 'dd/mm/yyyy hh:mm', '00000"-"000', 20];

  it('becomes rows of the values that a person sees in it', async () => {
    const rows: Cell[][] = [
      ['Nome', 'Quando', 'Dia', 'Pago', 'Valor', 'Total', 'Código', 'Hora', 'Erro'],
      [
        { t: 's', v: '0' },
        { s: 2, v: '45322.43078703704' },
        { s: 1, v: '45322' },
        true,
        { v: '0.30000000000000004' },
        { xml: '<f>SUM(A1:A2)</f><v>42</v>' },
        { s: 3, v: '1310100' },
        { s: 4, v: '0.4375' },
        { t: 'e', v: '#DIV/0!' },
      ],
      [
        { t: 's', v: '1' },
        { s: 2, v: '45323' },
        null,
        false,
        -1.5,
        { t: 'str', xml: '<f>A1&amp;"x"</f><v>a &lt; b</v>' },
        { s: 3, v: '12345678' },
        { s: 4, v: '0.999988425925926' },
        1,
      ],
    ];
    const sharedStrings = [
      '<r><t>Ana </t></r><r><t>"Bia"</t></r><rPh><t>leia-se</t></rPh>',
      '<t>linha 1_x000D_\nlinha 2 &#233;</t>',
    ];
    expect(await loadRows('vendas.xlsx', makeSheetWorkbook(rows, { strings: sharedStrings, formats }))).toEqual([
      {
        nome: 'Ana "Bia"',
        quando: '2024-01-31T10:20:20.000Z',
        dia: '2024-01-31',
        pago: true,
        valor: 0.3,
        total: '42',
        codigo: '01310-100',
        hora: '10:30:00',
        erro: null,
      },
      {
        nome: 'linha 1\r\nlinha 2 é',
        quando: '2024-02-01T00:00:00.000Z',
        dia: null,
        pago: false,
        valor: -1.5,
        total: 'a < b',
        codigo: '12345-678',
        hora: '23:59:59',
        erro: 1,
      },
    ]);
  });

  it('fails its job with the row number, the column and the value that does not fit', async () => {
    const rows = {
      2: { B: 'produto', C: 'preço' },
      3: { B: 'linha 1\nlinha 2\nlinha 3', C: 1 },
      7: { B: 'x', C: 'caro' },
    };
    const jobId = await uploadFiles(company, [makeFile('preços.xlsx', makeWorkbook({ sheets: [{ rows }] }))]);
    const { inferred_schema: schema } = await waitForAnalysis(company, jobId);
    expect(schema.columns[1]).toMatchObject({
      type: 'text',
      evidence: { counter_example: { value: 'caro', line: 7 } },
    });
    const job = await loadFiles(company, [makeFile('preços.xlsx', makeWorkbook({ sheets: [{ rows }] }))], {
      display_name: `planilha_${++tableCount}`,
      columns: schema.columns.map((column: object, index: number) => (index ? { ...column, type: 'decimal' } : column)),
    });
    expect(job).toMatchObject({
      status: 'failed',
      error: { code: 'VALUE_DOES_NOT_FIT', file: 'preços.xlsx', line: 7, column: 'preco', value: 'caro' },
    });
    await cancelJob(company, jobId);
  });

  it('is converted, analysed and loaded completely over many small messages', async () => {
    const count = 12_000;
    const rows: Cell[][] = [['n', 'nome'], ...Array.from({ length: count }, (_, n): Cell[] => [n, `Cliente ${n}`])];
    const queue = createTestQueue();
    const smallMessages = { UPLOAD_MESSAGE_BYTES: '65536' };
    const jobId = await uploadFiles(company, [makeFile('grande.xlsx', makeSheetWorkbook(rows))], queue);
    expect(await deliverAllMessages(queue, smallMessages)).toBeGreaterThanOrEqual(8);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    await confirmJob(company, jobId, { display_name: `planilha_${++tableCount}`, columns }, queue);
    await deliverAllMessages(queue, smallMessages);
    const job = await readJob(company, jobId);
    expect(job).toMatchObject({ status: 'done', progress: { rows_processed: count } });
    const loadedRows = await readRows(company, job.user_table_id);
    expect(loadedRows.map(({ n, nome }) => `${n} ${nome}`)).toEqual(
      Array.from({ length: count }, (_, n) => `${n} Cliente ${n}`),
    );
  });

  it('fails its job when it is damaged, cut off, empty or not a workbook', async () => {
    const workbook = makeSheetWorkbook([['a'], [1]]);
    const randomBytes = crypto.getRandomValues(new Uint8Array(2000));
    const invalidFiles: [string, FileBytes, string][] = [
      ['cortada.xlsx', workbook.slice(0, workbook.length - 30), 'WORKBOOK_UNREADABLE'],
      ['lixo.xlsx', randomBytes, 'WORKBOOK_UNREADABLE'],
      ['vazia.xlsx', new Uint8Array(), 'WORKBOOK_UNREADABLE'],
      ['sem-linhas.xlsx', makeSheetWorkbook([]), 'NO_ROWS'],
      ['velha-cortada.xls', makeOldWorkbook([['a'], [1]]).slice(0, 2000), 'WORKBOOK_UNREADABLE'],
    ];
    for (const [name, content, code] of invalidFiles) {
      const job = await inferFile(name, content);
      expect([name, job.status, job.error?.code]).toEqual([name, 'failed', code]);
      expect(job.error.file).toBe(name);
    }
  });

  it('fails its job when it is encrypted, as .xlsx or .xls', async () => {
    const container = CFB.utils.cfb_new();
    CFB.utils.cfb_add(container, '/EncryptionInfo', new Uint8Array([4, 0, 4, 0, 64, 0, 0, 0, 60, 101]) as never);
    CFB.utils.cfb_add(container, '/EncryptedPackage', new Uint8Array(4096) as never);
    const encryptedFile = new Uint8Array(CFB.write(container, { type: 'array' }) as unknown as ArrayBuffer);
    for (const [name, content] of [
      ['segredo.xlsx', encryptedFile],
      ['segredo.xls', makeEncryptedWorkbook()],
    ] as [string, FileBytes][]) {
      expect(await inferFile(name, content)).toMatchObject({ status: 'failed', error: { code: 'WORKBOOK_ENCRYPTED' } });
    }
  });
});

/** Makes a workbook of Excel 97 to 2003. */
function makeOldWorkbook(
  rows: unknown[][],
  bookType: 'biff8' | 'biff5' | 'biff2' = 'biff8',
  date1904 = false,
): FileBytes {
  const sheet = utils.aoa_to_sheet(rows, { dense: true, UTC: true });
  const workbook = utils.book_new();
  utils.book_append_sheet(workbook, utils.aoa_to_sheet([]), 'Vazia');
  utils.book_append_sheet(workbook, sheet, 'Dados');
  if (date1904) workbook.Workbook = { WBProps: { date1904: true } };
  if (bookType === 'biff2') workbook.SheetNames.shift();
  return new Uint8Array(write(workbook, { type: 'array', bookType }));
}

/** Makes a workbook of Excel 97 to 2003 with the record that marks it as encrypted, after its first record. */
function makeEncryptedWorkbook(): FileBytes {
  const container = CFB.read(makeOldWorkbook([['a'], [1]]), { type: 'array' });
  const stream = CFB.find(container, '/Workbook');
  if (!stream) throw new Error('a workbook has a stream of records');
  const content = new Uint8Array(stream.content as unknown as ArrayLike<number>);
  const first = 4 + (content[2] as number) + 256 * (content[3] as number);
  const passwordRecord = new Uint8Array(4 + 54);
  passwordRecord.set([0x2f, 0, 54, 0, 1, 0, 1, 0, 1, 0]);
  const changedContent = new Uint8Array([...content.subarray(0, first), ...passwordRecord, ...content.subarray(first)]);
  CFB.utils.cfb_add(container, '/Workbook', changedContent as never);
  return new Uint8Array(CFB.write(container, { type: 'array' }) as unknown as ArrayBuffer);
}

describe('a BIFF workbook', () => {
  const rows = [
    ['Nome', 'Dia', 'Pago', 'Valor'],
    ['Ana, "a primeira"', new Date(Date.UTC(2024, 0, 31)), true, 0.1 + 0.2],
    ['Bia', null, false, 12345678901],
  ];
  const expectedRows = [
    { nome: 'Ana, "a primeira"', dia: '2024-01-31', pago: true, valor: 0.3 },
    { nome: 'Bia', dia: null, pago: false, valor: 12345678901 },
  ];

  it('becomes the same rows in BIFF 8 and BIFF 5, with dates from 1904 too', async () => {
    expect(await loadRows('velha.xls', makeOldWorkbook(rows))).toEqual(expectedRows);
    const macRows = [['Dia'], [{ t: 'n', v: 43860, z: 'm/d/yy' }]];
    expect(await loadRows('velha-1904.xls', makeOldWorkbook(macRows, 'biff8', true))).toEqual([{ dia: '2024-01-31' }]);
    expect(await loadRows('mais-velha.xls', makeOldWorkbook(rows, 'biff5'))).toEqual(expectedRows);
  });

  it('is recognized under the name .xlsx, as is an .xlsx workbook under the name .xls', async () => {
    expect(await loadRows('nova.xls', makeSheetWorkbook([['a'], [1]]))).toEqual([{ a: 1 }]);
    expect(await loadRows('velha.xlsx', makeOldWorkbook([['a'], [1]]))).toEqual([{ a: 1 }]);
  });

  it('may be HTML or XML Spreadsheet 2003 under the name .xls', async () => {
    const page =
      '<html><body><table><tr><th>nome</th><th>valor</th></tr><tr><td>Ana</td><td>1</td></tr><tr><td>S&atilde;o</td><td>2</td></tr></table></body></html>';
    const rows = [
      { nome: 'Ana', valor: 1 },
      { nome: 'São', valor: 2 },
    ];
    expect(await loadRows('sistema.xls', page)).toEqual(rows);
    const spreadsheetUri = 'urn:schemas-microsoft-com:office:spreadsheet';
    const makeColumn = (name: string, type: string, value: string | number) =>
      `<Row><Cell><Data ss:Type="String">${name}</Data></Cell><Cell><Data ss:Type="${type}">${value}</Data></Cell></Row>`;
    const xml = `<?xml version="1.0"?><Workbook xmlns="${spreadsheetUri}" xmlns:ss="${spreadsheetUri}"><Worksheet ss:Name="Dados"><Table>${makeColumn('nome', 'String', 'valor')}${makeColumn('Ana', 'Number', 1)}${makeColumn('São', 'Number', 2)}</Table></Worksheet></Workbook>`;
    expect(await loadRows('sistema.xls', xml)).toEqual(rows);
  });

  it('may be delimited text under the name .xls', async () => {
    expect(await loadRows('sistema.xls', 'código;valor\r\n007;1,5\r\n008;2,5\r\n')).toEqual([
      { codigo: '007', valor: 1.5 },
      { codigo: '008', valor: 2.5 },
    ]);
    const utf16Bytes = new Uint8Array(
      new Uint16Array([0xfeff, ...[...'a\tb\n1\tx\n'].map((character) => character.charCodeAt(0))]).buffer,
    );
    expect(await loadRows('unicode.xls', utf16Bytes)).toEqual([{ a: 1, b: 'x' }]);
  });
});

const MHTML_FILE =
  'MIME-Version: 1.0\r\nX-Document-Type: Workbook\r\nContent-Type: multipart/related; boundary="----=_Next"\r\n\r\n' +
  '------=_Next\r\nContent-Type: text/html\r\n\r\n<table><tr><td>a</td></tr><tr><td>1</td></tr></table>\r\n';

describe('a file whose content does not match its extension', () => {
  it.each([
    ['pagina.csv', 'HTML', '<!DOCTYPE html><html><table><tr><td>a</td></tr><tr><td>b</td></tr></table></html>'],
    ['sessao.xls', 'HTML', '<html><body><h1>Sessão expirada</h1></body></html>'],
    ['pagina-unica.xls', 'MHTML', MHTML_FILE],
    ['nota.csv', 'XML', '<?xml version="1.0"?><nfeProc><NFe>1</NFe></nfeProc>'],
    ['dados.xls', 'JSON', '{"dados":[{"nome":"Ana"}]}'],
  ])('fails its job with an error that names the content: %s is %s', async (name, content, text) => {
    const job = await inferFile(name, text);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'UNREADABLE_CONTENT', file: name } });
    expect(job.error.message).toContain(content);
  });

  it.each([
    ['pagina.xlsx', 'é HTML', 'extensão .xls.', '<html><table><tr><td>a</td></tr><tr><td>1</td></tr></table></html>'],
    ['pagina-unica.xlsx', 'é MHTML', 'Salve-o como .xlsx', MHTML_FILE],
    ['texto.xlsx', 'é texto', 'extensão .csv.', 'a,b\n1,2\n'],
  ])('fails its job with advice on how to send it: %s %s', async (name, content, advice, text) => {
    const job = await inferFile(name, text);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'WORKBOOK_UNREADABLE', file: name } });
    expect(job.error.message).toContain(content);
    expect(job.error.message).toContain(advice);
  });
});
