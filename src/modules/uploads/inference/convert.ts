import { toJsonValue } from '../../../tenant-sql/values.ts';
import { dateForms, fullYear } from './dates.ts';
import { COMMA, COMMA_GROUPS, DECIMALS, DMY, DOT_GROUPS, formOf, INTEGER, MDY, POINT, YMD } from './forms.ts';
import { numberForms } from './numbers.ts';
import type { ColumnFormats, ColumnType, RowValue } from './schema.ts';
import { booleanWord } from './types.ts';

const encoder = new TextEncoder();

/**
 * A value as written in a file as the text that Postgres reads for a column of `type` whatever its `DateStyle`.
 * Empty is null in every type, spaces alone in every type but text. A datetime without an offset stays without one: it
 * is a moment of the session's `TimeZone`.
 * @returns undefined when the value does not fit the type
 */
export function convert(
  value: string,
  type: ColumnType,
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
): string | null | undefined {
  if (value === '') return null;
  if (type === 'text') return value;
  const trimmed = value.trim();
  if (trimmed === '') return null;
  switch (type) {
    case 'boolean':
      return booleanText(trimmed);
    case 'integer':
      return integerText(trimmed, formOf(formats.decimal));
    case 'decimal':
      return decimalText(trimmed, formOf(formats.decimal));
    default:
      return momentText(trimmed, formOf(formats.date), type);
  }
}

/** The value as a row's JSON shows it; null also where it does not fit. A datetime without an offset is UTC here. */
export function sampleValue(
  value: string,
  type: ColumnType,
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
): RowValue {
  const text = convert(value, type, formats) ?? null;
  return toJsonValue(type, type === 'boolean' && text !== null ? text === 'true' : text);
}

function booleanText(value: string): string | undefined {
  if (value === '1' || value === '0') return value === '1' ? 'true' : 'false';
  const word = booleanWord(value);
  return word === undefined ? undefined : String(word[1]);
}

/** Whoever asks for a number means `007` as 7; inference alone keeps the zeros of codes. */
function withoutZeros(value: string): string {
  return value.replace(/^([+-]?)0+(?=\d)/, '$1').replace(/^\+/, '');
}

function formsOfNumber(value: string): number {
  const bytes = encoder.encode(value);
  return numberForms(bytes, 0, bytes.length);
}

function integerText(value: string, form: number): string | undefined {
  const number = withoutZeros(value);
  if ((formsOfNumber(number) & INTEGER) !== 0) return number;
  const decimal = decimalText(value, form);
  if (decimal === undefined) return undefined;
  // `5.00` and `1.234` (grouped) are whole; `5.5` is not, and an exponent is no way to write a whole number.
  const whole = decimal.replace(/\.0*$/, '');
  return (formsOfNumber(whole) & INTEGER) !== 0 ? whole : undefined;
}

function decimalText(value: string, form: number): string | undefined {
  const number = withoutZeros(value);
  const forms = formsOfNumber(number) & DECIMALS;
  if ((forms & form) === 0) return undefined;
  switch (form) {
    case POINT:
      return number;
    case COMMA:
      return number.replace(',', '.');
    case DOT_GROUPS:
      return number.replaceAll('.', '').replace(',', '.');
    case COMMA_GROUPS:
      return number.replaceAll(',', '');
    default:
      return undefined;
  }
}

const MOMENT = /^(\d+)[-/.](\d+)[-/.](\d+)(?:[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)? ?(?:([Zz])|([+-]\d\d):?(\d\d)?)?)?$/;
const MIDNIGHT = '00:00:00';

function momentText(value: string, form: number, type: 'date' | 'datetime'): string | undefined {
  const bytes = encoder.encode(value);
  const forms = dateForms(bytes, 0, bytes.length);
  const parts = forms === 0 ? null : MOMENT.exec(value);
  if (parts === null) return undefined;
  const [, first = '', second = '', third = '', minutes, seconds = ':00', fraction = '', utc, hours, rest] = parts;
  // Year first says itself what it is; day and month first have to be the column's reading.
  const dayFirst = (form & DMY) !== 0;
  let day: [string, string, string];
  if ((forms & YMD) !== 0) day = [first, second, third];
  else if ((forms & (dayFirst ? DMY : MDY)) === 0) return undefined;
  else day = dayFirst ? [yearOf(third), second, first] : [yearOf(third), first, second];
  const date = `${day[0]}-${day[1].padStart(2, '0')}-${day[2].padStart(2, '0')}`;
  if (minutes === undefined) return type === 'date' ? date : `${date} ${MIDNIGHT}`;
  const time = minutes + seconds;
  if (type === 'date') return time === MIDNIGHT && /^[.0]*$/.test(fraction) ? date : undefined;
  const offset = utc !== undefined ? '+00' : hours === undefined ? '' : rest === undefined ? hours : `${hours}:${rest}`;
  return `${date} ${time}${fraction.slice(0, 7)}${offset}`;
}

function yearOf(digits: string): string {
  return digits.length === 2 ? String(fullYear(Number(digits))) : digits;
}
