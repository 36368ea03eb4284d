import type { ViewCell, ViewColumn } from '../../kernel/viewing.ts';
import { LOCALE, TEXTS } from '../texts.ts';

/** The format of a visualization's numbers: fields of its `chart.options`. */
export interface NumberStyle {
  format?: 'number' | 'percent' | 'currency';
  /** ISO 4217, for `currency`. */
  currency?: string;
  decimals?: number;
  prefix?: string;
  suffix?: string;
}

/** Reads the number style from a chart's options; invalid values are left out. */
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

/** Large numbers get two decimals, small ones four digits; integers keep all digits. */
const STANDARD_DIGITS: Record<'number' | 'percent' | 'currency', Intl.NumberFormatOptions> = {
  number: { maximumFractionDigits: 2, maximumSignificantDigits: 4, roundingPriority: 'morePrecision' },
  percent: { maximumFractionDigits: 1 },
  currency: {},
};

const formats = new Map<string, Intl.NumberFormat>();

/** Formats a number in the page's language. A number that a double would round may come as text. */
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
  return new Intl.NumberFormat(LOCALE, {
    style: format === 'number' ? 'decimal' : format,
    currency: format === 'currency' ? currency : undefined,
    useGrouping: useGrouping ? 'auto' : false,
    ...(decimals === undefined
      ? STANDARD_DIGITS[format]
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
  });
}

const YEAR = new Intl.DateTimeFormat(LOCALE, { year: 'numeric', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat(LOCALE, { year: 'numeric', month: 'short', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: 'UTC' });
const TIMESTAMP = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** Formats a cell of one column. */
export type CellText = (cell: ViewCell) => string;

/**
 * Returns the format of a column's cells. Timestamps are in UTC, like the data; if all are midnights, only their days
 * are written. Years and ids have no thousands separators.
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
    case 'boolean':
      return filled((cell) => (cell === true ? TEXTS.yes : cell === false ? TEXTS.no : String(cell)));
    default:
      return filled(String);
  }
}

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

function timestampText(cell: string, format: Intl.DateTimeFormat): string {
  const timestamp = new Date(cell);
  return Number.isNaN(timestamp.getTime()) ? cell : format.format(timestamp);
}

/** Whether a cell is a number, or a number as text because a double would round it. */
export function isNumeric(cell: ViewCell): cell is number | string {
  return typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell));
}

/** A cell as a number to draw; null if it is not a number. */
export const toNumber = (cell: ViewCell | undefined): number | null =>
  cell !== undefined && isNumeric(cell) ? Number(cell) : null;

/** A cell as the label of a point or a series. */
export const labelText = (text: CellText, cell: ViewCell): string => text(cell) || TEXTS.empty;
