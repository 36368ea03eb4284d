import { strToU8, zipSync } from 'fflate';

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const CONTENT_TYPES = 'http://schemas.openxmlformats.org/package/2006/content-types';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const packed = (parts: Record<string, string>): Uint8Array<ArrayBuffer> =>
  zipSync(Object.fromEntries(Object.entries(parts).map(([name, xml]) => [name, strToU8(`${XML}${xml}`)])));

const relationship = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;

const package_ = (main: string, contentType: string) => ({
  '[Content_Types].xml': `<Types xmlns="${CONTENT_TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${main}" ContentType="${contentType}"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${RELATIONSHIPS}">${relationship('rId1', 'officeDocument', main)}</Relationships>`,
});

/** A Word document with these paragraphs, each in two runs, as editors split them. */
export function aWordDocument(...paragraphs: string[]): Uint8Array<ArrayBuffer> {
  const run = (text: string) => `<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">${escaped(text)}</w:t></w:r>`;
  const body = paragraphs.map((text) => {
    const middle = Math.ceil(text.length / 2);
    return `<w:p>${run(text.slice(0, middle))}${run(text.slice(middle))}</w:p>`;
  });
  const wordml = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
  return packed({
    ...package_(
      'word/document.xml',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml',
    ),
    'word/document.xml': `<w:document xmlns:w="${wordml}"><w:body>${body.join('')}</w:body></w:document>`,
  });
}

/** A workbook of one sheet, texts inline. */
export function aWorkbook(sheet: string, rows: (string | number)[][]): Uint8Array<ArrayBuffer> {
  const cell = (value: string | number, column: number, row: number) => {
    const at = `${String.fromCharCode(65 + column)}${row + 1}`;
    return typeof value === 'number'
      ? `<c r="${at}"><v>${value}</v></c>`
      : `<c r="${at}" t="inlineStr"><is><t>${escaped(value)}</t></is></c>`;
  };
  const data = rows.map(
    (cells, row) => `<row r="${row + 1}">${cells.map((value, column) => cell(value, column, row)).join('')}</row>`,
  );
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const relations = relationship('rId1', 'worksheet', 'worksheets/sheet1.xml');
  return packed({
    ...package_('xl/workbook.xml', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml'),
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${OFFICE}"><sheets><sheet name="${escaped(sheet)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${main}"><sheetData>${data.join('')}</sheetData></worksheet>`,
  });
}

/** A document whose text is `bytes` long when unpacked, and tiny when packed. */
export function aBomb(bytes: number): Uint8Array<ArrayBuffer> {
  return zipSync({ 'word/document.xml': new Uint8Array(bytes).fill(32) });
}
