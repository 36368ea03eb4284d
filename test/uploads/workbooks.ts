import { strToU8, type Zippable, zipSync } from 'fflate';

/** A cell in a sheet's XML: its attributes and its content. */
export type Cell = string | number | boolean | null | { t?: string; s?: number; v?: string; xml?: string };

export interface SheetParts {
  rows: Record<number, Record<string, Cell>> | Cell[][];
  merges?: string[];
  name?: string;
  state?: string;
}

export interface WorkbookParts {
  sheets?: SheetParts[];
  date1904?: boolean;
  /** Format codes of the styles 1, 2, …; a number is a built-in format. */
  formats?: (string | number)[];
  strings?: string[];
  /** Files that replace the files of the same path; null removes a file. */
  files?: Record<string, string | Uint8Array | null>;
  /** A prefix before the names of elements, as some programs write it. */
  prefix?: string;
}

/**
 * Parses rows of cells, each written as one text: cells are separated by |, numbers become numbers, and an empty cell is null.
 */
export const parseCells = (...rows: string[]): (string | number | null)[][] =>
  rows.map((row) => (row === '' ? [] : row.split('|').map(parseCell)));

const parseCell = (text: string) => (text === '' ? null : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** Makes a sheet of rows that are written as texts. */
export const makeSheet = (name: string, ...rows: string[]): SheetParts => ({ name, rows: parseCells(...rows) });

const MAIN_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

const escapeXml = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const toColumnLetters = (column: number): string =>
  column < 26
    ? String.fromCharCode(65 + column)
    : toColumnLetters(Math.floor(column / 26) - 1) + toColumnLetters(column % 26);

function formatCell(reference: string, cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${reference}" t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'string') return `<c r="${reference}" t="inlineStr"><is><t>${escapeXml(cell)}</t></is></c>`;
  const { t, s, v, xml } = cell;
  const attributes = `${t === undefined ? '' : ` t="${t}"`}${s === undefined ? '' : ` s="${s}"`}`;
  return `<c r="${reference}"${attributes}>${xml ?? (v === undefined ? '' : `<v>${v}</v>`)}</c>`;
}

function formatSheet({ rows, merges = [] }: SheetParts): string {
  const numberedRows: [number, [string, Cell][]][] = Array.isArray(rows)
    ? rows.map((cells, row) => [row + 1, cells.map((cell, column) => [toColumnLetters(column), cell])])
    : Object.entries(rows).map(([row, cells]) => [Number(row), Object.entries(cells)]);
  const body = numberedRows.map(
    ([row, cells]) =>
      `<row r="${row}">${cells.map(([column, cell]) => formatCell(`${column}${row}`, cell)).join('')}</row>`,
  );
  const mergeElement =
    merges.length > 0 ? `<mergeCells>${merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>` : '';
  return `<worksheet xmlns="${MAIN_NAMESPACE}"><sheetData>${body.join('')}</sheetData>${mergeElement}</worksheet>`;
}

/** Adds a prefix to the names of an XML part's elements. */
const prefixElements = (xml: string, prefix: string): string =>
  xml.replace('xmlns=', `xmlns:${prefix}=`).replace(/<(\/?)(?=[a-z])/gi, `<$1${prefix}:`);

/** Makes the files of an Excel workbook. */
export function makeWorkbookFiles({
  sheets = [],
  date1904,
  formats = [],
  strings,
  files = {},
  prefix,
}: WorkbookParts): Zippable {
  const PACKAGE_NAMESPACE = 'http://schemas.openxmlformats.org/package/2006/relationships';
  const RELATIONSHIPS_NAMESPACE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const formatCodes = formats.map((format, index) =>
    typeof format === 'number' ? null : { id: 170 + index, code: format },
  );
  const formatRelation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONSHIPS_NAMESPACE}/${type}" Target="${target}"/>`;
  const allFiles: Record<string, string | Uint8Array | null> = {
    '_rels/.rels': `<Relationships xmlns="${PACKAGE_NAMESPACE}">${formatRelation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN_NAMESPACE}" xmlns:r="${RELATIONSHIPS_NAMESPACE}"><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets>${sheets
      .map(
        ({ name, state }, index) =>
          `<sheet name="${name ?? `S${index}`}" sheetId="${index + 1}"${state ? ` state="${state}"` : ''} r:id="rId${index + 10}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE_NAMESPACE}">${formatRelation('rId1', 'styles', 'styles.xml')}${formatRelation('rId2', 'sharedStrings', 'sharedStrings.xml')}${sheets
      .map((_, index) => formatRelation(`rId${index + 10}`, 'worksheet', `worksheets/sheet${index + 1}.xml`))
      .join('')}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN_NAMESPACE}"><numFmts>${formatCodes
      .flatMap((format) => (format ? [`<numFmt numFmtId="${format.id}" formatCode="${escapeXml(format.code)}"/>`] : []))
      .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${formats
      .map((format, index) => `<xf numFmtId="${formatCodes[index]?.id ?? format}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': strings
      ? `<sst xmlns="${MAIN_NAMESPACE}">${strings.map((text) => `<si>${text}</si>`).join('')}</sst>`
      : null,
    ...Object.fromEntries(sheets.map((sheet, index) => [`xl/worksheets/sheet${index + 1}.xml`, formatSheet(sheet)])),
    ...files,
  };
  return Object.fromEntries(
    Object.entries(allFiles).flatMap(([path, content]) => {
      if (content === null) return [];
      const text = typeof content === 'string' && prefix ? prefixElements(content, prefix) : content;
      return [[path, typeof text === 'string' ? strToU8(text) : text]];
    }),
  );
}

/** Makes an Excel workbook, packed fast. */
export const makeWorkbook = (parts: WorkbookParts): Uint8Array<ArrayBuffer> =>
  zipSync(makeWorkbookFiles(parts), { level: 1 }) as Uint8Array<ArrayBuffer>;

/** Makes a workbook of one sheet with these rows. */
export const makeSheetWorkbook = (rows: Cell[][], otherParts: WorkbookParts = {}): Uint8Array<ArrayBuffer> =>
  makeWorkbook({ sheets: [{ rows }], ...otherParts });
