import { MAX_CELL_TEXT, type WrittenCell } from '../../formats/workbook/write.ts';
import { invalid } from '../../kernel/failure.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import type { RawRow } from './page.ts';

/**
 * The cells of a row: its id, then its columns.
 * @param safe whether a spreadsheet must take no text for a formula
 */
export function cellsOf(columns: Column[], row: RawRow, safe: boolean): WrittenCell[] {
  return [row.id, ...columns.map((column, at) => cellOf(column, row[`c${at}`] ?? null, safe))];
}

/** A column has a text that no cell can hold. */
export const longText = (column: string) =>
  invalid([
    {
      field: 'fields',
      message: `"${column}" has a text of more than ${MAX_CELL_TEXT} characters, which no cell can hold`,
    },
  ]);

const FORMULA = /^[=+\-@\t\r]/;

function cellOf({ name, type }: Column, raw: string | boolean | null, safe: boolean): WrittenCell {
  const value = toJsonValue(type, raw);
  if (typeof value !== 'string') return value;
  if (type === 'date' || type === 'datetime') return daysOf(value, type) ?? value;
  const text = safe && type === 'text' && FORMULA.test(value) ? `'${value}` : value;
  if (text.length > MAX_CELL_TEXT) throw longText(name);
  return text;
}

const DAY_MS = 86_400_000;
/** Before this day Excel counts a 29 February 1900 that did not exist. */
const FIRST_MS = Date.UTC(1900, 2, 1);
const EPOCH_MS = Date.UTC(1899, 11, 30);
const TO_MILLISECONDS = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\.\d{3}Z)?$/;

/** Days since Excel's epoch; undefined for what they cannot tell exactly. */
function daysOf(text: string, kind: 'date' | 'datetime'): WrittenCell | undefined {
  const at = TO_MILLISECONDS.test(text) ? Date.parse(text) : Number.NaN;
  return at >= FIRST_MS ? { days: (at - EPOCH_MS) / DAY_MS, kind } : undefined;
}
