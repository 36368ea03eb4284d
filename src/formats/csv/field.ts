import type { Dialect } from './dialect.ts';
import type { Fields } from './records.ts';

/**
 * Kind of a field without quotes, or of one whose text continues after the closing quote: such a field is read as it stands.
 */
export const UNQUOTED_FIELD = 0;
/** Kind of a quoted field, with nothing to unescape. */
export const QUOTED_FIELD = 1;
/** Kind of a quoted field, with escaped quotes inside. */
export const ESCAPED_FIELD = 2;
/** Kind of a field without quotes, with a backslash before each delimiter inside. */
export const BACKSLASHED_FIELD = 3;

export const EOL_LF = 1;
export const EOL_CRLF = 2;
export const EOL_CR = 4;

/** Number of bytes in which the closing quote of a field is searched for after a stray quote. */
const LOOK_AHEAD_BYTES = 4096;

/** Meaning of a byte outside quotes: a delimiter. */
export const DELIMITER_MEANING = 1;
export const LF = 2;
export const CR = 3;
export const QUOTE_MEANING = 4;
/** Meaning of a byte outside quotes: a backslash, which may escape a delimiter. */
export const BACKSLASH_MEANING = 6;
/** Meaning of the position after the block's last byte. */
export const END_MEANING = 5;
/** Result of a search when the block ends before it is clear whether the quote is closed. */
const UNKNOWN_QUOTE_END = -2;

/** Reads a field with quotes or escaped delimiters, or one that ends with CR or at the file's end. */
export class FieldReader {
  /** Offset at which the field's content starts. */
  contentStart = 0;
  /** Offset at which the field's content ends. */
  contentEnd = 0;
  /** Offset at which the next field or record starts. */
  nextStart = 0;
  quotingKind = UNQUOTED_FIELD;
  /** Line end after the record, if this field is its last; -1 if more fields follow. */
  lineEndKind = -1;
  /** True if the block ends within the field. */
  isCutOff = false;
  /** True if the file, too, ends within the field. */
  isUnclosed = false;
  /** Offset of the quote that closes the field after a stray quote: found once for all stray quotes before it. */
  #closingQuoteOffset = -1;
  readonly #bytes: Uint8Array;
  readonly #isLast: boolean;
  readonly #record: Fields;
  readonly #byteMeanings: Uint8Array;
  readonly #quote: number;
  readonly #usesBackslashEscape: boolean;
  readonly #allowsSpaces: boolean;

  /** @param record gets what the fields say of the whole record */
  constructor(bytes: Uint8Array, isLast: boolean, dialect: Dialect, byteMeanings: Uint8Array, record: Fields) {
    this.#bytes = bytes;
    this.#isLast = isLast;
    this.#record = record;
    this.#byteMeanings = byteMeanings;
    this.#quote = dialect.quote === null ? -1 : dialect.quote.charCodeAt(0);
    this.#usesBackslashEscape = dialect.escape === 'backslash';
    this.#allowsSpaces = dialect.spaceBeforeQuote;
  }

