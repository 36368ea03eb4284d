/**
 * Reads XML as bytes, token by token, without making strings or a tree of it: a sheet is tens of megabytes of it. Names
 * are told without their prefix. There are no entities but XML's own five: a document type declaration ends the reading.
 */

/** What a token is; {@link CUT} when the bytes end before it does. */
export const CUT = 0;
export const OPEN = 1;
export const CLOSE = 2;
/** An element without content: `<c/>`. */
export const EMPTY = 3;
export const TEXT = 4;
/** Text in which nothing is to be decoded. */
export const CDATA = 5;

/** The bytes are not the XML that a workbook is made of. */
export class XmlUnreadable extends Error {}

const LT = 60;
const GT = 62;
const SLASH = 47;
const BANG = 33;
const QUESTION = 63;
const EQUALS = 61;
const COLON = 58;
const DOUBLE = 34;
const SINGLE = 39;

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;

/** A reader that stands before the token that `next` answers. */
export class XmlReader {
  readonly bytes: Uint8Array;
  /** Where the next token begins. */
  at: number;
  /** The present token: a text, or the inside of a tag after its name. */
  start = 0;
  end = 0;
  #nameStart = 0;
  #nameEnd = 0;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Goes to the next token. Comments and processing instructions are passed over. */
  next(): number {
    for (;;) {
      const { bytes } = this;
      if (this.at >= bytes.length) return CUT;
      if (bytes[this.at] !== LT) return this.#text();
      const second = bytes[this.at + 1];
      if (second === undefined) return CUT;
      if (second === QUESTION) {
        if (!this.#pass('?>', 2)) return CUT;
      } else if (second === BANG) {
        const third = bytes[this.at + 2];
        if (third === undefined) return CUT;
        if (third === 45) {
          if (!this.#pass('-->', 4)) return CUT;
        } else if (third === 91) return this.#cdata();
        else throw new XmlUnreadable('a document type declaration');
      } else return this.#tag(second === SLASH);
    }
  }

  /** Whether the present tag has this name. */
  is(name: string): boolean {
    if (this.#nameEnd - this.#nameStart !== name.length) return false;
    for (let index = 0; index < name.length; index++) {
      if (this.bytes[this.#nameStart + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }

  /** Finds an attribute of the present tag: then `valueStart` and `valueEnd` say where its value stands. */
  attribute(name: string): boolean {
    const { bytes } = this;
    for (let at = this.start; at < this.end; ) {
      while (at < this.end && isSpace(bytes[at])) at++;
      const nameStart = at;
      while (at < this.end && bytes[at] !== EQUALS && !isSpace(bytes[at])) at++;
      const nameEnd = at;
      while (at < this.end && bytes[at] !== DOUBLE && bytes[at] !== SINGLE) at++;
      const quote = bytes[at];
      const valueStart = ++at;
      while (at < this.end && bytes[at] !== quote) at++;
      if (this.#isNamed(nameStart, nameEnd, name)) {
        this.valueStart = valueStart;
        this.valueEnd = at;
        return true;
      }
      at++;
    }
    return false;
  }

  valueStart = 0;
  valueEnd = 0;

  /** The value of an attribute of the present tag, decoded; undefined when it has none of that name. */
  value(name: string): string | undefined {
    return this.attribute(name) ? decodeText(this.bytes, this.valueStart, this.valueEnd) : undefined;
  }

  /** An attribute's name with or without a prefix. */
  #isNamed(start: number, end: number, name: string): boolean {
    const from = end - name.length;
    if (from < start || (from > start && this.bytes[from - 1] !== COLON)) return false;
    for (let index = 0; index < name.length; index++) {
      if (this.bytes[from + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }

  #text(): number {
    const end = this.bytes.indexOf(LT, this.at);
    if (end < 0) return CUT;
    this.start = this.at;
    this.end = end;
    this.at = end;
    return TEXT;
  }

  #cdata(): number {
    const end = indexOf(this.bytes, ']]>', this.at + 9);
    if (end < 0) return CUT;
    this.start = this.at + 9;
    this.end = end;
    this.at = end + 3;
    return CDATA;
  }

  #pass(mark: string, from: number): boolean {
    const end = indexOf(this.bytes, mark, this.at + from);
    if (end < 0) return false;
    this.at = end + mark.length;
    return true;
  }

  #tag(closes: boolean): number {
    const { bytes } = this;
    const { length } = bytes;
    let at = this.at + (closes ? 2 : 1);
    this.#nameStart = at;
    while (at < length) {
      const byte = bytes[at] as number;
      if (byte === COLON) this.#nameStart = at + 1;
      else if (byte === GT || byte === SLASH || isSpace(byte)) break;
      at++;
    }
    this.#nameEnd = at;
    this.start = at;
    let quote = 0;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (quote !== 0) {
        if (byte === quote) quote = 0;
      } else if (byte === GT) break;
      else if (byte === DOUBLE || byte === SINGLE) quote = byte;
      else if (byte === LT) throw new XmlUnreadable('a tag within a tag');
    }
    if (at >= length) return CUT;
    const empty = bytes[at - 1] === SLASH;
    this.end = empty ? at - 1 : at;
    this.at = at + 1;
    return closes ? CLOSE : empty ? EMPTY : OPEN;
  }
}

/** Where a mark of ASCII stands from `from` on, or -1. */
export function indexOf(bytes: Uint8Array, mark: string, from: number): number {
  const first = mark.charCodeAt(0);
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    let index = 1;
    while (index < mark.length && bytes[at + index] === mark.charCodeAt(index)) index++;
    if (index === mark.length) return at;
  }
  return -1;
}

const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The text between two places, its references decoded. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  const text = decoder.decode(bytes.subarray(start, end));
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Whether there is an `&` between two places, so that a text needs decoding. */
export function hasReference(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === 38) return true;
  return false;
}
