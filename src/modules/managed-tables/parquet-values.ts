import type { ParquetType, ParquetValue } from '../../formats/parquet/write.ts';
import { DAY_MS } from '../../kernel/clock.ts';

/** Converts Postgres's text, from a session in UTC, to the value for a Parquet file. */
export function toParquetValue(type: ParquetType, rawValue: string | boolean | null): ParquetValue {
  if (typeof rawValue !== 'string' || type === 'text') return rawValue;
  if (typeof type === 'object') return toUnscaledInteger(rawValue, type.scale);
  if (type === 'integer') return BigInt(rawValue);
  if (type === 'date') return Date.parse(rawValue) / DAY_MS;
  return type === 'datetime' ? toMicroseconds(rawValue) : rawValue;
}

/** Returns the digits of a decimal as a whole number, `scale` of them after the point; further digits must be zeros. */
function toUnscaledInteger(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(scale, '0').slice(0, scale));
}

const TIMESTAMP_PATTERN = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

function toMicroseconds(text: string): bigint {
  const [, day, time, fraction = ''] = TIMESTAMP_PATTERN.exec(text) ?? [];
  if (day === undefined) throw new Error('a timestamp is not written as expected');
  return BigInt(Date.parse(`${day}T${time}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}
