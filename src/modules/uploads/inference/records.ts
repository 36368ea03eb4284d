import { InferenceError } from './errors.ts';
import type { Dialect } from './schema.ts';
import type { Decode } from './types.ts';

/**
 * Splits bytes into records and fields without making strings of them. Not papaparse: it needs decoded text (a whole
 * block of it as arrays of strings, three times the time), cannot continue from a byte offset, and knows no backslash.
 */

/** The fields of the record that the scanner is at; reused from record to record. */
export interface Fields {
  count: number;
  /** Where each field's content starts and ends, without its quotes. */
  starts: Int32Array;
  ends: Int32Array;
  /** How each field is written: {@link BARE}, {@link QUOTED}, {@link ESCAPED} or {@link LOOSE}. */
  kinds: Uint8Array;
  /** Something in the record that other readers of CSV read otherwise. */
  odd: boolean;
  /** How the record ends: {@link EOL_LF} and so on, 0 at the end of the file. */
  eol: number;
}

/** Not quoted. */
export const BARE = 0;
/** Quoted, with nothing to unescape. */
export const QUOTED = 1;
/** Quoted, with escaped quotes inside. */
export const ESCAPED = 2;
/** Text goes on after the closing quote. */
export const LOOSE = 3;

export const EOL_LF = 1;
export const EOL_CRLF = 2;
export const EOL_CR = 4;
/** More than one CR before the LF. */
export const EOL_ODD = 8;

/** More fields than this in one record are no table. */
export const MAX_FIELDS = 16_384;
/** How far a stray quote looks for one that closes the field. */
const LOOK_AHEAD = 4096;

const DELIMITER = 1;
const LF = 2;
const CR = 3;
const QUOTE = 4;

/** Room for the fields of any record. */
export function newFields(): Fields {
  return {
    count: 0,
    starts: new Int32Array(MAX_FIELDS),
    ends: new Int32Array(MAX_FIELDS),
    kinds: new Uint8Array(MAX_FIELDS),
    odd: false,
    eol: 0,
  };
}

/** Where a scan ended. */
export interface ScanEnd {
  /** Index after the last whole record. */
  end: number;
  /** Line that starts there. */
  line: number;
  /** The last record's quote is still open where the file ends. */
  unclosed: boolean;
}

/** Called for each record; true ends the scan after it. */
export type OnRecord = (start: number, end: number, line: number) => unknown;

/**
 * Calls `onRecord` for every whole record from `from` on, its fields in `fields`. A record that the bytes cut off is
 * left to the next scan unless they are the file's last. The result does not depend on where blocks are cut.
 * @param line the 1-based line that starts at `from`.
 */
export function scan(
  bytes: Uint8Array,
  from: number,
  isLast: boolean,
  dialect: Dialect,
  line: number,
  fields: Fields,
  onRecord: OnRecord,
): ScanEnd {
  const { starts, ends, kinds } = fields;
  const meaning = meaningOf(dialect);
  const length = bytes.length;
  const quote = dialect.quote.charCodeAt(0);
  const backslash = dialect.escape === 'backslash';
  const anyCr = dialect.newline === 'cr';
  let at = from;
  let nextLine = line;
  /** A stray quote's closing one: found once, used by all stray quotes before it. */
  let closer = -1;

  while (at < length) {
    const recordStart = at;
    let lines = 1;
    let count = 0;
    fields.odd = false;
    fields.eol = 0;
    for (;;) {
      let start = at;
      let kind = BARE;
      let what = at < length ? (meaning[bytes[at] as number] as number) : LF;
      if (dialect.spaceBeforeQuote && bytes[at] === 32) {
        let ahead = at;
        while (ahead < length && bytes[ahead] === 32) ahead++;
        if (ahead === length && !isLast) return { end: recordStart, line: nextLine, unclosed: false };
        if (meaning[bytes[ahead] as number] === QUOTE) {
          at = ahead;
          what = QUOTE;
          fields.odd = true;
        }
      }
      let end = at;
      if (what === QUOTE) {
        start = ++at;
        kind = QUOTED;
        for (;;) {
          if (at >= length) return { end: recordStart, line: nextLine, unclosed: isLast };
          const byte = bytes[at] as number;
          if (byte === quote) {
            if (bytes[at + 1] === quote) {
              kind = ESCAPED;
              if (backslash) fields.odd = true;
              at += 2;
              continue;
            }
            let ahead = at + 1;
            while (ahead < length && bytes[ahead] === 32) ahead++;
            if (ahead >= length && !isLast) return { end: recordStart, line: nextLine, unclosed: false };
            what = ahead < length ? (meaning[bytes[ahead] as number] as number) : LF;
            if (what === DELIMITER || what === LF || what === CR) {
              end = at;
              if (ahead > at + 1) fields.odd = true;
              at = ahead;
              break;
            }
            fields.odd = true;
            if (closer <= at) closer = closingQuote(bytes, at + 1, quote, meaning, isLast);
            if (closer === -2) return { end: recordStart, line: nextLine, unclosed: false };
            if (closer > at) {
              kind = ESCAPED;
              at++;
              continue;
            }
            kind = LOOSE;
            at++;
            break;
          }
          if (byte === 10) lines++;
          else if (byte === 13) {
            if (at + 1 >= length && !isLast) return { end: recordStart, line: nextLine, unclosed: false };
            if (anyCr && bytes[at + 1] !== 10) lines++;
          } else if (backslash && byte === 92 && (bytes[at + 1] === quote || bytes[at + 1] === 92)) {
            kind = ESCAPED;
            at++;
          } else if (backslash && byte === 92 && at + 1 >= length && !isLast) {
            return { end: recordStart, line: nextLine, unclosed: false };
          }
          at++;
        }
      }
      let next = at;
      if (kind === BARE || kind === LOOSE) {
        for (;;) {
          while (at < length && meaning[bytes[at] as number] === 0) at++;
          what = at < length ? (meaning[bytes[at] as number] as number) : LF;
          if (what === QUOTE) {
            fields.odd = true;
            at++;
          } else if (what === CR && !anyCr && !crEndsRecord(bytes, at, isLast)) {
            if (crRunEnd(bytes, at) >= length && !isLast) return { end: recordStart, line: nextLine, unclosed: false };
            fields.odd = true;
            at++;
          } else break;
        }
        end = at;
        next = at;
      }
      if (count === MAX_FIELDS) throw tooManyFields(nextLine);
      starts[count] = start;
      ends[count] = end;
      kinds[count] = kind;
      count++;
      if (next >= length) {
        if (!isLast) return { end: recordStart, line: nextLine, unclosed: false };
        at = length;
        break;
      }
      if (what === DELIMITER) {
        at = next + 1;
        continue;
      }
      if (what === LF) {
        fields.eol = EOL_LF;
        at = next + 1;
        break;
      }
      const run = anyCr ? next + 1 : crRunEnd(bytes, next);
      if (run >= length && !isLast) return { end: recordStart, line: nextLine, unclosed: false };
      const lineFeed = bytes[run] === 10;
      fields.eol = run > next + 1 ? EOL_ODD : lineFeed ? EOL_CRLF : EOL_CR;
      at = lineFeed ? run + 1 : run;
      break;
    }
    fields.count = count;
    const recordLine = nextLine;
    nextLine += lines;
    if (onRecord(recordStart, at, recordLine) === true) break;
  }
  return { end: at, line: nextLine, unclosed: false };
}

