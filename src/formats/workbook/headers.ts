import { areYearNames } from '../csv/years.ts';
import type { FirstCell } from './first-rows.ts';
import { MAX_HEADER_ROW, type Merge } from './merges.ts';

/** Maximum number of header levels that are joined. */
const MAX_LEVELS = 10;
const MAX_COLUMNS_JOINED = 1000;
const MAX_NAME_LENGTH = 255;

/** Header with merged cells: its first and last row, from 1, and the number of its rows with values. */
export interface JoinedHeader {
  top: number;
  bottom: number;
  filled: number;
  /** Name of each column; empty if the header has none. */
  names: string[];
}

/**
 * Finds the rows of a header in which cells are merged across columns, and joins them to one name a column.
 *
 * The header begins in the first row with two values (those above are titles) and goes down to the first in which no two
 * columns share a cell: each column gets the words of all levels (`2024 Jan`). It is a header only if a column has one
 * cell of its own in it, and if it looks like names. Else the first row alone may be the header: its columns are then
 * numbered (`Endereço 2`). Rows that may be data are never joined.
 * @param rows the sheet's first rows
 * @param first the sheet's column, from 0, at which the rows begin
 */
export function joinHeaders(rows: FirstCell[][], merges: Merge[], first: number): JoinedHeader | null {
  const width = Math.max(0, ...rows.map((row) => row.length));
  const top = rows.findIndex((row) => row.filter(isFilled).length > 1) + 1;
  if (width > MAX_COLUMNS_JOINED || top === 0 || top > MAX_HEADER_ROW) return null;
  const headerRows = new HeaderRows(rows, merges, first, top, width);
  if (!headerRows.isShared(top)) return null;
  let bottom = top;
  while (bottom < Math.min(rows.length, top + MAX_LEVELS) && headerRows.isShared(bottom)) bottom++;
  if (headerRows.isShared(bottom)) bottom = top;
  if (bottom > top && headerRows.isHeader(bottom)) return headerRows.joinRows(bottom);
  return headerRows.looksLikeNames(top, top) && !headerRows.isTitle() ? headerRows.numberColumns() : null;
}

const isFilled = (cell: FirstCell): boolean => cell.text.trim() !== '';

/** Rows at a sheet's beginning, and the merged cells that cover them. */
class HeaderRows {
  readonly #rows: FirstCell[][];
  readonly #merges: Merge[];
  readonly #top: number;
  readonly #width: number;
  /** Columns with a value, from 0. */
  readonly #columns: number[];
  /** For each merged cell, whether columns with values share it. */
  readonly #shared: boolean[];
  /** Number of the merged cell at each position of the rows from the top on; -1 for none. */
  readonly #cover: Int32Array[];

