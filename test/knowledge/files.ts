import { utils, write } from '@e965/xlsx';
import { strToU8, unzipSync, zipSync } from 'fflate';

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const CONTENT_TYPES = 'http://schemas.openxmlformats.org/package/2006/content-types';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const zipParts = (parts: Record<string, string>): Uint8Array<ArrayBuffer> =>
  zipSync(Object.fromEntries(Object.entries(parts).map(([name, xml]) => [name, strToU8(`${XML}${xml}`)])));

const formatRelationship = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;

const makePackage = (main: string, contentType: string) => ({
  '[Content_Types].xml': `<Types xmlns="${CONTENT_TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${main}" ContentType="${contentType}"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${RELATIONSHIPS}">${formatRelationship('rId1', 'officeDocument', main)}</Relationships>`,
});

const WORDML = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';

/** A run of text as Word writes it. */
const formatRun = (text: string) =>
  `<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r>`;

/** A paragraph of a Word document, of the XML of its runs. */
export const formatParagraph = (...runs: string[]): string => `<w:p>${runs.join('')}</w:p>`;

/** A paragraph in two runs, as editors split them. */
export function splitParagraph(text: string): string {
  const middle = Math.ceil(text.length / 2);
  return formatParagraph(formatRun(text.slice(0, middle)), formatRun(text.slice(middle)));
}

/** A table of a Word document, of the texts of its cells. */
export const formatTable = (...rows: string[][]): string =>
  `<w:tbl><w:tblPr/><w:tblGrid/>${rows
    .map(
      (cells) =>
        `<w:tr>${cells.map((text) => `<w:tc><w:tcPr/>${formatParagraph(formatRun(text))}</w:tc>`).join('')}</w:tr>`,
    )
    .join('')}</w:tbl>`;

/** A drawn box with text: Word writes it twice, the second time for programs that are older. */
export const formatTextBox = (text: string): string =>
  formatParagraph(
    `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx><w:txbxContent>${splitParagraph(text)}</w:txbxContent></wps:txbx></w:drawing></mc:Choice>` +
      `<mc:Fallback><w:pict><v:textbox><w:txbxContent>${splitParagraph(text)}</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>`,
  );

/** A paragraph that ends with the mark of a footnote. */
export const formatNotedParagraph = (text: string, footnote: number): string =>
  formatParagraph(formatRun(text), `<w:r><w:footnoteReference w:id="${footnote}"/></w:r>`);

const NAMESPACES = [
  `xmlns:w="${WORDML}"`,
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"',
  'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"',
  'xmlns:v="urn:schemas-microsoft-com:vml"',
].join(' ');

/** A Word document of the XML of its paragraphs and tables, with footnotes if there are any. */
export function makeWordDocumentOf(body: string[], footnotes: string[] = []): Uint8Array<ArrayBuffer> {
  const note = (text: string, index: number) =>
    `<w:footnote w:id="${index + 1}">${formatParagraph('<w:r><w:footnoteRef/></w:r>', formatRun(text))}</w:footnote>`;
  // The first two are no notes: they draw the lines between text and notes.
  const separators =
    '<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>' +
    '<w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>';
  return zipParts({
    ...makePackage(
      'word/document.xml',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml',
    ),
    'word/document.xml': `<w:document ${NAMESPACES}><w:body>${body.join('')}<w:sectPr/></w:body></w:document>`,
    ...(footnotes.length > 0 && {
      'word/footnotes.xml': `<w:footnotes ${NAMESPACES}>${separators}${footnotes.map(note).join('')}</w:footnotes>`,
    }),
  });
}

/** A Word document with these paragraphs. */
export const makeWordDocument = (...paragraphs: string[]): Uint8Array<ArrayBuffer> =>
  makeWordDocumentOf(paragraphs.map(splitParagraph));

/** The same document, each part of it with a byte order mark, as some programs write them. */
export function addByteOrderMarks(document: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const parts = Object.entries(unzipSync(document));
  return zipSync(
    Object.fromEntries(parts.map(([name, bytes]) => [name, new Uint8Array([0xef, 0xbb, 0xbf, ...bytes])])),
  );
}

/** A workbook of one sheet, texts inline. */
export function makeWorkbook(sheet: string, rows: (string | number)[][]): Uint8Array<ArrayBuffer> {
  const cell = (value: string | number, column: number, row: number) => {
    const at = `${String.fromCharCode(65 + column)}${row + 1}`;
    return typeof value === 'number'
      ? `<c r="${at}"><v>${value}</v></c>`
      : `<c r="${at}" t="inlineStr"><is><t>${escapeXml(value)}</t></is></c>`;
  };
  const data = rows.map(
    (cells, row) => `<row r="${row + 1}">${cells.map((value, column) => cell(value, column, row)).join('')}</row>`,
  );
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const relations = formatRelationship('rId1', 'worksheet', 'worksheets/sheet1.xml');
  return zipParts({
    ...makePackage('xl/workbook.xml', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml'),
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${OFFICE}"><sheets><sheet name="${escapeXml(sheet)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${main}"><sheetData>${data.join('')}</sheetData></worksheet>`,
  });
}

/** A workbook as SheetJS writes it: shared strings, styled dates, formulas with their values. One sheet for each name. */
export function writeWorkbook(sheets: Record<string, unknown[][]>): Uint8Array<ArrayBuffer> {
  const book = utils.book_new();
  for (const [name, rows] of Object.entries(sheets)) utils.book_append_sheet(book, utils.aoa_to_sheet(rows), name);
  return new Uint8Array(write(book, { type: 'array', bookType: 'xlsx', bookSST: true, compression: true }));
}

/** A document whose text is `bytes` long when unpacked, and tiny when packed. */
export function makeZipBomb(bytes: number): Uint8Array<ArrayBuffer> {
  return zipSync({ 'word/document.xml': new Uint8Array(bytes).fill(32) });
}
