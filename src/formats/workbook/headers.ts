import { differsFromColumn, findTypedColumns, mayBeHeader } from '../csv/layout.ts';
import { areYearNames } from '../csv/years.ts';
import { createDecoder } from '../text/decode.ts';
import { classifyValue } from '../values/classify.ts';
import { BLANK_FORM } from '../values/forms.ts';
import type { FirstCell } from './first-rows.ts';
import { MAX_HEADER_ROW, type Merge } from './merges.ts';

/** The maximum number of header levels that are joined. */
const MAX_LEVELS = 10;
/** The maximum number of header columns that are joined. */
const MAX_COLUMNS_JOINED = 1000;
/** The maximum length of a joined name. */
const MAX_NAME_LENGTH = 255;

/** A header with merged cells: its first and last row, from 1, and how many of them have values. */
export interface JoinedHeader {
  topRow: number;
  bottomRow: number;
  filledCount: number;
  /** A name for each column; empty where the header has none. */
  columnNames: string[];
}

/**
 * Finds the rows of a header in which cells are merged across columns, and joins them to one name a column.
 *
 * The header begins in the first row with two values (those above are titles, unless they name a group of columns) and goes
 * down to the first in which no two columns share a cell: each column gets the words of all levels (`2024 Jan`). It is a
 * header only if it looks like names, and if a column has one cell of its own in it, or a cell reaches down all of it, or its
 * last row names columns of numbers below groups. Else the first row alone may be the header: its columns are then numbered
 * (`Endereço 2`). Rows that may be data are never joined.
 * @param rows the sheet's first rows
 * @param firstColumn the sheet's column, from 0, at which the rows begin
 */
export function joinHeaders(rows: FirstCell[][], merges: Merge[], firstColumn: number): JoinedHeader | null {
  const width = Math.max(0, ...rows.map((row) => row.length));
  const top = rows.findIndex((row) => row.filter(isFilled).length > 1) + 1;
  if (width > MAX_COLUMNS_JOINED || top === 0 || top > MAX_HEADER_ROW) return null;
  const groups = findGroups(rows, merges, firstColumn, top);
  if (groups < top) {
    const head = new HeaderRows(rows, merges, firstColumn, groups, width);
    const bottom = head.findBottom();
    if (bottom > groups && head.isHeader(bottom)) return head.joinRows(bottom);
  }
  const head = new HeaderRows(rows, merges, firstColumn, top, width);
  if (!head.isShared(top)) return null;
  const bottom = head.findBottom();
  if (bottom > top && head.isHeader(bottom)) return head.joinRows(bottom);
  return head.looksLikeNames(top, top) && !head.isTitle() ? head.numberColumns() : null;
}

/**
 * Finds the first row of groups directly above the first row with two values. In a row of groups, a value is merged
 * over some of the columns, but not from the leftmost column on, where titles begin. Rows whose values are merged over
 * the same columns, one below the other, are titles too.
 */
function findGroups(rows: FirstCell[][], merges: Merge[], firstColumn: number, firstRowBelow: number): number {
  const firstFilledColumns = rows.slice(firstRowBelow - 1).map((row) => row.findIndex(isFilled));
  const leftColumn = firstColumn + Math.min(...firstFilledColumns.filter((column) => column >= 0));
  const isGroup = (row: number): boolean => {
    const group = merges.find((merge) => merge.top === row && isFilled(rows[row - 1]?.[merge.left - firstColumn]));
    if (!group || group.left <= leftColumn) return false;
    return !merges.some(
      (otherMerge) =>
        otherMerge.left === group.left && otherMerge.right === group.right && Math.abs(otherMerge.top - row) === 1,
    );
  };
  let top = firstRowBelow;
  while (isGroup(top - 1)) top--;
  return top;
}

const isFilled = (cell: FirstCell | undefined): boolean => cell !== undefined && cell.text.trim() !== '';

/** The rows at a sheet's beginning, and the merged cells over them. */
class HeaderRows {
  readonly #rows: FirstCell[][];
  readonly #merges: Merge[];
  readonly #topRow: number;
  readonly #width: number;
  /** The columns with a value, from 0. */
  readonly #columns: number[];
  /** For each merged cell, whether several columns with values share it. */
  readonly #shared: boolean[];
  /** The merged cell at each place of the rows from the top on, as its number among the merges; -1 for none. */
  readonly #mergeIndexes: Int32Array[];

