import { type CellText, cellTextsIn, isNumeric, timestampText } from '../../kernel/cell-texts.ts';
import type { ViewCell, ViewColumn } from '../../kernel/viewing.ts';
import { LOCALE, TEXTS } from '../texts.ts';

export { type CellText, isNumeric, type NumberStyle, numberStyleOf } from '../../kernel/cell-texts.ts';

/** In the page's language. */
export const { numberText, cellTextOf } = cellTextsIn(LOCALE, TEXTS);

const YEAR = new Intl.DateTimeFormat(LOCALE, { year: 'numeric', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat(LOCALE, { year: 'numeric', month: 'short', timeZone: 'UTC' });

/**
 * The format of a column's cells along an axis: as in a table, but the first day of a month or year as the month or
 * year.
 */
export function axisTextOf(column: ViewColumn, cells: readonly ViewCell[]): CellText {
  const timestamps = column.type === 'date' || column.type === 'datetime';
  const all = (pattern: RegExp) => timestamps && cells.every((cell) => cell === null || pattern.test(String(cell)));
  const format = all(/^\d{4}-01-01(T00:00:00(\.0+)?Z)?$/)
    ? YEAR
    : all(/^\d{4}-\d\d-01(T00:00:00(\.0+)?Z)?$/)
      ? MONTH
      : null;
  if (!format) return cellTextOf(column, cells);
  return (cell) => (cell === null ? '' : timestampText(String(cell), format));
}

/** A cell as a number to draw; null if it is not a number. */
export const toNumber = (cell: ViewCell | undefined): number | null =>
  cell !== undefined && isNumeric(cell) ? Number(cell) : null;

/** A cell as the label of a point or a series. */
export const labelText = (text: CellText, cell: ViewCell): string => text(cell) || TEXTS.empty;
