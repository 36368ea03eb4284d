import { WorkbookTooLarge } from './limits.ts';

/** Maximum size of the texts that a workbook's cells share: all of them are held in memory. */
export const MAX_TEXTS_BYTES = 48 * 1024 * 1024;

/** Usual size of a page, which holds whole texts and is larger only for a single one. Only a page's last text is ever copied. */
const PAGE_BYTES = 2 ** 20;
/** Number of texts whose positions are in one array. */
const POSITIONS_PER_ARRAY = 2 ** 16;
const POSITION_BYTES = 4;

const encoder = new TextEncoder();
/** Memory in which shorter texts are encoded: a new array for each text would be as much garbage as the text. */
const scratch = new Uint8Array(64 * 1024);
const BYTES_PER_UNIT = 3;

/** Texts that cells refer to by number, in UTF-8. */
export class SharedTexts {
  readonly #pages: Uint8Array[] = [new Uint8Array(PAGE_BYTES)];
  /** Number of used bytes of each page. */
  readonly #usedByteCounts: number[] = [0];
  /** Start of each text: its page, and the offset in the page. */
  readonly #places: Uint32Array[] = [new Uint32Array(POSITIONS_PER_ARRAY)];
  count = 0;
  /** Start of the text that is being added. */
  #start = 0;
  /** End of the bytes so far of the text that is being added. */
  #at = 0;
  #bytes = PAGE_BYTES + POSITIONS_PER_ARRAY * POSITION_BYTES;

  /** Returns the page of bytes that holds a text, from `getStart` to `getEnd`. */
  getBytes(index: number): Uint8Array {
    return this.#pages[toPage(this.#findPlace(index))] as Uint8Array;
  }

  getStart(index: number): number {
    return this.#findPlace(index) % PAGE_BYTES;
  }

  getEnd(index: number): number {
    const page = toPage(this.#findPlace(index));
    const isLast = index + 1 === this.count || toPage(this.#findPlace(index + 1)) !== page;
    return isLast ? (this.#usedByteCounts[page] as number) : this.getStart(index + 1);
  }

  /** Adds to the current text. @throws WorkbookTooLarge */
  appendBytes(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    const page = this.#pages.at(-1) as Uint8Array;
    for (let index = start; index < end; index++) page[this.#at++] = bytes[index] as number;
  }

  appendText(text: string): void {
    const fitsScratch = BYTES_PER_UNIT * text.length <= scratch.length;
    const bytes = fitsScratch ? scratch : encoder.encode(text);
    this.appendBytes(bytes, 0, fitsScratch ? encoder.encodeInto(text, scratch).written : bytes.length);
  }

  endText(): void {
    const index = this.count % POSITIONS_PER_ARRAY;
    if (index === 0 && this.count > 0) {
      this.#hold(POSITIONS_PER_ARRAY * POSITION_BYTES);
      this.#places.push(new Uint32Array(POSITIONS_PER_ARRAY));
    }
    const page = this.#pages.length - 1;
    (this.#places.at(-1) as Uint32Array)[index] = page * PAGE_BYTES + this.#start;
    this.count += 1;
    this.#usedByteCounts[page] = this.#at;
    this.#start = this.#at;
    // No text begins beyond the standard size.
    if (this.#at >= PAGE_BYTES) this.#openPage(PAGE_BYTES);
  }

  /** Drops the current text. */
  dropText(): void {
    this.#at = this.#start;
  }

  /** Makes space in the last page, or in a new one, to which the begun part of the current text moves. */
  #reserve(length: number): void {
    const page = this.#pages.at(-1) as Uint8Array;
    if (this.#at + length <= page.length) return;
    const begunBytes = page.subarray(this.#start, this.#at);
    const neededBytes = begunBytes.length + length;
    if (neededBytes > MAX_TEXTS_BYTES) throw new WorkbookTooLarge();
    // A text that comes in many pieces is not moved for each of them.
    this.#openPage(Math.max(PAGE_BYTES, neededBytes > PAGE_BYTES ? neededBytes * 2 : 0));
    this.appendBytes(begunBytes, 0, begunBytes.length);
  }

  #openPage(bytes: number): void {
    // An empty page, which was too small for its first text, is replaced.
    if (this.#start === 0) {
      this.#hold(-(this.#pages.pop()?.length ?? 0));
      this.#usedByteCounts.pop();
    }
    this.#hold(bytes);
    this.#pages.push(new Uint8Array(bytes));
    this.#usedByteCounts.push(0);
    this.#start = 0;
    this.#at = 0;
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_TEXTS_BYTES) throw new WorkbookTooLarge();
  }

  #findPlace(index: number): number {
    return (this.#places[Math.floor(index / POSITIONS_PER_ARRAY)] as Uint32Array)[
      index % POSITIONS_PER_ARRAY
    ] as number;
  }
}

const toPage = (position: number): number => Math.floor(position / PAGE_BYTES);
