import type { Decode } from '../text/decode.ts';
import { classify } from '../values/classify.ts';
import { BLANK, INTEGER } from '../values/forms.ts';
import type { Dialect } from './dialect.ts';
import { ESCAPED, QUOTED, SLASHED } from './field.ts';
import { needsQuotes, widthOfLines } from './quoting.ts';
import { classifySlashed, type Fields, fieldText, newFields, type OnRecord, scan, TooManyFields } from './records.ts';
import { hasYearsAlone, nameYears } from './years.ts';

/** The number of bytes at a file's beginning that decide its dialect and where its body begins. */
export const HEAD_BYTES = 256 * 1024;
const HEAD_RECORDS = 400;

const SPACE = 32;
const HASH = 35;

/** A record of the head, reduced to the facts that the layout depends on. Records without any value are left out. */
export interface HeadRecord {
  line: number;
  /** The offset of the record in the head. */
  start: number;
  /** Number of fields, empty ones included. */
  width: number;
  /** Number of fields up to the last one with a value. */
  effective: number;
  /** Number of fields with a value. */
  filled: number;
  /** The forms of each field (forms.ts); {@link BLANK} for a field without a value. */
  forms: number[];
  /** The first field's text, or its beginning. */
  first: string;
  /** The record begins with `#`. */
  hash: boolean;
  /** A space follows a delimiter: so do commas in texts. */
  spaced: boolean;
  /** A field is properly quoted. */
  quoted: boolean;
  /** The record's years are names ({@link nameYears}). */
  years: boolean;
  /** Whether each of the record's numbers could be a year. */
  yearsAlone: boolean;
}

/** The head as read in one dialect. */
export interface Head {
  records: HeadRecord[];
  /** The share of clean fields, 0 to 1: typed, properly quoted, or text without delimiters or quotes in it. */
  clean: number;
  /** Share of the records that are irregular, such as those with stray quotes. */
  odd: number;
  /** An opening quote is never closed. */
  unclosed: boolean;
  /** A record has more fields than can be read. It and those after it are not among the records. */
  overflows: boolean;
  quotes: Quotes;
}

/** Statistics of the quotes in the head. */
export interface Quotes {
  /** Number of fields in quotes: by the rules, or, without quotes in the dialect, between quote characters. */
  proper: number;
  /** Whether in some column half of the fields or more are quoted. */
  usual: boolean;
  /** Whether some quoted fields contain a delimiter or a line end. */
  needed: boolean;
  /** Number of records with a field whose opening quote is not closed by the rules. */
  broken: number;
  /** For each record that goes over several lines within quotes, its {@link widthOfLines}. */
  folded: number[];
  /** Number of records with quotes in the middle of fields. */
  stray: number;
}

/** Bytes that suggest that a text was not split or unquoted correctly. */
const SUSPECT_BYTES = new Uint8Array(256);
for (const sign of ',;\t|"') SUSPECT_BYTES[sign.charCodeAt(0)] = 1;

let shared: Fields | null = null;

/** Reads the head's first records in a dialect. */
export function readHead(bytes: Uint8Array, isLast: boolean, dialect: Dialect, decode: Decode): Head {
  shared ??= newFields();
  const fields = shared;
  const records: HeadRecord[] = [];
  const quotes: Quotes = { proper: 0, usual: false, needed: false, broken: 0, folded: [], stray: 0 };
  const quoted: number[] = [];
  const valued: number[] = [];
  let values = 0;
  let clean = 0;
  let odd = 0;
  const take = (start: number, stop: number, line: number) => {
    const { count } = fields;
    const record: HeadRecord = { ...NO_VALUES, line, start, width: count, forms: [], hash: bytes[start] === HASH };
    for (let index = 0; index < count; index++) {
      const from = fields.starts[index] as number;
      const to = fields.ends[index] as number;
      const kind = fields.kinds[index] as number;
      let form = BLANK;
      if (kind === SLASHED) form = classifySlashed(bytes, from, to, dialect, decode);
      else if (from < to) form = classify(bytes, from, to, decode);
      record.forms.push(form);
      if (form === BLANK) continue;
      record.effective = index + 1;
      record.filled++;
      values++;
      if (index > 0 && bytes[from] === SPACE) record.spaced = true;
      if (form !== 0 || kind === QUOTED || kind === SLASHED) clean++;
      else clean += cleanText(bytes, from, to);
      valued[index] = (valued[index] ?? 0) + 1;
      const isQuoted = kind === QUOTED || kind === ESCAPED;
      record.quoted ||= isQuoted;
      if (dialect.quote === null ? isEnclosed(bytes, from, to) : isQuoted) quoted[index] = (quoted[index] ?? 0) + 1;
    }
    if (record.filled === 0) return;
    if (fields.odd && !dialect.escapesDelimiters) odd++;
    if (fields.stray) quotes.stray++;
    if (fields.broken) quotes.broken++;
    else if (fields.lines > 1) quotes.folded.push(widthOfLines(bytes, start, stop, dialect.delimiter));
    else quotes.needed ||= needsQuotes(bytes, fields, dialect.delimiter);
    const text = (index: number) => fieldText(bytes, fields, index, dialect, decode);
    record.first = text(0);
    if (record.forms.some((form) => (form & INTEGER) !== 0 && form !== BLANK)) {
      const texts = record.forms.slice(0, record.effective).map((_, index) => text(index));
      record.years = nameYears(texts);
      record.yearsAlone = hasYearsAlone(texts);
    }
    records.push(record);
    return records.length === HEAD_RECORDS;
  };
  const { unclosed, overflows } = scanHead(bytes, isLast, dialect, fields, take);
  quotes.proper = quoted.reduce((sum, count) => sum + (count ?? 0), 0);
  quotes.usual = quoted.some((count, index) => count * 2 >= (valued[index] as number));
  return {
    records,
    clean: values === 0 ? 0 : clean / values,
    odd: records.length === 0 ? 0 : odd / records.length,
    unclosed,
    overflows,
    quotes,
  };
}

const NO_VALUES = { effective: 0, filled: 0, first: '', spaced: false, quoted: false, years: false, yearsAlone: true };

/** Scans up to a record with more fields than can be read, if there is one. */
function scanHead(bytes: Uint8Array, isLast: boolean, dialect: Dialect, fields: Fields, onRecord: OnRecord) {
  try {
    return { ...scan(bytes, 0, isLast, dialect, 1, fields, onRecord), overflows: false };
  } catch (error) {
    if (error instanceof TooManyFields) return { unclosed: false, overflows: true };
    throw error;
  }
}

/** Whether a field begins and ends with a quote character. */
function isEnclosed(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start];
  return end - start > 1 && first === bytes[end - 1] && (first === 34 || first === 39);
}

function cleanText(bytes: Uint8Array, start: number, end: number): number {
  const opens = bytes[start] === 39;
  const closes = bytes[end - 1] === 39;
  if (opens || closes) return opens && closes ? 0 : 0.4;
  const stop = Math.min(end, start + 200);
  for (let index = start; index < stop; index++) {
    if (SUSPECT_BYTES[bytes[index] as number] === 1) return 0.4;
  }
  return bytes[start] === 32 ? 0.9 : 1;
}
