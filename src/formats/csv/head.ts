import type { Decode } from '../text/decode.ts';
import { classifyValue } from '../values/classify.ts';
import { BLANK_FORM, INTEGER } from '../values/forms.ts';
import type { Dialect } from './dialect.ts';
import { BACKSLASHED_FIELD, ESCAPED_FIELD, QUOTED_FIELD } from './field.ts';
import { measureLineWidth, needsQuotes } from './quoting.ts';
import {
  classifyBackslashed,
  createFields,
  type Fields,
  type OnRecord,
  readFieldText,
  scanRecords,
  TooManyFields,
} from './records.ts';
import { areYearNames, containsOnlyYears } from './years.ts';

/** Number of bytes at a file's beginning that decide its dialect and where its body begins. */
export const HEAD_BYTES = 256 * 1024;
const MAX_HEAD_RECORDS = 400;

const SPACE = 32;
const HASH = 35;

/** Record of the head, reduced to the facts that the layout depends on. Records without any value are left out. */
export interface HeadRecord {
  line: number;
  /** Offset of the record in the head. */
  start: number;
  /** Number of fields, empty ones included. */
  width: number;
  /** Number of fields up to the last one with a value. */
  effectiveWidth: number;
  /** Number of fields with a value. */
  filledCount: number;
  /** The forms of each field (forms.ts); {@link BLANK_FORM} for a field without a value. */
  fieldForms: number[];
  /** Text of the first field, or its beginning. */
  firstText: string;
  /** True if the record begins with `#`. */
  startsWithHash: boolean;
  /** True if a space follows a delimiter, as after commas in texts. */
  hasSpacedDelimiter: boolean;
  /** True if a field is properly quoted. */
  hasQuotedField: boolean;
  /** True if the record's years are names ({@link areYearNames}). */
  hasYearNames: boolean;
  /** True if each of the record's numbers could be a year. */
  hasOnlyYears: boolean;
}

/** Records and statistics of the head as read in one dialect. */
export interface Head {
  /** Records read from the head, then those read from `furtherRecords`. */
  records: HeadRecord[];
  /** Number of records read from the head. */
  ownCount: number;
  /** Offset in the head after the last record read from it. */
  ownEnd: number;
  /** Share of clean fields, 0 to 1: typed, properly quoted, or text without delimiters or quotes in it. */
  cleanShare: number;
  /** Share of irregular records, such as those with stray quotes. */
  irregularShare: number;
  /** True if an opening quote is never closed. */
  isUnclosed: boolean;
  /** True if a record has too many fields to be read; it and later records are left out. */
  hasTooManyFields: boolean;
  quoteStatistics: QuoteStatistics;
}

/** Statistics of the quotes in the head. */
export interface QuoteStatistics {
  /** Number of fields in quotes by the rules. */
  properQuoteCount: number;
  /** True if some quoted fields contain a delimiter or a line end. */
  isNeeded: boolean;
  /** Number of records with a field whose opening quote is not closed by the rules. */
  brokenQuoteCount: number;
  /** Number of fields a line ({@link measureLineWidth}) of each record that spans several lines within quotes. */
  foldedWidths: number[];
  /** Number of records with quotes in the middle of fields. */
  strayQuoteCount: number;
}

/** Bytes that suggest that a text was not split or unquoted correctly. */
const SUSPECT_BYTES = new Uint8Array(256);
for (const character of ',;\t|"') SUSPECT_BYTES[character.charCodeAt(0)] = 1;

let sharedFields: Fields | null = null;

/**
 * Reads the head's first records in a dialect, and after them `furtherRecords`: records from behind the head that help to decide.
 */
