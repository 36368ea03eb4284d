/**
 * Reads XML as bytes, token by token, without making strings or a tree of it, as sheets have tens of megabytes. Names
 * are compared by namespace, whatever their prefix. Only XML's own five entities are known: a document type declaration
 * ends the reading.
 */

/** The kinds of tokens; {@link CUT} when the bytes end within one. */
export const CUT = 0;
export const OPEN = 1;
export const CLOSE = 2;
/** An element without content: `<c/>`. */
export const EMPTY = 3;
export const TEXT = 4;
/** Text without references to decode. */
export const CDATA = 5;

/** The bytes are not XML as it occurs in workbooks. */
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
const X = 120;
const M = 109;

/** Markup compatibility (ECMA-376 part 3): the same content for programs that know an extension, and for the others. */
const COMPATIBILITY = 'http://schemas.openxmlformats.org/markup-compatibility/2006';

/** Office declares about forty. */
const MAX_SCOPES = 256;

/** The namespaces of prefixes at a place in a part: plain data. */
export interface Namespaces {
  /** The namespace of the part's root element, to which the part's own elements belong; null before the root. */
  own: string | null;
  bound: { prefix: string; uri: string }[];
}

/** The declaration of a prefix, valid within the element that has it. */
interface Scope {
  prefix: string;
  uri: string;
  depth: number;
  isOwn: boolean;
}

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;

/** Reads the tokens of a part; `next` moves to the next one. */
export class XmlReader {
  readonly bytes: Uint8Array;
  /** Where the next token begins. */
  at: number;
  /** The current token: a text, or a tag's content after its name. */
  start = 0;
  end = 0;
  /** Where the value found by {@link attribute} stands. */
  valueStart = 0;
  valueEnd = 0;
  #attributeStart = 0;
  #attributeEnd = 0;
  #prefixStart = 0;
  #nameStart = 0;
  #nameEnd = 0;
  #own: string | null;
  #isOwn = false;
  #defaultIsOwn = false;
  #depth = 0;
  readonly #scopes: Scope[];
  readonly #passedOver: string;

  /**
   * @param from where to begin, and the namespaces there, if it is not the part's beginning; `alternative` is which of
   *   a part's alternative contents is read
   */
  constructor(
    bytes: Uint8Array,
    from: { at?: number; names?: Namespaces | null; alternative?: 'Choice' | 'Fallback' } = {},
  ) {
    const { own, bound } = from.names ?? { own: null, bound: [] };
    this.bytes = bytes;
    this.at = from.at ?? 0;
    this.#own = own;
    this.#scopes = bound.map((names) => ({ ...names, depth: Number.NEGATIVE_INFINITY, isOwn: names.uri === own }));
    this.#passedOver = from.alternative === 'Choice' ? 'Fallback' : 'Choice';
    this.#findDefault();
  }

