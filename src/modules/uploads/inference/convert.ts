import { toJsonValue } from '../../../tenant-sql/values.ts';
import { CONVERSION_ROOM, type Conversion, MISFIT, NULL, type ZoneEdges } from './conversion.ts';
import { decoderOf } from './encoding.ts';
import { formOf } from './forms.ts';
import { writeMoment } from './moments.ts';
import type { ColumnFormats, ColumnType, RowValue } from './schema.ts';
import { booleanAt, type Decode, isSpace } from './types.ts';
import { writeDecimal, writeInteger } from './write-numbers.ts';

/** The conversion to a type by the formats of a column. */
export function conversionTo(
  type: Conversion['type'],
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
  zone: ZoneEdges | null = null,
): Conversion {
  return { type, decimal: formOf(formats.decimal), date: formOf(formats.date), zone };
}

const encoder = new TextEncoder();

/**
 * Writes the value between `start` and `end` to `out` at `at`, as the text that Postgres reads for the type whatever its
 * `DateStyle`. Empty and spaces alone are null. A datetime without an offset stays without one: it is a moment of the
 * session's `TimeZone`. `out` has {@link CONVERSION_ROOM} bytes beyond the value's length.
 * @returns where the text ends, {@link NULL} or {@link MISFIT}
 */
export function convert(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  conversion: Conversion,
  decode: Decode,
): number {
  let from = start;
  let to = end;
  while (from < to && isSpace(bytes[from] as number)) from++;
  if (from === to) return NULL;
  while (isSpace(bytes[to - 1] as number)) to--;
  if ((bytes[from] as number) >= 128 || (bytes[to - 1] as number) >= 128) {
    const value = decode(bytes, from, to);
    const trimmed = value.trim();
    if (trimmed === '') return NULL;
    if (trimmed === value) return MISFIT;
    const inner = encoder.encode(trimmed);
    return convert(out, at, inner, 0, inner.length, conversion, decoderOf('utf-8'));
  }
  switch (conversion.type) {
    case 'boolean':
      return writeBoolean(out, at, bytes, from, to, decode);
    case 'integer':
      return writeInteger(out, at, bytes, from, to, conversion.decimal);
    case 'decimal':
      return writeDecimal(out, at, bytes, from, to, conversion.decimal);
    default:
      return writeMoment(out, at, bytes, from, to, conversion);
  }
}

function writeBoolean(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: Decode,
): number {
  const digit = to - from === 1 ? (bytes[from] as number) - 48 : -1;
  const says = digit === 0 || digit === 1 ? digit === 1 : booleanAt(bytes, from, to, decode)?.[1];
  if (says === undefined) return MISFIT;
  return at + encoder.encodeInto(says ? 'true' : 'false', out.subarray(at)).written;
}

const ascii = new TextDecoder();

/** The value, of which the end may be cut off, as a row's JSON shows it; null also where it does not fit. A datetime without an offset is UTC here. */
export function sampleValue(
  value: string,
  type: ColumnType,
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
): RowValue {
  if (value === '' || type === 'text') return value === '' ? null : value;
  const bytes = encoder.encode(value);
  const out = new Uint8Array(bytes.length + CONVERSION_ROOM);
  const end = convert(out, 0, bytes, 0, bytes.length, conversionTo(type, formats), decoderOf('utf-8'));
  // What is too long to be shown whole is no value of its type any more.
  if (end < 0) return end === MISFIT && value.endsWith('…') ? value : null;
  const text = ascii.decode(out.subarray(0, end));
  return toJsonValue(type, type === 'boolean' ? text === 'true' : text);
}
