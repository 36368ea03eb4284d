import type { SchemaElement } from 'hyparquet';
import type { KnownType } from '../records/facts.ts';
import { ParquetProblem } from './problem.ts';

/** The conversion of a column's values to texts. */
export interface ValueTexts {
  type: KnownType;
  /** Whether they are texts, which stand in quotes. */
  quoted: boolean;
  /** The text of a value as it lies in the file; null for a number that is none. */
  text(value: unknown): string | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const bare = (type: KnownType, text: ValueTexts['text']): ValueTexts => ({ type, quoted: false, text });
const quoted = (text: (value: unknown) => string): ValueTexts => ({ type: 'text', quoted: true, text });

/** The conversion of a leaf's values to texts. @throws ParquetProblem `binary` for bytes that are no text */
export function chooseTexts(element: SchemaElement, column: string): ValueTexts {
  const { type, converted_type: converted, logical_type: logical } = element;
  const kind = logical?.type;
  if (kind === 'NULL') return quoted(() => '');
  if (converted === 'DECIMAL' || kind === 'DECIMAL') return bare('decimal', decimalText(getScale(element)));
  switch (type) {
    case 'BOOLEAN':
      return bare('boolean', (value) => (value ? 'true' : 'false'));
    case 'INT32':
      if (converted === 'DATE' || kind === 'DATE') return bare('date', (value) => dayText(Number(value)));
      if (kind === 'TIME' || converted === 'TIME_MILLIS') return quoted((value) => timeOfDay(value as number, 3));
      if (isUnsigned(element)) return bare('integer', (value) => String(Number(value) >>> 0));
      return bare('integer', String);
    case 'INT64':
      return longValues(element);
    case 'INT96':
      return bare('datetime', int96Text);
    case 'FLOAT':
      return bare('decimal', (value) => numberText(value as number, floatText));
    case 'DOUBLE':
      return bare('decimal', (value) => numberText(value as number, String));
    default:
      return byteValues(element, column);
  }
}

function longValues(element: SchemaElement): ValueTexts {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'TIMESTAMP') {
    const digits = countDigits(logical.unit);
    const zone = logical.isAdjustedToUTC ? 'Z' : '';
    return bare('datetime', (value) => timestampText(value as bigint, digits, zone));
  }
  if (converted === 'TIMESTAMP_MILLIS') return bare('datetime', (value) => timestampText(value as bigint, 3, 'Z'));
  if (converted === 'TIMESTAMP_MICROS') return bare('datetime', (value) => timestampText(value as bigint, 6, 'Z'));
  if (logical?.type === 'TIME') {
    const digits = countDigits(logical.unit);
    return quoted((value) => timeOfDay(value as bigint, digits));
  }
  if (converted === 'TIME_MICROS') return quoted((value) => timeOfDay(value as bigint, 6));
  if (isUnsigned(element)) return bare('integer', (value) => String(BigInt.asUintN(64, value as bigint)));
  return bare('integer', String);
}

function byteValues(element: SchemaElement, column: string): ValueTexts {
  const { type, converted_type: converted, logical_type: logical } = element;
  const kind = logical?.type;
  const isText = converted === 'UTF8' || converted === 'ENUM' || converted === 'JSON';
  if (isText || kind === 'STRING' || kind === 'ENUM' || kind === 'JSON') {
    return quoted((value) => decodeText(value as Uint8Array, column));
  }
  if (type === 'FIXED_LEN_BYTE_ARRAY' && kind === 'UUID') return quoted((value) => uuidText(value as Uint8Array));
  if (type === 'FIXED_LEN_BYTE_ARRAY' && kind === 'FLOAT16') {
    return bare('decimal', (value) => numberText(readHalfFloat(value as Uint8Array), String));
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

function uuidText(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const numberText = (value: number, text: (value: number) => string): string | null =>
  Number.isFinite(value) ? text(value) : null;

/** The fewest digits that tell a number of 32 bits from its neighbours. */
function floatText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/** A number of 16 bits. */
function readHalfFloat(bytes: Uint8Array): number {
  const bits = (bytes[0] as number) | ((bytes[1] as number) << 8);
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent === 0 ? (sign * fraction) / 2 ** 24 : sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

/** More digits after the point no type has. */
const MAX_SCALE = 1000;

function getScale({ scale, logical_type: logical }: SchemaElement): number {
  const found = (logical?.type === 'DECIMAL' ? logical.scale : scale) ?? 0;
  if (found < 0 || found > MAX_SCALE) throw new ParquetProblem('damaged');
  return found;
}

const decimalText = (scale: number) => (value: unknown) => {
  const whole = value instanceof Uint8Array ? readSigned(value) : BigInt(value as number | bigint);
  if (scale === 0) return String(whole);
  const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0');
  return `${whole < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
};

/** A whole number in two's complement, the highest byte first. */
function readSigned(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(bytes.length * 8, value);
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, '0'));

const pad = (value: number, digits: number): string =>
  digits === 2 ? (TWO_DIGITS[value] ?? String(value)) : String(value).padStart(digits, '0');

/** A day since 1970 as ISO 8601 has it; with a sign beyond the years 0 to 9999. */
export function dayText(day: number): string {
  // The calendar's days from 1 March of year 0: see Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const date = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const number = month < 10 ? month + 3 : month - 9;
  const year = yearOfEra + era * 400 + (number <= 2 ? 1 : 0);
  const years = year < 0 || year > 9999 ? `${year < 0 ? '-' : '+'}${pad(Math.abs(year), 6)}` : pad(year, 4);
  return `${years}-${pad(number, 2)}-${pad(date, 2)}`;
}

/** A moment since 1970; the unit of `value` is a second's fraction of `digits` digits. */
function timestampText(value: bigint, digits: number, zone: string): string {
  // Nearly all moments are exact as doubles, which take a tenth of the time.
  const number = Number(value);
  if (Number.isSafeInteger(number)) {
    const perDay = 86_400 * 10 ** digits;
    const days = Math.floor(number / perDay);
    return `${dayText(days)}T${timeOfDay(number - days * perDay, digits)}${zone}`;
  }
  const perDay = 86_400n * 10n ** BigInt(digits);
  let day = value / perDay;
  let rest = value % perDay;
  if (rest < 0n) {
    rest += perDay;
    day -= 1n;
  }
  return `${dayText(Number(day))}T${timeOfDay(rest, digits)}${zone}`;
}

/** A time since midnight; the unit of `value` is a second's fraction of `digits` digits. Without a fraction that is zero. */
function timeOfDay(value: bigint | number, digits: number): string {
  const per = 10 ** digits;
  const units = Number(value);
  const seconds = Math.floor(units / per);
  const fraction = units - seconds * per;
  const clock = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  return fraction === 0 ? clock : `${clock}.${pad(fraction, digits)}`;
}

/** Nanoseconds of a day in the lower 64 bits, the Julian day above. */
function int96Text(value: unknown): string {
  const whole = value as bigint;
  const day = Number(BigInt.asIntN(32, whole >> 64n)) - 2_440_588;
  return timestampText(BigInt(day) * 86_400_000_000_000n + BigInt.asIntN(64, whole), 9, 'Z');
}
