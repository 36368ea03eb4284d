import { unescapeText } from './cells.ts';
import { WorkbookTooLarge } from './limits.ts';
import { CDATA, CLOSE, CUT, decodeText, EMPTY, hasReference, OPEN, TEXT, XmlReader } from './xml.ts';

/** Texts that a workbook's cells share are held in memory, all of them: more than this would not fit beside the rest. */
const MAX_BYTES = 48 * 1024 * 1024;
/** One text, markup included, is at most this long. */
const MAX_ITEM_BYTES = 4 * 1024 * 1024;
const UNDERSCORE = 95;

const encoder = new TextEncoder();

/** The texts that cells refer to by number, as UTF-8. Read piece by piece: `feed` each, then `end`. */
export class SharedStrings {
  /** Every text, one after another. */
  bytes: Uint8Array = new Uint8Array(64 * 1024);
  /** Where each begins; one more says where the last ends. */
  #offsets = new Uint32Array(1024);
  #count = 0;
  #at = 0;
  #rest: Uint8Array = new Uint8Array();

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

  /** Takes in the next bytes of the part `sharedStrings.xml`. @throws WorkbookTooLarge, XmlUnreadable */
  feed(piece: Uint8Array): void {
    const bytes = new Uint8Array(this.#rest.length + piece.length);
    bytes.set(this.#rest);
    bytes.set(piece, this.#rest.length);
    const reader = new XmlReader(bytes);
    let done = 0;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if ((token === OPEN || token === EMPTY) && reader.is('si')) {
        if (token === OPEN && !this.#item(reader)) break;
        this.#endItem();
      }
      done = reader.at;
    }
    this.#at = this.#offsets[this.#count] as number;
    this.#rest = bytes.slice(done);
    if (this.#rest.length > MAX_ITEM_BYTES) throw new WorkbookTooLarge();
  }

  /** Reads one text up to its end: its runs together, without how it is pronounced. False when the bytes end before. */
  #item(reader: XmlReader): boolean {
    let pronunciation = 0;
    let isText = false;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if (token === CLOSE && reader.is('si')) return true;
      if (token === OPEN && reader.is('rPh')) pronunciation++;
      else if (token === CLOSE && reader.is('rPh')) pronunciation--;
      else if (token === OPEN && reader.is('t')) isText = true;
      else if (token === CLOSE && reader.is('t')) isText = false;
      else if (isText && pronunciation === 0 && (token === TEXT || token === CDATA)) {
        this.#append(reader, token === TEXT);
      }
    }
    return false;
  }

  #append({ bytes, start, end }: XmlReader, encoded: boolean): void {
    const plain = !(encoded && hasReference(bytes, start, end)) && !hasEscape(bytes, start, end);
    if (plain) {
      this.#reserve(end - start);
      for (let index = start; index < end; index++) this.bytes[this.#at++] = bytes[index] as number;
      return;
    }
    const text = encoded ? decodeText(bytes, start, end) : new TextDecoder().decode(bytes.subarray(start, end));
    const piece = encoder.encode(unescapeText(text));
    this.#reserve(piece.length);
    this.bytes.set(piece, this.#at);
    this.#at += piece.length;
  }

  #endItem(): void {
    this.#count++;
    if (this.#count + 1 > this.#offsets.length) {
      const larger = new Uint32Array(this.#offsets.length * 2);
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    this.#offsets[this.#count] = this.#at;
    if (this.#at + this.#count * 4 > MAX_BYTES) throw new WorkbookTooLarge();
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

/** `_x000D_` and the like. */
function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === UNDERSCORE && bytes[at + 1] === 120) return true;
  return false;
}