export function readHead(
  head: Uint8Array,
  isLast: boolean,
  dialect: Dialect,
  decode: Decode,
  furtherRecords?: Uint8Array,
): Head {
  sharedFields ??= createFields();
  const fields = sharedFields;
  const records: HeadRecord[] = [];
  let bytes = head;
  const quoteStatistics: QuoteStatistics = {
    properQuoteCount: 0,
    isNeeded: false,
    brokenQuoteCount: 0,
    foldedWidths: [],
    strayQuoteCount: 0,
  };
  let valueCount = 0;
  let cleanCount = 0;
  let irregularCount = 0;
  const takeRecord = (start: number, stop: number, line: number) => {
    const { fieldCount } = fields;
    const record: HeadRecord = {
      ...NO_VALUES,
      line,
      start,
      width: fieldCount,
      fieldForms: [],
      startsWithHash: bytes[start] === HASH,
    };
    for (let index = 0; index < fieldCount; index++) {
      const from = fields.starts[index] as number;
      const to = fields.ends[index] as number;
      const kind = fields.quotingKinds[index] as number;
      let formMask = BLANK_FORM;
      if (kind === BACKSLASHED_FIELD) formMask = classifyBackslashed(bytes, from, to, dialect, decode);
      else if (from < to) formMask = classifyValue(bytes, from, to, decode);
      record.fieldForms.push(formMask);
      if (formMask === BLANK_FORM) continue;
      record.effectiveWidth = index + 1;
      record.filledCount++;
      valueCount++;
      if (index > 0 && bytes[from] === SPACE) record.hasSpacedDelimiter = true;
      if (formMask !== 0 || kind === QUOTED_FIELD || kind === BACKSLASHED_FIELD) cleanCount++;
      else cleanCount += scoreCleanText(bytes, from, to);
      const isQuoted = kind === QUOTED_FIELD || kind === ESCAPED_FIELD;
      record.hasQuotedField ||= isQuoted;
      if (isQuoted) quoteStatistics.properQuoteCount++;
    }
    if (record.filledCount === 0) return;
    if (fields.isIrregular && !dialect.escapesDelimiters) irregularCount++;
    if (fields.hasStrayQuote) quoteStatistics.strayQuoteCount++;
    if (fields.hasBrokenQuote) quoteStatistics.brokenQuoteCount++;
    else if (fields.lineCount > 1)
      quoteStatistics.foldedWidths.push(measureLineWidth(bytes, start, stop, dialect.delimiter));
    else quoteStatistics.isNeeded ||= needsQuotes(bytes, fields, dialect.delimiter);
    const readText = (index: number) => readFieldText(bytes, fields, index, dialect, decode);
    record.firstText = readText(0);
    if (record.fieldForms.some((formMask) => (formMask & INTEGER) !== 0 && formMask !== BLANK_FORM)) {
      const texts = record.fieldForms.slice(0, record.effectiveWidth).map((_, index) => readText(index));
      record.hasYearNames = areYearNames(texts);
      record.hasOnlyYears = containsOnlyYears(texts);
    }
    records.push(record);
    return bytes === head && records.length === MAX_HEAD_RECORDS;
  };
  let { isUnclosed, overflows, endIndex: ownEnd } = scanHead(bytes, isLast, dialect, fields, takeRecord);
  const ownCount = records.length;
  if (furtherRecords !== undefined) {
    bytes = furtherRecords;
    const scanEnd = scanHead(bytes, true, dialect, fields, takeRecord);
    isUnclosed ||= scanEnd.isUnclosed;
    overflows ||= scanEnd.overflows;
  }
  return {
    records,
    ownCount,
    ownEnd,
    cleanShare: valueCount === 0 ? 0 : cleanCount / valueCount,
    irregularShare: records.length === 0 ? 0 : irregularCount / records.length,
    isUnclosed,
    hasTooManyFields: overflows,
    quoteStatistics,
  };
}

const NO_VALUES = {
  effectiveWidth: 0,
  filledCount: 0,
  firstText: '',
  hasSpacedDelimiter: false,
  hasQuotedField: false,
  hasYearNames: false,
  hasOnlyYears: true,
};

/** Scans up to a record with more fields than can be read, if there is one. */
function scanHead(bytes: Uint8Array, isLast: boolean, dialect: Dialect, fields: Fields, onRecord: OnRecord) {
  try {
    return { ...scanRecords(bytes, 0, isLast, dialect, 1, fields, onRecord), overflows: false };
  } catch (error) {
    if (error instanceof TooManyFields) return { isUnclosed: false, overflows: true, endIndex: bytes.length };
    throw error;
  }
}

function scoreCleanText(bytes: Uint8Array, start: number, end: number): number {
  const opensQuote = bytes[start] === 39;
  const closesQuote = bytes[end - 1] === 39;
  if (opensQuote || closesQuote) return opensQuote && closesQuote ? 0 : 0.4;
  const stop = Math.min(end, start + 200);
  for (let index = start; index < stop; index++) {
    if (SUSPECT_BYTES[bytes[index] as number] === 1) return 0.4;
  }
  return bytes[start] === 32 ? 0.9 : 1;
}
