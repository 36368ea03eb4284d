import type { SchemaElement } from 'hyparquet';
import type { KnownType } from '../records/record-facts.ts';
import { ParquetProblem } from './problem.ts';

/** Conversion of a column's values to texts. */
export interface ValueFormatter {
  type: KnownType;
  /** True if the values are texts, which are written in quotes. */
  isQuoted: boolean;
  /** Converts a value as stored in the file to text; null for a number that is none (NaN, infinities). */
  formatValue(value: unknown): string | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const makeUnquotedFormatter = (type: KnownType, formatValue: ValueFormatter['formatValue']): ValueFormatter => ({
  type,
  isQuoted: false,
  formatValue,
});
const makeQuotedFormatter = (formatValue: (value: unknown) => string): ValueFormatter => ({
  type: 'text',
  isQuoted: true,
  formatValue,
});

/** Chooses the conversion of a leaf's values to texts. @throws ParquetProblem `binary` for bytes that are no text */
export function chooseFormatter(element: SchemaElement, column: string): ValueFormatter {
  const { type, converted_type: converted, logical_type: logical } = element;
  const kind = logical?.type;
  if (kind === 'NULL') return makeQuotedFormatter(() => '');
  if (converted === 'DECIMAL' || kind === 'DECIMAL')
    return makeUnquotedFormatter('decimal', makeDecimalFormatter(getScale(element)));
  switch (type) {
    case 'BOOLEAN':
      return makeUnquotedFormatter('boolean', (value) => (value ? 'true' : 'false'));
    case 'INT32':
      if (converted === 'DATE' || kind === 'DATE')
        return makeUnquotedFormatter('date', (value) => formatDay(Number(value)));
      if (kind === 'TIME' || converted === 'TIME_MILLIS')
        return makeQuotedFormatter((value) => formatTimeOfDay(value as number, 3));
      if (isUnsigned(element)) return makeUnquotedFormatter('integer', (value) => String(Number(value) >>> 0));
      return makeUnquotedFormatter('integer', String);
    case 'INT64':
      return chooseLongFormatter(element);
    case 'INT96':
      return makeUnquotedFormatter('datetime', formatInt96);
    case 'FLOAT':
      return makeUnquotedFormatter('decimal', (value) => formatNumber(value as number, formatFloat));
    case 'DOUBLE':
      return makeUnquotedFormatter('decimal', (value) => formatNumber(value as number, String));
    default:
      return chooseByteFormatter(element, column);
  }
}

function chooseLongFormatter(element: SchemaElement): ValueFormatter {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'TIMESTAMP') {
    const digits = countDigits(logical.unit);
    const zone = logical.isAdjustedToUTC ? 'Z' : '';
    return makeUnquotedFormatter('datetime', (value) => formatTimestamp(value as bigint, digits, zone));
  }
  if (converted === 'TIMESTAMP_MILLIS')
    return makeUnquotedFormatter('datetime', (value) => formatTimestamp(value as bigint, 3, 'Z'));
  if (converted === 'TIMESTAMP_MICROS')
    return makeUnquotedFormatter('datetime', (value) => formatTimestamp(value as bigint, 6, 'Z'));
  if (logical?.type === 'TIME') {
    const digits = countDigits(logical.unit);
    return makeQuotedFormatter((value) => formatTimeOfDay(value as bigint, digits));
  }
  if (converted === 'TIME_MICROS') return makeQuotedFormatter((value) => formatTimeOfDay(value as bigint, 6));
  if (isUnsigned(element))
    return makeUnquotedFormatter('integer', (value) => String(BigInt.asUintN(64, value as bigint)));
  return makeUnquotedFormatter('integer', String);
}

function chooseByteFormatter(element: SchemaElement, column: string): ValueFormatter {
  const { type, converted_type: converted, logical_type: logical } = element;
  const kind = logical?.type;
  const isText = converted === 'UTF8' || converted === 'ENUM' || converted === 'JSON';
  if (isText || kind === 'STRING' || kind === 'ENUM' || kind === 'JSON') {
    return makeQuotedFormatter((value) => decodeText(value as Uint8Array, column));
  }
  if (type === 'FIXED_LEN_BYTE_ARRAY' && kind === 'UUID')
    return makeQuotedFormatter((value) => formatUuid(value as Uint8Array));
  if (type === 'FIXED_LEN_BYTE_ARRAY' && kind === 'FLOAT16') {
    return makeUnquotedFormatter('decimal', (value) => formatNumber(readHalfFloat(value as Uint8Array), String));
  }
  throw new ParquetProblem('binary', column);
}

const isUnsigned = ({ converted_type: converted, logical_type: logical }: SchemaElement): boolean =>
  converted?.startsWith('UINT_') === true || (logical?.type === 'INTEGER' && !logical.isSigned);

const countDigits = (unit: 'MILLIS' | 'MICROS' | 'NANOS'): number => ({ MILLIS: 3, MICROS: 6, NANOS: 9 })[unit];

function decodeText(bytes: Uint8Array, column: string): string {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new ParquetProblem('not_utf8', column);
  }
  if (text.includes('\0')) throw new ParquetProblem('nul', column);
  return text;
}

