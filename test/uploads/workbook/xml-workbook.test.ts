import { describe, expect, it } from 'vitest';
import { createZipSource } from '../../../src/formats/zip/unpack.ts';
import { convertXml2003 } from '../../../src/modules/uploads/workbook.ts';
import { createMemorySheet, formatColumns, inferSheet, readProblemCode } from './converting.ts';

const SPREADSHEET_URI = 'urn:schemas-microsoft-com:office:spreadsheet';

const convertXml = (xml: string | Uint8Array) => {
  const bytes = typeof xml === 'string' ? new TextEncoder().encode(xml) : xml;
  return convertXml2003('livro.xls', {
    size: bytes.length,
    read: createZipSource(bytes).read,
    beginText: () => createMemorySheet(),
  });
};
const findProblem = (xml: string | Uint8Array) => readProblemCode(convertXml(xml).then(({ text }) => text));

const formatCell = (value: string | number, attributes = '') =>
  `<Cell${attributes}><Data ss:Type="${typeof value === 'number' ? 'Number' : 'String'}">${value}</Data></Cell>`;
const formatRow = (...cells: (string | number)[]) => `<Row>${cells.map((value) => formatCell(value)).join('')}</Row>`;
const formatSheet = (name: string, rows: string, options = '') =>
  `<Worksheet ss:Name="${name}"><Table ss:ExpandedColumnCount="3"><Column ss:Width="80"/>${rows}</Table>${options}</Worksheet>`;
const HIDDEN_OPTIONS =
  '<WorksheetOptions xmlns="urn:schemas-microsoft-com:office:excel"><Visible>SheetHidden</Visible></WorksheetOptions>';
const formatWorkbook = (
  inside: string,
  declaration = '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>',
) =>
  `${declaration}<Workbook xmlns="${SPREADSHEET_URI}" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:ss="${SPREADSHEET_URI}" xmlns:html="http://www.w3.org/TR/REC-html40">
  <DocumentProperties xmlns="urn:schemas-microsoft-com:office:office"><Author>x</Author></DocumentProperties>${inside}</Workbook>`;

const DATA_ROWS = formatRow('nome', 'valor') + formatRow('Ana', 1.5) + formatRow('Bia', 2);

