import { createDecoder } from '../../../formats/text/decode.ts';
import { type Conversion, MAX_EXTRA_BYTES, MISFIT_RESULT, type ZoneEdges } from '../../../formats/values/conversion.ts';
import { convertValue } from '../../../formats/values/convert.ts';
import { parseForm } from '../../../formats/values/forms.ts';
import { toJsonValue } from '../../../tenant-sql/values.ts';
import type { ColumnFormats, ColumnType, RowValue } from './schema.ts';

export function makeConversion(
  type: Conversion['type'],
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
  zone: ZoneEdges | null = null,
): Conversion {
  return { type, decimalForms: parseForm(formats.decimal), dateForms: parseForm(formats.date), zone };
}

const encoder = new TextEncoder();
const asciiDecoder = new TextDecoder();

/**
 * Converts a value, whose end may be cut off, to its form in a row's JSON; null also if it does not fit. A datetime without an
 * offset is read as UTC.
 */
export function toSampleValue(
  value: string,
  type: ColumnType,
  formats: Pick<ColumnFormats, 'decimal' | 'date'>,
): RowValue {
  if (value === '' || type === 'text') return value === '' ? null : value;
  const bytes = encoder.encode(value);
  const output = new Uint8Array(bytes.length + MAX_EXTRA_BYTES);
  const end = convertValue(output, 0, bytes, 0, bytes.length, makeConversion(type, formats), createDecoder('utf-8'));
  // A value that was cut no longer fits its type.
  if (end < 0) return end === MISFIT_RESULT && value.endsWith('…') ? value : null;
  const text = asciiDecoder.decode(output.subarray(0, end));
  return toJsonValue(type, type === 'boolean' ? text === 'true' : text);
}
