import type { Locale } from '../texts/locales.ts';
import type { ViewCell, ViewChart, ViewColumn } from './viewing.ts';

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
export function parseNumberStyle(options: Record<string, unknown>): NumberStyle {
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

/** Formats a cell of one column. */
export type CellText = (cell: ViewCell) => string;

/** The texts of cells in a language. */
export interface CellTexts {
  /** A number that a double would round may come as text. */
  numberText(value: number | string, style?: NumberStyle, grouping?: boolean): string;
  /** The format of a column's cells: UTC, days alone if all are midnights; years and ids without separators. */
  cellTextOf(column: ViewColumn, cells: readonly ViewCell[], style?: NumberStyle): CellText;
  /** The format of a column's cells in a chart: months or years, if all cells are first days of these. */
  periodTextOf(column: ViewColumn, cells: readonly ViewCell[], style?: NumberStyle): CellText;
  /** The formats of a result's columns in a table: of rows, or of the points that its chart draws. */
  columnTextsOf(result: Result, chart: Pick<ViewChart['chart'], 'type' | 'options'>): CellText[];
}

interface Result {
  columns: readonly ViewColumn[];
  rows: readonly (readonly ViewCell[])[];
}

const DAYS = /^\d{4}-\d\d-\d\d(T00:00:00(\.0+)?Z)?$/;
const MONTHS = /^\d{4}-\d\d-01(T00:00:00(\.0+)?Z)?$/;
const YEARS = /^\d{4}-01-01(T00:00:00(\.0+)?Z)?$/;

const areAll = (pattern: RegExp, cells: readonly ViewCell[]): boolean =>
  cells.every((cell) => cell === null || pattern.test(String(cell)));

/** @param words for booleans */
export function cellTextsIn(locale: Locale, words: { yes: string; no: string }): CellTexts {
  const formats = new Map<string, Intl.NumberFormat>();
  const dayFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
  const timeFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  const monthFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'short', timeZone: 'UTC' });
  const yearFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', timeZone: 'UTC' });

  const numberText: CellTexts['numberText'] = (value, style = {}, grouping = true) => {
    const { format = 'number', currency, decimals, prefix = '', suffix = '' } = style;
    const key = `${format} ${currency} ${decimals} ${grouping}`;
    const known = formats.get(key) ?? numberFormat(locale, format, currency, decimals, grouping);
    formats.set(key, known);
    return `${prefix}${known.format(value as number)}${suffix}`;
  };

  const filled =
    (text: (cell: NonNullable<ViewCell>) => string): CellText =>
    (cell) =>
      cell === null ? '' : text(cell);

  const cellTextOf: CellTexts['cellTextOf'] = ({ name, type }, cells, style) => {
    switch (type) {
      case 'integer':
      case 'decimal': {
        const grouping = !(type === 'integer' && /(^|_)(year|ano|id|code|codigo)$/i.test(name));
        return filled((cell) => (isNumeric(cell) ? numberText(cell, style, grouping) : String(cell)));
      }
      case 'date':
      case 'datetime': {
        const format = areAll(DAYS, cells) ? dayFormat : timeFormat;
        return filled((cell) => timestampText(String(cell), format));
      }
      case 'boolean':
        return filled((cell) => (cell === true ? words.yes : cell === false ? words.no : String(cell)));
      default:
        return filled(String);
    }
  };

  const periodTextOf: CellTexts['periodTextOf'] = (column, cells, style) => {
    const isTime = column.type === 'date' || column.type === 'datetime';
    if (!isTime || !areAll(MONTHS, cells)) return cellTextOf(column, cells, style);
    const format = areAll(YEARS, cells) ? yearFormat : monthFormat;
    return filled((cell) => timestampText(String(cell), format));
  };

  return {
    numberText,
    cellTextOf,
    periodTextOf,
    columnTextsOf({ columns, rows }, { type, options }) {
      const [textOf, style] = [type === 'table' ? cellTextOf : periodTextOf, parseNumberStyle(options)];
      return columns.map((column, at) =>
        textOf(
          column,
          rows.map((row) => row[at] ?? null),
          style,
        ),
      );
    },
  };
}

function numberFormat(
  locale: Locale,
  format: 'number' | 'percent' | 'currency',
  currency: string | undefined,
  decimals: number | undefined,
  useGrouping: boolean,
): Intl.NumberFormat {
  return new Intl.NumberFormat(locale, {
    style: format === 'number' ? 'decimal' : format,
    currency: format === 'currency' ? currency : undefined,
    useGrouping: useGrouping ? 'auto' : false,
    ...(decimals === undefined
      ? STANDARD_DIGITS[format]
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
  });
}

/** A date or a time of the API, as a format writes it. */
export function timestampText(cell: string, format: Intl.DateTimeFormat): string {
  const timestamp = new Date(cell);
  return Number.isNaN(timestamp.getTime()) ? cell : format.format(timestamp);
}

/** Whether a cell is a number, or a number as text because a double would round it. */
export const isNumeric = (cell: ViewCell): cell is number | string =>
  typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell));
