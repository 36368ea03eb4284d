import type { Namespaces } from '../xml/namespaces.ts';
import { CDATA_TOKEN, CLOSE_TAG, CUT_TOKEN, EMPTY_TAG, OPEN_TAG, TEXT_TOKEN, XmlReader } from '../xml/reader.ts';
import { decodeText, sliceText, XmlUnreadable } from '../xml/text.ts';
import { NUMERIC_CELL, readType } from './cell-types.ts';
import { CellWriter, type WorkbookData } from './cell-writer.ts';
import { parseInteger, readColumn, unescapeText } from './cells.ts';
import { MAX_COLUMNS, MAX_ROWS } from './limits.ts';
import { MergedRows } from './merged-rows.ts';
import type { Fill, Merges } from './merges.ts';
import { RowWriter } from './row-writer.ts';
import { readRuns } from './shared-strings.ts';
import { TEXT_BYTES } from './sheet-text.ts';

/** Progress of a sheet's conversion. Plain data. */
export interface SheetState {
  /** Number of bytes of the sheet's XML that have been converted. */
  offset: number;
  /** Namespaces of prefixes between `<sheetData>` and its end; null before. */
  names: Namespaces | null;
  /** True once all rows have been converted. */
  done: boolean;
  /** Number of written rows, empty ones included; also the number of the last row. */
  row: number;
  /** First column with a value as far as known, from 0. */
  first: number;
  /** Number of fields of the widest row. */
  width: number;
  /** Number of rows with a value. */
  filled: number;
  /** Number of rows with a value above the first row with two values. */
  narrow: number;
  /** Merged cells to be repeated in the rows below, by column. */
  fills: Fill[];
}

/** Maximum size of a row's XML. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;

/** Makes the state before a sheet's first byte. @param firstColumn the sheet's first column, from 0 */
export const beginSheet = (firstColumn: number): SheetState => ({
  offset: 0,
  names: null,
  done: false,
  row: 0,
  first: firstColumn,
  width: 0,
  filled: 0,
  narrow: 0,
  fills: [],
});

/** Reads the namespaces of prefixes where a sheet's rows begin. */
export function readNamespaces(head: Uint8Array): Namespaces {
  const reader = new XmlReader(head);
  for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken())
    if (reader.isElement('sheetData')) break;
  return reader.names;
}

/**
 * Converts the complete rows of a block, which holds the sheet's XML from `state.offset` on: all of them, or until
 * their text fills {@link TEXT_BYTES}. Without a complete row the state stays the same.
 * @param padsRows whether each row gets as many fields as the widest row before it
 * @returns the rows as {@link RowWriter} writes them
 * @throws XmlUnreadable, WorkbookTooLarge, {@link EarlierColumnFound}
 */
export function convertRows(
  workbook: WorkbookData,
  merges: Merges,
  state: SheetState,
  block: Uint8Array,
  isLast: boolean,
  padsRows = true,
): { state: SheetState; text: Uint8Array } {
  const converter = new RowConverter(workbook, merges, state, block, padsRows);
  return converter.convertBlock(isLast);
}

const encoder = new TextEncoder();

class RowConverter {
  readonly #workbook: WorkbookData;
  readonly #state: SheetState;
  readonly #reader: XmlReader;
  readonly #writer: RowWriter;
  readonly #rows: MergedRows;
  readonly #cellWriter: CellWriter;

  constructor(workbook: WorkbookData, merges: Merges, state: SheetState, block: Uint8Array, padsRows: boolean) {
    this.#workbook = workbook;
    this.#state = { ...state };
    this.#reader = new XmlReader(block, state.names);
    this.#writer = new RowWriter(state, padsRows);
    this.#rows = new MergedRows(this.#writer, merges, state.first, state.fills);
    this.#cellWriter = new CellWriter(workbook, block, this.#rows, this.#writer);
  }

  convertBlock(isLast: boolean): { state: SheetState; text: Uint8Array } {
    const state = this.#state;
    const reader = this.#reader;
    let takenBytes = 0;
    let isFull = false;
    for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
      if (!state.names) {
        if (token === OPEN_TAG && reader.isElement('sheetData')) state.names = reader.names;
        else if (token === EMPTY_TAG && reader.isElement('sheetData')) state.done = true;
        // Everything before the rows is read as a whole, for its namespaces.
        else continue;
      } else if (token === CLOSE_TAG && reader.isElement('sheetData')) state.done = true;
      else if ((token === OPEN_TAG || token === EMPTY_TAG) && reader.isElement('row')) {
        const { mark } = this.#writer;
        const { row } = this.#writer;
        if (!this.#convertRow(token === OPEN_TAG)) {
          this.#writer.dropRow(row, mark);
          break;
        }
      }
      takenBytes = reader.at;
      isFull = this.#writer.endedBytes >= TEXT_BYTES;
      if (state.done || isFull) break;
    }
    if (isLast && !state.done && !isFull) throw new XmlUnreadable('a sheet that is cut off');
    const { row, width, filledRowCount: filled, narrowRowCount: narrow } = this.#writer;
    const offset = state.offset + takenBytes;
    return {
      state: { ...state, offset, row, width, filled, narrow, fills: this.#rows.fills },
      text: this.#writer.takeRows(),
    };
  }

