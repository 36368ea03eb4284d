import { BLANK } from './forms.ts';
import { type Fields, newFields, scan } from './records.ts';
import type { Dialect } from './schema.ts';
import { QUOTED } from './special-field.ts';
import { classify, type Decode } from './types.ts';

/** How much of a file's beginning decides its dialect and where its body begins. */
export const HEAD_BYTES = 256 * 1024;
const HEAD_RECORDS = 400;

/** A record of the head, as far as the layout's decisions need it. Records without any value are left out. */
export interface HeadRecord {
  line: number;
  /** Fields, empty ones included. */
  width: number;
  /** Fields up to the last that has a value. */
  effective: number;
  /** Fields that have a value. */
  filled: number;
  /** Forms of each field (forms.ts), {@link BLANK} where it has no value. */
  forms: number[];
}

/** The head as one dialect reads it. */
export interface Head {
  records: HeadRecord[];
  /** How cleanly the fields read, 0 to 1: typed, properly quoted, or text without any candidate's signs in it. */
  clean: number;
  /** Share of the records with stray quotes or the like. */
  odd: number;
  /** A quote opens that nothing closes. */
  unclosed: boolean;
}

/** Bytes that make a text look as if it were not split or unquoted rightly. */
const SIGNS = new Uint8Array(256);
for (const sign of ',;\t|"') SIGNS[sign.charCodeAt(0)] = 1;

let shared: Fields | null = null;

/** Reads the head's first records in a dialect. */
export function readHead(bytes: Uint8Array, isLast: boolean, dialect: Dialect, decode: Decode): Head {
  shared ??= newFields();
  const fields = shared;
  const records: HeadRecord[] = [];
  let values = 0;
  let clean = 0;
  let odd = 0;
  const end = scan(bytes, 0, isLast, dialect, 1, fields, (_start, _end, line) => {
    const forms: number[] = [];
    let effective = 0;
    let filled = 0;
    for (let index = 0; index < fields.count; index++) {
      const start = fields.starts[index] as number;
      const stop = fields.ends[index] as number;
      const form = start === stop ? BLANK : classify(bytes, start, stop, decode);
      forms.push(form);
      if (form === BLANK) continue;
      effective = index + 1;
      filled++;
      values++;
      if (form !== 0 || fields.kinds[index] === QUOTED) clean++;
      else clean += cleanText(bytes, start, stop);
    }
    if (filled === 0) return;
    if (fields.odd) odd++;
    records.push({ line, width: fields.count, effective, filled, forms });
    return records.length === HEAD_RECORDS;
  });
  return {
    records,
    clean: values === 0 ? 0 : clean / values,
    odd: records.length === 0 ? 0 : odd / records.length,
    unclosed: end.unclosed,
  };
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
