import type { Namespaces } from '../xml/namespaces.ts';
import { CUT, EMPTY, OPEN, XmlReader } from '../xml/reader.ts';
import { indexOf } from '../xml/text.ts';
import { columnAt } from './cells.ts';
import { MAX_COLUMNS, MAX_ROWS } from './limits.ts';

/** A merged cell: rows from 1, columns from 0, both ends included. */
export interface Merge {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** The merged cells that the conversion uses. */
export interface Merges {
  /** The merged cells that begin in the first rows, where headers are. */
  headers: Merge[];
  /** The last row in which a cell is repeated, by the cell's {@link cellKey}. */
  down: Map<number, number>;
}

/** A merged cell to be repeated: the text of its field, and the last row in which it is written. */
export interface Fill {
  column: number;
  until: number;
  text: string;
}

/** The last row that is searched for headers. */
export const MAX_HEADER_ROW = 60;

/** A cell's row from 1 and column from 0 as one number. */
export const cellKey = (row: number, column: number): number => row * MAX_COLUMNS + column;

/** Reads the merged cells of a sheet from the end of its XML, after the rows. */
export function readMerges(tail: Uint8Array, names: Namespaces): Merges {
  const merges: Merge[] = [];
  const at = lastRowsEnd(tail);
  const reader = new XmlReader(tail, { at: at < 0 ? tail.length : at, names });
  for (let token = reader.next(); token !== CUT; token = reader.next()) {
    if ((token !== OPEN && token !== EMPTY) || !reader.is('mergeCell')) continue;
    const merge = parseMerge(reader.value('ref') ?? '');
    if (merge) merges.push(merge);
  }
  return usefulMerges(merges);
}

/** The merged cells that the conversion uses: none if some overlap, which Excel calls damaged and drops. */
export function usefulMerges(all: Merge[]): Merges {
  const merges = all
    .filter(({ top, bottom, left, right }) => top >= 1 && bottom <= MAX_ROWS && left >= 0 && right < MAX_COLUMNS)
    .filter(({ top, bottom, left, right }) => top <= bottom && left <= right)
    .sort((a, b) => a.top - b.top);
  if (overlap(merges)) return { headers: [], down: new Map() };
  return {
    headers: merges.filter(({ top }) => top <= MAX_HEADER_ROW),
    down: new Map(
      merges.filter(({ top, bottom }) => bottom > top).map(({ top, left, bottom }) => [cellKey(top, left), bottom]),
    ),
  };
}

/** Whether merged cells, by their tops, overlap: in the first rows anywhere, below only in the repeated column. */
function overlap(merges: Merge[]): boolean {
  if (merges.length < 2) return false;
  const first = new Uint8Array(MAX_HEADER_ROW * MAX_COLUMNS);
  const until = new Int32Array(MAX_COLUMNS);
  for (const { top, bottom, left, right } of merges) {
    if ((until[left] as number) >= top) return true;
    until[left] = bottom;
    for (let row = top; row <= Math.min(bottom, MAX_HEADER_ROW); row++) {
      const cells = first.subarray((row - 1) * MAX_COLUMNS + left, (row - 1) * MAX_COLUMNS + right + 1);
      if (cells.includes(1)) return true;
      cells.fill(1);
    }
  }
  return false;
}

/** The offset after `</sheetData>`, whatever its prefix, or `<sheetData/>`. */
function lastRowsEnd(tail: Uint8Array): number {
  const mark = 'sheetData';
  let last = -1;
  for (let at = indexOf(tail, mark, 0); at >= 0; at = indexOf(tail, mark, at + 1)) last = at;
  return last < 0 ? -1 : tail.indexOf(62, last) + 1;
}

const encoder = new TextEncoder();

function parseMerge(reference: string): Merge | null {
  const found = /^\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(reference);
  if (!found) return null;
  const [, left = '', top, right = '', bottom] = found;
  const column = (letters: string) => columnAt(encoder.encode(letters), 0, letters.length);
  return { top: Number(top), bottom: Number(bottom), left: column(left), right: column(right) };
}
