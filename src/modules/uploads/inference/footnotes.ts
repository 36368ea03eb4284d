import { BLANK_FORM } from '../../../formats/values/forms.ts';
import type { ColumnState } from './columns.ts';
import { findTypedForms } from './header.ts';
import type { InferenceState, KeptRow } from './state.ts';

/**
 * Tells whether a record with a single value, below all rows so far, is a footnote: it has fewer fields than a row, or stands
 * below a blank line, or its value does not fit its typed column. In a file whose rows all stand below blank lines, blank lines
 * do not count; in a file of one column, a value that fits a type is a row.
 */
export function isFootnote(state: InferenceState, row: KeptRow): boolean {
  if (row.width < state.width) return true;
  const [field, , forms] = row.cells.find((cell) => cell[2] !== BLANK_FORM) as KeptRow['cells'][number];
  const column = state.columns[field] as ColumnState;
  const isTyped = findTypedForms(column, '') !== 0;
  const doesValueFit = findTypedForms({ ...column, forms: column.forms & forms }, '') !== 0;
  if (isTyped && !doesValueFit) return state.width > 1 || row.blankBefore;
  return row.blankBefore && state.dense && !(state.width === 1 && isTyped);
}
