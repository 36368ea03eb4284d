import { concatBytes } from '../../kernel/bytes.ts';
import type { Encoding } from '../text/decode.ts';
import { createRecoder, isWesternName, type Recode } from '../text/utf8.ts';
import { XmlUnreadable } from './text.ts';

/** Number of first bytes that contain the declaration. */
const HEAD_BYTES = 256;
const UTF8_NAME_PATTERN = /^(?:utf-?8|(?:us-)?ascii)$/;
/**
 * Pattern of UTF-16's names in a document of ASCII bytes. The bytes decide, not the declaration: some programs keep the
 * declaration of the original text.
 */
const UTF16_NAME_PATTERN = /^utf-?16(?:le|be)?$/;

/** Converts XML to UTF-8 piece by piece: UTF-8 and UTF-16, by mark or declaration, and Windows-1252 if `western`. */
export class XmlBytes {
  readonly #mayBeWestern: boolean;
  #head: Uint8Array = new Uint8Array();
  #recode: Recode | null = null;

  constructor({ mayBeWestern = false }: { mayBeWestern?: boolean } = {}) {
    this.#mayBeWestern = mayBeWestern;
  }

  /** Converts the next bytes to UTF-8, up to the last complete character. @throws XmlUnreadable for another encoding */
  convertPiece(piece: Uint8Array): Uint8Array {
    if (this.#recode) return this.#recodePiece(piece, false);
    this.#head = concatBytes([this.#head, piece]);
    return this.#head.length < HEAD_BYTES ? new Uint8Array() : this.#convertHead(false);
  }

  /** Returns the bytes left after the last piece. @throws XmlUnreadable for a character that is cut off */
  endDocument(): Uint8Array {
    return this.#recode ? this.#recodePiece(new Uint8Array(), true) : this.#convertHead(true);
  }

  #convertHead(isLast: boolean): Uint8Array {
    const head = this.#head;
    this.#head = new Uint8Array();
    const { encoding, markLength } = detectEncoding(head, this.#mayBeWestern);
    this.#recode = createRecoder(encoding);
    return this.#recodePiece(head.subarray(markLength), isLast);
  }

  #recodePiece(piece: Uint8Array, isLast: boolean): Uint8Array {
    try {
      return (this.#recode as Recode)(piece, isLast);
    } catch (error) {
      throw error instanceof TypeError ? new XmlUnreadable('bytes of another encoding') : error;
    }
  }
}

/** Converts a whole document to UTF-8. @throws XmlUnreadable */
export function convertToUtf8(bytes: Uint8Array): Uint8Array {
  const document = new XmlBytes();
  return concatBytes([document.convertPiece(bytes), document.endDocument()]);
}

function detectEncoding(head: Uint8Array, mayBeWestern: boolean): { encoding: Encoding; markLength: number } {
  const [a, b, c, d] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) return { encoding: 'utf-8', markLength: 3 };
  // UTF-32 has two more zeros.
  const isWide = c === 0 && d === 0;
  if (a === 0xff && b === 0xfe && !isWide) return { encoding: 'utf-16le', markLength: 2 };
  if (a === 0xfe && b === 0xff) return { encoding: 'utf-16be', markLength: 2 };
  if (a === 0x3c && b === 0 && !isWide) return { encoding: 'utf-16le', markLength: 0 };
  if (a === 0 && b === 0x3c) return { encoding: 'utf-16be', markLength: 0 };
  const text = String.fromCharCode(...head.subarray(0, HEAD_BYTES));
  const declaredName = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]*)["']/.exec(text)?.[1]?.toLowerCase() ?? 'utf-8';
  if (UTF8_NAME_PATTERN.test(declaredName) || UTF16_NAME_PATTERN.test(declaredName))
    return { encoding: 'utf-8', markLength: 0 };
  if (mayBeWestern && isWesternName(declaredName)) return { encoding: 'windows-1252', markLength: 0 };
  throw new XmlUnreadable('another encoding');
}
