const COMMA = 44;
const QUOTE = 34;
const LINE_FEED = 10;

/** Maximum number of bytes of one record's text. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;

/** Error thrown when a record's text is longer than {@link MAX_ROW_BYTES}. */
export class RecordTooLong extends Error {}

/** Writes records as CSV lines: texts in quotes, null as nothing. An empty line is no record, even one of nulls. */
export class RecordWriter {
  #out = new Uint8Array(256 * 1024);
  #at = 0;
  #rowStart = 0;
  #fields = 0;

  /** Number of bytes of complete lines. */
  get endedBytes(): number {
    return this.#rowStart;
  }

  /** Takes the complete lines out of the buffer. They are valid until the next call. */
  takeLines(): Uint8Array {
    const lines = this.#out.subarray(0, this.#rowStart);
    this.#at = 0;
    this.#rowStart = 0;
    return lines;
  }

  /** Begins the next field. */
  #beginField(byteCount: number): void {
    const neededBytes = this.#at + byteCount + 2;
    if (neededBytes > this.#out.length) this.#grow(neededBytes);
    if (this.#fields++ > 0) this.#out[this.#at++] = COMMA;
  }

  #grow(neededBytes: number): void {
    if (neededBytes - this.#rowStart > MAX_ROW_BYTES) throw new RecordTooLong();
    const largerBytes = new Uint8Array(Math.max(neededBytes, this.#out.length * 2));
    largerBytes.set(this.#out.subarray(0, this.#at));
    this.#out = largerBytes;
  }

  writeNull(): void {
    this.#beginField(0);
  }

  /** Writes a value without quotes. */
  writeUnquoted(bytes: Uint8Array, start: number, end: number): void {
    this.#beginField(end - start);
    const outputBytes = this.#out;
    let at = this.#at;
    for (let index = start; index < end; index++) outputBytes[at++] = bytes[index] as number;
    this.#at = at;
  }

  /** Writes a text in quotes. Its quotes are counted first: a record is too long by its bytes, not by an estimate. */
  writeQuoted(bytes: Uint8Array, start: number, end: number): void {
    let quoteCount = 0;
    for (let index = start; index < end; index++) if (bytes[index] === QUOTE) quoteCount++;
    this.#beginField(end - start + quoteCount + 2);
    const outputBytes = this.#out;
    let at = this.#at;
    outputBytes[at++] = QUOTE;
    for (let index = start; index < end; index++) {
      const byte = bytes[index] as number;
      if (byte === QUOTE) outputBytes[at++] = QUOTE;
      outputBytes[at++] = byte;
    }
    outputBytes[at++] = QUOTE;
    this.#at = at;
  }

  /** Ends a record. */
  endRecord(): void {
    if (this.#at === this.#rowStart) {
      this.#fields = 0;
      this.writeQuoted(this.#out, 0, 0);
    }
    this.endBlankLine();
  }

  /** Ends a line without a record, unless it has fields. */
  endBlankLine(): void {
    if (this.#at + 1 > this.#out.length) this.#grow(this.#at + 1);
    this.#out[this.#at++] = LINE_FEED;
    this.#rowStart = this.#at;
    this.#fields = 0;
  }
}
