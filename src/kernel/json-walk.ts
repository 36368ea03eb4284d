/** The error for JSON whose arrays and objects are nested deeper than allowed. */
export class NestedTooDeepError extends Error {}

/** The first byte of an object. */
export const OBJECT_START = 0x7b;
/** The first byte of an array. */
export const ARRAY_START = 0x5b;
/** The first byte of a string. */
export const STRING_START = 0x22;

const OBJECT_END = 0x7d;
const ARRAY_END = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;

/**
 * Walks through JSON in UTF-8 and checks its whole grammar without building values: the caller decides which parts become values.
 * Every method begins at `at` and moves it behind the part that it went over.
 */
export class JsonWalker {
  readonly bytes: Uint8Array;
  readonly #maxDepth: number;
  at: number;

  /** @param at the offset to begin at @param maxDepth the maximum nesting of arrays and objects */
  constructor(bytes: Uint8Array, at: number, maxDepth: number) {
    this.bytes = bytes;
    this.at = at;
    this.#maxDepth = maxDepth;
  }

  /** Returns the next byte that is not whitespace; 0 at the end. */
  findNextByte(): number {
    const { bytes } = this;
    for (let byte = bytes[this.at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; )
      byte = bytes[++this.at];
    return bytes[this.at] ?? 0;
  }

  /** Goes over one value of any kind. @param depth the number of arrays and objects around it */
  walkValue(depth = 0): void {
    switch (this.findNextByte()) {
      case STRING_START:
        this.#walkString();
        break;
      case OBJECT_START:
        this.walkMembers(() => this.walkValue(depth + 1), depth);
        break;
      case ARRAY_START:
        this.walkElements(() => this.walkValue(depth + 1), depth);
        break;
      case 0x74:
        this.#walkLiteral('true');
        break;
      case 0x66:
        this.#walkLiteral('false');
        break;
      case 0x6e:
        this.#walkLiteral('null');
        break;
      default:
        this.#walkNumber();
    }
  }

  /** Goes over an object. @param walkMemberValue goes over a value whose quoted name lies from `start` to `end` */
  walkMembers(walkMemberValue: (start: number, end: number) => void, depth: number): void {
    this.#walkList(OBJECT_END, depth, () => {
      if (this.findNextByte() !== STRING_START) throw new SyntaxError();
      const start = this.at;
      this.#walkString();
      const end = this.at;
      if (this.findNextByte() !== COLON) throw new SyntaxError();
      this.at += 1;
      walkMemberValue(start, end);
    });
  }

  /** Goes over an array. @param walkElement called to go over each of its values */
  walkElements(walkElement: () => void, depth: number): void {
    this.#walkList(ARRAY_END, depth, walkElement);
  }

  #walkList(end: number, depth: number, walkItem: () => void): void {
    if (depth === this.#maxDepth) throw new NestedTooDeepError();
    this.at += 1;
    if (this.findNextByte() === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      walkItem();
      const separator = this.findNextByte();
      this.at += 1;
      if (separator === end) return;
      if (separator !== COMMA) throw new SyntaxError();
    }
  }

  #walkString(): void {
    const { bytes } = this;
    for (let at = this.at + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte < 0x20) throw new SyntaxError();
      if (byte === STRING_START) {
        this.at = at + 1;
        return;
      }
      if (byte === BACKSLASH) at = findEscapeEnd(bytes, at + 1);
    }
    throw new SyntaxError();
  }

  #walkLiteral(literal: string): void {
    for (let index = 0; index < literal.length; index += 1)
      if (this.bytes[this.at + index] !== literal.charCodeAt(index)) throw new SyntaxError();
    this.at += literal.length;
  }

  #walkNumber(): void {
    if (this.bytes[this.at] === MINUS) this.at += 1;
    if (this.bytes[this.at] === ZERO) this.at += 1;
    else this.#walkDigits();
    if (this.bytes[this.at] === 0x2e) {
      this.at += 1;
      this.#walkDigits();
    }
    if (((this.bytes[this.at] ?? 0) | 0x20) !== 0x65) return;
    this.at += 1;
    const sign = this.bytes[this.at];
    if (sign === MINUS || sign === 0x2b) this.at += 1;
    this.#walkDigits();
  }

  #walkDigits(): void {
    const start = this.at;
    while (isDigit(this.bytes[this.at])) this.at += 1;
    if (this.at === start) throw new SyntaxError();
  }
}

const isDigit = (byte = 0): boolean => byte >= ZERO && byte <= 0x39;
const isHexDigit = (byte = 0): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/** The bytes that may follow a backslash, except `u`. */
const ESCAPABLE_BYTES = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));

/** Returns the offset of the last byte of the escape whose backslash stands before `at`. */
function findEscapeEnd(bytes: Uint8Array, at: number): number {
  if (ESCAPABLE_BYTES.has(bytes[at] ?? 0)) return at;
  const isUnicodeEscape = bytes[at] === 0x75 && [1, 2, 3, 4].every((index) => isHexDigit(bytes[at + index]));
  if (!isUnicodeEscape) throw new SyntaxError();
  return at + 4;
}
