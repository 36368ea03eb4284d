import { WorkbookTooLarge } from './limits.ts';

/** Limit of the texts that a workbook's cells share: all of them are held in memory. */
export const MAX_TEXTS_BYTES = 48 * 1024 * 1024;

/** A page holds whole texts, and is larger only for a single one. Nothing is copied while texts come, but the last of a page. */
const PAGE_BYTES = 2 ** 20;
/** The number of texts that have their places in one array. */
const PLACES = 2 ** 16;
const PLACE_BYTES = 4;

const encoder = new TextEncoder();
/** The memory in which texts are encoded that are not too long: an array for each of many is as much garbage as they are. */
const scratch = new Uint8Array(64 * 1024);
const BYTES_PER_UNIT = 3;

/** Texts that cells refer to by number, in UTF-8. */
export class Texts {
  readonly #pages: Uint8Array[] = [new Uint8Array(PAGE_BYTES)];
  /** The number of used bytes of each page. */
  readonly #used: number[] = [0];
  /** The beginning of each text: its page, and the place in it. */
  readonly #places: Uint32Array[] = [new Uint32Array(PLACES)];
  #count = 0;
  /** The start of the text that is being added, and the end of its bytes so far. */
  #start = 0;
  #at = 0;
  #bytes = PAGE_BYTES + PLACES * PLACE_BYTES;

  get count(): number {
    return this.#count;
  }

  /** The bytes in which a text stands, from `start` to `end`. */
  bytes(index: number): Uint8Array {
    return this.#pages[toPage(this.#findPlace(index))] as Uint8Array;
  }

  start(index: number): number {
    return this.#findPlace(index) % PAGE_BYTES;
  }

  end(index: number): number {
    const page = toPage(this.#findPlace(index));
    const isLast = index + 1 === this.#count || toPage(this.#findPlace(index + 1)) !== page;
    return isLast ? (this.#used[page] as number) : this.start(index + 1);
  }

  /** Adds to the current text. @throws WorkbookTooLarge */
  append(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    const page = this.#pages.at(-1) as Uint8Array;
    for (let index = start; index < end; index++) page[this.#at++] = bytes[index] as number;
  }

  appendText(text: string): void {
    const fits = BYTES_PER_UNIT * text.length <= scratch.length;
    const bytes = fits ? scratch : encoder.encode(text);
    this.append(bytes, 0, fits ? encoder.encodeInto(text, scratch).written : bytes.length);
  }

  endText(): void {
    const index = this.#count % PLACES;
    if (index === 0 && this.#count > 0) {
      this.#hold(PLACES * PLACE_BYTES);
      this.#places.push(new Uint32Array(PLACES));
    }
    const page = this.#pages.length - 1;
    (this.#places.at(-1) as Uint32Array)[index] = page * PAGE_BYTES + this.#start;
    this.#count += 1;
    this.#used[page] = this.#at;
    this.#start = this.#at;
    // No text begins beyond the standard size.
    if (this.#at >= PAGE_BYTES) this.#openPage(PAGE_BYTES);
  }

  /** Drops the current text. */
  undo(): void {
    this.#at = this.#start;
  }

  /** Makes room in the last page, or in a new one, to which the present part of the current text moves. */
  #reserve(length: number): void {
    const page = this.#pages.at(-1) as Uint8Array;
    if (this.#at + length <= page.length) return;
    const begun = page.subarray(this.#start, this.#at);
    const needed = begun.length + length;
    if (needed > MAX_TEXTS_BYTES) throw new WorkbookTooLarge();
    // A text that comes in many pieces is not moved for each of them.
    this.#openPage(Math.max(PAGE_BYTES, needed > PAGE_BYTES ? needed * 2 : 0));
    this.append(begun, 0, begun.length);
  }

  #openPage(bytes: number): void {
    // An empty page, which was too small for its first text, is replaced.
    if (this.#start === 0) {
      this.#hold(-(this.#pages.pop()?.length ?? 0));
      this.#used.pop();
    }
    this.#hold(bytes);
    this.#pages.push(new Uint8Array(bytes));
    this.#used.push(0);
    this.#start = 0;
    this.#at = 0;
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_TEXTS_BYTES) throw new WorkbookTooLarge();
  }

  #findPlace(index: number): number {
    return (this.#places[Math.floor(index / PLACES)] as Uint32Array)[index % PLACES] as number;
  }
}

const toPage = (place: number): number => Math.floor(place / PAGE_BYTES);
