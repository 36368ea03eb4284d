import { concatBytes } from '../../kernel/bytes.ts';
import { utf8Of1252 } from '../text/decode.ts';
import { hasHighBytes } from '../text/detect.ts';
import { XmlUnreadable } from './text.ts';

/** The declaration stands within the first bytes. */
const HEAD_BYTES = 256;
const UTF_8 = /^(?:utf-?8|(?:us-)?ascii)$/;
/** Of a document that names UTF-16 in bytes of ASCII, the bytes are right: some programs keep the text's own declaration. */
const MISNAMED = /^utf-?16(?:le|be)?$/;
const WESTERN = /^(?:iso-8859-1|latin-?1|windows-1252|cp-?1252)$/;

const encoder = new TextEncoder();

/** Turns a piece of a document into UTF-8. @throws TypeError for bytes that are not in the encoding */
type Recode = (piece: Uint8Array, isLast: boolean) => Uint8Array;

/**
 * Turns an XML document into UTF-8 as its bytes come: UTF-8 and UTF-16, by byte order mark or declaration.
 * @param western whether it may be in Windows-1252 as well, of which Latin-1 is read as a part
 */
export class XmlBytes {
  readonly #western: boolean;
  #head: Uint8Array = new Uint8Array();
  #recode: Recode | null = null;

  constructor({ western = false }: { western?: boolean } = {}) {
    this.#western = western;
  }

  /** The next bytes in UTF-8, as far as their characters are whole. @throws XmlUnreadable for another encoding */
  feed(piece: Uint8Array): Uint8Array {
    if (this.#recode) return this.#recoded(piece, false);
    this.#head = concatBytes([this.#head, piece]);
    return this.#head.length < HEAD_BYTES ? new Uint8Array() : this.#begun(false);
  }

  /** What is left after the last piece. @throws XmlUnreadable for a character that is cut off */
  end(): Uint8Array {
    return this.#recode ? this.#recoded(new Uint8Array(), true) : this.#begun(true);
  }

  #begun(isLast: boolean): Uint8Array {
    const head = this.#head;
    this.#head = new Uint8Array();
    const { recode, mark } = recodeOf(head, this.#western);
    this.#recode = recode;
    return this.#recoded(head.subarray(mark), isLast);
  }

  #recoded(piece: Uint8Array, isLast: boolean): Uint8Array {
    try {
      return (this.#recode as Recode)(piece, isLast);
    } catch (error) {
      throw error instanceof TypeError ? new XmlUnreadable('bytes of another encoding') : error;
    }
  }
}

/** A whole document in UTF-8. @throws XmlUnreadable */
export function utf8Xml(bytes: Uint8Array): Uint8Array {
  const document = new XmlBytes();
  return concatBytes([document.feed(bytes), document.end()]);
}

function recodeOf(head: Uint8Array, western: boolean): { recode: Recode; mark: number } {
  const [a, b, c, d] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) return { recode: fromUtf8(), mark: 3 };
  // UTF-32 has two more zeros.
  const isWide = c === 0 && d === 0;
  if (a === 0xff && b === 0xfe && !isWide) return { recode: fromUtf16(false), mark: 2 };
  if (a === 0xfe && b === 0xff) return { recode: fromUtf16(true), mark: 2 };
  if (a === 0x3c && b === 0 && !isWide) return { recode: fromUtf16(false), mark: 0 };
  if (a === 0 && b === 0x3c) return { recode: fromUtf16(true), mark: 0 };
  const text = String.fromCharCode(...head.subarray(0, HEAD_BYTES));
  const declared = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]*)["']/.exec(text)?.[1]?.toLowerCase() ?? 'utf-8';
  if (UTF_8.test(declared) || MISNAMED.test(declared)) return { recode: fromUtf8(), mark: 0 };
  if (western && WESTERN.test(declared)) return { recode: from1252, mark: 0 };
  throw new XmlUnreadable('another encoding');
}

/** Passes the bytes on, and refuses those that are not UTF-8. */
function fromUtf8(): Recode {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let isOpen = false;
  return (piece, isLast) => {
    // Nearly all pieces of sheets are ASCII, which needs no check.
    if (isOpen || isLast || hasHighBytes(piece)) decoder.decode(piece, { stream: !isLast });
    isOpen = piece.length > 0 ? (piece.at(-1) as number) >= 0x80 : isOpen;
    return piece;
  };
}

function fromUtf16(isBigEndian: boolean): Recode {
  const decoder = new TextDecoder('utf-16le', { fatal: true, ignoreBOM: true });
  let odd = new Uint8Array();
  return (piece, isLast) => {
    const all = concatBytes([odd, piece]);
    const length = isLast ? all.length : all.length & ~1;
    odd = all.slice(length);
    const units = all.subarray(0, length);
    if (isBigEndian) {
      for (let at = 0; at + 1 < length; at += 2) {
        const high = units[at] as number;
        units[at] = units[at + 1] as number;
        units[at + 1] = high;
      }
    }
    return encoder.encode(decoder.decode(units, { stream: !isLast }));
  };
}

function from1252(piece: Uint8Array): Uint8Array {
  const out = new Uint8Array(piece.length * 3);
  let length = 0;
  for (const byte of piece) {
    if (byte < 0x80) out[length++] = byte;
    else for (const part of utf8Of1252(byte)) out[length++] = part;
  }
  return out.subarray(0, length);
}
