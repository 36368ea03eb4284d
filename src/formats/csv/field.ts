import type { Dialect } from './dialect.ts';

/** The field is not quoted. */
export const BARE = 0;
/** Quoted, with nothing to unescape. */
export const QUOTED = 1;
/** Quoted, with escaped quotes inside. */
export const ESCAPED = 2;
/** Text goes on after the closing quote. */
export const LOOSE = 3;
/** The field is not quoted, with a backslash before each delimiter inside. */
export const SLASHED = 4;

export const EOL_LF = 1;
export const EOL_CRLF = 2;
export const EOL_CR = 4;

/** The number of bytes that are searched for the quote that closes a field after a stray quote. */
const LOOK_AHEAD = 4096;

/** The meaning of a byte outside quotes. */
export const DELIMITER = 1;
export const LF = 2;
export const CR = 3;
export const QUOTE = 4;
/** A backslash that may escape a delimiter. */
export const BACKSLASH = 6;
/** Stands for the end of the block instead of a byte. */
export const END = 5;
/** The block ends before it is clear whether the quote is closed. */
const UNKNOWN = -2;

/** Reads a field with quotes or escaped delimiters, or one that CR or the file's end ends. */
export class FieldReader {
  /** The field's content, and where the next field or record starts. */
  start = 0;
  end = 0;
  next = 0;
  kind = BARE;
  /** The end of the record behind this field; -1 when more fields follow. */
  eol = -1;
  /** The block ends within the field; `unclosed` when the file ends too. */
  cut = false;
  unclosed = false;
  /** `odd`: the record has something irregular. `lines`: the record's lines. Each scan of a record resets both. */
  odd = false;
  lines = 1;
  /** Whether a quote stands within an unquoted field, or a quoted field is not closed, in this record. */
  stray = false;
  broken = false;
  /** The quote that closes the field after a stray quote: found once, used by all stray quotes before it. */
  #closer = -1;
  readonly #bytes: Uint8Array;
  readonly #isLast: boolean;
  readonly #meaning: Uint8Array;
  readonly #quote: number;
  readonly #backslash: boolean;
  readonly #spaces: boolean;

  constructor(bytes: Uint8Array, isLast: boolean, dialect: Dialect, meaning: Uint8Array) {
    this.#bytes = bytes;
    this.#isLast = isLast;
    this.#meaning = meaning;
    this.#quote = dialect.quote === null ? -1 : dialect.quote.charCodeAt(0);
    this.#backslash = dialect.escape === 'backslash';
    this.#spaces = dialect.spaceBeforeQuote;
  }

  /** Reads the field that starts at `start`; its first special byte (`what`) is at `at`. */
  read(start: number, at: number, what: number): void {
    this.start = start;
    this.kind = BARE;
    this.cut = false;
    let rest = at;
    if (what === QUOTE && (at === start || (this.#spaces && this.#isBlank(start, at)))) {
      if (at > start) this.odd = true;
      this.start = at + 1;
      rest = this.#quoted(at + 1);
      if (this.cut) return;
    }
    if (this.kind === QUOTED || this.kind === ESCAPED) this.#close(rest);
    else this.#bare(rest);
  }

  /** Skips the quoted text and returns where to look for the field's end: after the closing quote. */
  #quoted(from: number): number {
    const bytes = this.#bytes;
    const length = bytes.length;
    const quote = this.#quote;
    const backslash = this.#backslash;
    this.kind = QUOTED;
    let at = from;
    for (;;) {
      if (at >= length) return this.#cutOff(this.#isLast);
      const byte = bytes[at] as number;
      if (byte === quote) {
        if (bytes[at + 1] === quote) {
          this.kind = ESCAPED;
          if (backslash) this.odd = true;
          at += 2;
          continue;
        }
        let ahead = at + 1;
        while (bytes[ahead] === 32) ahead++;
        if (ahead >= length && !this.#isLast) return this.#cutOff(false);
        const what = ahead < length ? this.#meaning[bytes[ahead] as number] : END;
        if (what === DELIMITER || what === LF || what === CR || what === END) {
          this.end = at;
          if (ahead > at + 1) this.odd = true;
          return ahead;
        }
        this.odd = true;
        this.broken = true;
        if (this.#closer <= at) this.#closer = this.#closingQuote(at + 1);
        if (this.#closer === UNKNOWN) return this.#cutOff(false);
        this.kind = this.#closer > at ? ESCAPED : LOOSE;
        if (this.kind === LOOSE) return at + 1;
      } else if (byte === 10) this.lines++;
      else if (byte === 13) {
        if (at + 1 >= length && !this.#isLast) return this.#cutOff(false);
        if (bytes[at + 1] !== 10) this.lines++;
      } else if (backslash && byte === 92) {
        if (at + 1 >= length) return this.#cutOff(this.#isLast);
        if (bytes[at + 1] === quote || bytes[at + 1] === 92) {
          this.kind = ESCAPED;
          at++;
        }
      }
      at++;
    }
  }

  /** Skips bytes outside quotes up to the field's end; quotes and escaped delimiters on the way belong to the field. */
  #bare(from: number): void {
    const bytes = this.#bytes;
    const length = bytes.length;
    let at = from;
    for (;;) {
      while (at < length && this.#meaning[bytes[at] as number] === 0) at++;
      const what = at < length ? this.#meaning[bytes[at] as number] : END;
      if (what === QUOTE) {
        this.odd = true;
        this.stray = true;
      } else if (what !== BACKSLASH) break;
      else if (at + 1 < length && this.#meaning[bytes[at + 1] as number] === DELIMITER) {
        this.odd = true;
        if (this.kind === BARE) this.kind = SLASHED;
        at++;
      }
      at++;
    }
    this.end = at;
    this.#close(at);
  }

  /** Ends the field at the delimiter, line end, or end of the file that stands at `at`. */
  #close(at: number): void {
    const bytes = this.#bytes;
    const length = bytes.length;
    this.eol = -1;
    this.next = at + 1;
    if (at >= length) {
      if (!this.#isLast) this.#cutOff(false);
      this.next = length;
      this.eol = 0;
      return;
    }
    const what = this.#meaning[bytes[at] as number];
    if (what === DELIMITER) return;
    if (what === LF) {
      this.eol = EOL_LF;
      return;
    }
    // A line feed after the CR belongs to it.
    if (at + 1 >= length && !this.#isLast) {
      this.#cutOff(false);
      return;
    }
    const lineFeed = bytes[at + 1] === 10;
    this.eol = lineFeed ? EOL_CRLF : EOL_CR;
    this.next = lineFeed ? at + 2 : at + 1;
  }

  #cutOff(unclosed: boolean): number {
    this.cut = true;
    this.unclosed = unclosed;
    return 0;
  }

  #isBlank(start: number, end: number): boolean {
    for (let at = start; at < end; at++) if (this.#bytes[at] !== 32) return false;
    return true;
  }

  /** Finds the next quote on this line that a delimiter or line end follows; -1 when there is none. */
  #closingQuote(from: number): number {
    const bytes = this.#bytes;
    const limit = Math.min(bytes.length, from + LOOK_AHEAD);
    for (let at = from; at < limit; at++) {
      const byte = bytes[at] as number;
      if (byte === 10 || byte === 13) return -1;
      if (byte !== this.#quote) continue;
      if (at + 1 >= bytes.length) return this.#isLast ? at : UNKNOWN;
      const what = this.#meaning[bytes[at + 1] as number];
      if (what === DELIMITER || what === LF || what === CR) return at;
    }
    return limit < from + LOOK_AHEAD && !this.#isLast ? UNKNOWN : -1;
  }
}
