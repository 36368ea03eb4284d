import { NamespaceScopes, type Namespaces } from './namespaces.ts';
import { decodeText, findText, hasTextAt, sliceText, XmlUnreadable } from './text.ts';

/** Reads XML as bytes by tokens: sheets have tens of megabytes. Knows XML's five entities, ends at a document type. */

/** Kind of token: the bytes end within a token. */
export const CUT_TOKEN = 0;
export const OPEN_TAG = 1;
export const CLOSE_TAG = 2;
/** Token of an element without content: `<c/>`. */
export const EMPTY_TAG = 3;
export const TEXT_TOKEN = 4;
/** Token of a text without references to decode. */
export const CDATA_TOKEN = 5;

const LT = 60;
const GT = 62;
const SLASH = 47;
const EXCLAMATION_MARK = 33;
const QUESTION_MARK = 63;
const EQUALS = 61;
const COLON = 58;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const X = 120;
const M = 109;

/** Namespace of markup compatibility (ECMA-376 part 3): the same content for programs with and without an extension. */
const COMPATIBILITY_NAMESPACE = 'http://schemas.openxmlformats.org/markup-compatibility/2006';

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;

/** Reads the tokens of a part; `readNextToken` moves to the next one. */
export class XmlReader {
  readonly bytes: Uint8Array;
  /** Offset of the next token. */
  at = 0;
  /** Start of the current token: of a text, or of a tag's content after its name. */
  start = 0;
  /** End of the current token: of a text, or of a tag's content after its name. */
  end = 0;
  /** Start of the value found by {@link findAttribute}. */
  valueStart = 0;
  /** End of the value found by {@link findAttribute}. */
  valueEnd = 0;
  #attributeStart = 0;
  #attributeEnd = 0;
  #prefixStart = 0;
  #nameStart = 0;
  #nameEnd = 0;
  #isOwn = false;
  #depth = 0;
  readonly #scopes: NamespaceScopes;
  readonly #skippedAlternative: string;

  /** @param namespaces those where the bytes begin @param skippedAlternative which of a part's alternatives is not read */
  constructor(
    bytes: Uint8Array,
    namespaces: Namespaces | null = null,
    skippedAlternative: 'Choice' | 'Fallback' = 'Choice',
  ) {
    this.bytes = bytes;
    this.#scopes = new NamespaceScopes(namespaces ?? { own: null, bound: [] });
    this.#skippedAlternative = skippedAlternative;
  }

  /** Namespaces of prefixes at the current tag. */
  get names(): Namespaces {
    return this.#scopes.names;
  }