const formatUuid = (bytes: Uint8Array): string => bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const formatNumber = (value: number, formatFinite: (value: number) => string): string | null =>
  Number.isFinite(value) ? formatFinite(value) : null;

/** Formats a number of 32 bits with the fewest digits that distinguish it from its neighbours. */
function formatFloat(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/** Reads a floating-point number of 16 bits. */
function readHalfFloat(bytes: Uint8Array): number {
  const bits = (bytes[0] as number) | ((bytes[1] as number) << 8);
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent === 0 ? (sign * fraction) / 2 ** 24 : sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

/** Maximum number of digits after the decimal point of any type. */
const MAX_SCALE = 1000;

function getScale({ scale, logical_type: logical }: SchemaElement): number {
  const foundScale = (logical?.type === 'DECIMAL' ? logical.scale : scale) ?? 0;
  if (foundScale < 0 || foundScale > MAX_SCALE) throw new ParquetProblem('damaged');
  return foundScale;
}

const makeDecimalFormatter = (scale: number) => (value: unknown) => {
  const unscaledValue = value instanceof Uint8Array ? readSigned(value) : BigInt(value as number | bigint);
  if (scale === 0) return String(unscaledValue);
  const digits = String(unscaledValue < 0n ? -unscaledValue : unscaledValue).padStart(scale + 1, '0');
  return `${unscaledValue < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
};

/** Maximum number of bytes of a decimal number, more than any type has: the time to read one grows with their square. */
const MAX_DECIMAL_BYTES = 512;

/** Reads a whole number in two's complement, the highest byte first. @throws ParquetProblem `damaged` if it is too long */
function readSigned(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  if (bytes.length > MAX_DECIMAL_BYTES) throw new ParquetProblem('damaged');
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(bytes.length * 8, value);
}

const TWO_DIGIT_TEXTS = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, '0'));

const padDigits = (value: number, digits: number): string =>
  digits === 2 ? (TWO_DIGIT_TEXTS[value] ?? String(value)) : String(value).padStart(digits, '0');

/** Formats a day since 1970 by ISO 8601; with a sign outside the years 0 to 9999. */
export function formatDay(day: number): string {
  // The calendar's days from 1 March of year 0: see Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  const shiftedDay = day + 719_468;
  const era = Math.floor(shiftedDay / 146_097);
  const dayOfEra = shiftedDay - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const date = dayOfYear - Math.floor((153 * month + 2) / 5) + 1;
  const monthNumber = month < 10 ? month + 3 : month - 9;
  const year = yearOfEra + era * 400 + (monthNumber <= 2 ? 1 : 0);
  const years = year < 0 || year > 9999 ? `${year < 0 ? '-' : '+'}${padDigits(Math.abs(year), 6)}` : padDigits(year, 4);
  return `${years}-${padDigits(monthNumber, 2)}-${padDigits(date, 2)}`;
}

/** Formats a moment since 1970; the unit of `value` is a fraction of a second with `digits` digits. */
function formatTimestamp(value: bigint, digits: number, zone: string): string {
  // Nearly all moments are exact as doubles, which take a tenth of the time.
  const number = Number(value);
  if (Number.isSafeInteger(number)) {
    const unitsPerDay = 86_400 * 10 ** digits;
    const days = Math.floor(number / unitsPerDay);
    return `${formatDay(days)}T${formatTimeOfDay(number - days * unitsPerDay, digits)}${zone}`;
  }
  const unitsPerDay = 86_400n * 10n ** BigInt(digits);
  let day = value / unitsPerDay;
  let unitsSinceMidnight = value % unitsPerDay;
  if (unitsSinceMidnight < 0n) {
    unitsSinceMidnight += unitsPerDay;
    day -= 1n;
  }
  return `${formatDay(Number(day))}T${formatTimeOfDay(unitsSinceMidnight, digits)}${zone}`;
}

/**
 * Formats a time since midnight; the unit of `value` is a fraction of a second with `digits` digits. A zero fraction is omitted.
 */
function formatTimeOfDay(value: bigint | number, digits: number): string {
  const unitsPerSecond = 10 ** digits;
  const units = Number(value);
  const seconds = Math.floor(units / unitsPerSecond);
  const fraction = units - seconds * unitsPerSecond;
  const timeText = `${padDigits(Math.floor(seconds / 3600), 2)}:${padDigits(Math.floor(seconds / 60) % 60, 2)}:${padDigits(seconds % 60, 2)}`;
  return fraction === 0 ? timeText : `${timeText}.${padDigits(fraction, digits)}`;
}

/** Formats an INT96 timestamp: nanoseconds of the day in the lower 64 bits, the Julian day above. */
function formatInt96(value: unknown): string {
  const int96Bits = value as bigint;
  const day = Number(BigInt.asIntN(32, int96Bits >> 64n)) - 2_440_588;
  return formatTimestamp(BigInt(day) * 86_400_000_000_000n + BigInt.asIntN(64, int96Bits), 9, 'Z');
}
