import { WorkbookTooLarge } from './limits.ts';

const COMMA = 44;
const QUOTE = 34;
const LINE_FEED = 10;
const ROOM = 64;
/** One row's text is at most this long. */
const MAX_ROW_BYTES = 8 * 1024 * 1024;

const encoder = new TextEncoder();

/**
 * Writes rows of a sheet as lines of CSV, one line a row, so that a line's number is the row's: texts always in quotes,
 * numbers, dates and booleans never, which tells them apart. Rows without a value are empty lines; the others have as
 * many fields as the widest before them.
 * @throws WorkbookTooLarge for a row of more than some megabytes
 */
export class RowWriter {
  /** Rows written, empty ones included. */
  row: number;
  /** Fields of the widest row so far. */
  width: number;
  /** Rows with a value. */
  filled: number;
  #out = new Uint8Array(256 * 1024);
  #at = 0;
  #rowStart = 0;
  #field = 0;

  constructor(from: { row: number; width: number; filled: number }) {
    this.row = from.row;
    this.width = from.width;
    this.filled = from.filled;
  }

  /** Takes the rows that have ended. One that was begun goes on. */
  take(): Uint8Array {
    const ended = this.#out.slice(0, this.#rowStart);
    this.#out.copyWithin(0, this.#rowStart, this.#at);
    this.#at -= this.#rowStart;
    this.#rowStart = 0;
    return ended;
  }

  /** Bytes of rows that have ended. */
  get ended(): number {
    return this.#rowStart;
  }

  /** Begins a row, from 1; those in between are empty. */
  begin(row: number): void {
    this.#rowStart = this.#at;
    for (this.#reserve(row - this.row); this.row < row - 1; this.row++) this.#out[this.#at++] = LINE_FEED;
    this.#rowStart = this.#at;
    this.#field = 0;
  }

  /** Drops the row that was begun, and all of it. */
  undo(toRow: number, mark: number): void {
    this.row = toRow;
    this.#at = mark;
    this.#rowStart = mark;
  }

  /** Whether the row that was begun has no value yet. */
  get isEmpty(): boolean {
    return this.#at === this.#rowStart;
  }

  /** A place to come back to with `undo`. */
  get mark(): number {
    return this.#at;
  }

  /** Goes to the field of a column, from 0. False when the row is past it. */
  goTo(field: number): boolean {
    this.#reserve(field - this.#field + ROOM);
    for (; this.#field < field; this.#field++) this.#out[this.#at++] = COMMA;
    return this.#field === field;
  }

  /** A value without quotes. */
  bare(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start + ROOM);
    for (let index = start; index < end; index++) this.#out[this.#at++] = bytes[index] as number;
  }

  bareText(text: string): void {
    const bytes = encoder.encode(text);
    this.bare(bytes, 0, bytes.length);
  }

  /** A value in quotes. */
  quoted(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve((end - start) * 2 + ROOM);
    const out = this.#out;
    let at = this.#at;
    out[at++] = QUOTE;
    for (let index = start; index < end; index++) {
      const byte = bytes[index] as number;
      if (byte === QUOTE) out[at++] = QUOTE;
      out[at++] = byte;
    }
    out[at++] = QUOTE;
    this.#at = at;
  }

  quotedText(text: string): void {
    const bytes = encoder.encode(text);
    this.quoted(bytes, 0, bytes.length);
  }

  /** The bytes from a mark of this row on. */
  since(mark: number): Uint8Array {
    return this.#out.slice(mark, this.#at);
  }

  /** Ends the row. */
  end(): void {
    if (!this.isEmpty) {
      this.filled++;
      if (this.#field + 1 > this.width) this.width = this.#field + 1;
      this.goTo(this.width - 1);
    }
    this.#reserve(1);
    this.#out[this.#at++] = LINE_FEED;
    this.#rowStart = this.#at;
    this.row++;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#out.length) return;
    if (this.#at + length - this.#rowStart > MAX_ROW_BYTES) throw new WorkbookTooLarge();
    const larger = new Uint8Array(this.#out.length * 2 + length);
    larger.set(this.#out.subarray(0, this.#at));
    this.#out = larger;
  }
}
