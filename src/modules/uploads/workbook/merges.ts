import { columnAt } from './cells.ts';
import { CUT, EMPTY, indexOf, OPEN, XmlReader } from './xml.ts';

/** Cells that are shown as one: rows from 1, columns from 0, both ends included. */
export interface Merge {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** What of a merged cell is still to be repeated: the field as it is written, in each row up to the last. */
export interface Fill {
  column: number;
  until: number;
  text: string;
}

/** More than this no person made. */
const MAX_MERGES = 10_000;

/** The merged cells of a sheet, read from its XML's end, behind the rows. */
export function readMerges(tail: Uint8Array): Merge[] {
  const merges: Merge[] = [];
  const from = lastRowsEnd(tail);
  if (from < 0) return merges;
  const reader = new XmlReader(tail, from);
  for (let token = reader.next(); token !== CUT && merges.length < MAX_MERGES; token = reader.next()) {
    if ((token !== OPEN && token !== EMPTY) || !reader.is('mergeCell')) continue;
    const merge = mergeOf(reader.value('ref') ?? '');
    if (merge) merges.push(merge);
  }
  return merges;
}

/** Behind `</sheetData>`, whatever its prefix, or `<sheetData/>`. */
function lastRowsEnd(tail: Uint8Array): number {
  const mark = 'sheetData';
  let last = -1;
  for (let at = indexOf(tail, mark, 0); at >= 0; at = indexOf(tail, mark, at + 1)) last = at;
  return last < 0 ? -1 : tail.indexOf(62, last) + 1;
}

const encoder = new TextEncoder();

function mergeOf(reference: string): Merge | null {
  const found = /^\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(reference);
  if (!found) return null;
  const [, left = '', top, right = '', bottom] = found;
  const column = (letters: string) => columnAt(encoder.encode(letters), 0, letters.length);
  return { top: Number(top), bottom: Number(bottom), left: column(left), right: column(right) };
}

/** The last row down to which the cell is to be repeated, for each cell that is; the key is `row:column`. */
export function repeatedDown(merges: Merge[]): Map<string, number> {
  const down = merges.filter(({ top, bottom }) => bottom > top);
  return new Map(down.map(({ top, left, bottom }) => [`${top}:${left}`, bottom]));
}

/** Headers stand among the first rows. */
const MAX_HEADER_ROW = 60;

/**
 * Makes one header of what is shown as one: where a header's cells span columns, over further headers, each column gets
 * the words of all levels (`2024 Jan`); over nothing, each further column gets a number (`Endereço 2`).
 * @param rows the sheet's first rows, each the texts of its fields; changed in place
 * @param first the sheet's column, from 0, that the rows begin with
 * @returns whether anything was changed
 */
export function spreadHeaders(rows: string[][], merges: Merge[], first: number): boolean {
  const across = merges
    .filter(({ top, left, right }) => right > left && top <= Math.min(rows.length, MAX_HEADER_ROW))
    .map((merge) => ({ ...merge, left: merge.left - first, right: merge.right - first }));
  const tops = [...new Set(across.map(({ top }) => top))].sort((a, b) => a - b);
  const top = tops.find((row) => (rows[row - 1] as string[]).filter((cell) => cell !== '').length > 1);
  if (top === undefined) return false;
  const header = rows[top - 1] as string[];
  const levels = merges.filter((merge) => merge.top === top && merge.bottom > top && merge.left === merge.right);
  const bottom = Math.max(top, ...levels.map((merge) => merge.bottom));
  if (bottom > rows.length) return false;
  for (let row = top; row <= bottom; row++)
    spread(rows[row - 1] as string[], row, across, bottom === top ? rows : null);
  if (bottom === top) return true;
  const width = Math.max(...rows.slice(top - 1, bottom).map((row) => row.length));
  rows[bottom - 1] = Array.from({ length: width }, (_, column) => {
    const words = rows.slice(top - 1, bottom).map((row) => row[column] ?? '');
    return words.filter((word, level) => word !== '' && word !== words[level - 1]).join(' ');
  });
  for (let row = top; row < bottom; row++) rows[row - 1] = [];
  return header.length > 0;
}

/** Writes a merged cell's text into all its columns; numbered where it is the only header and the rows are not merged so too. */
function spread(cells: string[], row: number, across: Merge[], numbered: string[][] | null): void {
  for (const { left, right } of across.filter((merge) => merge.top === row && merge.left >= 0)) {
    const text = cells[left] ?? '';
    if (text === '') continue;
    for (let column = left + 1; column <= right; column++) {
      while (cells.length < column) cells.push('');
      const usedBelow = numbered?.some((below, index) => index >= row && (below[column] ?? '') !== '') ?? true;
      if (usedBelow) cells[column] = numbered ? `${text} ${column - left + 1}` : text;
    }
  }
}
