import type { Decode } from '../text/decode.ts';
import { classifyValue } from '../values/classify.ts';
import type { Dialect } from './dialect.ts';
import {
  BACKSLASH_MEANING,
  BACKSLASHED_FIELD,
  CR,
  DELIMITER_MEANING,
  END_MEANING,
  EOL_LF,
  FieldReader,
  LF,
  QUOTE_MEANING,
  QUOTED_FIELD,
  UNQUOTED_FIELD,
} from './field.ts';

/**
 * Splits bytes into records and fields without making strings of them. papaparse does not serve: it needs decoded text
 * (whole blocks as arrays of strings, which takes three times as long), cannot continue from a byte offset, and knows
 * no backslash.
 */

/** Fields of the current record; the object is reused from record to record. */
export interface Fields {
  fieldCount: number;
  /** Start of each field's content, without its quotes. */
  starts: Int32Array;
  /** End of each field's content, without its quotes. */
  ends: Int32Array;
  /** The kind of quoting of each field: {@link UNQUOTED_FIELD}, {@link QUOTED_FIELD}, {@link ESCAPED_FIELD} or {@link BACKSLASHED_FIELD}. */
  quotingKinds: Uint8Array;
  /** True if other readers of CSV may read the record differently. */
  isIrregular: boolean;
  /** Number of the record's lines. */
  lineCount: number;
  /** True if a quote stands within an unquoted field. */
  hasStrayQuote: boolean;
  /** True if a quoted field is not closed. */
  hasBrokenQuote: boolean;
  /** Line end after the record: {@link EOL_LF} and so on, 0 at the end of the file. */
  lineEndKind: number;
}

/** Maximum number of fields of a table's record. */
export const MAX_FIELDS = 16_384;