  /** Converts the row whose tag was just read. @returns false when the block ends before the row does */
  #convertRow(hasCells: boolean): boolean {
    const reader = this.#reader;
    const writer = this.#writer;
    let row = writer.row + 1;
    if (reader.findAttribute('r')) row = parseInteger(reader.bytes, reader.valueStart, reader.valueEnd);
    if (row <= writer.row || row > MAX_ROWS) throw new XmlUnreadable('rows out of order');
    this.#rows.beginRow(row);
    if (hasCells && !this.#convertCells()) return false;
    this.#rows.endRow();
    return true;
  }

  #convertCells(): boolean {
    const reader = this.#reader;
    let column = -1;
    for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
      if (token === CLOSE_TAG && reader.isElement('row')) return true;
      if ((token !== OPEN_TAG && token !== EMPTY_TAG) || !reader.isElement('c')) continue;
      const columnBefore = column;
      column++;
      if (reader.findAttribute('r')) column = readColumn(reader.bytes, reader.valueStart, reader.valueEnd);
      if (column <= columnBefore || column >= MAX_COLUMNS) throw new XmlUnreadable('cells out of order');
      if (token === OPEN_TAG && !this.#convertCell(column)) return false;
    }
    return false;
  }

  /** Converts the cell whose tag was just read. @returns false when the block ends before the cell does */
  #convertCell(column: number): boolean {
    const reader = this.#reader;
    const { bytes } = reader;
    const type = reader.findAttribute('t') ? readType(bytes, reader.valueStart, reader.valueEnd) : NUMERIC_CELL;
    const style = reader.findAttribute('s') ? parseInteger(bytes, reader.valueStart, reader.valueEnd) : 0;
    let start = 0;
    let end = 0;
    let isEncoded = true;
    let joinedText: string | null = null;
    let inlineText: string | null = null;
    let isInValue = false;
    for (let token = reader.readNextToken(); ; token = reader.readNextToken()) {
      if (token === CUT_TOKEN) return false;
      if (token === CLOSE_TAG && reader.isElement('c')) break;
      if (token === OPEN_TAG && reader.isElement('v')) isInValue = true;
      else if (token === CLOSE_TAG && reader.isElement('v')) isInValue = false;
      else if (isInValue && (token === TEXT_TOKEN || token === CDATA_TOKEN)) {
        if (end > 0) {
          // A comment or CDATA splits the value.
          joinedText ??= (isEncoded ? decodeText : sliceText)(bytes, start, end);
          joinedText += (token === TEXT_TOKEN ? decodeText : sliceText)(bytes, reader.start, reader.end);
        }
        start = reader.start;
        end = reader.end;
        isEncoded = token === TEXT_TOKEN;
      } else if (token === OPEN_TAG && reader.isElement('is')) {
        inlineText = this.#readInlineText();
        if (inlineText === null) return false;
      }
    }
    if (inlineText !== null) this.#cellWriter.writeText(column, inlineText);
    else if (joinedText !== null) this.#writeJoinedValue(column, type, style, joinedText);
    else if (end > start) this.#cellWriter.writeValue(column, type, style, start, end, isEncoded);
    this.#rows.endCell(column);
    return true;
  }

  /** Writes a value that was split into several pieces, and is decoded. */
  #writeJoinedValue(column: number, type: number, style: number, text: string): void {
    const bytes = encoder.encode(text);
    const cellWriter = new CellWriter(this.#workbook, bytes, this.#rows, this.#writer);
    if (bytes.length > 0) cellWriter.writeValue(column, type, style, 0, bytes.length, false);
  }

  /** Reads the text of an inline string; null when the block ends before the text does. */
  #readInlineText(): string | null {
    const reader = this.#reader;
    let text = '';
    const isComplete = readRuns(reader, 'is', (isEncoded) => {
      text += (isEncoded ? decodeText : sliceText)(reader.bytes, reader.start, reader.end);
    });
    return isComplete ? unescapeText(text) : null;
  }
}
