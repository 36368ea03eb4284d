import { areYearNames } from '../../../formats/csv/years.ts';
import {
  BLANK_FORM,
  BOOLEANS,
  DATES,
  DECIMALS,
  HAS_FALSE,
  HAS_TRUE,
  INTEGER,
  LETTER_BOOLEANS,
  ONE_ZERO,
  TELEPHONE,
  WORD_BOOLEANS,
} from '../../../formats/values/forms.ts';
import type { ColumnState } from './columns.ts';
import { toColumnName } from './names.ts';
import { makeNameKey } from './sample-rows.ts';
import type { InferenceState, KeptRow } from './state.ts';

/** The decision whether a file has a header, and which record it is. */
export interface HeaderDecision {
  /** The header cells by field; null when the first record is a row. */
  header: string[] | null;
  /** Whether the header is the record above the body, which has no cell for the first column. */
  isHeaderAbove: boolean;
}

/**
 * Decides whether the first record is a header: it is, unless all its cells read like the columns below and some column is not
 * text, or unless it has an empty or repeated cell above values and one of its cells recurs further down. Rising years are column
 * names whatever stands below them.
 */
export function decideHeader(state: InferenceState): HeaderDecision {
  const firstRecord = state.firstRow as KeptRow;
  const comparison = compareWithRowsBelow(state, firstRecord);
  if (state.above !== null) {
    // A title above a header of two columns looks like the header of an R table with one column.
    const title =
      (comparison === 'unlike' && hasOnlyTexts(firstRecord)) || (state.width === 2 && comparison === 'text');
    if (!title) return { header: ['', ...padCells(state.above, state.width - 1)], isHeaderAbove: true };
  }
  const header = readHeaderCells(state);
  const isHeader = state.rows === 0 || areYearNames(header.slice(0, measureUsedWidth(state, header)));
  const isRow = comparison === 'alike' || (state.recurs && hasUnnamedColumn(state, header));
  return { header: isHeader || !isRow ? header : null, isHeaderAbove: false };
}

export function readHeaderCells(state: InferenceState): string[] {
  return padCells(state.firstRow as KeptRow, state.width);
}

function padCells(row: KeptRow, width: number): string[] {
  const cells = Array.from({ length: width }, () => '');
  for (const [field, text] of row.cells) if (field < width) cells[field] = text.trim();
  return cells;
}

/** Compares a record with the columns below: `unlike` some typed column, `alike` all of them, or `text` if none is typed. */
function compareWithRowsBelow(state: InferenceState, row: KeptRow): 'unlike' | 'alike' | 'text' {
  let isAnyTyped = false;
  for (const [field, text, forms, traits] of row.cells) {
    const column = state.columns[field];
    if (column === undefined || forms === BLANK_FORM) continue;
    const typedForms = findTypedForms(column, '');
    if (typedForms === 0) continue;
    isAnyTyped = true;
    const sharedForms = column.forms & forms;
    if (
      sharedForms === 0 ||
      findTypedForms({ ...column, forms: sharedForms, traits: column.traits | traits }, text) === 0
    )
      return 'unlike';
  }
  return isAnyTyped ? 'alike' : 'text';
}

const hasOnlyTexts = ({ cells }: KeptRow): boolean =>
  cells.every(([, , forms]) => forms === BLANK_FORM || (forms & (INTEGER | DECIMALS | DATES | WORD_BOOLEANS)) === 0);

/** Tells whether a cell above values is empty, or repeats another cell. */
function hasUnnamedColumn(state: InferenceState, header: string[]): boolean {
  const names = header.map(makeNameKey);
  return names.some((name, index) => {
    const isRepeated = name === '' || names.indexOf(name) < index || names.lastIndexOf(name) > index;
    return isRepeated && state.columns[index]?.first !== null;
  });
}

/** Counts the columns up to the last with a header cell or a value; columns after it come from trailing delimiters. */
export function measureUsedWidth(state: InferenceState, header: string[] | null): number {
  let width = state.width;
  while (width > 1 && (header?.[width - 1] ?? '') === '' && isEmptyColumn(state, width - 1)) width--;
  return width;
}

function isEmptyColumn(state: InferenceState, index: number): boolean {
  const column = state.columns[index] as ColumnState;
  return (
    column.first === null && !state.firstRow?.cells.some(([field, , forms]) => field === index && forms !== BLANK_FORM)
  );
}

/**
 * Finds the forms that type a column: those of the first type of the lattice that all its values share, 0 for text. Single
 * letters need both letters of a pair; `1` and `0` need a header that asks a yes-no question.
 */
export function findTypedForms(column: ColumnState, header: string): number {
  const { forms, traits } = column;
  if (column.first === null) return 0;
  if ((forms & WORD_BOOLEANS) !== 0) return forms & WORD_BOOLEANS;
  const hasTrueAndFalse = (traits & HAS_TRUE) !== 0 && (traits & HAS_FALSE) !== 0;
  if ((forms & LETTER_BOOLEANS) !== 0) return hasTrueAndFalse ? forms & LETTER_BOOLEANS : 0;
  if ((forms & ONE_ZERO) !== 0 && isBooleanHeader(header)) return ONE_ZERO;
  if ((forms & TELEPHONE) !== 0) return 0;
  if ((forms & INTEGER) !== 0) return INTEGER;
  if ((forms & DECIMALS) !== 0) return forms & DECIMALS;
  return forms & DATES & ~BOOLEANS;
}

/** Tells whether the header names a boolean column (`is_…`, `has_…`, `ativo`), so that `1` and `0` are read as booleans. */
export function isBooleanHeader(header: string): boolean {
  return /^(?:(?:is|has|tem)_.*|ativo|active|enabled|deleted)$/.test(toColumnName(header));
}
