import type { Locale } from '../texts/locales.ts';
import type { ViewCell, ViewChart, ViewColumn } from './viewing.ts';

/** The format of a visualization's numbers, read from its `chart.options`. */
export interface NumberStyle {
  format?: 'number' | 'percent' | 'currency';
  /** The currency code of ISO 4217, for the format `currency`. */
  currency?: string;
  decimals?: number;
  prefix?: string;
  suffix?: string;
}

/** Reads the number style from a chart's options; invalid values are left out. */
export function parseNumberStyle(options: Record<string, unknown>): NumberStyle {
  const { format, currency, decimals, prefix, suffix } = options;
  const isCurrencyCode = typeof currency === 'string' && /^[A-Z]{3}$/.test(currency);
  return {
    format: format === 'percent' || (format === 'currency' && isCurrencyCode) ? format : 'number',
    ...(isCurrencyCode && { currency: currency as string }),
    ...(Number.isInteger(decimals) && { decimals: Math.min(20, Math.max(0, decimals as number)) }),
    prefix: typeof prefix === 'string' ? prefix : '',
    suffix: typeof suffix === 'string' ? suffix : '',
  };
}

/** The standard digits of each format: large numbers get two decimals, small ones four digits; integers keep all digits. */
const STANDARD_DIGITS: Record<'number' | 'percent' | 'currency', Intl.NumberFormatOptions> = {
  number: { maximumFractionDigits: 2, maximumSignificantDigits: 4, roundingPriority: 'morePrecision' },
  percent: { maximumFractionDigits: 1 },
  currency: {},
};

/** A function that formats a cell of one column. */
export type FormatCell = (cell: ViewCell) => string;

/** Functions that format cells in a language. */
export interface CellFormatters {
  /** Formats a number, given as text where a double would round it. */
  formatNumber(value: number | string, style?: NumberStyle, useGrouping?: boolean): string;
  /**
   * Makes the format function of a column's cells: times in UTC, only the day if all cells are midnights; years and ids without
   * separators.
   */
  makeCellFormat(column: ViewColumn, cells: readonly ViewCell[], style?: NumberStyle): FormatCell;
  /**
   * Makes the format function of a column's cells in a chart: months or years, if all cells are first days of months or years.
   */
  makePeriodFormat(column: ViewColumn, cells: readonly ViewCell[], style?: NumberStyle): FormatCell;
  /** Makes the format functions of a result's columns in a table: of its rows, or of the points that its chart draws. */
  makeColumnFormats(result: ResultTable, chart: Pick<ViewChart['chart'], 'type' | 'options'>): FormatCell[];
}

interface ResultTable {
  columns: readonly ViewColumn[];
  rows: readonly (readonly ViewCell[])[];
}

const DAY_PATTERN = /^\d{4}-\d\d-\d\d(T00:00:00(\.0+)?Z)?$/;
const MONTH_PATTERN = /^\d{4}-\d\d-01(T00:00:00(\.0+)?Z)?$/;
const YEAR_PATTERN = /^\d{4}-01-01(T00:00:00(\.0+)?Z)?$/;

const doAllMatch = (pattern: RegExp, cells: readonly ViewCell[]): boolean =>
  cells.every((cell) => cell === null || pattern.test(String(cell)));

/** Creates the functions that format cells in a language. @param words the words for booleans */
export function createCellFormatters(locale: Locale, words: { yes: string; no: string }): CellFormatters {
  const formats = new Map<string, Intl.NumberFormat>();
  const dayFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
  const timeFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  const monthFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'short', timeZone: 'UTC' });
  const yearFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', timeZone: 'UTC' });

  const formatNumber: CellFormatters['formatNumber'] = (value, style = {}, useGrouping = true) => {
    const { format = 'number', currency, decimals, prefix = '', suffix = '' } = style;
    const key = `${format} ${currency} ${decimals} ${useGrouping}`;
    const numberFormatter = formats.get(key) ?? createNumberFormat(locale, format, currency, decimals, useGrouping);
    formats.set(key, numberFormatter);
    return `${prefix}${numberFormatter.format(value as number)}${suffix}`;
  };

  const skipNull =
    (formatValue: (cell: NonNullable<ViewCell>) => string): FormatCell =>
    (cell) =>
      cell === null ? '' : formatValue(cell);

  const makeCellFormat: CellFormatters['makeCellFormat'] = ({ name, type }, cells, style) => {
    switch (type) {
      case 'integer':
      case 'decimal': {
        const useGrouping = !(type === 'integer' && /(^|_)(year|ano|id|code|codigo)$/i.test(name));
        return skipNull((cell) => (isNumeric(cell) ? formatNumber(cell, style, useGrouping) : String(cell)));
      }
      case 'date':
      case 'datetime': {
        const format = doAllMatch(DAY_PATTERN, cells) ? dayFormat : timeFormat;
        return skipNull((cell) => formatTimestamp(String(cell), format));
      }
      case 'boolean':
        return skipNull((cell) => (cell === true ? words.yes : cell === false ? words.no : String(cell)));
      default:
        return skipNull(String);
    }
  };

  const makePeriodFormat: CellFormatters['makePeriodFormat'] = (column, cells, style) => {
    const isTime = column.type === 'date' || column.type === 'datetime';
    if (!isTime || !doAllMatch(MONTH_PATTERN, cells)) return makeCellFormat(column, cells, style);
    const format = doAllMatch(YEAR_PATTERN, cells) ? yearFormat : monthFormat;
    return skipNull((cell) => formatTimestamp(String(cell), format));
  };

  return {
    formatNumber,
    makeCellFormat,
    makePeriodFormat,
    makeColumnFormats({ columns, rows }, { type, options }) {
      const [makeFormat, style] = [type === 'table' ? makeCellFormat : makePeriodFormat, parseNumberStyle(options)];
      return columns.map((column, at) =>
        makeFormat(
          column,
          rows.map((row) => row[at] ?? null),
          style,
        ),
      );
    },
  };
}

function createNumberFormat(
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

/** Formats a date or time of the API. */
export function formatTimestamp(cell: string, format: Intl.DateTimeFormat): string {
  const timestamp = new Date(cell);
  return Number.isNaN(timestamp.getTime()) ? cell : format.format(timestamp);
}

/** Tells whether a cell is a number, or a number as text because a double would round it. */
export const isNumeric = (cell: ViewCell): cell is number | string =>
  typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell));
