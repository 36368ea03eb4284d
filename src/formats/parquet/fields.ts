/** Texts of some values of a column, one after another, as they are written in a line. */
export class ColumnTexts {
  count = 0;
  bytes = new Uint8Array(16 * 1024);
  /** End offset of each text. */
  ends = new Uint32Array(1024);
  /** Indexes of values in a numeric column that are not numbers (NaN, infinities). */
  notNumbers: number[] = [];

  get length(): number {
    return this.count === 0 ? 0 : (this.ends[this.count - 1] as number);
  }

  /** Size in memory, in bytes. */
  get size(): number {
    return this.bytes.length + 4 * this.ends.length;
  }

  clear(): void {
    this.count = 0;
    this.notNumbers = [];
  }

  addNull(): void {
    this.#end(this.length);
  }

  /** Adds a text; an empty one is null. */
  addText(text: string, quoted: boolean): void {
    if (text === '') {
      this.addNull();
      return;
    }
    const start = this.length;
    const writtenText = quoted ? (text.includes('"') ? `"${text.replaceAll('"', '""')}"` : `"${text}"`) : text;
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
    this.#end(at);
  }

  /** Adds a text of another instance. */
  copyText(from: ColumnTexts, index: number): void {
    const start = this.length;
    const sourceStart = index === 0 ? 0 : (from.ends[index - 1] as number);
    const sourceEnd = from.ends[index] as number;
    this.#reserve(start + sourceEnd - sourceStart);
    const { bytes } = this;
    const source = from.bytes;
    let at = start;
    for (let offset = sourceStart; offset < sourceEnd; offset++) bytes[at++] = source[offset] as number;
    this.#end(at);
  }

  #end(end: number): void {
    if (this.count === this.ends.length) {
      const larger = new Uint32Array(this.ends.length * 2);
      larger.set(this.ends);
      this.ends = larger;
    }
    this.ends[this.count++] = end;
  }

  #reserve(length: number): void {
    if (length <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(length, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

const encoder = new TextEncoder();
