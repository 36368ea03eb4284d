import type { CellObject, WorkSheet } from '@e965/xlsx';
import { JobProblem } from '../problems.ts';
import { shownText } from './cells.ts';
import { withHeaders } from './first-rows.ts';
import type { Merge } from './merges.ts';
import { builtinFormat, customFormat, NUMBER, type Shown } from './number-format.ts';
import * as problems from './problems.ts';
import { RowWriter } from './row-writer.ts';

/** An old workbook is read as a whole: one of this size takes ten times as much memory. */
export const MAX_OLD_BYTES = 8 * 1024 * 1024;

/**
 * The first sheet with rows of a workbook of Excel 97 to 2003 (BIFF), as the row writer writes it.
 * @throws JobProblem when it is encrypted, damaged, or has no rows
 */
export async function convertOld(name: string, bytes: Uint8Array): Promise<Uint8Array> {
  // Half a megabyte of code, for files that are rare.
  const { read } = await import('@e965/xlsx');
  let book: ReturnType<typeof read>;
  try {
    book = read(bytes, {
      type: 'array',
      dense: true,
      cellDates: false,
      cellNF: true,
      cellText: false,
      cellHTML: false,
    });
  } catch (error) {
    throw new JobProblem(
      /password|encrypt/i.test(String(error)) ? problems.encrypted(name) : problems.unreadable(name),
    );
  }
  const epoch1904 = book.Workbook?.WBProps?.date1904 === true;
  const hidden = (sheet: string) => (book.Workbook?.Sheets?.find((entry) => entry.name === sheet)?.Hidden ? 1 : 0);
  const order = [...book.SheetNames].sort((a, b) => hidden(a) - hidden(b));
  for (const sheetName of order) {
    const sheet = book.Sheets[sheetName];
    const text = sheet && sheetText(sheet, epoch1904);
    if (text) return text;
  }
  throw new JobProblem(problems.empty(name));
}

type Cells = (CellObject | null | undefined)[][];

/** The rows of a sheet; undefined when none has a value. */
function sheetText(sheet: WorkSheet, epoch1904: boolean): Uint8Array | undefined {
  const cells = (sheet['!data'] ?? []) as Cells;
  const merges = (sheet['!merges'] ?? []).map(({ s, e }) => ({ top: s.r + 1, bottom: e.r + 1, left: s.c, right: e.c }));
  repeatDown(cells, merges);
  const first = firstColumn(cells);
  if (first < 0) return undefined;
  const writer = new RowWriter({ row: 0, width: 0, filled: 0 });
  const formats = new Map<string, Shown>();
  const formatOf = (code: string | number | undefined): Shown => {
    if (code === undefined) return NUMBER;
    if (typeof code === 'number') return builtinFormat(code);
    const known = formats.get(code) ?? customFormat(code);
    formats.set(code, known);
    return known;
  };
  for (const [index, row] of cells.entries()) {
    // Rows without cells are holes.
    if (!row) continue;
    writer.begin(index + 1);
    for (const [column, cell] of row.entries()) {
      if (hasValue(cell) && writer.goTo(column - first)) writeCell(writer, cell, formatOf(cell.z), epoch1904);
    }
    writer.end();
  }
  return withHeaders(writer.take(), merges, first);
}

/** A merged cell's value in the rows below, as far as they have values of their own. */
function repeatDown(cells: Cells, merges: Merge[]): void {
  for (const { top, bottom, left } of merges) {
    const anchor = cells[top - 1]?.[left];
    if (!hasValue(anchor)) continue;
    for (let row = top; row < bottom; row++) {
      const below = cells[row];
      if (below?.some(hasValue) && !hasValue(below[left])) below[left] = anchor;
    }
  }
}

const hasValue = (cell: CellObject | null | undefined): cell is CellObject =>
  cell !== null && cell !== undefined && cell.v !== undefined && cell.v !== '' && cell.t !== 'e' && cell.t !== 'z';

function firstColumn(cells: Cells): number {
  let first = -1;
  for (const row of cells) {
    const column = row?.findIndex(hasValue) ?? -1;
    if (column >= 0 && (first < 0 || column < first)) first = column;
  }
  return first;
}

function writeCell(writer: RowWriter, { t, v }: CellObject, shown: Shown, epoch1904: boolean): void {
  if (t === 'b') writer.bareText(v === true ? 'true' : 'false');
  else if (t === 'n') {
    const text = shownText(String(v), shown, epoch1904);
    if (text === null) return;
    if (shown.kind === 'code' || shown.kind === 'span') writer.quotedText(text);
    else writer.bareText(text);
  } else writer.quotedText(String(v).replaceAll('\0', '').toWellFormed());
}
