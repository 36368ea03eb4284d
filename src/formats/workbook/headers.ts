import { MAX_HEADER_ROW, type Merge } from './merges.ts';

/** The largest number of header levels and columns, and the longest name, that are spread. */
const MAX_LEVELS = 10;
const MAX_WIDTH = 1000;
const MAX_NAME = 255;

/**
 * Gives every column under a merged header a name. A header cell that spans columns above further header cells is
 * repeated, so that each column gets the words of all levels (`2024 Jan`); without further header cells the columns are
 * numbered (`Endereço 2`).
 * @param rows the sheet's first rows, each the texts of its fields; changed in place
 * @param first the sheet's column, from 0, at which the rows begin
 * @returns whether anything was changed
 */
export function spreadHeaders(rows: string[][], merges: Merge[], first: number): boolean {
  const used = Math.max(0, ...rows.map((row) => row.length));
  if (used > MAX_WIDTH) return false;
  const across = merges
    .filter(({ top, left, right }) => right > left && top <= Math.min(rows.length, MAX_HEADER_ROW))
    .map((merge) => ({ ...merge, left: merge.left - first, right: Math.min(merge.right - first, used - 1) }));
  const tops = [...new Set(across.map(({ top }) => top))].sort((a, b) => a - b);
  const top = tops.find((row) => (rows[row - 1] as string[]).filter((cell) => cell !== '').length > 1);
  if (top === undefined) return false;
  const header = rows[top - 1] as string[];
  const levels = merges.filter((merge) => merge.top === top && merge.bottom > top && merge.left === merge.right);
  const bottom = levels.reduce((lowest, merge) => Math.max(lowest, merge.bottom), top);
  if (bottom > rows.length || bottom - top >= MAX_LEVELS) return false;
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

/**
 * Writes a merged cell's text into all its columns; with numbers if it is the only header and the rows below use the
 * columns.
 */
function spread(cells: string[], row: number, across: Merge[], numbered: string[][] | null): void {
  for (const { left, right } of across.filter((merge) => merge.top === row && merge.left >= 0)) {
    const text = cells[left] ?? '';
    if (text === '' || text.length > MAX_NAME) continue;
    for (let column = left + 1; column <= right; column++) {
      while (cells.length < column) cells.push('');
      const usedBelow = numbered?.some((below, index) => index >= row && (below[column] ?? '') !== '') ?? true;
      if (usedBelow) cells[column] = numbered ? `${text} ${column - left + 1}` : text;
    }
  }
}
