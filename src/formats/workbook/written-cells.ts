import { DAY_MS } from '../../kernel/clock.ts';
import { withoutFormula } from '../formulas.ts';
import { MAX_CELL_TEXT, type WrittenCell } from './write.ts';

/** The cell of a JSON value, a date as exact days. @param safe a spreadsheet must take no text for a formula */
export function toWrittenCell(value: string | number | boolean | null, type: string, safe: boolean): WrittenCell {
  if (typeof value !== 'string') return value;
  if (type === 'date' || type === 'datetime') return countDays(value, type) ?? value;
  return safe && type === 'text' ? withoutFormula(value) : value;
}

/** Whether no cell can hold it. */
export const isTooLong = (cell: WrittenCell): boolean => typeof cell === 'string' && cell.length > MAX_CELL_TEXT;

/** The first day that Excel counts right: before it, a 29 February 1900 that did not exist is counted. */
const FIRST_MS = Date.UTC(1900, 2, 1);
const EPOCH_MS = Date.UTC(1899, 11, 30);
const TO_MILLISECONDS = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\.\d{3}Z)?$/;

/** Days since Excel's epoch; undefined for a time that they cannot tell exactly. */
function countDays(text: string, kind: 'date' | 'datetime'): WrittenCell | undefined {
  const at = TO_MILLISECONDS.test(text) ? Date.parse(text) : Number.NaN;
  return at >= FIRST_MS ? { days: (at - EPOCH_MS) / DAY_MS, kind } : undefined;
}
