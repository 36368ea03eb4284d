import type { ViewCell, ViewColumn } from '../../kernel/viewing.ts';
import { TEXTS } from '../texts.ts';

/** How numbers of a visualization are written: members of its `chart.options`. */
export interface NumberStyle {
  format?: 'number' | 'percent' | 'currency';
  /** ISO 4217, for `currency`. */
  currency?: string;
  decimals?: number;
  prefix?: string;
  suffix?: string;
}

/** Reads the number style out of free options; what does not fit is left out. */
export function numberStyleOf(options: Record<string, unknown>): NumberStyle {
  const { format, currency, decimals, prefix, suffix } = options;
  const known = typeof currency === 'string' && /^[A-Z]{3}$/.test(currency);
  return {
    format: format === 'percent' || (format === 'currency' && known) ? format : 'number',
    ...(known && { currency: currency as string }),
    ...(Number.isInteger(decimals) && { decimals: Math.min(20, Math.max(0, decimals as number)) }),
    prefix: typeof prefix === 'string' ? prefix : '',
    suffix: typeof suffix === 'string' ? suffix : '',
  };
}

/** Two decimals are enough for large numbers, four digits for small ones; integers keep all they have. */
const STANDARD_DIGITS: Record<'number' | 'percent' | 'currency', Intl.NumberFormatOptions> = {
  number: { maximumFractionDigits: 2, maximumSignificantDigits: 4, roundingPriority: 'morePrecision' },
  percent: { maximumFractionDigits: 1 },
  currency: {},
};

const formats = new Map<string, Intl.NumberFormat>();

/** A number in the viewer's own notation. Digits that a double would round may come as text. */
export function numberText(value: number | string, style: NumberStyle = {}, grouping = true): string {
  const { format = 'number', currency, decimals, prefix = '', suffix = '' } = style;
  const key = `${format} ${currency} ${decimals} ${grouping}`;
  const known = formats.get(key) ?? numberFormat(format, currency, decimals, grouping);
  formats.set(key, known);
  return `${prefix}${known.format(value as number)}${suffix}`;
}

function numberFormat(
  format: 'number' | 'percent' | 'currency',
  currency: string | undefined,
  decimals: number | undefined,
  useGrouping: boolean,
): Intl.NumberFormat {
  return new Intl.NumberFormat(undefined, {
    style: format === 'number' ? 'decimal' : format,
    currency: format === 'currency' ? currency : undefined,
    useGrouping,
    ...(decimals === undefined
      ? STANDARD_DIGITS[format]
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
  });
}

const YEAR = new Intl.DateTimeFormat(undefined, { year: 'numeric', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const TIMESTAMP = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** Writes the cells of one column, as it should be read. */
export type CellText = (cell: ViewCell) => string;

/**
 * How the cells of a column are written. Moments are in UTC, as the data has them; where all of them are midnights, they
 * are days. Years and ids are not grouped by thousands.
 */
export function cellTextOf({ name, type }: ViewColumn, cells: readonly ViewCell[], style?: NumberStyle): CellText {
  const filled = (text: (cell: NonNullable<ViewCell>) => string): CellText => {
    return (cell) => (cell === null ? '' : text(cell));
  };
  switch (type) {
    case 'integer':
    case 'decimal': {
      const grouping = !(type === 'integer' && /(^|_)(year|ano|id|code|codigo)$/i.test(name));
      return filled((cell) => (isNumeric(cell) ? numberText(cell, style, grouping) : String(cell)));
    }
    case 'date':
    case 'datetime': {
      const days = cells.every((cell) => cell === null || /^\d{4}-\d\d-\d\d(T00:00:00(\.0+)?Z)?$/.test(String(cell)));
      return filled((cell) => timestampText(String(cell), days ? DAY : TIMESTAMP));
    }
    default:
      return filled(String);
  }
}

/** How the cells of a column are written along an axis: like in a table, but first days of months or years as such. */
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

function timestampText(cell: string, format: Intl.DateTimeFormat): string {
  const timestamp = new Date(cell);
  return Number.isNaN(timestamp.getTime()) ? cell : format.format(timestamp);
}

/** Whether a cell is a number, or the digits of one that a double would round. */
export function isNumeric(cell: ViewCell): cell is number | string {
  return typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell));
}

/** A cell as a number to draw; null where it is none. */
export const toNumber = (cell: ViewCell | undefined): number | null =>
  cell !== undefined && isNumeric(cell) ? Number(cell) : null;

/** A cell as the name of a point or a series. */
export const labelText = (text: CellText, cell: ViewCell): string => text(cell) || TEXTS.empty;
