import { QUOTED } from './field.ts';
import type { Fields } from './records.ts';

/**
 * What is known of a file's quotes: `undecided` while a later one may still show that they are characters like any other,
 * `unquoted` once one has, `quoted` when it is certain that they quote, or that the file cannot be read without them.
 */
export type Quoting = 'undecided' | 'unquoted' | 'quoted';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * The fields that each line of a record has without its quotes, if all have as many; 0 where they differ. Text that goes
 * over lines hardly ever has as many as the table: rows do, which a quote and another one below make a single value.
 */
export function widthOfLines(bytes: Uint8Array, start: number, end: number, delimiter: string): number {
  const sign = delimiter.charCodeAt(0);
  let width = 0;
  let count = 1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === sign) count++;
    else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      if (byte === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED) at++;
      if (width > 0 && count !== width) return 0;
      width = count;
      count = 1;
      if (at + 1 === end) return width;
    }
  }
  return width === 0 || count === width ? count : 0;
}

/** Whether one of the record's quoted fields holds what only quotes make part of it. */
export function needsQuotes(bytes: Uint8Array, fields: Fields, delimiter: string): boolean {
  const sign = delimiter.charCodeAt(0);
  for (let index = 0; index < fields.count; index++) {
    if ((fields.kinds[index] as number) < QUOTED) continue;
    const end = fields.ends[index] as number;
    for (let at = fields.starts[index] as number; at < end; at++) {
      const byte = bytes[at];
      if (byte === sign || byte === LINE_FEED || byte === CARRIAGE_RETURN) return true;
    }
  }
  return false;
}
