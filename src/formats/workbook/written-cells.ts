import { DAY_MS } from '../../kernel/clock.ts';
import { escapeFormula } from '../formulas.ts';
import { MAX_CELL_CHARACTERS, type WrittenCell } from './write.ts';

/** Converts a JSON value to a cell, a date to exact days. @param escapesFormulas whether spreadsheets must take no text for a formula */
export function toWrittenCell(
  value: string | number | boolean | null,
  type: string,
  escapesFormulas: boolean,
): WrittenCell {
  if (typeof value !== 'string') return value;
  if (type === 'date' || type === 'datetime') return countDays(value, type) ?? value;
  return escapesFormulas && type === 'text' ? escapeFormula(value) : value;
}

/** Returns true if the cell's text is too long for any cell. */
export const isTooLong = (cell: WrittenCell): boolean => typeof cell === 'string' && cell.length > MAX_CELL_CHARACTERS;

/** First day that Excel counts right: before it, a 29 February 1900 that did not exist is counted. */
const FIRST_EXACT_MS = Date.UTC(1900, 2, 1);
const EPOCH_MS = Date.UTC(1899, 11, 30);
const MILLISECOND_PATTERN = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\.\d{3}Z)?$/;

/** Counts the days since Excel's epoch; undefined for a time that days cannot represent exactly. */
function countDays(text: string, kind: 'date' | 'datetime'): WrittenCell | undefined {
  const at = MILLISECOND_PATTERN.test(text) ? Date.parse(text) : Number.NaN;
  return at >= FIRST_EXACT_MS ? { dayNumber: (at - EPOCH_MS) / DAY_MS, kind } : undefined;
}
