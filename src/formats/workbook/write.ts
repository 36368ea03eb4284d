import { Zip, ZipDeflate } from 'fflate';
import { concatBytes } from '../../kernel/bytes.ts';

/** The value of a cell; days are counted from 1899-12-30. */
export type WrittenCell = string | number | boolean | null | { days: number; kind: 'date' | 'datetime' };

/** The rows of a sheet, without the header. */
export const MAX_SHEET_ROWS = 1_048_575;
/** The characters that a cell can hold. */
export const MAX_CELL_TEXT = 32_767;
const MAX_SHEET_NAME = 31;
/** The limit of a ZIP file without extensions. */
const MAX_SHEET_BYTES = 0xffff_ffff;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const SHEETS = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The styles of days and of timestamps, by their place in `cellXfs`. */
const STYLES = { date: 1, datetime: 2 };
const PLAIN = 'fontId="0" fillId="0" borderId="0"';

/** The parts of a workbook besides its sheet. */
const makeParts = (sheetName: string): Record<string, string> => ({
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPES}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPES}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPES}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${SHEETS}" xmlns:r="${OFFICE}"><sheets><sheet name="${escaped(nameOfSheet(sheetName))}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `<styleSheet xmlns="${SHEETS}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" ${PLAIN}/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0" ${PLAIN} xfId="0"/><xf numFmtId="164" ${PLAIN} xfId="0" applyNumberFormat="1"/><xf numFmtId="165" ${PLAIN} xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
});

/** A name as Excel takes one. */
const nameOfSheet = (name: string): string =>
  [...name.replace(/[[\]:*?/\\]|^'|'$/g, ' ')].slice(0, MAX_SHEET_NAME).join('').replace(/'$/, ' ').trim() || 'Sheet1';

/** Writes a workbook with one sheet, row by row: each call returns the bytes that are ready. */
export class WorkbookWriter {
  readonly #zip: Zip;
  readonly #sheet = new ZipDeflate('xl/worksheets/sheet1.xml', { level: 3 });
  readonly #encoder = new TextEncoder();
  /** The beginning of a cell of each column, up to the number of its row. */
  readonly #cells: string[];
  #ready: Uint8Array[] = [];
  #rows = 0;
  #bytes = 0;

  constructor(sheetName: string, header: string[]) {
    this.#cells = header.map((_, at) => `<c r="${lettersOf(at)}`);
    this.#zip = new Zip((error, bytes) => {
      if (error) throw error;
      this.#ready.push(bytes);
    });
    for (const [path, content] of Object.entries(makeParts(sheetName))) {
      const part = new ZipDeflate(path);
      this.#zip.add(part);
      part.push(this.#encoder.encode(XML + content), true);
    }
    this.#zip.add(this.#sheet);
    this.#push(`${XML}<worksheet xmlns="${SHEETS}"><sheetData>`, false);
    this.#push(rowXml(this.#cells, 1, header), false);
  }

  /** The beginning of the file, or more rows. */
  write(rows: WrittenCell[][] = []): Uint8Array<ArrayBuffer> {
    const first = this.#rows + 2;
    this.#rows += rows.length;
    if (this.#rows > MAX_SHEET_ROWS) throw new Error(`a sheet holds ${MAX_SHEET_ROWS} rows`);
    this.#push(rows.map((row, at) => rowXml(this.#cells, first + at, row)).join(''), false);
    return this.#take();
  }

  /** The end of the file. */
  end(): Uint8Array<ArrayBuffer> {
    this.#push('</sheetData></worksheet>', true);
    this.#zip.end();
    return this.#take();
  }

  #push(xml: string, isLast: boolean): void {
    const bytes = this.#encoder.encode(xml);
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_SHEET_BYTES) throw new Error(`the sheet is longer than ${MAX_SHEET_BYTES} bytes`);
    this.#sheet.push(bytes, isLast);
  }

  #take(): Uint8Array<ArrayBuffer> {
    const whole = concatBytes(this.#ready);
    this.#ready = [];
    return whole;
  }
}

/** The letters of a column, counted from 0: `A`, `Z`, `AA`. */
const lettersOf = (at: number): string =>
  (at < 26 ? '' : lettersOf(Math.floor(at / 26) - 1)) + String.fromCharCode(65 + (at % 26));

/** Rows and cells say where they stand, which some readers (exceljs) ask for; a cell without a value is left out. */
function rowXml(begins: string[], number: number, cells: WrittenCell[]): string {
  let xml = `<row r="${number}">`;
  for (const [at, cell] of cells.entries()) if (cell !== null) xml += `${begins[at]}${number}"${cellXml(cell)}`;
  return `${xml}</row>`;
}

/** A cell behind its place. */
function cellXml(cell: NonNullable<WrittenCell>): string {
  if (typeof cell === 'number') return `><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return ` t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'object') return ` s="${STYLES[cell.kind]}"><v>${cell.days}</v></c>`;
  return ` t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** What XML has entities for, what it cannot hold or would change, and text that looks like Excel's escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant.
const UNSAFE = /[&<>"]|[\0-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g;

const escaped = (text: string): string => text.replace(UNSAFE, (found) => ENTITIES[found] ?? hex(found));

/** Excel's way to write a character: `_x000D_`. */
const hex = (character: string): string => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
