import { joinHeaders } from './headers.ts';
import type { Merge } from './merges.ts';

const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** Number of rows searched for headers. */
const MAX_ROWS = 100;

/** Field of a sheet's text. Texts have quotes there; numbers, dates and booleans have none. */
export interface FirstCell {
  text: string;
  isText: boolean;
}

/** First rows of a sheet's text, with the rows of a header of merged cells joined. */
export interface FirstRows {
  text: Uint8Array;
  /** Row, from 1, of the joined names; null if no header has merged cells. */
  headerRow: number | null;
  /** Number of rows with values that became empty. */
  emptiedRowCount: number;
}

/** Joins a header of merged cells (see {@link joinHeaders}) in the first rows of a sheet's text. */
export function joinHeaderRows(text: Uint8Array, merges: Merge[], firstColumn: number): FirstRows {
  const unchanged = { text, headerRow: null, emptiedRowCount: 0 };
  if (!merges.some(({ left, right }) => right > left)) return unchanged;
  const wholeText = decoder.decode(text);
  const rowEnds = findEnds(wholeText, MAX_ROWS);
  const foundHeader = joinHeaders(readCells(wholeText, rowEnds), merges, firstColumn);
  if (!foundHeader) return unchanged;
  const { columnNames, topRow, bottomRow } = foundHeader;
  const headerStart = rowEnds[topRow - 2] ?? 0;
  const end = rowEnds[bottomRow - 1] as number;
  const header = `${'\n'.repeat(bottomRow - topRow)}${columnNames.map(quoteCell).join(',')}\n`;
  return {
    text: encoder.encode(wholeText.slice(0, headerStart) + header + wholeText.slice(end)),
    headerRow: bottomRow,
    emptiedRowCount: foundHeader.filledCount - 1,
  };
}

const quoteCell = (cell: string): string => (cell === '' ? '' : `"${cell.replaceAll('"', '""')}"`);

/** Splits a text into the texts of all fields, row by row. */
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

/** Finds the offset after each of the first rows, line feed included. A line feed within quotes does not end a row. */
function findEnds(text: string, limit: number): number[] {
  const ends: number[] = [];
  let isInQuotes = false;
  for (let at = 0; at < text.length && ends.length < limit; at++) {
    if (text[at] === '"') isInQuotes = !isInQuotes;
    else if (text[at] === '\n' && !isInQuotes) ends.push(at + 1);
  }
  return ends;
}