/** Where the run of CRs that starts at `at` ends. */
function crRunEnd(bytes: Uint8Array, at: number): number {
  let run = at;
  while (bytes[run] === 13) run++;
  return run;
}

/** Whether a CR of a file with LF line ends belongs to one: CRs directly before LF or the end of the file. */
function crEndsRecord(bytes: Uint8Array, at: number, isLast: boolean): boolean {
  const run = crRunEnd(bytes, at);
  return run < bytes.length ? bytes[run] === 10 : isLast;
}

/** The next quote on this line that a delimiter or line end follows; -1 when there is none, -2 when unknown yet. */
function closingQuote(bytes: Uint8Array, from: number, quote: number, meaning: Uint8Array, isLast: boolean): number {
  const limit = Math.min(bytes.length, from + LOOK_AHEAD);
  for (let at = from; at < limit; at++) {
    const byte = bytes[at] as number;
    if (byte === 10 || byte === 13) return -1;
    if (byte !== quote) continue;
    if (at + 1 >= bytes.length) return isLast ? at : -2;
    const what = meaning[bytes[at + 1] as number];
    if (what === DELIMITER || what === LF || what === CR) return at;
  }
  return limit === bytes.length && limit < from + LOOK_AHEAD && !isLast ? -2 : -1;
}

const meanings = new Map<string, Uint8Array>();

/** What each byte means outside quotes. */
function meaningOf(dialect: Dialect): Uint8Array {
  const key = dialect.delimiter + dialect.quote;
  let meaning = meanings.get(key);
  if (meaning === undefined) {
    meaning = new Uint8Array(256);
    meaning[10] = LF;
    meaning[13] = CR;
    meaning[dialect.quote.charCodeAt(0)] = QUOTE;
    meaning[dialect.delimiter.charCodeAt(0)] = DELIMITER;
    meanings.set(key, meaning);
  }
  return meaning;
}

/** The value of the record's field `index` as a string. */
export function fieldText(bytes: Uint8Array, fields: Fields, index: number, dialect: Dialect, decode: Decode): string {
  const text = decode(bytes, fields.starts[index] as number, fields.ends[index] as number);
  const kind = fields.kinds[index];
  if (kind === BARE || kind === QUOTED) return text;
  const { quote } = dialect;
  if (kind === LOOSE) return text.replace(quote, '');
  const single = text.replaceAll(quote + quote, quote);
  if (dialect.escape === 'doubled') return single;
  return text.replace(/\\(["'\\])|""|''/g, (pair, after: string | undefined) => {
    if (after === undefined) return pair[0] === quote ? quote : pair;
    return after === quote || after === '\\' ? after : pair;
  });
}

function tooManyFields(line: number): InferenceError {
  return new InferenceError('TOO_MANY_FIELDS', `A linha ${line} tem mais de ${MAX_FIELDS} campos.`, { line });
}