  /** Reads the field that starts at `start`; its first special byte (of meaning `byteMeaning`) is at `at`. */
  readField(start: number, at: number, byteMeaning: number): void {
    this.contentStart = start;
    this.quotingKind = UNQUOTED_FIELD;
    this.isCutOff = false;
    let textStart = at;
    if (byteMeaning === QUOTE_MEANING && (at === start || (this.#allowsSpaces && this.#isBlank(start, at)))) {
      if (at > start) this.#record.isIrregular = true;
      this.contentStart = at + 1;
      textStart = this.#skipQuoted(at + 1);
      if (this.isCutOff) return;
      if (this.quotingKind === UNQUOTED_FIELD) this.contentStart = start;
    }
    if (this.quotingKind === QUOTED_FIELD || this.quotingKind === ESCAPED_FIELD) this.#endField(textStart);
    else this.#skipUnquoted(textStart);
  }

  /** Skips the quoted text; sets the kind. @returns the offset after the closing quote, at which to look for the field's end */
  #skipQuoted(from: number): number {
    const bytes = this.#bytes;
    const length = bytes.length;
    const quote = this.#quote;
    const backslash = this.#usesBackslashEscape;
    this.quotingKind = QUOTED_FIELD;
    let at = from;
    for (;;) {
      if (at >= length) return this.#markCutOff(this.#isLast);
      const byte = bytes[at] as number;
      if (byte === quote) {
        if (bytes[at + 1] === quote) {
          this.quotingKind = ESCAPED_FIELD;
          if (backslash) this.#record.isIrregular = true;
          at += 2;
          continue;
        }
        let nextOffset = at + 1;
        while (bytes[nextOffset] === 32) nextOffset++;
        if (nextOffset >= length && !this.#isLast) return this.#markCutOff(false);
        const byteMeaning = nextOffset < length ? this.#byteMeanings[bytes[nextOffset] as number] : END_MEANING;
        if (
          byteMeaning === DELIMITER_MEANING ||
          byteMeaning === LF ||
          byteMeaning === CR ||
          byteMeaning === END_MEANING
        ) {
          this.contentEnd = at;
          if (nextOffset > at + 1) this.#record.isIrregular = true;
          return nextOffset;
        }
        this.#record.isIrregular = true;
        this.#record.hasBrokenQuote = true;
        if (this.#closingQuoteOffset <= at) this.#closingQuoteOffset = this.#findClosingQuote(at + 1);
        if (this.#closingQuoteOffset === UNKNOWN_QUOTE_END) return this.#markCutOff(false);
        this.quotingKind = this.#closingQuoteOffset > at ? ESCAPED_FIELD : UNQUOTED_FIELD;
        if (this.quotingKind === UNQUOTED_FIELD) return at + 1;
      } else if (byte === 10) this.#record.lineCount++;
      else if (byte === 13) {
        if (at + 1 >= length && !this.#isLast) return this.#markCutOff(false);
        if (bytes[at + 1] !== 10) this.#record.lineCount++;
      } else if (backslash && byte === 92) {
        if (at + 1 >= length) return this.#markCutOff(this.#isLast);
        if (bytes[at + 1] === quote || bytes[at + 1] === 92) {
          this.quotingKind = ESCAPED_FIELD;
          at++;
        }
      }
      at++;
    }
  }

  /** Skips bytes outside quotes up to the field's end; quotes and escaped delimiters before it belong to the field. */
  #skipUnquoted(from: number): void {
    const bytes = this.#bytes;
    const length = bytes.length;
    let at = from;
    for (;;) {
      while (at < length && this.#byteMeanings[bytes[at] as number] === 0) at++;
      const byteMeaning = at < length ? this.#byteMeanings[bytes[at] as number] : END_MEANING;
      if (byteMeaning === QUOTE_MEANING) {
        this.#record.isIrregular = true;
        this.#record.hasStrayQuote = true;
      } else if (byteMeaning !== BACKSLASH_MEANING) break;
      else if (at + 1 < length && this.#byteMeanings[bytes[at + 1] as number] === DELIMITER_MEANING) {
        this.#record.isIrregular = true;
        if (this.quotingKind === UNQUOTED_FIELD) this.quotingKind = BACKSLASHED_FIELD;
        at++;
      }
      at++;
    }
    this.contentEnd = at;
    this.#endField(at);
  }

  /** Ends the field at the delimiter, line end, or end of the file that stands at `at`. */
  #endField(at: number): void {
    const bytes = this.#bytes;
    const length = bytes.length;
    this.lineEndKind = -1;
    this.nextStart = at + 1;
    if (at >= length) {
      if (!this.#isLast) this.#markCutOff(false);
      this.nextStart = length;
      this.lineEndKind = 0;
      return;
    }
    const byteMeaning = this.#byteMeanings[bytes[at] as number];
    if (byteMeaning === DELIMITER_MEANING) return;
    if (byteMeaning === LF) {
      this.lineEndKind = EOL_LF;
      return;
    }
    // A line feed after the CR belongs to it.
    if (at + 1 >= length && !this.#isLast) {
      this.#markCutOff(false);
      return;
    }
    const hasLineFeed = bytes[at + 1] === 10;
    this.lineEndKind = hasLineFeed ? EOL_CRLF : EOL_CR;
    this.nextStart = hasLineFeed ? at + 2 : at + 1;
  }

  #markCutOff(isUnclosedField: boolean): number {
    this.isCutOff = true;
    this.isUnclosed = isUnclosedField;
    return 0;
  }

  #isBlank(start: number, end: number): boolean {
    for (let at = start; at < end; at++) if (this.#bytes[at] !== 32) return false;
    return true;
  }

  /** Finds the next quote on this line before a delimiter or line end; -1 if there is none. */
  #findClosingQuote(from: number): number {
    const bytes = this.#bytes;
    const limit = Math.min(bytes.length, from + LOOK_AHEAD_BYTES);
    for (let at = from; at < limit; at++) {
      const byte = bytes[at] as number;
      if (byte === 10 || byte === 13) return -1;
      if (byte !== this.#quote) continue;
      if (at + 1 >= bytes.length) return this.#isLast ? at : UNKNOWN_QUOTE_END;
      const byteMeaning = this.#byteMeanings[bytes[at + 1] as number];
      if (byteMeaning === DELIMITER_MEANING || byteMeaning === LF || byteMeaning === CR) return at;
    }
    return limit < from + LOOK_AHEAD_BYTES && !this.#isLast ? UNKNOWN_QUOTE_END : -1;
  }
}
