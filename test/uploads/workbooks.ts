import { strToU8, type Zippable, zipSync } from 'fflate';

/** A cell as it stands in a sheet's XML: attributes and inside. */
export type Cell = string | number | boolean | null | { t?: string; s?: number; v?: string; xml?: string };

export interface SheetParts {
  rows: Record<number, Record<string, Cell>> | Cell[][];
  merges?: string[];
  name?: string;
  state?: string;
}

export interface BookParts {
  sheets?: SheetParts[];
  date1904?: boolean;
  /** Format codes of the styles 1, 2, …; a number is a format that every workbook has. */
  formats?: (string | number)[];
  strings?: string[];
  /** Files that take the place of those of the same path; null leaves one out. */
  files?: Record<string, string | Uint8Array | null>;
  /** Written before the names of elements, as some programs do. */
  prefix?: string;
}

/** Rows of cells, each as one text: parted by |, with numbers, and nothing for an empty cell. */
export const cellsOf = (...rows: string[]): (string | number | null)[][] =>
  rows.map((row) => (row === '' ? [] : row.split('|').map(cellOf)));

const cellOf = (text: string) => (text === '' ? null : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** A sheet of such rows. */
export const sheetOf = (name: string, ...rows: string[]): SheetParts => ({ name, rows: cellsOf(...rows) });

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

const escapeXml = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

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
  const numbered: [number, [string, Cell][]][] = Array.isArray(rows)
    ? rows.map((cells, row) => [row + 1, cells.map((cell, column) => [toColumnLetters(column), cell])])
    : Object.entries(rows).map(([row, cells]) => [Number(row), Object.entries(cells)]);
  const body = numbered.map(
    ([row, cells]) =>
      `<row r="${row}">${cells.map(([column, cell]) => formatCell(`${column}${row}`, cell)).join('')}</row>`,
  );
  const merged =
    merges.length > 0 ? `<mergeCells>${merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>` : '';
  return `<worksheet xmlns="${MAIN}"><sheetData>${body.join('')}</sheetData>${merged}</worksheet>`;
}

/** The same part with a prefix before the names of its elements. */
const prefixElements = (xml: string, prefix: string): string =>
  xml.replace('xmlns=', `xmlns:${prefix}=`).replace(/<(\/?)(?=[a-z])/gi, `<$1${prefix}:`);

/** The files of an Excel workbook. */
export function makeWorkbookFiles({
  sheets = [],
  date1904,
  formats = [],
  strings,
  files = {},
  prefix,
}: BookParts): Zippable {
  const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships';
  const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const codes = formats.map((format, index) => (typeof format === 'number' ? null : { id: 170 + index, code: format }));
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const all: Record<string, string | Uint8Array | null> = {
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets>${sheets
      .map(
        ({ name, state }, index) =>
          `<sheet name="${name ?? `S${index}`}" sheetId="${index + 1}"${state ? ` state="${state}"` : ''} r:id="rId${index + 10}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}">${relation('rId1', 'styles', 'styles.xml')}${relation('rId2', 'sharedStrings', 'sharedStrings.xml')}${sheets
      .map((_, index) => relation(`rId${index + 10}`, 'worksheet', `worksheets/sheet${index + 1}.xml`))
      .join('')}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${codes
      .flatMap((format) => (format ? [`<numFmt numFmtId="${format.id}" formatCode="${escapeXml(format.code)}"/>`] : []))
      .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${formats
      .map((format, index) => `<xf numFmtId="${codes[index]?.id ?? format}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': strings
      ? `<sst xmlns="${MAIN}">${strings.map((text) => `<si>${text}</si>`).join('')}</sst>`
      : null,
    ...Object.fromEntries(sheets.map((sheet, index) => [`xl/worksheets/sheet${index + 1}.xml`, formatSheet(sheet)])),
    ...files,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([path, content]) => {
      if (content === null) return [];
      const text = typeof content === 'string' && prefix ? prefixElements(content, prefix) : content;
      return [[path, typeof text === 'string' ? strToU8(text) : text]];
    }),
  );
}

/** An Excel workbook. */
export const makeWorkbook = (parts: BookParts): Uint8Array<ArrayBuffer> =>
  zipSync(makeWorkbookFiles(parts)) as Uint8Array<ArrayBuffer>;

/** A workbook of one sheet of these rows. */
export const makeSheetWorkbook = (rows: Cell[][], more: BookParts = {}): Uint8Array<ArrayBuffer> =>
  makeWorkbook({ sheets: [{ rows }], ...more });