  constructor(rows: FirstCell[][], merges: Merge[], first: number, top: number, width: number) {
    this.#rows = rows;
    this.#top = top;
    this.#width = width;
    this.#columns = Array.from({ length: width }, (_, column) => column).filter((column) =>
      rows.some((row, index) => index >= top - 1 && isFilledAt(row, column)),
    );
    this.#merges = merges.map((merge) => ({ ...merge, left: merge.left - first, right: merge.right - first }));
    this.#shared = this.#merges.map(
      ({ left, right }) =>
        right > left && this.#columns.filter((column) => column >= left && column <= right).length > 1,
    );
    const last = Math.min(rows.length, top + MAX_LEVELS, MAX_HEADER_ROW);
    this.#cover = Array.from({ length: Math.max(0, last - top + 1) }, () => new Int32Array(width).fill(-1));
    for (const [index, { top: from, bottom, left, right }] of this.#merges.entries()) {
      for (let row = Math.max(from, top); row <= Math.min(bottom, last); row++) {
        this.#cover[row - top]?.fill(index, Math.max(0, left), Math.min(right + 1, width));
      }
    }
  }

  /** Returns true if columns with values share a cell in the row. */
  isShared(row: number): boolean {
    return this.#columns.some((column) => this.#isShared(row, column));
  }

  #isShared(row: number, column: number): boolean {
    return this.#shared[this.#cover[row - this.#top]?.[column] ?? -1] === true;
  }

  #mergeAt(row: number, column: number): Merge | undefined {
    return this.#merges[this.#cover[row - this.#top]?.[column] ?? -1];
  }

  /** Returns true if the rows from the top to this one name the columns: no column has two cells, and all look like names. */
  isHeader(bottom: number): boolean {
    const levels = this.#levels(bottom);
    return (
      levels.every((row) => this.looksLikeNames(row, bottom)) &&
      this.#columns.every((column) => {
        const ownCellRows = levels.filter((row) => !this.#isShared(row, column) && this.#textAt(row, column) !== '');
        return (
          ownCellRows.length === 1 || (ownCellRows.length === 0 && !levels.some((row) => this.#isShared(row, column)))
        );
      })
    );
  }

  #levels(bottom: number): number[] {
    return Array.from({ length: bottom - this.#top + 1 }, (_, level) => this.#top + level);
  }

  /** Returns true if each cell is a text, a year among names, or unlike all cells below the header, where none is repeated. */
  looksLikeNames(row: number, bottom: number): boolean {
    const cells = this.#rows[row - 1] as FirstCell[];
    const numbers = cells.filter((cell) => detectValueType(cell) === 'number');
    const areYears = numbers.length > 1 && numbers.every(({ text }) => YEAR_PATTERN.test(text)) && hasRise(numbers);
    return cells.every((cell, column) => {
      // What is merged from above is judged there.
      if (!isFilled(cell) || this.#textAt(row, column) === '') return true;
      const cellsBelow = this.#rows.slice(bottom).flatMap((rowBelow) => rowBelow[column] ?? []);
      if (cellsBelow.some(({ text }) => text === cell.text)) return false;
      const kind = detectValueType(cell);
      const isYear = kind === 'number' && (areYears || (row < bottom && YEAR_PATTERN.test(cell.text)));
      return kind === 'text' || isYear || !cellsBelow.some((other) => detectValueType(other) === kind);
    });
  }

  /** Returns true if the first row is a title: a line of more names (texts, rising years) is below, above other values. */
  isTitle(): boolean {
    const next = this.#rows.findIndex((row, index) => index >= this.#top && row.some(isFilled));
    const cells = this.#rows[next]?.filter(isFilled) ?? [];
    const isWider = cells.length > (this.#rows[this.#top - 1] as FirstCell[]).filter(isFilled).length;
    const areYears = areYearNames(this.#rows[next]?.map(({ text }) => text) ?? []);
    const areNames = cells.every(
      ({ text, isText }) => (isText && /\p{L}/u.test(text)) || (areYears && YEAR_PATTERN.test(text)),
    );
    const isAboveValues = this.#rows.slice(next + 1).some((row) => row.some((cell) => isFilled(cell) && !cell.isText));
    return isWider && areNames && isAboveValues;
  }

  /** Reads the text of a cell, which may be merged; empty if a cell from above covers it. */
  #textAt(row: number, column: number): string {
    const merge = this.#mergeAt(row, column);
    if (merge && merge.top < row) return '';
    const from = merge && this.#isShared(row, column) ? Math.max(0, merge.left) : column;
    return this.#rows[row - 1]?.[from]?.text.trim() ?? '';
  }

  joinRows(bottom: number): JoinedHeader {
    const levels = this.#levels(bottom);
    const names = Array.from({ length: this.#width }, (_, column) => {
      const words = levels.map((row) => this.#textAt(row, column)).filter((word) => word !== '');
      return words.filter((word, level) => word !== words[level - 1]).join(' ');
    });
    const filled = levels.filter((row) => this.#rows[row - 1]?.some(isFilled)).length;
    return { top: this.#top, bottom, filled, names };
  }

  /** Names the columns by the first row alone: columns that share a cell are numbered, if the rows below use them. */
  numberColumns(): JoinedHeader {
    const row = this.#top;
    const names = Array.from({ length: this.#width }, (_, column) => {
      const text = this.#textAt(row, column);
      const merge = this.#mergeAt(row, column);
      if (!merge || column <= merge.left || text === '' || text.length > MAX_NAME_LENGTH) {
        return this.#rows[row - 1]?.[column]?.text ?? '';
      }
      return this.#columns.includes(column) ? `${text} ${column - Math.max(0, merge.left) + 1}` : '';
    });
    return { top: row, bottom: row, filled: 1, names };
  }
}

const isFilledAt = (row: FirstCell[], column: number): boolean => {
  const cell = row[column];
  return cell !== undefined && isFilled(cell);
};

const YEAR_PATTERN = /^(?:1[89]|2[01])\d\d$/;

/** Detects the kind of a cell's value; null for a blank cell. */
function detectValueType({ text, isText }: FirstCell): 'text' | 'number' | 'date' | 'boolean' | null {
  if (text.trim() === '') return null;
  if (isText) return 'text';
  if (/^\d{4}-\d\d-\d\d/.test(text)) return 'date';
  return text === 'true' || text === 'false' ? 'boolean' : 'number';
}

/** Returns true if some number follows a smaller one. */
const hasRise = (numbers: FirstCell[]): boolean =>
  numbers.some(({ text }, index) => index > 0 && Number(text) > Number(numbers[index - 1]?.text));
