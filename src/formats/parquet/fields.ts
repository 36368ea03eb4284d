/** Texts of some values of a column, one after another, as they are written in a line. */
export class ColumnTexts {
  textCount = 0;
  bytes = new Uint8Array(16 * 1024);
  /** End offset of each text. */
  endOffsets = new Uint32Array(1024);
  /** Indexes of values in a numeric column that are not numbers (NaN, infinities). */
  notNumberIndexes: number[] = [];

  get length(): number {
    return this.textCount === 0 ? 0 : (this.endOffsets[this.textCount - 1] as number);
  }

  /** Size in memory, in bytes. */
  get size(): number {
    return this.bytes.length + 4 * this.endOffsets.length;
  }

  clear(): void {
    this.textCount = 0;
    this.notNumberIndexes = [];
  }

  addNull(): void {
    this.#endText(this.length);
  }

  /** Adds a text; an empty one is null. */
  addText(text: string, isQuoted: boolean): void {
    if (text === '') {
      this.addNull();
      return;
    }
    const start = this.length;
    const writtenText = isQuoted ? (text.includes('"') ? `"${text.replaceAll('"', '""')}"` : `"${text}"`) : text;
    this.#reserve(start + writtenText.length * 3);
    let at = start;
    for (let index = 0; index < writtenText.length; index++) {
      const code = writtenText.charCodeAt(index);
      if (code > 127) {
        at = start + encoder.encodeInto(writtenText, this.bytes.subarray(start)).written;
        break;
      }
      this.bytes[at++] = code;
    }
    this.#endText(at);
  }

  /** Adds a text of another instance. */
  copyText(from: ColumnTexts, index: number): void {
    const start = this.length;
    const sourceStart = index === 0 ? 0 : (from.endOffsets[index - 1] as number);
    const sourceEnd = from.endOffsets[index] as number;
    this.#reserve(start + sourceEnd - sourceStart);
    const { bytes } = this;
    const source = from.bytes;
    let at = start;
    for (let offset = sourceStart; offset < sourceEnd; offset++) bytes[at++] = source[offset] as number;
    this.#endText(at);
  }

  #endText(end: number): void {
    if (this.textCount === this.endOffsets.length) {
      const largerOffsets = new Uint32Array(this.endOffsets.length * 2);
      largerOffsets.set(this.endOffsets);
      this.endOffsets = largerOffsets;
    }
    this.endOffsets[this.textCount++] = end;
  }

  #reserve(length: number): void {
    if (length <= this.bytes.length) return;
    const largerBytes = new Uint8Array(Math.max(length, this.bytes.length * 2));
    largerBytes.set(this.bytes.subarray(0, this.length));
    this.bytes = largerBytes;
  }
}

const encoder = new TextEncoder();
