import { concatBytes } from '../../kernel/bytes.ts';
import { XmlBytes } from '../xml/encoding.ts';
import type { Namespaces } from '../xml/namespaces.ts';
import { CDATA_TOKEN, CLOSE_TAG, CUT_TOKEN, EMPTY_TAG, OPEN_TAG, TEXT_TOKEN, XmlReader } from '../xml/reader.ts';
import { decodeText, hasReference, XmlUnreadable } from '../xml/text.ts';
import { unescapeText } from './cells.ts';
import { WorkbookTooLarge } from './limits.ts';
import { SharedTexts } from './texts.ts';

/** Maximum size of one text, markup included. */
const MAX_ITEM_BYTES = 4 * 1024 * 1024;
const UNDERSCORE = 95;
const LESS_THAN = 60;

/** Reads the part `sharedStrings.xml` piece by piece. */
export class SharedStrings {
  readonly sharedTexts = new SharedTexts();
  #names: Namespaces | null = null;
  #rest: Uint8Array = new Uint8Array();
  readonly #xml = new XmlBytes();

  /** Reads the next bytes of the part. @throws WorkbookTooLarge, XmlUnreadable */
  feedPiece(piece: Uint8Array): void {
    this.#read(this.#xml.convertPiece(piece));
  }

  /** Ends the part. @throws XmlUnreadable if it is cut off, or has no texts at all */
  end(): void {
    this.#read(this.#xml.endDocument());
    if (!this.#names || this.#rest.includes(LESS_THAN)) throw new XmlUnreadable('shared texts that are cut off');
  }

  #read(piece: Uint8Array): void {
    const bytes = concatBytes([this.#rest, piece]);
    const reader = new XmlReader(bytes, this.#names);
    let doneBytes = 0;
    for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
      if ((token === OPEN_TAG || token === EMPTY_TAG) && reader.isElement('sst')) this.#names = reader.names;
      else if ((token === OPEN_TAG || token === EMPTY_TAG) && reader.isElement('si')) {
        if (token === OPEN_TAG && !readRuns(reader, 'si', (isEncoded) => this.#append(reader, isEncoded))) break;
        this.sharedTexts.endText();
      }
      doneBytes = reader.at;
    }
    this.sharedTexts.dropText();
    this.#rest = bytes.slice(doneBytes);
    if (this.#rest.length > MAX_ITEM_BYTES) throw new WorkbookTooLarge();
  }

  #append({ bytes, start, end }: XmlReader, isEncoded: boolean): void {
    const isPlain = !(isEncoded && hasReference(bytes, start, end)) && !hasEscape(bytes, start, end);
    if (isPlain) this.sharedTexts.appendBytes(bytes, start, end);
    else {
      const text = isEncoded ? decodeText(bytes, start, end) : new TextDecoder().decode(bytes.subarray(start, end));
      this.sharedTexts.appendText(unescapeText(text));
    }
  }
}

/** Reads a text's runs, without its pronunciation, through `appendRun`. @returns false when the bytes end before the text */
export function readRuns(reader: XmlReader, element: 'si' | 'is', appendRun: (isEncoded: boolean) => void): boolean {
  let pronunciationDepth = 0;
  let isText = false;
  for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
    if (token === CLOSE_TAG && reader.isElement(element)) return true;
    if (token === OPEN_TAG && reader.isElement('rPh')) pronunciationDepth++;
    else if (token === CLOSE_TAG && reader.isElement('rPh')) pronunciationDepth--;
    else if (token === OPEN_TAG && reader.isElement('t')) isText = true;
    else if (token === CLOSE_TAG && reader.isElement('t')) isText = false;
    else if (isText && pronunciationDepth === 0 && (token === TEXT_TOKEN || token === CDATA_TOKEN))
      appendRun(token === TEXT_TOKEN);
  }
  return false;
}

/** Returns true if the text has an escape such as `_x000D_`. */
function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === UNDERSCORE && bytes[at + 1] === 120) return true;
  return false;
}
