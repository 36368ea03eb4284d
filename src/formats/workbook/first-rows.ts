import { joinHeaders } from './headers.ts';
import type { Merge } from './merges.ts';

const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** Number of rows searched for headers. */
const MAX_ROWS = 100;

/** A field of a sheet's text. Texts have quotes there; numbers, dates and booleans have none. */
export interface FirstCell {
  text: string;
  isText: boolean;
}

/** The first rows of a sheet's text, of which those of a header with merged cells are joined. */
export interface FirstRows {
  text: Uint8Array;
  /** The row, from 1, in which the names then stand; null where no header has merged cells. */
  header: number | null;
  /** The number of rows with values that became empty. */
  joined: number;
}

/** Joins a header of merged cells (see {@link joinHeaders}) in the first rows of a sheet's text. */
export function withHeaders(text: Uint8Array, merges: Merge[], first: number): FirstRows {
  const unchanged = { text, header: null, joined: 0 };
  if (!merges.some(({ left, right }) => right > left)) return unchanged;
  const whole = decoder.decode(text);
  const ends = findEnds(whole, MAX_ROWS);
  const found = joinHeaders(readCells(whole, ends), merges, first);
  if (!found) return unchanged;
  const { names, top, bottom } = found;
  const begin = ends[top - 2] ?? 0;
  const end = ends[bottom - 1] as number;
  const header = `${'\n'.repeat(bottom - top)}${names.map(quoted).join(',')}\n`;
  return {
    text: encoder.encode(whole.slice(0, begin) + header + whole.slice(end)),
    header: bottom,
    joined: found.filled - 1,
  };
}

const quoted = (cell: string): string => (cell === '' ? '' : `"${cell.replaceAll('"', '""')}"`);

/** The texts of all fields, row by row. */
export const readRows = (text: string): string[][] =>
  readCells(text, findEnds(text, Number.POSITIVE_INFINITY)).map((row) => row.map((cell) => cell.text));

/** Splits the rows that end at these offsets into fields without their quotes. */
function readCells(text: string, ends: number[]): FirstCell[][] {
  return ends.map((end, index) => {
    const line = text.slice(ends[index - 1] ?? 0, end - 1);
    if (line === '') return [];
    // A comma in front of the first field too, lest a match of nothing there skips the comma behind it.
    return [...`,${line}`.matchAll(/,(?:"([^"]*(?:""[^"]*)*)"|([^,]*))/g)].map(([, inside, bare]) => ({
      text: inside?.replaceAll('""', '"') ?? bare ?? '',
      isText: inside !== undefined,
    }));
  });
}

/** The offset after each of the first rows, line feed included. A line feed within quotes does not end a row. */
function findEnds(text: string, limit: number): number[] {
  const ends: number[] = [];
  let inQuotes = false;
  for (let at = 0; at < text.length && ends.length < limit; at++) {
    if (text[at] === '"') inQuotes = !inQuotes;
    else if (text[at] === '\n' && !inQuotes) ends.push(at + 1);
  }
  return ends;
}