/** Error thrown when a record has more than {@link MAX_FIELDS}. */
export class TooManyFields extends Error {
  /** The line on which the record begins, from 1. */
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} has more than ${MAX_FIELDS} fields`);
    this.line = line;
  }
}

export function createFields(): Fields {
  return {
    fieldCount: 0,
    starts: new Int32Array(MAX_FIELDS),
    ends: new Int32Array(MAX_FIELDS),
    quotingKinds: new Uint8Array(MAX_FIELDS),
    isIrregular: false,
    lineCount: 1,
    hasStrayQuote: false,
    hasBrokenQuote: false,
    lineEndKind: 0,
  };
}

/** Position at which a scan ended. */
export interface ScanEnd {
  /** Index after the last complete record. */
  endIndex: number;
  /** Number of the line that starts at that index. */
  nextLine: number;
  /** True if the file ends within the last record's quotes. */
  isUnclosed: boolean;
}

/** Function called for each record; returning true ends the scan. */
export type OnRecord = (start: number, end: number, line: number) => unknown;

/**
 * Calls `onRecord` for every complete record from `from` on, its fields in `fields`. A record that the block cuts off
 * is left to the next scan unless the block is the file's last. The result does not depend on where blocks are cut.
 * @param line the 1-based line that starts at `from`
 */
export function scanRecords(
  bytes: Uint8Array,
  from: number,
  isLast: boolean,
  dialect: Dialect,
  line: number,
  fields: Fields,
  onRecord: OnRecord,
): ScanEnd {
  const { starts, ends, quotingKinds } = fields;
  const byteMeanings = makeMeanings(dialect);
  const isOneLine = dialect.sheet === true;
  const length = bytes.length;
  const field = new FieldReader(bytes, isLast, dialect, byteMeanings, fields);
  let at = from;
  let nextLine = line;
  while (at < length) {
    const recordStart = at;
    let count = 0;
    fields.isIrregular = false;
    fields.hasStrayQuote = false;
    fields.hasBrokenQuote = false;
    fields.lineCount = 1;
    fields.lineEndKind = 0;
    for (;;) {
      const start = at;
      // Nearly every byte of a file is handled by this loop.
      while (at < length && byteMeanings[bytes[at] as number] === 0) at++;
      const byteMeaning = at < length ? (byteMeanings[bytes[at] as number] as number) : END_MEANING;
      if (count === MAX_FIELDS) throw new TooManyFields(nextLine);
      if (byteMeaning === DELIMITER_MEANING || byteMeaning === LF) {
        starts[count] = start;
        ends[count] = at++;
        quotingKinds[count++] = UNQUOTED_FIELD;
        if (byteMeaning === DELIMITER_MEANING) continue;
        fields.lineEndKind = EOL_LF;
        break;
      }
      field.readField(start, at, byteMeaning);
      if (field.isCutOff) return { endIndex: recordStart, nextLine, isUnclosed: field.isUnclosed };
      starts[count] = field.contentStart;
      ends[count] = field.contentEnd;
      quotingKinds[count++] = field.quotingKind;
      at = field.nextStart;
      if (field.lineEndKind < 0) continue;
      fields.lineEndKind = field.lineEndKind;
      break;
    }
    fields.fieldCount = count;
    const recordLine = nextLine;
    nextLine += isOneLine ? 1 : fields.lineCount;
    if (onRecord(recordStart, at, recordLine) === true) break;
  }
  return { endIndex: at, nextLine, isUnclosed: false };
}

const meaningsByDialect = new Map<string, Uint8Array>();

/** Makes the table of the meaning of each byte outside quotes. */
function makeMeanings(dialect: Dialect): Uint8Array {
  const key = dialect.delimiter + (dialect.quote ?? '') + (dialect.escapesDelimiters ? '\\' : '');
  let byteMeanings = meaningsByDialect.get(key);
  if (byteMeanings === undefined) {
    byteMeanings = new Uint8Array(256);
    byteMeanings[10] = LF;
    byteMeanings[13] = CR;
    if (dialect.quote !== null) byteMeanings[dialect.quote.charCodeAt(0)] = QUOTE_MEANING;
    if (dialect.escapesDelimiters) byteMeanings[92] = BACKSLASH_MEANING;
    byteMeanings[dialect.delimiter.charCodeAt(0)] = DELIMITER_MEANING;
    meaningsByDialect.set(key, byteMeanings);
  }
  return byteMeanings;
}

export function readFieldText(
  bytes: Uint8Array,
  fields: Fields,
  index: number,
  dialect: Dialect,
  decode: Decode,
): string {
  const text = decode(bytes, fields.starts[index] as number, fields.ends[index] as number);
  return unescapeText(text, fields.quotingKinds[index] as number, dialect);
}

/** Returns the bytes between two offsets of a {@link BACKSLASHED_FIELD} without the backslashes that escape delimiters. */
export function removeBackslashes(bytes: Uint8Array, start: number, end: number, { delimiter }: Dialect): Uint8Array {
  const delimiterByte = delimiter.charCodeAt(0);
  return bytes.slice(start, end).filter((byte, index) => byte !== 92 || bytes[start + index + 1] !== delimiterByte);
}

/** Classifies a {@link BACKSLASHED_FIELD} as {@link classifyValue} does its unescaped text: `12\,5` is a number. */
export function classifyBackslashed(
  bytes: Uint8Array,
  start: number,
  end: number,
  dialect: Dialect,
  decode: Decode,
): number {
  const unescapedBytes = removeBackslashes(bytes, start, end, dialect);
  return classifyValue(unescapedBytes, 0, unescapedBytes.length, decode);
}

/** Unescapes quotes and delimiters in the content of a field of the given kind, or in its beginning. */
export function unescapeText(text: string, kind: number, { delimiter, quote, escape: escaping }: Dialect): string {
  if (kind === BACKSLASHED_FIELD) return text.replaceAll(`\\${delimiter}`, delimiter);
  if (kind === UNQUOTED_FIELD || kind === QUOTED_FIELD || quote === null) return text;
  const undoubledText = text.replaceAll(quote + quote, quote);
  if (escaping === 'doubled') return undoubledText;
  return text.replace(/\\(["'\\])|""|''/g, (pair, escapedCharacter: string | undefined) => {
    if (escapedCharacter === undefined) return pair[0] === quote ? quote : pair;
    return escapedCharacter === quote || escapedCharacter === '\\' ? escapedCharacter : pair;
  });
}
