import { WorkbookTooLarge } from './limits.ts';

/** Texts that a workbook's cells share are held in memory, all of them: more than this would not fit beside the rest. */
const MAX_BYTES = 48 * 1024 * 1024;

const encoder = new TextEncoder();

/** Texts that cells refer to by number, as UTF-8. */
export class Texts {
  /** Every text, one after another. */
  bytes: Uint8Array = new Uint8Array(64 * 1024);
  /** Where each begins; one more says where the last ends. */
  #offsets = new Uint32Array(1024);
  #count = 0;
  #at = 0;

  /** Number of texts. */
  get count(): number {
    return this.#count;
  }

  start(index: number): number {
    return this.#offsets[index] as number;
  }

  end(index: number): number {
    return this.#offsets[index + 1] as number;
  }

  /** Adds to the text that is not ended yet. @throws WorkbookTooLarge */
  append(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    for (let index = start; index < end; index++) this.bytes[this.#at++] = bytes[index] as number;
  }

  appendText(text: string): void {
    const bytes = encoder.encode(text);
    this.append(bytes, 0, bytes.length);
  }

  /** Ends a text. */
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

  /** Drops what was added to a text that is not ended. */
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
