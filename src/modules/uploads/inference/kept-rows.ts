import { BLANK } from '../../../formats/values/forms.ts';
import { shorten } from '../../../kernel/text.ts';
import { foldCell } from './columns.ts';
import { type InferenceState, type KeptRow, makeBounds, SAMPLE_ROWS, SAMPLE_SIZE } from './state.ts';

/** Thrown where a record's number of fields shows that backslashes do not escape the file's delimiters. */
export class UnevenEscapes extends Error {}

/** Checks the number of fields where backslashes escape delimiters. @throws UnevenEscapes if it is not the width of the table */
export function checkEscapes({ dialect, width }: InferenceState, fields: number): void {
  if (dialect?.escapesDelimiters && fields !== width) throw new UnevenEscapes();
}

/** Records where the second row begins, and whether blank lines stand between rows. */
export function enterRow(state: InferenceState, offset: number, line: number, blankBefore: boolean): void {
  state.dense ||= !blankBefore;
  if (state.secondRow === null) {
    state.secondRow = { offset, line };
    state.blankBeforeSecond = blankBefore;
  } else if (blankBefore) state.irregular = true;
}

/** Adds the row to the file's sample, while there is room. */
export function addSample(state: InferenceState, textOf: (index: number) => string): void {
  if (state.sampleRows.length >= SAMPLE_ROWS || state.sampleSize >= SAMPLE_SIZE) return;
  const most = Math.max(64, Math.min(1000, Math.floor(SAMPLE_SIZE / state.width)));
  const row = Array.from({ length: state.width }, (_, index) => shorten(textOf(index), most));
  state.sampleSize += row.reduce((size, text) => size + text.length, 0);
  state.sampleRows.push(row);
}

/** Turns the first `count` of the trailing sparse records into rows. */
export function addTrailingRows(state: InferenceState, count: number): void {
  const bounds = makeBounds(state.width);
  for (const row of state.trailing.splice(0, count)) {
    checkEscapes(state, row.width);
    enterRow(state, row.start, row.line, row.blankBefore);
    if (row.width < state.width) state.irregular = true;
    if (
      listWatchedCells(state).some(([field, text]) => row.cells.some((cell) => cell[0] === field && cell[1] === text))
    ) {
      state.recurs = true;
    }
    addSample(state, (index) => row.cells.find(([field]) => field === index)?.[1] ?? '');
    foldKept(state, row, bounds.samples);
    state.rows++;
    state.end = row.end;
  }
}

function foldKept(state: InferenceState, row: KeptRow, samples: number): void {
  const filled = new Set<number>();
  for (const cell of row.cells) {
    filled.add(cell[0]);
    foldCell(state.columns[cell[0]] as InferenceState['columns'][number], cell, row.line, samples);
  }
  for (const [index, column] of state.columns.entries()) if (!filled.has(index)) column.nulls++;
}

/**
 * The cells of the first record to look for further down in their columns, where they show that it is a row: only those of a
 * record that has an empty or a repeated cell.
 */
export function listWatchedCells({ firstRow, width, recurs }: InferenceState): [field: number, text: string][] {
  if (firstRow === null || recurs) return [];
  const cells = firstRow.cells.filter(([field, , forms]) => field < width && forms !== BLANK);
  const names = cells.map(([, text]) => makeNameKey(text));
  const isComplete = cells.length === width && new Set(names).size === width;
  return isComplete ? [] : cells.map(([field, text]) => [field, text]);
}

/** The key of a header cell: cells with equal keys count as repeated. */
export const makeNameKey = (cell: string): string => cell.trim().toLowerCase();