  /** The namespaces of prefixes at the current tag. */
  get names(): Namespaces {
    return { own: this.#own, bound: this.#scopes.map(({ prefix, uri }) => ({ prefix, uri })) };
  }

  /** Moves to the next token. Comments, processing instructions and the other alternative contents are skipped. */
  next(): number {
    for (;;) {
      const token = this.#any();
      if (token !== OPEN || this.#isOwn || !this.#isAlternative()) return token;
      const depth = this.#depth - 1;
      while (this.#depth > depth) if (this.#any() === CUT) return CUT;
    }
  }

  #isAlternative(): boolean {
    return this.#isNamed(this.#nameStart, this.#nameEnd, this.#passedOver) && this.#namespace() === COMPATIBILITY;
  }

  #any(): number {
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

  /** Whether the current tag is in the part's own namespace and has this name. */
  is(name: string): boolean {
    return this.#isOwn && this.#isNamed(this.#nameStart, this.#nameEnd, name);
  }

  /** Finds an attribute of the current tag; `valueStart` and `valueEnd` then delimit its value. */
  attribute(name: string): boolean {
    for (let at = this.#nextAttribute(this.start); at >= 0; at = this.#nextAttribute(at)) {
      if (this.#isNamed(this.#attributeStart, this.#attributeEnd, name)) return true;
    }
    return false;
  }

  /** The decoded value of an attribute of the current tag; undefined if it has no such attribute. */
  value(name: string): string | undefined {
    return this.attribute(name) ? decodeText(this.bytes, this.valueStart, this.valueEnd) : undefined;
  }

  /** The value of an attribute whose namespace ends in `namespace`; the beginning differs between editions. */
  valueOf(namespace: string, name: string): string | undefined {
    for (let at = this.#nextAttribute(this.start); at >= 0; at = this.#nextAttribute(at)) {
      const [prefix, local] = this.#attributeName().split(':');
      if (local === name && this.#meaning(prefix ?? '').endsWith(namespace)) {
        return decodeText(this.bytes, this.valueStart, this.valueEnd);
      }
    }
    return undefined;
  }

  #attributeName(): string {
    return decoder.decode(this.bytes.subarray(this.#attributeStart, this.#attributeEnd));
  }

  /**
   * Reads the attribute at an offset of the current tag, and returns where to look for the next; -1 if there is none.
   */
  #nextAttribute(from: number): number {
    const { bytes, end } = this;
    let at = from;
    while (at < end && isSpace(bytes[at])) at++;
    if (at >= end) return -1;
    this.#attributeStart = at;
    while (at < end && bytes[at] !== EQUALS && !isSpace(bytes[at])) at++;
    this.#attributeEnd = at;
    while (at < end && bytes[at] !== DOUBLE && bytes[at] !== SINGLE) at++;
    const quote = bytes[at];
    this.valueStart = ++at;
    while (at < end && bytes[at] !== quote) at++;
    this.valueEnd = at;
    return at + 1;
  }

  #isNamed(start: number, end: number, name: string): boolean {
    if (end - start !== name.length) return false;
    for (let index = 0; index < name.length; index++) {
      if (this.bytes[start + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }

  /** The namespace of the current tag. */
  #namespace(): string {
    const end = Math.max(this.#prefixStart, this.#nameStart - 1);
    return this.#meaning(decoder.decode(this.bytes.subarray(this.#prefixStart, end)));
  }

  /** The namespace of a prefix. An undeclared prefix stands for itself. */
  #meaning(prefix: string): string {
    return this.#scopes.findLast((scope) => scope.prefix === prefix)?.uri ?? prefix;
  }

  /** Adds the namespaces that the current tag declares. */
  #declare(): void {
    const depth = this.#depth + 1;
    for (let at = this.#nextAttribute(this.start); at >= 0; at = this.#nextAttribute(at)) {
      const name = this.#attributeName();
      if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
      const uri = decodeText(this.bytes, this.valueStart, this.valueEnd);
      this.#scopes.push({ prefix: name.slice(6), uri, depth, isOwn: uri === this.#own });
      if (this.#scopes.length > MAX_SCOPES) throw new XmlUnreadable('namespaces without end');
    }
    this.#findDefault();
  }

  /** Removes the namespaces that closed elements declared. */
  #undeclare(): void {
    while ((this.#scopes.at(-1)?.depth ?? Number.NEGATIVE_INFINITY) > this.#depth) this.#scopes.pop();
    this.#findDefault();
  }

  #findDefault(): void {
    this.#defaultIsOwn = this.#meaning('') === this.#own;
  }

  /** Whether the current tag is in the part's own namespace, which the first tag names. */
  #findOwn(): void {
    if (this.#own === null) {
      this.#own = this.#namespace();
      for (const scope of this.#scopes) scope.isOwn = scope.uri === this.#own;
      this.#findDefault();
    }
    if (this.#nameStart === this.#prefixStart) {
      this.#isOwn = this.#defaultIsOwn;
      return;
    }
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const { prefix, isOwn } = this.#scopes[index] as Scope;
      if (!this.#isNamed(this.#prefixStart, this.#nameStart - 1, prefix)) continue;
      this.#isOwn = isOwn;
      return;
    }
    this.#isOwn = this.#namespace() === this.#own;
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
    this.#prefixStart = at;
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
    let declares = false;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (quote !== 0) {
        if (byte === quote) quote = 0;
      } else if (byte === GT) break;
      else if (byte === DOUBLE || byte === SINGLE) quote = byte;
      else if (byte === LT) throw new XmlUnreadable('a tag within a tag');
      else if (byte === X && bytes[at + 1] === M && isSpace(bytes[at - 1])) declares = true;
    }
    if (at >= length) return CUT;
    const empty = bytes[at - 1] === SLASH;
    this.end = empty ? at - 1 : at;
    this.at = at + 1;
    if ((this.#scopes.at(-1)?.depth ?? 0) > this.#depth) this.#undeclare();
    if (declares && !closes) this.#declare();
    this.#findOwn();
    if (closes) this.#depth--;
    else if (!empty) this.#depth++;
    return closes ? CLOSE : empty ? EMPTY : OPEN;
  }
}

/** The offset of a mark of ASCII characters from `from` on, or -1. */
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

/** The text between two offsets, its references decoded. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  const text = decoder.decode(bytes.subarray(start, end));
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Whether there is an `&` between two offsets, so that the text needs decoding. */
export function hasReference(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === 38) return true;
  return false;
}
