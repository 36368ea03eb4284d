import { createDecoder } from '../../../formats/text/decode.ts';
import { CONVERSION_ROOM, type Conversion, MISFIT, type ZoneEdges } from '../../../formats/values/conversion.ts';
import { convert } from '../../../formats/values/convert.ts';
import { parseForm } from '../../../formats/values/forms.ts';
import { toJsonValue } from '../../../tenant-sql/values.ts';
import type { ColumnFormats, ColumnType, RowValue } from './schema.ts';

export function makeConversion(
  type: Conversion['type'],
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
  zone: ZoneEdges | null = null,
): Conversion {
  return { type, decimal: parseForm(formats.decimal), date: parseForm(formats.date), zone };
}

const encoder = new TextEncoder();
const ascii = new TextDecoder();

/**
 * Converts a value, whose end may be cut off, as a row's JSON holds it; null also if it does not fit. A datetime
 * without an offset is UTC here.
 */
export function toSampleValue(
  value: string,
  type: ColumnType,
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
): RowValue {
  if (value === '' || type === 'text') return value === '' ? null : value;
  const bytes = encoder.encode(value);
  const out = new Uint8Array(bytes.length + CONVERSION_ROOM);
  const end = convert(out, 0, bytes, 0, bytes.length, makeConversion(type, formats), createDecoder('utf-8'));
  // A value that was cut no longer fits its type.
  if (end < 0) return end === MISFIT && value.endsWith('…') ? value : null;
  const text = ascii.decode(out.subarray(0, end));
  return toJsonValue(type, type === 'boolean' ? text === 'true' : text);
}
