import { toUtf8Bytes } from '../text/decode.ts';

const TAB = 9;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BACKSLASH = 92;
const N = 78;

/** Letter that follows the backslash for each byte that COPY's text format escapes; 0 for all other bytes. */
const ESCAPE_LETTERS = new Uint8Array(256);
ESCAPE_LETTERS[TAB] = 116;
ESCAPE_LETTERS[LINE_FEED] = 110;
ESCAPE_LETTERS[CARRIAGE_RETURN] = 114;
ESCAPE_LETTERS[BACKSLASH] = BACKSLASH;

/** Number of bytes of a text that are written at a time: there must be room for three times as many. */
const PART_BYTES = 64 * 1024;

const encoder = new TextEncoder();

/** Options, inside of `WITH (…)`, with which COPY reads the output of {@link CopyText}. */
export const COPY_TEXT_OPTIONS = "FORMAT text, ENCODING 'UTF8'";

/**
 * Writes rows in COPY's text format, UTF-8. In COPY's CSV format a line `\.` ends the data before PostgreSQL 18, also within
 * quotes.
 */
export class CopyText {
  /** The first `length` bytes are the output. Code that writes to the buffer directly calls `reserveBytes` first. */
  bytes: Uint8Array;
  length = 0;

  /** @param byteCount the expected number of bytes of the output */
  constructor(byteCount: number) {
    this.bytes = new Uint8Array(byteCount);
  }

  getBytes(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** Makes the buffer large enough for that many more bytes. */
  reserveBytes(byteCount: number): void {
    const neededBytes = this.length + byteCount;
    if (neededBytes <= this.bytes.length) return;
    const largerBytes = new Uint8Array(Math.max(neededBytes, this.bytes.length * 2));
    largerBytes.set(this.getBytes());
    this.bytes = largerBytes;
  }

  /** Ends a value that is not the row's last. */
  endValue(): void {
    this.reserveBytes(1);
    this.bytes[this.length++] = TAB;
  }

  endRow(): void {
    this.reserveBytes(1);
    this.bytes[this.length++] = LINE_FEED;
  }

  writeNull(): void {
    this.reserveBytes(2);
    this.bytes[this.length++] = BACKSLASH;
    this.bytes[this.length++] = N;
  }

  /** Copies bytes that need no escaping: a number or a date. */
  appendBytes(bytes: Uint8Array, start: number, end: number): void {
    this.reserveBytes(end - start);
    const outputBytes = this.bytes;
    let at = this.length;
    for (let index = start; index < end; index++) outputBytes[at++] = bytes[index] as number;
    this.length = at;
  }

  writeText(text: string): void {
    const bytes = encoder.encode(text);
    this.writeEscaped(bytes, 0, bytes.length);
  }

  /** Writes a text in UTF-8. @param doubledByte a byte that the input doubles to escape it; -1 for none */
  writeEscaped(bytes: Uint8Array, start: number, end: number, doubledByte = -1, isWindows1252 = false): void {
    let index = start;
    while (index < end) {
      const partEnd = Math.min(index + PART_BYTES, end);
      this.reserveBytes((partEnd - index) * 3);
      const outputBytes = this.bytes;
      let at = this.length;
      for (; index < partEnd; index++) {
        const byte = bytes[index] as number;
        const letter = ESCAPE_LETTERS[byte] as number;
        if (letter !== 0) {
          outputBytes[at++] = BACKSLASH;
          outputBytes[at++] = letter;
        } else if (isWindows1252 && byte >= 128) {
          for (const utf8Byte of toUtf8Bytes(byte)) outputBytes[at++] = utf8Byte;
        } else {
          outputBytes[at++] = byte;
          if (byte === doubledByte && bytes[index + 1] === byte) index++;
        }
      }
      this.length = at;
    }
  }
}
