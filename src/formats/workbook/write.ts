import { Zip, ZipDeflate } from 'fflate';
import { concatBytes } from '../../kernel/bytes.ts';
import { truncateText } from '../../kernel/text.ts';

/** Value of a cell to write; days are counted from 1899-12-30. */
export type WrittenCell = string | number | boolean | null | { dayNumber: number; kind: 'date' | 'datetime' };

/** Maximum number of rows of a sheet, without the header. */
export const MAX_SHEET_ROWS = 1_048_575;
/** Maximum number of characters of a cell. */
export const MAX_CELL_CHARACTERS = 32_767;
/** Maximum number of UTF-16 units of a sheet's name. */
const MAX_SHEET_NAME_LENGTH = 31;
/** Name that Excel keeps for itself, in any case. */
const RESERVED_SHEET_NAME = 'history';
/** Maximum size of a ZIP file without extensions. */
const MAX_SHEET_BYTES = 0xffff_ffff;

const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const SPREADSHEET_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE_NAMESPACE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE_NAMESPACE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const CONTENT_TYPE_PREFIX = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Styles of days and of timestamps, by their index in `cellXfs`. */
const STYLE_INDEXES = { date: 1, datetime: 2 };
const PLAIN_STYLE_ATTRIBUTES = 'fontId="0" fillId="0" borderId="0"';

/** Makes the parts of a workbook other than its sheet. */
const makeParts = (sheetName: string): Record<string, string> => ({
  '[Content_Types].xml': `<Types xmlns="${PACKAGE_NAMESPACE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT_TYPE_PREFIX}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${CONTENT_TYPE_PREFIX}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${CONTENT_TYPE_PREFIX}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${PACKAGE_NAMESPACE}/relationships"><Relationship Id="rId1" Type="${OFFICE_NAMESPACE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${SPREADSHEET_NAMESPACE}" xmlns:r="${OFFICE_NAMESPACE}"><sheets><sheet name="${escapeXml(makeSheetName(sheetName))}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE_NAMESPACE}/relationships"><Relationship Id="rId1" Type="${OFFICE_NAMESPACE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${OFFICE_NAMESPACE}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `<styleSheet xmlns="${SPREADSHEET_NAMESPACE}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" ${PLAIN_STYLE_ATTRIBUTES}/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0" ${PLAIN_STYLE_ATTRIBUTES} xfId="0"/><xf numFmtId="164" ${PLAIN_STYLE_ATTRIBUTES} xfId="0" applyNumberFormat="1"/><xf numFmtId="165" ${PLAIN_STYLE_ATTRIBUTES} xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
});

/** Makes a sheet name that Excel accepts. */
function makeSheetName(name: string): string {
  const allowedText = truncateText(name.replace(/[[\]:*?/\\]/g, ' '), MAX_SHEET_NAME_LENGTH);
  const sheetName = allowedText.replace(/^[\s']+|[\s']+$/g, '') || 'Sheet1';
  return sheetName.toLowerCase() === RESERVED_SHEET_NAME ? `${sheetName}_` : sheetName;
}

/** Writes a workbook with one sheet, row by row: each call returns the bytes that are ready. */
export class WorkbookWriter {
  readonly #zip: Zip;
  readonly #sheet = new ZipDeflate('xl/worksheets/sheet1.xml', { level: 3 });
  readonly #encoder = new TextEncoder();
  /** The beginning of a cell of each column, up to the number of its row. */
  readonly #cellBeginnings: string[];
  #readyPieces: Uint8Array[] = [];
  #rowCount = 0;
  #byteCount = 0;

  constructor(sheetName: string, header: string[]) {
    this.#cellBeginnings = header.map((_, at) => `<c r="${toColumnLetters(at)}`);
    this.#zip = new Zip((error, bytes) => {
      if (error) throw error;
      this.#readyPieces.push(bytes);
    });
    for (const [path, content] of Object.entries(makeParts(sheetName))) {
      const zipEntry = new ZipDeflate(path);
      this.#zip.add(zipEntry);
      zipEntry.push(this.#encoder.encode(XML_DECLARATION + content), true);
    }
    this.#zip.add(this.#sheet);
    this.#push(`${XML_DECLARATION}<worksheet xmlns="${SPREADSHEET_NAMESPACE}"><sheetData>`, false);
    this.#push(formatRow(this.#cellBeginnings, 1, header), false);
  }

  /** Writes the beginning of the file, or more rows. */
  writeRows(rows: WrittenCell[][] = []): Uint8Array<ArrayBuffer> {
    const firstRow = this.#rowCount + 2;
    this.#rowCount += rows.length;
    if (this.#rowCount > MAX_SHEET_ROWS) throw new Error(`a sheet holds ${MAX_SHEET_ROWS} rows`);
    this.#push(rows.map((row, at) => formatRow(this.#cellBeginnings, firstRow + at, row)).join(''), false);
    return this.#take();
  }

  /** Writes the end of the file. */
  endFile(): Uint8Array<ArrayBuffer> {
    this.#push('</sheetData></worksheet>', true);
    this.#zip.end();
    return this.#take();
  }

  #push(xml: string, isLast: boolean): void {
    const bytes = this.#encoder.encode(xml);
    this.#byteCount += bytes.length;
    if (this.#byteCount > MAX_SHEET_BYTES) throw new Error(`the sheet is longer than ${MAX_SHEET_BYTES} bytes`);
    this.#sheet.push(bytes, isLast);
  }

  #take(): Uint8Array<ArrayBuffer> {
    const readyBytes = concatBytes(this.#readyPieces);
    this.#readyPieces = [];
    return readyBytes;
  }
}

/** Returns the letters of a column, counted from 0: `A`, `Z`, `AA`. */
const toColumnLetters = (at: number): string =>
  (at < 26 ? '' : toColumnLetters(Math.floor(at / 26) - 1)) + String.fromCharCode(65 + (at % 26));

/** Writes a row: rows and cells have references, which some readers (exceljs) require; a cell without a value is left out. */
function formatRow(cellBeginnings: string[], rowNumber: number, cells: WrittenCell[]): string {
  let xml = `<row r="${rowNumber}">`;
  for (const [at, cell] of cells.entries())
    if (cell !== null) xml += `${cellBeginnings[at]}${rowNumber}"${formatCell(cell)}`;
  return `${xml}</row>`;
}

/** Writes what follows the reference of a cell. */
function formatCell(cell: NonNullable<WrittenCell>): string {
  if (typeof cell === 'number') return `><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return ` t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'object') return ` s="${STYLE_INDEXES[cell.kind]}"><v>${cell.dayNumber}</v></c>`;
  return ` t="inlineStr"><is><t xml:space="preserve">${escapeXml(cell)}</t></is></c>`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Pattern of characters with XML entities, characters that XML cannot hold or would change, and text like Excel's escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant.
const UNSAFE_PATTERN = /[&<>"]|[\0-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g;

const escapeXml = (text: string): string =>
  text.replace(UNSAFE_PATTERN, (character) => ENTITIES[character] ?? escapeCharacter(character));

/** Escapes a character as Excel does: `_x000D_`. */
const escapeCharacter = (character: string): string =>
  `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
