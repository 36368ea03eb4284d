import { utils, write } from '@e965/xlsx';
import { strToU8, unzipSync, zipSync } from 'fflate';

const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const CONTENT_TYPES_NAMESPACE = 'http://schemas.openxmlformats.org/package/2006/content-types';
const RELATIONSHIPS_NAMESPACE = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE_NAMESPACE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const zipParts = (parts: Record<string, string>): Uint8Array<ArrayBuffer> =>
  zipSync(Object.fromEntries(Object.entries(parts).map(([name, xml]) => [name, strToU8(`${XML_DECLARATION}${xml}`)])));

const formatRelationship = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${OFFICE_NAMESPACE}/${type}" Target="${target}"/>`;

const makePackage = (mainPart: string, contentType: string) => ({
  '[Content_Types].xml': `<Types xmlns="${CONTENT_TYPES_NAMESPACE}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${mainPart}" ContentType="${contentType}"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${RELATIONSHIPS_NAMESPACE}">${formatRelationship('rId1', 'officeDocument', mainPart)}</Relationships>`,
});

const WORD_NAMESPACE = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';

/** Formats a run of text like Word. */
const formatRun = (text: string) =>
  `<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r>`;

/** Formats a paragraph of a Word document from the XML of its runs. */
export const formatParagraph = (...runs: string[]): string => `<w:p>${runs.join('')}</w:p>`;

/** Formats a paragraph in two runs, as editors split text. */
export function splitParagraph(text: string): string {
  const middle = Math.ceil(text.length / 2);
  return formatParagraph(formatRun(text.slice(0, middle)), formatRun(text.slice(middle)));
}

/** Formats a table of a Word document from the texts of its cells. */
export const formatTable = (...rows: string[][]): string =>
  `<w:tbl><w:tblPr/><w:tblGrid/>${rows
    .map(
      (cells) =>
        `<w:tr>${cells.map((text) => `<w:tc><w:tcPr/>${formatParagraph(formatRun(text))}</w:tc>`).join('')}</w:tr>`,
    )
    .join('')}</w:tbl>`;

/** Formats a text box: Word writes the text twice, the second time for older programs. */
export const formatTextBox = (text: string): string =>
  formatParagraph(
    `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx><w:txbxContent>${splitParagraph(text)}</w:txbxContent></wps:txbx></w:drawing></mc:Choice>` +
      `<mc:Fallback><w:pict><v:textbox><w:txbxContent>${splitParagraph(text)}</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>`,
  );

/** Formats a paragraph that ends with the mark of a footnote. */
export const formatNotedParagraph = (text: string, footnote: number): string =>
  formatParagraph(formatRun(text), `<w:r><w:footnoteReference w:id="${footnote}"/></w:r>`);

const WORD_NAMESPACES = [
  `xmlns:w="${WORD_NAMESPACE}"`,
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"',
  'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"',
  'xmlns:v="urn:schemas-microsoft-com:vml"',
].join(' ');

/** Makes a Word document from the XML of its paragraphs and tables, with footnotes if any are given. */
export function makeWordDocumentFromXml(body: string[], footnotes: string[] = []): Uint8Array<ArrayBuffer> {
  const formatFootnote = (text: string, index: number) =>
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
    'word/document.xml': `<w:document ${WORD_NAMESPACES}><w:body>${body.join('')}<w:sectPr/></w:body></w:document>`,
    ...(footnotes.length > 0 && {
      'word/footnotes.xml': `<w:footnotes ${WORD_NAMESPACES}>${separators}${footnotes.map(formatFootnote).join('')}</w:footnotes>`,
    }),
  });
}

/** Makes a Word document with the given paragraphs. */
export const makeWordDocument = (...paragraphs: string[]): Uint8Array<ArrayBuffer> =>
  makeWordDocumentFromXml(paragraphs.map(splitParagraph));

/** Adds a byte order mark to each part of a document, as some programs write it. */
export function addByteOrderMarks(document: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const parts = Object.entries(unzipSync(document));
  return zipSync(
    Object.fromEntries(parts.map(([name, bytes]) => [name, new Uint8Array([0xef, 0xbb, 0xbf, ...bytes])])),
  );
}

/** Makes a workbook of one sheet with inline texts. */
export function makeWorkbook(sheet: string, rows: (string | number)[][]): Uint8Array<ArrayBuffer> {
  const makeCell = (value: string | number, column: number, row: number) => {
    const at = `${String.fromCharCode(65 + column)}${row + 1}`;
    return typeof value === 'number'
      ? `<c r="${at}"><v>${value}</v></c>`
      : `<c r="${at}" t="inlineStr"><is><t>${escapeXml(value)}</t></is></c>`;
  };
  const data = rows.map(
    (cells, row) => `<row r="${row + 1}">${cells.map((value, column) => makeCell(value, column, row)).join('')}</row>`,
  );
  const MAIN_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const relations = formatRelationship('rId1', 'worksheet', 'worksheets/sheet1.xml');
  return zipParts({
    ...makePackage('xl/workbook.xml', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml'),
    'xl/workbook.xml': `<workbook xmlns="${MAIN_NAMESPACE}" xmlns:r="${OFFICE_NAMESPACE}"><sheets><sheet name="${escapeXml(sheet)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${RELATIONSHIPS_NAMESPACE}">${relations}</Relationships>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${MAIN_NAMESPACE}"><sheetData>${data.join('')}</sheetData></worksheet>`,
  });
}

/** Makes a workbook like SheetJS: shared strings, styled dates, formulas with their values, and one sheet per name. */
export function writeWorkbook(sheets: Record<string, unknown[][]>): Uint8Array<ArrayBuffer> {
  const book = utils.book_new();
  for (const [name, rows] of Object.entries(sheets)) utils.book_append_sheet(book, utils.aoa_to_sheet(rows), name);
  return new Uint8Array(write(book, { type: 'array', bookType: 'xlsx', bookSST: true, compression: true }));
}

/** Makes a document whose text has `bytes` bytes when unpacked, and few when packed. */
export function makeZipBomb(bytes: number): Uint8Array<ArrayBuffer> {
  return zipSync({ 'word/document.xml': new Uint8Array(bytes).fill(32) });
}
