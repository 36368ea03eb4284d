import type { Decode } from '../text/decode.ts';
import { classify } from '../values/classify.ts';
import { BLANK } from '../values/forms.ts';
import type { Dialect } from './dialect.ts';
import { ESCAPED, QUOTED } from './field.ts';
import { needsQuotes, widthOfLines } from './quoting.ts';
import { type Fields, newFields, scan } from './records.ts';

/** How many bytes at a file's beginning decide its dialect and where its body begins. */
export const HEAD_BYTES = 256 * 1024;
const HEAD_RECORDS = 400;

/** A record of the head, reduced to what the layout depends on. Records without any value are left out. */
export interface HeadRecord {
  line: number;
  /** Where it starts in the head. */
  start: number;
  /** Number of fields, empty ones included. */
  width: number;
  /** Number of fields up to the last one with a value. */
  effective: number;
  /** Number of fields with a value. */
  filled: number;
  /** The forms of each field (forms.ts); {@link BLANK} for a field without a value. */
  forms: number[];
}

/** The head as read in one dialect. */
export interface Head {
  records: HeadRecord[];
  /** How cleanly the fields read, 0 to 1: typed, properly quoted, or text without delimiters or quotes in it. */
  clean: number;
  /** Share of the records that are irregular, such as those with stray quotes. */
  odd: number;
  /** An opening quote is never closed. */
  unclosed: boolean;
  quotes: Quotes;
}

/** Statistics of the quotes in the head. */
export interface Quotes {
  /**
   * Number of fields in quotes: by the rules, or, in a dialect without quotes, beginning and ending with a quote
   * character.
   */
  proper: number;
  /** In some column half of the fields or more are quoted. */
  usual: boolean;
  /** Some quoted fields contain a delimiter or a line end. */
  needed: boolean;
  /** Number of records with a field whose opening quote is not closed by the rules. */
  broken: number;
  /** For each record that goes over several lines within quotes, its {@link widthOfLines}. */
  folded: number[];
  /** Number of records with quotes in the middle of fields. */
  stray: number;
}

/** Bytes that suggest that a text was not split or unquoted correctly. */
const SIGNS = new Uint8Array(256);
for (const sign of ',;\t|"') SIGNS[sign.charCodeAt(0)] = 1;

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
  const end = scan(bytes, 0, isLast, dialect, 1, fields, (start, stop, line) => {
    const forms: number[] = [];
    let effective = 0;
    let filled = 0;
    for (let index = 0; index < fields.count; index++) {
      const from = fields.starts[index] as number;
      const to = fields.ends[index] as number;
      const form = from === to ? BLANK : classify(bytes, from, to, decode);
      forms.push(form);
      if (form === BLANK) continue;
      effective = index + 1;
      filled++;
      values++;
      const kind = fields.kinds[index];
      if (form !== 0 || kind === QUOTED) clean++;
      else clean += cleanText(bytes, from, to);
      valued[index] = (valued[index] ?? 0) + 1;
      const enclosed = dialect.quote === null ? isEnclosed(bytes, from, to) : kind === QUOTED || kind === ESCAPED;
      if (enclosed) quoted[index] = (quoted[index] ?? 0) + 1;
    }
    if (filled === 0) return;
    if (fields.odd) odd++;
    if (fields.stray) quotes.stray++;
    if (fields.broken) quotes.broken++;
    else if (fields.lines > 1) quotes.folded.push(widthOfLines(bytes, start, stop, dialect.delimiter));
    else quotes.needed ||= needsQuotes(bytes, fields, dialect.delimiter);
    records.push({ line, start, width: fields.count, effective, filled, forms });
    return records.length === HEAD_RECORDS;
  });
  quotes.proper = quoted.reduce((sum, count) => sum + (count ?? 0), 0);
  quotes.usual = quoted.some((count, index) => count * 2 >= (valued[index] as number));
  return {
    records,
    clean: values === 0 ? 0 : clean / values,
    odd: records.length === 0 ? 0 : odd / records.length,
    unclosed: end.unclosed,
    quotes,
  };
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
    if (SIGNS[bytes[index] as number] === 1) return 0.4;
  }
  return bytes[start] === 32 ? 0.9 : 1;
}
