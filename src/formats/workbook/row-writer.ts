import { WorkbookTooLarge } from './limits.ts';

const COMMA = 44;
const QUOTE = 34;
const LINE_FEED = 10;
const SPACE = 32;
const LAST_ASCII = 127;
const SPARE_BYTES = 64;
/** Maximum number of bytes of one row's text. */
const MAX_ROW_BYTES = 8 * 1024 * 1024;

const encoder = new TextEncoder();

/**
 * Writes rows of a sheet as CSV, one line a row, so that a line's number is the row's number. Quotes distinguish texts
 * from numbers, dates and booleans: texts always have quotes, the others never. Rows without a value are empty lines;
 * the others have at least as many fields as the widest row before them, unless rows are not padded.
 * @throws WorkbookTooLarge for a row above {@link MAX_ROW_BYTES}
 */
export class RowWriter {
  /** Number of written rows, empty ones included. */
  row: number;
  /** Number of fields of the widest row so far. */
  width: number;
  /** Number of rows with a value. */
  filledRowCount: number;
  /** Number of rows with a value above the first row with two values; of all rows with a value, if none has two. */
  narrowRowCount: number;
  #out = new Uint8Array(256 * 1024);
  #at = 0;
  #rowStart = 0;
  #field = 0;
  /** Number of values of the current row that are more than spaces. */
  #valueCount = 0;
  readonly #padsRows: boolean;

  constructor(from = { row: 0, width: 0, filled: 0, narrow: 0 }, padsRows = true) {
    this.#padsRows = padsRows;
    this.row = from.row;
    this.width = from.width;
    this.filledRowCount = from.filled;
    this.narrowRowCount = from.narrow;
  }

  /** Takes the completed rows out of the buffer. The current row stays. */
  takeRows(): Uint8Array {
    const endedRows = this.#out.slice(0, this.#rowStart);
    this.#out.copyWithin(0, this.#rowStart, this.#at);
    this.#at -= this.#rowStart;
    this.#rowStart = 0;
    return endedRows;
  }

  /** Number of bytes of completed rows. */
  get endedBytes(): number {
    return this.#rowStart;
  }

  /** Begins a row, from 1; skipped rows become empty. */
  beginRow(row: number): void {
    this.#rowStart = this.#at;
    for (this.#reserve(row - this.row); this.row < row - 1; this.row++) this.#out[this.#at++] = LINE_FEED;
    this.#rowStart = this.#at;
    this.#field = 0;
    this.#valueCount = 0;
  }

  /** Removes the current row, whose text begins at `offset`, and sets the row number to `toRow`. */
  dropRow(toRow: number, offset: number): void {
    this.row = toRow;
    this.#at = offset;
    this.#rowStart = offset;
  }

  /** True if the current row has no value yet. */
  get isEmpty(): boolean {
    return this.#at === this.#rowStart;
  }

  /** Current position, for `getBytesSince`. */
  get mark(): number {
    return this.#at;
  }

  /** Moves to a field, from 0. @returns false if the row is already past it */
  moveToField(field: number): boolean {
    this.#reserve(field - this.#field + SPARE_BYTES);
    for (; this.#field < field; this.#field++) this.#out[this.#at++] = COMMA;
    return this.#field === field;
  }

  /** Writes a value without quotes. */
  writeUnquoted(bytes: Uint8Array, start: number, end: number): void {
    this.#valueCount++;
    this.#copy(bytes, start, end);
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start + SPARE_BYTES);
    for (let index = start; index < end; index++) this.#out[this.#at++] = bytes[index] as number;
  }

  /** Writes a value without quotes. Almost all are ASCII and short: a call of the encoder would take longer. */
  writeUnquotedText(text: string): void {
    this.#valueCount++;
    const startOffset = this.#at;
    this.#reserve(text.length + SPARE_BYTES);
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > LAST_ASCII) {
        this.#at = startOffset;
        const bytes = encoder.encode(text);
        this.#copy(bytes, 0, bytes.length);
        return;
      }
      this.#out[this.#at++] = code;
    }
  }

  /** Writes a value in quotes. */
  writeQuoted(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve((end - start) * 2 + SPARE_BYTES);
    const outputBytes = this.#out;
    let at = this.#at;
    let blankEnd = start;
    while (blankEnd < end && bytes[blankEnd] === SPACE) blankEnd++;
    if (blankEnd < end) this.#valueCount++;
    outputBytes[at++] = QUOTE;
    for (let index = start; index < end; index++) {
      const byte = bytes[index] as number;
      if (byte === QUOTE) outputBytes[at++] = QUOTE;
      outputBytes[at++] = byte;
    }
    outputBytes[at++] = QUOTE;
    this.#at = at;
  }

  writeQuotedText(text: string): void {
    const bytes = encoder.encode(text);
    this.writeQuoted(bytes, 0, bytes.length);
  }

  /** Returns the bytes written since a position of this row. */
  getBytesSince(offset: number): Uint8Array {
    return this.#out.slice(offset, this.#at);
  }

  endRow(): void {
    if (!this.isEmpty) {
      if (this.#valueCount > 0) this.filledRowCount++;
      if (this.#valueCount === 1 && this.narrowRowCount === this.filledRowCount - 1)
        this.narrowRowCount = this.filledRowCount;
      if (this.#field + 1 > this.width) this.width = this.#field + 1;
      if (this.#padsRows) this.moveToField(this.width - 1);
    }
    this.#reserve(1);
    this.#out[this.#at++] = LINE_FEED;
    this.#rowStart = this.#at;
    this.row++;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#out.length) return;
    if (this.#at + length - this.#rowStart > MAX_ROW_BYTES) throw new WorkbookTooLarge();
    const largerBytes = new Uint8Array(this.#out.length * 2 + length);
    largerBytes.set(this.#out.subarray(0, this.#at));
    this.#out = largerBytes;
  }
}