  constructor(rows: FirstCell[][], merges: Merge[], firstColumn: number, top: number, width: number) {
    this.#rows = rows;
    this.#topRow = top;
    this.#width = width;
    this.#columns = Array.from({ length: width }, (_, column) => column).filter((column) =>
      rows.some((row, index) => index >= top - 1 && isFilled(row[column])),
    );
    this.#merges = merges.map((merge) => ({
      ...merge,
      left: merge.left - firstColumn,
      right: merge.right - firstColumn,
    }));
    this.#shared = this.#merges.map(
      ({ left, right }) =>
        right > left && this.#columns.filter((column) => column >= left && column <= right).length > 1,
    );
    const lastRow = Math.min(rows.length, top + MAX_LEVELS, MAX_HEADER_ROW);
    this.#mergeIndexes = Array.from({ length: Math.max(0, lastRow - top + 1) }, () => new Int32Array(width).fill(-1));
    for (const [index, { top: from, bottom, left, right }] of this.#merges.entries()) {
      for (let row = Math.max(from, top); row <= Math.min(bottom, lastRow); row++) {
        this.#mergeIndexes[row - top]?.fill(index, Math.max(0, left), Math.min(right + 1, width));
      }
    }
  }

  /** Finds the first row, from the top on, in which no columns share a cell; the top if there is none. */
  findBottom(): number {
    let bottom = this.#topRow;
    while (bottom < Math.min(this.#rows.length, this.#topRow + MAX_LEVELS) && this.isShared(bottom)) bottom++;
    return this.isShared(bottom) ? this.#topRow : bottom;
  }

  /** Returns true if columns with values share a cell in the row. */
  isShared(row: number): boolean {
    return this.#columns.some((column) => this.#isShared(row, column));
  }

  #isShared(row: number, column: number): boolean {
    return this.#shared[this.#mergeIndexes[row - this.#topRow]?.[column] ?? -1] === true;
  }

  #findMerge(row: number, column: number): Merge | undefined {
    return this.#merges[this.#mergeIndexes[row - this.#topRow]?.[column] ?? -1];
  }

  /**
   * Returns true if the rows from the top to `bottom` name the columns. All of them must look like names. Each column must
   * have one cell of its own, or be blank. It may have several where the rows are surely one header: where a cell reaches from
   * the first row to the last, or the last row names typed columns (`#namesTypedColumns`).
   */
  isHeader(bottom: number): boolean {
    const levels = this.#levels(bottom);
    const isOneHeader =
      this.#columns.some((column) => {
        const merge = this.#findMerge(bottom, column);
        return merge?.top === this.#topRow && merge.bottom === bottom && this.#getText(this.#topRow, column) !== '';
      }) || this.#namesTypedColumns(bottom);
    return (
      levels.every((row) => this.looksLikeNames(row, bottom)) &&
      this.#columns.every((column) => {
        const ownCellRows = levels.filter((row) => !this.#isShared(row, column) && this.#getText(row, column) !== '');
        return (
          ownCellRows.length === 1 ||
          (isOneHeader && ownCellRows.length > 1) ||
          (ownCellRows.length === 0 && !levels.some((row) => this.#isShared(row, column)))
        );
      })
    );
  }

  /**
   * Returns true if the last row is a header by the rule of rows below titles (texts alone, more than in each row above, above a
   * column of numbers, dates or booleans), and the rows above are no titles: from their first name on, they name all its columns.
   */
  #namesTypedColumns(bottom: number): boolean {
    const levels = this.#levels(bottom);
    const lastRow = classifyRow(this.#rows[bottom - 1] as FirstCell[]);
    const columnForms = findTypedColumns(this.#rows.slice(bottom).map(classifyRow));
    const isNamedAbove = (column: number) => levels.some((row) => row < bottom && this.#getText(row, column) !== '');
    const firstNamedIndex = this.#columns.findIndex(isNamedAbove);
    return (
      mayBeHeader(lastRow) &&
      lastRow.fieldForms.some(
        (formMask, column) => formMask !== BLANK_FORM && differsFromColumn(formMask, columnForms[column]),
      ) &&
      levels.every(
        (row) => row === bottom || (this.#rows[row - 1] as FirstCell[]).filter(isFilled).length < lastRow.filledCount,
      ) &&
      this.#columns
        .slice(firstNamedIndex)
        .every((column) => this.#getText(bottom, column) === '' || isNamedAbove(column))
    );
  }

  #levels(bottom: number): number[] {
    return Array.from({ length: bottom - this.#topRow + 1 }, (_, level) => this.#topRow + level);
  }

  /**
   * Returns true if each cell of a row is a text, a year among names, or of a kind that no cell below the header has,
   * and if no text of the row occurs again below.
   */
  looksLikeNames(row: number, bottom: number): boolean {
    const cells = this.#rows[row - 1] as FirstCell[];
    const numbers = cells.filter((cell) => detectValueType(cell) === 'number');
    const areYears =
      numbers.length > 1 && numbers.every(({ text }) => YEAR_PATTERN.test(text)) && areAscending(numbers);
    return cells.every((cell, column) => {
      // What is merged from above is judged there.
      if (!isFilled(cell) || this.#getText(row, column) === '') return true;
      const cellsBelow = this.#rows.slice(bottom).flatMap((lowerRow) => lowerRow[column] ?? []);
      if (cellsBelow.some(({ text }) => text === cell.text)) return false;
      const kind = detectValueType(cell);
      const isYear = kind === 'number' && (areYears || (row < bottom && YEAR_PATTERN.test(cell.text)));
      return kind === 'text' || isYear || !cellsBelow.some((cellBelow) => detectValueType(cellBelow) === kind);
    });
  }

  /**
   * Returns true if the first row is a title: below it is a row of more names (texts, rising years), which stands above
   * other values.
   */
  isTitle(): boolean {
    const nextRowIndex = this.#rows.findIndex((row, index) => index >= this.#topRow && row.some(isFilled));
    const cells = this.#rows[nextRowIndex]?.filter(isFilled) ?? [];
    const isWider = cells.length > (this.#rows[this.#topRow - 1] as FirstCell[]).filter(isFilled).length;
    const areYears = areYearNames(this.#rows[nextRowIndex]?.map(({ text }) => text) ?? []);
    const areNames = cells.every(
      ({ text, isText }) => (isText && /\p{L}/u.test(text)) || (areYears && YEAR_PATTERN.test(text)),
    );
    const isAbove = this.#rows
      .slice(nextRowIndex + 1)
      .some((row) => row.some((cell) => isFilled(cell) && !cell.isText));
    return isWider && areNames && isAbove;
  }

  /**
   * Returns the text of the cell at a position, which several columns may share; empty if a cell from a row above
   * reaches down to the position.
   */
  #getText(row: number, column: number): string {
    const merge = this.#findMerge(row, column);
    if (merge && merge.top < row) return '';
    const from = merge && this.#isShared(row, column) ? Math.max(0, merge.left) : column;
    return this.#rows[row - 1]?.[from]?.text.trim() ?? '';
  }

  joinRows(bottom: number): JoinedHeader {
    const levels = this.#levels(bottom);
    const names = Array.from({ length: this.#width }, (_, column) => {
      const words = levels.map((row) => this.#getText(row, column)).filter((word) => word !== '');
      return words.filter((word, level) => word !== words[level - 1]).join(' ');
    });
    const filledLevelCount = levels.filter((row) => this.#rows[row - 1]?.some(isFilled)).length;
    return { topRow: this.#topRow, bottomRow: bottom, filledCount: filledLevelCount, columnNames: names };
  }

  /** Names the columns by the first row alone: columns that share a cell are numbered, if the rows below use them. */
  numberColumns(): JoinedHeader {
    const row = this.#topRow;
    const names = Array.from({ length: this.#width }, (_, column) => {
      const text = this.#getText(row, column);
      const merge = this.#findMerge(row, column);
      if (!merge || column <= merge.left || text === '' || text.length > MAX_NAME_LENGTH) {
        return this.#rows[row - 1]?.[column]?.text ?? '';
      }
      return this.#columns.includes(column) ? `${text} ${column - Math.max(0, merge.left) + 1}` : '';
    });
    return { topRow: row, bottomRow: row, filledCount: 1, columnNames: names };
  }
}

/**
 * Finds the forms of a row's values, whatever the types of its cells: columns may hold numbers even if all cells are texts. Years
 * are not taken for names: in the rows below groups they may be values.
 */
function classifyRow(row: FirstCell[]) {
  const fieldForms = row.map(({ text }) => {
    const bytes = encoder.encode(text);
    return classifyValue(bytes, 0, bytes.length, decode);
  });
  return { fieldForms, filledCount: row.filter(isFilled).length, hasYearNames: false };
}

const encoder = new TextEncoder();
const decode = createDecoder('utf-8');

const YEAR_PATTERN = /^(?:1[89]|2[01])\d\d$/;

/** Detects the kind of a cell's value; null for a blank cell. */
function detectValueType({ text, isText }: FirstCell): 'text' | 'number' | 'date' | 'boolean' | null {
  if (text.trim() === '') return null;
  if (isText) return 'text';
  if (/^\d{4}-\d\d-\d\d/.test(text)) return 'date';
  return text === 'true' || text === 'false' ? 'boolean' : 'number';
}

/** Returns true if some number follows a smaller one. */
const areAscending = (numbers: FirstCell[]): boolean =>
  numbers.some(({ text }, index) => index > 0 && Number(text) > Number(numbers[index - 1]?.text));
