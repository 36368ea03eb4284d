import { XmlBytes } from '../xml/encoding.ts';
import type { Namespaces } from '../xml/namespaces.ts';
import { CDATA, CLOSE, CUT, EMPTY, OPEN, TEXT, XmlReader } from '../xml/reader.ts';
import { decodeText, hasReference, XmlUnreadable } from '../xml/text.ts';
import { unescapeText } from './cells.ts';
import { WorkbookTooLarge } from './limits.ts';
import { Texts } from './texts.ts';

/** The longest text, markup included. */
const MAX_ITEM_BYTES = 4 * 1024 * 1024;
const UNDERSCORE = 95;
const LESS = 60;

/** Reads the part `sharedStrings.xml` piece by piece. */
export class SharedStrings {
  readonly texts = new Texts();
  #names: Namespaces | null = null;
  #rest: Uint8Array = new Uint8Array();
  readonly #xml = new XmlBytes();

  /** Reads the next bytes of the part. @throws WorkbookTooLarge, XmlUnreadable */
  feed(piece: Uint8Array): void {
    this.#read(this.#xml.feed(piece));
  }

  /** Ends the part. @throws XmlUnreadable where it is cut off, or has no texts at all */
  end(): void {
    this.#read(this.#xml.end());
    if (!this.#names || this.#rest.includes(LESS)) throw new XmlUnreadable('shared texts that are cut off');
  }

  #read(piece: Uint8Array): void {
    const bytes = new Uint8Array(this.#rest.length + piece.length);
    bytes.set(this.#rest);
    bytes.set(piece, this.#rest.length);
    const reader = new XmlReader(bytes, { names: this.#names });
    let done = 0;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if ((token === OPEN || token === EMPTY) && reader.is('sst')) this.#names = reader.names;
      else if ((token === OPEN || token === EMPTY) && reader.is('si')) {
        if (token === OPEN && !readRuns(reader, 'si', (encoded) => this.#append(reader, encoded))) break;
        this.texts.endText();
      }
      done = reader.at;
    }
    this.texts.undo();
    this.#rest = bytes.slice(done);
    if (this.#rest.length > MAX_ITEM_BYTES) throw new WorkbookTooLarge();
  }

  #append({ bytes, start, end }: XmlReader, encoded: boolean): void {
    const plain = !(encoded && hasReference(bytes, start, end)) && !hasEscape(bytes, start, end);
    if (plain) this.texts.append(bytes, start, end);
    else {
      const text = encoded ? decodeText(bytes, start, end) : new TextDecoder().decode(bytes.subarray(start, end));
      this.texts.appendText(unescapeText(text));
    }
  }
}

/** Reads a text's runs without its pronunciation to `append`. @returns false when the bytes end before */
export function readRuns(reader: XmlReader, element: 'si' | 'is', append: (encoded: boolean) => void): boolean {
  let pronunciation = 0;
  let isText = false;
  for (let token = reader.next(); token !== CUT; token = reader.next()) {
    if (token === CLOSE && reader.is(element)) return true;
    if (token === OPEN && reader.is('rPh')) pronunciation++;
    else if (token === CLOSE && reader.is('rPh')) pronunciation--;
    else if (token === OPEN && reader.is('t')) isText = true;
    else if (token === CLOSE && reader.is('t')) isText = false;
    else if (isText && pronunciation === 0 && (token === TEXT || token === CDATA)) append(token === TEXT);
  }
  return false;
}

/** Whether the text has an escape such as `_x000D_`. */
function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === UNDERSCORE && bytes[at + 1] === 120) return true;
  return false;
}
