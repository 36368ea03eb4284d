import { WorkbookTooLarge } from './limits.ts';

/** Limit of the texts that a workbook's cells share: all of them are held in memory. */
const MAX_BYTES = 48 * 1024 * 1024;

const encoder = new TextEncoder();

/** Texts that cells refer to by number, in UTF-8. */
export class Texts {
  /** All texts, one after another. */
  bytes: Uint8Array = new Uint8Array(64 * 1024);
  /** The offset of each text; one more offset ends the last text. */
  #offsets = new Uint32Array(1024);
  #count = 0;
  #at = 0;

  get count(): number {
    return this.#count;
  }

  start(index: number): number {
    return this.#offsets[index] as number;
  }

  end(index: number): number {
    return this.#offsets[index + 1] as number;
  }

  /** Adds to the current text. @throws WorkbookTooLarge */
  append(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    for (let index = start; index < end; index++) this.bytes[this.#at++] = bytes[index] as number;
  }

  appendText(text: string): void {
    const bytes = encoder.encode(text);
    this.append(bytes, 0, bytes.length);
  }

  endText(): void {
    this.#count++;
    if (this.#count + 1 > this.#offsets.length) {
      const larger = new Uint32Array(this.#offsets.length * 2);
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    this.#offsets[this.#count] = this.#at;
    if (this.#at + this.#count * 4 > MAX_BYTES) throw new WorkbookTooLarge();
  }

  /** Drops the current text. */
  undo(): void {
    this.#at = this.#offsets[this.#count] as number;
  }

  #reserve(length: number): void {
    const needed = this.#at + length;
    if (needed <= this.bytes.length) return;
    if (needed > MAX_BYTES) throw new WorkbookTooLarge();
    const larger = new Uint8Array(Math.min(MAX_BYTES, Math.max(this.bytes.length * 2, needed)));
    larger.set(this.bytes.subarray(0, this.#at));
    this.bytes = larger;
  }
}
