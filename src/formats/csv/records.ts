import type { Decode } from '../text/decode.ts';
import { classify } from '../values/classify.ts';
import type { Dialect } from './dialect.ts';
import {
  BACKSLASH,
  BARE,
  CR,
  DELIMITER,
  END,
  EOL_LF,
  FieldReader,
  LF,
  LOOSE,
  QUOTE,
  QUOTED,
  SLASHED,
} from './field.ts';

/**
 * Splits bytes into records and fields without making strings of them. papaparse does not serve: it needs decoded text
 * (whole blocks as arrays of strings, which takes three times as long), cannot continue from a byte offset, and knows
 * no backslash.
 */

/** The fields of the current record; the object is reused from record to record. */
export interface Fields {
  count: number;
  /** The start and end of each field's content, without its quotes. */
  starts: Int32Array;
  ends: Int32Array;
  /** The kind of quoting of each field: {@link BARE}, {@link QUOTED}, {@link ESCAPED}, {@link LOOSE} or {@link SLASHED}. */
  kinds: Uint8Array;
  /** Whether other readers of CSV may read the record differently. */
  odd: boolean;
  /** The record's lines; and whether a quote stands within an unquoted field, or a quoted field is not closed. */
  lines: number;
  stray: boolean;
  broken: boolean;
  /** The end of the record: {@link EOL_LF} and so on, 0 at the end of the file. */
  eol: number;
}

/** A record with more fields is not part of a table. */
export const MAX_FIELDS = 16_384;

/** A record has more than {@link MAX_FIELDS}. */
export class TooManyFields extends Error {
  /** The line on which the record begins, from 1. */
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} has more than ${MAX_FIELDS} fields`);
    this.line = line;
  }
}

export function newFields(): Fields {
  return {
    count: 0,
    starts: new Int32Array(MAX_FIELDS),
    ends: new Int32Array(MAX_FIELDS),
    kinds: new Uint8Array(MAX_FIELDS),
    odd: false,
    lines: 1,
    stray: false,
    broken: false,
    eol: 0,
  };
}

/** The place at which a scan ended. */
export interface ScanEnd {
  /** Index after the last complete record. */
  end: number;
  /** Line that starts there. */
  line: number;
  /** The file ends within the last record's quotes. */
  unclosed: boolean;
}

/** Called for each record; returning true ends the scan. */
export type OnRecord = (start: number, end: number, line: number) => unknown;

/**
 * Calls `onRecord` for every complete record from `from` on, its fields in `fields`. A record that the block cuts off
 * is left to the next scan unless the block is the file's last. The result does not depend on where blocks are cut.
 * @param line the 1-based line that starts at `from`
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
  const meaning = makeMeanings(dialect);
  const oneLine = dialect.sheet === true;
  const length = bytes.length;
  const field = new FieldReader(bytes, isLast, dialect, meaning);
  let at = from;
  let nextLine = line;
  while (at < length) {
    const recordStart = at;
    let count = 0;
    field.odd = false;
    field.stray = false;
    field.broken = false;
    field.lines = 1;
    fields.eol = 0;
    for (;;) {
      const start = at;
      // Nearly every byte of a file is handled by this loop.
      while (at < length && meaning[bytes[at] as number] === 0) at++;
      const what = at < length ? (meaning[bytes[at] as number] as number) : END;
      if (count === MAX_FIELDS) throw new TooManyFields(nextLine);
      if (what === DELIMITER || what === LF) {
        starts[count] = start;
        ends[count] = at++;
        kinds[count++] = BARE;
        if (what === DELIMITER) continue;
        fields.eol = EOL_LF;
        break;
      }
      field.read(start, at, what);
      if (field.cut) return { end: recordStart, line: nextLine, unclosed: field.unclosed };
      starts[count] = field.start;
      ends[count] = field.end;
      kinds[count++] = field.kind;
      at = field.next;
      if (field.eol < 0) continue;
      fields.eol = field.eol;
      break;
    }
    fields.count = count;
    fields.odd = field.odd;
    fields.lines = field.lines;
    fields.stray = field.stray;
    fields.broken = field.broken;
    const recordLine = nextLine;
    nextLine += oneLine ? 1 : field.lines;
    if (onRecord(recordStart, at, recordLine) === true) break;
  }
  return { end: at, line: nextLine, unclosed: false };
}

const meanings = new Map<string, Uint8Array>();

/** The meaning of each byte outside quotes. */
function makeMeanings(dialect: Dialect): Uint8Array {
  const key = dialect.delimiter + (dialect.quote ?? '') + (dialect.escapesDelimiters ? '\\' : '');
  let meaning = meanings.get(key);
  if (meaning === undefined) {
    meaning = new Uint8Array(256);
    meaning[10] = LF;
    meaning[13] = CR;
    if (dialect.quote !== null) meaning[dialect.quote.charCodeAt(0)] = QUOTE;
    if (dialect.escapesDelimiters) meaning[92] = BACKSLASH;
    meaning[dialect.delimiter.charCodeAt(0)] = DELIMITER;
    meanings.set(key, meaning);
  }
  return meaning;
}

export function fieldText(bytes: Uint8Array, fields: Fields, index: number, dialect: Dialect, decode: Decode): string {
  const text = decode(bytes, fields.starts[index] as number, fields.ends[index] as number);
  return unescaped(text, fields.kinds[index] as number, dialect);
}

/** The bytes of a {@link SLASHED} field between two offsets, without the backslashes that escape delimiters. */
export function withoutSlashes(bytes: Uint8Array, start: number, end: number, { delimiter }: Dialect): Uint8Array {
  const sign = delimiter.charCodeAt(0);
  return bytes.slice(start, end).filter((byte, index) => byte !== 92 || bytes[start + index + 1] !== sign);
}

/** {@link classify} for a {@link SLASHED} field: `12\,5` is a number. */
export function classifySlashed(
  bytes: Uint8Array,
  start: number,
  end: number,
  dialect: Dialect,
  decode: Decode,
): number {
  const plain = withoutSlashes(bytes, start, end, dialect);
  return classify(plain, 0, plain.length, decode);
}

/** The content of a field of that kind, or the beginning of it, with its quotes and delimiters unescaped. */
export function unescaped(text: string, kind: number, { delimiter, quote, escape: escaping }: Dialect): string {
  if (kind === SLASHED) return text.replaceAll(`\\${delimiter}`, delimiter);
  if (kind === BARE || kind === QUOTED || quote === null) return text;
  if (kind === LOOSE) return text.replace(quote, '');
  const single = text.replaceAll(quote + quote, quote);
  if (escaping === 'doubled') return single;
  return text.replace(/\\(["'\\])|""|''/g, (pair, after: string | undefined) => {
    if (after === undefined) return pair[0] === quote ? quote : pair;
    return after === quote || after === '\\' ? after : pair;
  });
}
