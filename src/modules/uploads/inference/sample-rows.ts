import { BLANK_FORM } from '../../../formats/values/forms.ts';
import { shorten } from '../../../kernel/text.ts';
import { addCell } from './columns.ts';
import { type InferenceState, type KeptRow, MAX_SAMPLE_LENGTH, MAX_SAMPLE_ROWS, makeBounds } from './state.ts';

/** Thrown where a record's number of fields shows that backslashes do not escape the file's delimiters. */
export class UnevenEscapesError extends Error {}

/** Checks the number of fields where backslashes escape delimiters. @throws UnevenEscapesError if it is not the width of the table */
export function checkEscapes({ dialect, width }: InferenceState, fieldCount: number): void {
  if (dialect?.escapesDelimiters && fieldCount !== width) throw new UnevenEscapesError();
}

/** Records where the second row begins, and whether blank lines stand between rows. */
export function recordRowPosition(state: InferenceState, offset: number, line: number, blankBefore: boolean): void {
  state.dense ||= !blankBefore;
  if (state.secondRow === null) {
    state.secondRow = { offset, line };
    state.blankBeforeSecond = blankBefore;
  } else if (blankBefore) state.irregular = true;
}

/** Adds the row to the file's sample, until the sample is full. */
export function addSample(state: InferenceState, readText: (index: number) => string): void {
  if (state.sampleRows.length >= MAX_SAMPLE_ROWS || state.sampleSize >= MAX_SAMPLE_LENGTH) return;
  const maxLength = Math.max(64, Math.min(1000, Math.floor(MAX_SAMPLE_LENGTH / state.width)));
  const row = Array.from({ length: state.width }, (_, index) => shorten(readText(index), maxLength));
  state.sampleSize += row.reduce((size, text) => size + text.length, 0);
  state.sampleRows.push(row);
}

/** Turns the first `count` of the trailing sparse records into rows: they are no footnotes. */
export function addTrailingRows(state: InferenceState, count: number): void {
  const bounds = makeBounds(state.width);
  for (const row of state.trailing.splice(0, count)) {
    checkEscapes(state, row.width);
    recordRowPosition(state, row.start, row.line, row.blankBefore);
    if (row.width < state.width) state.irregular = true;
    if (
      listWatchedCells(state).some(([field, text]) => row.cells.some((cell) => cell[0] === field && cell[1] === text))
    ) {
      state.recurs = true;
    }
    addSample(state, (index) => row.cells.find(([field]) => field === index)?.[1] ?? '');
    addKeptRow(state, row, bounds.maxSamples);
    state.rows++;
    state.end = row.end;
  }
}

function addKeptRow(state: InferenceState, row: KeptRow, maxSamples: number): void {
  const filledIndexes = new Set<number>();
  for (const cell of row.cells) {
    filledIndexes.add(cell[0]);
    addCell(state.columns[cell[0]] as InferenceState['columns'][number], cell, row.line, maxSamples);
  }
  for (const [index, column] of state.columns.entries()) if (!filledIndexes.has(index)) column.nulls++;
}

/**
 * Lists cells of the first record. If one recurs further down in its column, the record is a row, not a header. Empty unless the
 * record has an empty or a repeated cell.
 */
export function listWatchedCells({ firstRow, width, recurs }: InferenceState): [field: number, text: string][] {
  if (firstRow === null || recurs) return [];
  const cells = firstRow.cells.filter(([field, , forms]) => field < width && forms !== BLANK_FORM);
  const names = cells.map(([, text]) => makeNameKey(text));
  const isComplete = cells.length === width && new Set(names).size === width;
  return isComplete ? [] : cells.map(([field, text]) => [field, text]);
}

/** Makes the key of a header cell: cells with equal keys count as repeated. */
export const makeNameKey = (cell: string): string => cell.trim().toLowerCase();
