import { isCalendarDay } from '../kernel/calendar.ts';
import { isSameDecimal } from '../kernel/decimals.ts';
import { ExactNumber } from '../kernel/exact-json.ts';
import type { ColumnType } from './columns.ts';

/** The description of each type's JSON values, for messages about invalid ones. */
export const EXPECTED_VALUES: Record<ColumnType, string> = {
  text: 'must be a string of Unicode text without NUL characters',
  integer:
    'must be an integer within 64 bits; beyond ±9007199254740991 send it as a string, because JSON numbers lose digits there',
  decimal: 'must be a number, or a string of one',
  boolean: 'must be true or false',
  date: 'must be a date such as "2024-01-31", from year 0001 to 9999',
  datetime: 'must be a date and time such as "2024-01-31T13:45:00Z", from year 0001 to 9999, to the microsecond',
};

/**
 * Converts a JSON value to the text that Postgres reads for a column of `type`. Not for null, which is null in every type.
 * @returns undefined if the value does not fit exactly; `EXPECTED_VALUES[type]` describes valid ones
 */
export const toPostgresText = (type: ColumnType, value: unknown): string | undefined => ENCODERS[type](value);

const ENCODERS: Record<ColumnType, (value: unknown) => string | undefined> = {
  text: (value) => (typeof value === 'string' && !value.includes('\0') && value.isWellFormed() ? value : undefined),
  integer: (value) => toIntegerText(toDigits(value)),
  decimal: (value) => toDecimalText(toDigits(value)),
  boolean: (value) =>
    value === true || value === 'true' ? 'true' : value === false || value === 'false' ? 'false' : undefined,
  date: (value) => (typeof value === 'string' && isDate(value) ? value : undefined),
  datetime: (value) => (typeof value === 'string' ? toDatetimeText(value) : undefined),
};

const toDigits = (value: unknown): unknown => (value instanceof ExactNumber ? value.digits : value);

const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;

function toIntegerText(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string' || !/^[+-]?\d{1,100}$/.test(value)) return undefined;
  const integer = BigInt(value.startsWith('+') ? value.slice(1) : value);
  return integer >= MIN_BIGINT && integer <= MAX_BIGINT ? String(integer) : undefined;
}

/** The maximum number of digits before the point in a numeric of Postgres. */
const MAX_WHOLE_DIGITS = 131_072;
/** The maximum number of digits after the point in a numeric of Postgres. */
const MAX_FRACTION_DIGITS = 16_383;

/**
 * Converts a JSON number to decimal text. An `ExactNumber` is one that no double can hold; of others, the double's digits are
 * exact.
 */
function toDecimalText(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value !== 'string' || value.length > MAX_WHOLE_DIGITS + MAX_FRACTION_DIGITS + 2) return undefined;
  const parts = /^[+-]?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,7}))?$/.exec(value);
  if (!parts) return undefined;
  const [, whole = '', fraction = '', exponentText = '0'] = parts;
  if (whole === '' && fraction === '') return undefined;
  const exponent = Number(exponentText);
  // The digits before and after the point of the number without its exponent.
  const doDigitsFit = whole.length + exponent <= MAX_WHOLE_DIGITS && fraction.length - exponent <= MAX_FRACTION_DIGITS;
  return doDigitsFit ? value : undefined;
}

const DATE_PATTERN = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATETIME_PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})0*)?)?(?:([Zz])|([+-])(\d{2})(?::?(\d{2}))?)?)?$/;

function isDate(text: string): boolean {
  const parts = DATE_PATTERN.exec(text);
  return parts !== null && isCalendarDay(Number(parts[1]), Number(parts[2]), Number(parts[3]));
}

/** Converts an ISO 8601 date or time (UTC without an offset) to `yyyy-mm-dd hh:mm:ss.ffffff+00`; a date becomes its midnight. */
function toDatetimeText(text: string): string | undefined {
  const parts = DATETIME_PATTERN.exec(text);
  if (!parts) return undefined;
  const [year, month, day, hour, minute, second] = parts
    .slice(1, 7)
    .map((numberText) => Number(numberText ?? 0)) as DateNumbers;
  const offsetHours = Number(parts[10] ?? 0);
  const offsetMinutes = Number(parts[11] ?? 0);
  if (!isCalendarDay(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined;
  if (offsetHours > 15 || offsetMinutes > 59) return undefined;
  const offset = (parts[9] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
  const date = makeUtcDate(year, month, day, hour, minute - offset, second);
  if (date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return undefined;
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}.${(parts[7] ?? '').padEnd(6, '0')}+00`;
}

type DateNumbers = [number, number, number, number, number, number];

/** Makes a date from UTC numbers. `Date.UTC` would read the years 0 to 99 as 1900 to 1999. */
function makeUtcDate(...[year, month, day, hour, minute, second]: DateNumbers): Date {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date;
}

/**
 * Converts a value of Postgres to JSON. Integers and decimals become numbers if a double holds them exactly, else
 * strings with all digits, so that no client rounds a value and writes it back; datetimes become ISO 8601 UTC.
 * @param value as the client of `tenant-sql` returns it: string, boolean, null
 */
export function toJsonValue(type: ColumnType, value: string | boolean | null): string | number | boolean | null {
  if (typeof value !== 'string') return value;
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    case 'decimal':
      return toDecimalJson(value);
    case 'datetime':
      return toDatetimeJson(value);
    default:
      return value;
  }
}

function toDecimalJson(text: string): number | string {
  const doubleValue = Number(text);
  // A double holds any 15 digits exactly; longer numbers, and those with an exponent, are compared digit by digit.
  if (text.length <= 15 && Number.isFinite(doubleValue) && !/e/i.test(text)) return doubleValue;
  return Number.isFinite(doubleValue) && isSameDecimal(text, String(doubleValue)) ? doubleValue : text;
}

const POSTGRES_TIMESTAMP_PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:([+-])(\d{2})(?::(\d{2}))?(?::(\d{2}))?)?$/;

/** Converts Postgres's text of a timestamptz to ISO 8601 UTC: with milliseconds, or with microseconds if there are any. */
export function toDatetimeJson(text: string): string {
  const parts = POSTGRES_TIMESTAMP_PATTERN.exec(text);
  if (!parts) return text;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as DateNumbers;
  const sign = parts[8] === '-' ? 1 : -1;
  const [hours, minutes, seconds] = [parts[9], parts[10], parts[11]].map(
    (numberText) => sign * Number(numberText ?? 0),
  ) as DateNumbers;
  const date = makeUtcDate(year, month, day, hour + hours, minute + minutes, second + seconds);
  const microseconds = (parts[7] ?? '').padEnd(6, '0');
  return `${date.toISOString().slice(0, 19)}.${microseconds.endsWith('000') ? microseconds.slice(0, 3) : microseconds}Z`;
}
