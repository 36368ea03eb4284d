import { ESCAPED_FIELD, QUOTED_FIELD } from './field.ts';
import type { Fields } from './records.ts';

/**
 * Use of quotes in a file as far as known: `undecided` while later records may still show that quotes are ordinary
 * characters, `unquoted` once a record has shown that, `quoted` once it is certain that quotes enclose fields, or that
 * the file cannot be read without them.
 */
export type Quoting = 'undecided' | 'unquoted' | 'quoted';

/**
 * Use of backslashes: `escaped` once a record has too many fields unless backslashes escape delimiters, `plain` once a
 * record shows that they do not.
 */
export type Escaping = 'undecided' | 'escaped' | 'plain';

/** Returns true if a character, a delimiter or a quote, follows a backslash between two offsets. */
export function hasEscaped(bytes: Uint8Array, start: number, end: number, character: string | null): boolean {
  const characterByte = character?.charCodeAt(0);
  for (let at = bytes.indexOf(92, start); at >= 0 && at < end; at = bytes.indexOf(92, at + 1)) {
    if (bytes[at + 1] === characterByte) return true;
  }
  return false;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * Counts the fields that each line of a record has when quotes are ignored; 0 if the lines differ. Quoted text over several lines
 * hardly ever has as many fields a line as the table: equal numbers suggest rows that two stray quotes merged.
 */
export function measureLineWidth(bytes: Uint8Array, start: number, end: number, delimiter: string): number {
  const delimiterByte = delimiter.charCodeAt(0);
  let width = 0;
  let count = 1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === delimiterByte) count++;
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

/** Returns true if one of the record's quoted fields contains a delimiter or a line end. */
export function needsQuotes(bytes: Uint8Array, fields: Fields, delimiter: string): boolean {
  const delimiterByte = delimiter.charCodeAt(0);
  for (let index = 0; index < fields.fieldCount; index++) {
    const kind = fields.quotingKinds[index];
    if (kind !== QUOTED_FIELD && kind !== ESCAPED_FIELD) continue;
    const end = fields.ends[index] as number;
    for (let at = fields.starts[index] as number; at < end; at++) {
      const byte = bytes[at];
      if (byte === delimiterByte || byte === LINE_FEED || byte === CARRIAGE_RETURN) return true;
    }
  }
  return false;
}
