import type { Namespaces } from '../xml/namespaces.ts';
import { CDATA, CLOSE, CUT, EMPTY, OPEN, TEXT, XmlReader } from '../xml/reader.ts';
import { decodeText, sliceText, XmlUnreadable } from '../xml/text.ts';
import { NUMERIC, readType } from './cell-types.ts';
import { CellWriter, type WorkbookData } from './cell-writer.ts';
import { columnAt, integerAt, unescapeText } from './cells.ts';
import { MAX_COLUMNS, MAX_ROWS } from './limits.ts';
import { MergedRows } from './merged-rows.ts';
import type { Fill, Merges } from './merges.ts';
import { RowWriter } from './row-writer.ts';
import { readRuns } from './shared-strings.ts';
import { TEXT_BYTES } from './sheet-text.ts';

/** The progress of a sheet's conversion: plain data. */
export interface SheetState {
  /** Bytes of the sheet's XML that have been converted. */
  offset: number;
  /** The namespaces of prefixes between `<sheetData>` and its end; null before. */
  names: Namespaces | null;
  done: boolean;
  /** Rows written, empty ones included; also the number of the last row. */
  row: number;
  /** The sheet's first column with a value as far as is known, from 0, and the number of fields of the widest row. */
  first: number;
  width: number;
  /** `filled`: number of rows with a value. `narrow`: number of rows with a value above the first row with two values. */
  filled: number;
  narrow: number;
  /** Merged cells to be repeated in the rows below, by column. */
  fills: Fill[];
}

/** The longest XML of a row. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;

/** The state before a sheet's first byte. @param first the sheet's first column, from 0 */
export const beginSheet = (first: number): SheetState => ({
  offset: 0,
  names: null,
  done: false,
  row: 0,
  first,
  width: 0,
  filled: 0,
  narrow: 0,
  fills: [],
});

/** The namespaces of prefixes where a sheet's rows begin. */
export function namesIn(head: Uint8Array): Namespaces {
  const reader = new XmlReader(head);
  for (let token = reader.next(); token !== CUT; token = reader.next()) if (reader.is('sheetData')) break;
  return reader.names;
}

/**
 * Converts the complete rows of a block, which holds the sheet's XML from `state.offset` on: all of them, or until
 * their text fills {@link TEXT_BYTES}. Without a complete row the state stays the same.
 * @returns the rows as {@link RowWriter} writes them
 * @throws XmlUnreadable, WorkbookTooLarge, {@link EarlierColumnFound}
 */
export function convertRows(
  workbook: WorkbookData,
  merges: Merges,
  state: SheetState,
  block: Uint8Array,
  isLast: boolean,
): { state: SheetState; text: Uint8Array } {
  const converter = new RowConverter(workbook, merges, state, block);
  return converter.run(isLast);
}

class RowConverter {
  readonly #state: SheetState;
  readonly #reader: XmlReader;
  readonly #writer: RowWriter;
  readonly #rows: MergedRows;
  readonly #cellWriter: CellWriter;

  constructor(workbook: WorkbookData, merges: Merges, state: SheetState, block: Uint8Array) {
    this.#state = { ...state };
    this.#reader = new XmlReader(block, { names: state.names });
    this.#writer = new RowWriter(state);
    this.#rows = new MergedRows(this.#writer, merges, state.first, state.fills);
    this.#cellWriter = new CellWriter(workbook, block, this.#rows, this.#writer);
  }

  run(isLast: boolean): { state: SheetState; text: Uint8Array } {
    const state = this.#state;
    const reader = this.#reader;
    let taken = 0;
    let isFull = false;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if (!state.names) {
        if (token === OPEN && reader.is('sheetData')) state.names = reader.names;
        else if (token === EMPTY && reader.is('sheetData')) state.done = true;
        // Everything before the rows is read as a whole, for its namespaces.
        else continue;
      } else if (token === CLOSE && reader.is('sheetData')) state.done = true;
      else if ((token === OPEN || token === EMPTY) && reader.is('row')) {
        const { mark } = this.#writer;
        const { row } = this.#writer;
        if (!this.#row(token === OPEN)) {
          this.#writer.undo(row, mark);
          break;
        }
      }
      taken = reader.at;
      isFull = this.#writer.endedBytes >= TEXT_BYTES;
      if (state.done || isFull) break;
    }
    if (isLast && !state.done && !isFull) throw new XmlUnreadable('a sheet that is cut off');
    const { row, width, filled, narrow } = this.#writer;
    const offset = state.offset + taken;
    return {
      state: { ...state, offset, row, width, filled, narrow, fills: this.#rows.fills },
      text: this.#writer.take(),
    };
  }

  /** Converts the row whose tag was just read; false when the block ends before the row does. */
  #row(hasCells: boolean): boolean {
    const reader = this.#reader;
    const writer = this.#writer;
    let row = writer.row + 1;
    if (reader.attribute('r')) row = integerAt(reader.bytes, reader.valueStart, reader.valueEnd);
    if (row <= writer.row || row > MAX_ROWS) throw new XmlUnreadable('rows out of order');
    this.#rows.begin(row);
    if (hasCells && !this.#cells()) return false;
    this.#rows.end();
    return true;
  }

  #cells(): boolean {
    const reader = this.#reader;
    let column = -1;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if (token === CLOSE && reader.is('row')) return true;
      if ((token !== OPEN && token !== EMPTY) || !reader.is('c')) continue;
      const before = column;
      column++;
      if (reader.attribute('r')) column = columnAt(reader.bytes, reader.valueStart, reader.valueEnd);
      if (column <= before || column >= MAX_COLUMNS) throw new XmlUnreadable('cells out of order');
      if (token === OPEN && !this.#cell(column)) return false;
    }
    return false;
  }

  /** Converts the cell whose tag was just read; false when the block ends before the cell does. */
  #cell(column: number): boolean {
    const reader = this.#reader;
    const { bytes } = reader;
    const type = reader.attribute('t') ? readType(bytes, reader.valueStart, reader.valueEnd) : NUMERIC;
    const style = reader.attribute('s') ? integerAt(bytes, reader.valueStart, reader.valueEnd) : 0;
    let start = 0;
    let end = 0;
    let encoded = true;
    let inline: string | null = null;
    let inValue = false;
    for (let token = reader.next(); ; token = reader.next()) {
      if (token === CUT) return false;
      if (token === CLOSE && reader.is('c')) break;
      if (token === OPEN && reader.is('v')) inValue = true;
      else if (token === CLOSE && reader.is('v')) inValue = false;
      else if (inValue && (token === TEXT || token === CDATA)) {
        start = reader.start;
        end = reader.end;
        encoded = token === TEXT;
      } else if (token === OPEN && reader.is('is')) {
        inline = this.#inline();
        if (inline === null) return false;
      }
    }
    if (inline !== null) this.#cellWriter.text(column, inline);
    else if (end > start) this.#cellWriter.value(column, type, style, start, end, encoded);
    this.#rows.endCell(column);
    return true;
  }

  /** Reads the text of an inline string; null when the block ends before. */
  #inline(): string | null {
    const reader = this.#reader;
    let text = '';
    const isWhole = readRuns(reader, 'is', (encoded) => {
      text += (encoded ? decodeText : sliceText)(reader.bytes, reader.start, reader.end);
    });
    return isWhole ? unescapeText(text) : null;
  }
}
