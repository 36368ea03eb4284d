import { MAX_COLUMNS, WorkbookTooLarge } from './limits.ts';
import { type Fill, type Merges, makeCellKey } from './merges.ts';
import type { RowWriter } from './row-writer.ts';

const QUOTE = 34;
const decoder = new TextDecoder();

/** Maximum amount of text of merged cells that is held for the rows below. */
const MAX_FILL_LENGTH = 1024 * 1024;

/** Error thrown when a row begins left of the assumed first column: the sheet is then converted again from that column. */
export class EarlierColumnFound extends Error {
  readonly column: number;

  constructor(column: number) {
    super('a row begins further left');
    this.column = column;
  }
}

/**
 * Writes a sheet's rows cell by cell. A text merged downwards, which is a category, is repeated in the rows below, if they
 * have values of their own; every other value stands in its first cell alone, so that no number counts twice.
 */
export class MergedRows {
  readonly #writer: RowWriter;
  readonly #lastRowsByCell: Merges['lastRowsByCell'];
  readonly #firstColumn: number;
  /** Merged cells that are still to be repeated below. */
  fills: Fill[];
  /** Index of the next fill to write. */
  #nextFillIndex = 0;
  /** New fills, which the current row's cells began. */
  #addedFills: Fill[] = [];
  /** Position at which the current cell's field starts; -1 if it is not needed. */
  #cellMark = -1;

  /** @param firstColumn the sheet's first column with a value, from 0 */
  constructor(writer: RowWriter, merges: Merges, firstColumn: number, fills: Fill[] = []) {
    this.#writer = writer;
    this.#lastRowsByCell = merges.lastRowsByCell;
    this.#firstColumn = firstColumn;
    this.fills = fills;
  }

  /** Begins a row, from 1. */
  beginRow(row: number): void {
    this.#writer.beginRow(row);
    this.#nextFillIndex = 0;
    this.#addedFills = [];
  }

  /** Moves to a column, from 0, to write its value. @returns false if the row is already past it @throws EarlierColumnFound */
  moveToColumn(column: number): boolean {
    if (column < this.#firstColumn) throw new EarlierColumnFound(column);
    if (this.fills.length > 0) this.#writeFills(column);
    const isFieldReached = this.#writer.moveToField(column - this.#firstColumn);
    this.#cellMark = this.#writer.mark;
    return isFieldReached;
  }

  /** Ends a cell. Its text, if any, is held for the rows below that the cell is merged with. */
  endCell(column: number): void {
    if (this.#lastRowsByCell.size === 0) this.#cellMark = -1;
    else this.endMergedCell(column, this.#lastRowsByCell.get(makeCellKey(this.#writer.row + 1, column)) ?? 0);
  }

  /** Ends a cell that is merged down to a row. @param isCategory whether its value is a text */
  endMergedCell(column: number, lastRow: number, isCategory?: boolean): void {
    const cellStart = this.#cellMark;
    this.#cellMark = -1;
    if (cellStart < 0 || lastRow <= this.#writer.row + 1) return;
    const value = this.#writer.getBytesSince(cellStart);
    if (isCategory ?? value[0] === QUOTE)
      this.#addedFills.push({ column, until: lastRow, text: decoder.decode(value) });
  }

  /** Ends the row. Merged cells are not repeated in a row that has no value of its own. */
  endRow(): void {
    const isEmpty = this.#writer.isEmpty;
    if (!isEmpty) this.#writeFills(MAX_COLUMNS);
    this.#writer.endRow();
    if (isEmpty) return;
    if (this.fills.length > 0) this.fills = this.fills.filter(({ until }) => until > this.#writer.row);
    if (this.#addedFills.length === 0) return;
    this.fills = [...this.fills, ...this.#addedFills].sort((a, b) => a.column - b.column);
    if (this.fills.reduce((sum, { text }) => sum + text.length, 0) > MAX_FILL_LENGTH) throw new WorkbookTooLarge();
  }

  /** Repeats merged cells from above that lie before the column. */
  #writeFills(column: number): void {
    for (; this.#nextFillIndex < this.fills.length; this.#nextFillIndex++) {
      const { column: fillColumn, until, text } = this.fills[this.#nextFillIndex] as Fill;
      if (fillColumn > column) return;
      // A cell with a value of its own keeps it.
      if (fillColumn === column || until <= this.#writer.row) continue;
      if (this.#writer.moveToField(fillColumn - this.#firstColumn)) this.#writer.writeUnquotedText(text);
    }
  }
}