describe('a workbook of XML Spreadsheet 2003', () => {
  it('is converted to the values that a person sees', async () => {
    const styles = `<Styles><Style ss:ID="d"><NumberFormat ss:Format="Short Date"/></Style><Style ss:ID="t"><NumberFormat ss:Format="hh:mm"/></Style>
      <Style ss:ID="c"><NumberFormat ss:Format="00000"/></Style></Styles>`;
    const formatMoment = (style: string, value: string) =>
      `<Cell${style}><Data ss:Type="DateTime">${value}</Data></Cell>`;
    const rows = [
      formatRow('nome', 'dia', 'quando', 'hora', 'pago', 'código', 'erro'),
      `<Row ss:Index="3"><Cell><ss:Data ss:Type="String" xmlns="http://www.w3.org/TR/REC-html40"><B>Ana</B> &quot;A&quot; &amp;&#10;B</ss:Data></Cell>`,
      formatMoment(' ss:StyleID="d"', '2024-01-31T00:00:00.000'),
      formatMoment('', '2024-01-31T10:20:30.000'),
      formatMoment(' ss:StyleID="t"', '1899-12-31T10:30:00.000'),
      '<Cell><Data ss:Type="Boolean">1</Data></Cell>',
      '<Cell ss:StyleID="c"><Data ss:Type="Number">123</Data></Cell>',
      '<Cell><Data ss:Type="Error">#N/A</Data><Comment><ss:Data>nota</ss:Data></Comment></Cell></Row>',
      `<Row ss:Span="2"/><Row><Cell ss:Index="2"/><Cell ss:Index="4"><Data ss:Type="Number">1E3</Data></Cell></Row>`,
    ];
    expect((await convertXml(formatWorkbook(styles + formatSheet('Dados', rows.join(''))))).text).toBe(
      '"nome","dia","quando","hora","pago","código","erro"\n\n"Ana ""A"" &\nB",2024-01-31,2024-01-31T10:20:30,10:30:00,true,"00123",\n\n\n\n,,,1000,,,\n',
    );
  });

  it('has booleans in digits or words, and values that are no boolean or have too fine a fraction as texts', async () => {
    const cells = [
      ...['1', ' TRUE ', '0', 'talvez'].map((value) => `<Cell><Data ss:Type="Boolean">${value}</Data></Cell>`),
      '<Cell><Data ss:Type="DateTime">2024-01-31T10:20:30.1234567</Data></Cell>',
      ...['5.0', '-0'].map((value) => `<Cell><Data ss:Type="Number">${value}</Data></Cell>`),
    ];
    expect((await convertXml(formatWorkbook(formatSheet('Dados', `<Row>${cells.join('')}</Row>`)))).text).toBe(
      'true,true,false,"talvez","2024-01-31T10:20:30.1234567",5,0\n',
    );
  });

  it('is read from the sheet that holds a table, and from hidden sheets last', async () => {
    const readSheetName = async (...sheets: string[]) => (await convertXml(formatWorkbook(sheets.join('')))).sheet.name;
    const listSheet = formatSheet('Lista', formatRow('cidade') + formatRow('Natal'));
    expect(await readSheetName(formatSheet('Vazia', ''), listSheet, formatSheet('Dados', DATA_ROWS))).toBe('Dados');
    expect(await readSheetName(formatSheet('Oculta', DATA_ROWS, HIDDEN_OPTIONS), listSheet)).toBe('Lista');
    expect(
      await readSheetName(formatSheet('Oculta', DATA_ROWS, HIDDEN_OPTIONS), formatSheet('Vazia', '', HIDDEN_OPTIONS)),
    ).toBe('Oculta');
    expect(await findProblem(formatWorkbook(formatSheet('Vazia', '')))).toBe('NO_ROWS');
  });

  it('has merged header cells joined to names, and merged cells repeated in the rows below', async () => {
    const rows = `<Row>${formatCell('Cliente', ' ss:MergeDown="1"')}${formatCell('2023', ' ss:MergeAcross="1"')}</Row>
      <Row>${formatCell('Jan', ' ss:Index="2"')}${formatCell('Fev')}</Row>
      <Row>${formatCell('Ana', ' ss:MergeDown="1"')}${formatCell(1)}${formatCell(2)}</Row><Row>${formatCell(3, ' ss:Index="2"')}</Row>`;
    const inference = inferSheet(await convertXml(formatWorkbook(formatSheet('Dados', rows))));
    expect(formatColumns(inference)).toBe('cliente:text _2023_jan:integer _2023_fev:integer');
    expect(inference.schema.sample_rows).toEqual([
      { cliente: 'Ana', _2023_jan: 1, _2023_fev: 2 },
      { cliente: 'Ana', _2023_jan: 3, _2023_fev: null },
    ]);
  });

  it('begins with its leftmost value, wherever the value stands', async () => {
    const rows = `<Row>${formatCell('b', ' ss:Index="4"')}${formatCell('c')}</Row><Row>${formatCell('a', ' ss:Index="3"')}${formatCell(1)}</Row>`;
    expect((await convertXml(formatWorkbook(formatSheet('Dados', rows)))).text).toBe(',"b","c"\n"a",1,\n');
  });

  it('is read completely in many blocks, in ISO-8859-1 and UTF-16', async () => {
    const count = 20_000;
    const rows = Array.from({ length: count }, (_, n) => formatRow(`Ção ${n}`, n)).join('');
    const xml = formatWorkbook(
      formatSheet('Dados', formatRow('nome', 'n') + rows),
      '<?xml version="1.0" encoding="ISO-8859-1"?>',
    );
    const latin1Bytes = Uint8Array.from(xml, (character) => character.charCodeAt(0));
    const { text, sheet: sheetFacts } = await convertXml(latin1Bytes);
    expect(text.split('\n').length).toBe(count + 2);
    expect(text).toContain('"Ção 19999",19999\n');
    expect(sheetFacts).toEqual({ name: 'Dados', width: 2, header: null, sheets: ['Dados'] });
    const utf16Bytes = new Uint8Array(
      Uint16Array.from(`\ufeff${formatWorkbook(formatSheet('Ação', DATA_ROWS))}`, (s) => s.charCodeAt(0)).buffer,
    );
    expect((await convertXml(utf16Bytes)).sheet.name).toBe('Ação');
  });

  it('is reported as unreadable when it is invalid, and as too large beyond its limits', async () => {
    const wholeWorkbook = formatWorkbook(formatSheet('Dados', formatRow('nome') + formatRow('Ana')));
    for (let at = 0; at < wholeWorkbook.length - 1; at += 97) {
      expect([at, await findProblem(wholeWorkbook.slice(0, at))]).toEqual([at, 'WORKBOOK_UNREADABLE']);
    }
    const brokenWorkbooks = [
      formatWorkbook(formatSheet('Dados', DATA_ROWS), '<!DOCTYPE x [<!ENTITY a "ha">]>'),
      formatWorkbook(formatSheet('Dados', '<Row ss:Index="2"/><Row ss:Index="2"/>')),
      formatWorkbook(formatSheet('Dados', '<Row ss:Index="9999999"/>')),
      formatWorkbook(formatSheet('Dados', `<Row>${formatCell('x', ' ss:MergeAcross="999999"')}</Row>`)),
      wholeWorkbook.replace(SPREADSHEET_URI, 'urn:outra'),
    ];
    for (const xml of brokenWorkbooks) expect(await findProblem(xml)).toBe('WORKBOOK_UNREADABLE');
    expect(await findProblem(formatWorkbook(formatSheet('Dados', formatRow('x'.repeat(9 * 1024 * 1024)))))).toBe(
      'WORKBOOK_TOO_LARGE',
    );
    expect(await findProblem(formatWorkbook(formatSheet('Dados', DATA_ROWS + '<Row>'.repeat(100_000))))).toBe(
      'WORKBOOK_UNREADABLE',
    );
  });
});