  /** Moves to the next token. Comments, processing instructions and the other alternative contents are skipped. */
  readNextToken(): number {
    for (;;) {
      const token = this.#readAnyToken();
      if (token !== OPEN_TAG || this.#isOwn || !this.#isAlternative()) return token;
      const depth = this.#depth - 1;
      while (this.#depth > depth) if (this.#readAnyToken() === CUT_TOKEN) return CUT_TOKEN;
    }
  }

  #isAlternative(): boolean {
    const { bytes } = this;
    return (
      hasTextAt(bytes, this.#nameStart, this.#nameEnd, this.#skippedAlternative) &&
      this.#scopes.findNamespace(bytes, this.#prefixStart, this.#nameStart) === COMPATIBILITY_NAMESPACE
    );
  }

  #readAnyToken(): number {
    for (;;) {
      const { bytes } = this;
      if (this.at >= bytes.length) return CUT_TOKEN;
      if (bytes[this.at] !== LT) return this.#readText();
      const secondByte = bytes[this.at + 1];
      if (secondByte === undefined) return CUT_TOKEN;
      if (secondByte === QUESTION_MARK) {
        if (!this.#skipPast('?>', 2)) return CUT_TOKEN;
      } else if (secondByte === EXCLAMATION_MARK) {
        const thirdByte = bytes[this.at + 2];
        if (thirdByte === undefined) return CUT_TOKEN;
        if (thirdByte === 45) {
          if (!this.#skipPast('-->', 4)) return CUT_TOKEN;
        } else if (thirdByte === 91) return this.#readCdata();
        else throw new XmlUnreadable('a document type declaration');
      } else return this.#readTag(secondByte === SLASH);
    }
  }

  /** Returns true if the current tag is in the part's own namespace and has this name. */
  isElement(name: string): boolean {
    return this.#isOwn && hasTextAt(this.bytes, this.#nameStart, this.#nameEnd, name);
  }

  /** Finds an attribute of the current tag; `valueStart` and `valueEnd` then delimit its value. */
  findAttribute(name: string): boolean {
    for (let at = this.#readNextAttribute(this.start); at >= 0; at = this.#readNextAttribute(at)) {
      if (hasTextAt(this.bytes, this.#attributeStart, this.#attributeEnd, name)) return true;
    }
    return false;
  }

  /** Returns the decoded value of an attribute of the current tag; undefined if it has no such attribute. */
  readAttribute(name: string): string | undefined {
    return this.findAttribute(name) ? decodeText(this.bytes, this.valueStart, this.valueEnd) : undefined;
  }

  /** Returns the value of an attribute whose namespace ends in `namespace`; the beginning differs between editions. */
  getValue(namespace: string, name: string): string | undefined {
    for (let at = this.#readNextAttribute(this.start); at >= 0; at = this.#readNextAttribute(at)) {
      const [prefix, local] = this.#getAttributeName().split(':');
      if (local === name && this.#scopes.getNamespace(prefix ?? '').endsWith(namespace)) {
        return decodeText(this.bytes, this.valueStart, this.valueEnd);
      }
    }
    return undefined;
  }

  #getAttributeName(): string {
    return sliceText(this.bytes, this.#attributeStart, this.#attributeEnd);
  }

  /** Reads the attribute at an offset of the current tag. @returns the offset at which to look for the next one; -1 for none */
  #readNextAttribute(from: number): number {
    const { bytes, end } = this;
    let at = from;
    while (at < end && isSpace(bytes[at])) at++;
    if (at >= end) return -1;
    this.#attributeStart = at;
    while (at < end && bytes[at] !== EQUALS && !isSpace(bytes[at])) at++;
    this.#attributeEnd = at;
    while (at < end && bytes[at] !== DOUBLE_QUOTE && bytes[at] !== SINGLE_QUOTE) at++;
    const quote = bytes[at];
    this.valueStart = ++at;
    while (at < end && bytes[at] !== quote) at++;
    this.valueEnd = at;
    return at + 1;
  }

  /** Adds the namespaces that the current tag declares. */
  #declarePrefixes(): void {
    const depth = this.#depth + 1;
    for (let at = this.#readNextAttribute(this.start); at >= 0; at = this.#readNextAttribute(at)) {
      const name = this.#getAttributeName();
      if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
      this.#scopes.addPrefix(name.slice(6), decodeText(this.bytes, this.valueStart, this.valueEnd), depth);
    }
  }

  #readText(): number {
    const end = this.bytes.indexOf(LT, this.at);
    if (end < 0) return CUT_TOKEN;
    this.start = this.at;
    this.end = end;
    this.at = end;
    return TEXT_TOKEN;
  }

  #readCdata(): number {
    const end = findText(this.bytes, ']]>', this.at + 9);
    if (end < 0) return CUT_TOKEN;
    this.start = this.at + 9;
    this.end = end;
    this.at = end + 3;
    return CDATA_TOKEN;
  }

  #skipPast(searchedText: string, from: number): boolean {
    const end = findText(this.bytes, searchedText, this.at + from);
    if (end < 0) return false;
    this.at = end + searchedText.length;
    return true;
  }

  #readTag(isClosing: boolean): number {
    const { bytes } = this;
    const { length } = bytes;
    let at = this.at + (isClosing ? 2 : 1);
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
    let hasDeclaration = false;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (quote !== 0) {
        if (byte === quote) quote = 0;
      } else if (byte === GT) break;
      else if (byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE) quote = byte;
      else if (byte === LT) throw new XmlUnreadable('a tag within a tag');
      else if (byte === X && bytes[at + 1] === M && isSpace(bytes[at - 1])) hasDeclaration = true;
    }
    if (at >= length) return CUT_TOKEN;
    const isEmpty = bytes[at - 1] === SLASH;
    this.end = isEmpty ? at - 1 : at;
    this.at = at + 1;
    this.#scopes.dropDeeperScopes(this.#depth);
    if (hasDeclaration && !isClosing) this.#declarePrefixes();
    this.#isOwn = this.#scopes.isInOwnNamespace(bytes, this.#prefixStart, this.#nameStart);
    if (isClosing) this.#depth--;
    else if (!isEmpty) this.#depth++;
    return isClosing ? CLOSE_TAG : isEmpty ? EMPTY_TAG : OPEN_TAG;
  }
}
