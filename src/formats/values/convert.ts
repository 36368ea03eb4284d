import { createDecoder, type Decode } from '../text/decode.ts';
import { findBooleanAt } from './booleans.ts';
import { isSpace } from './classify.ts';
import { type Conversion, MAX_EXTRA_BYTES, MISFIT_RESULT, NULL_RESULT } from './conversion.ts';
import { writeDecimal, writeInteger } from './write-numbers.ts';
import { writeTimestamp } from './write-timestamps.ts';

const encoder = new TextEncoder();

/**
 * Writes the value between `start` and `end` to `outputBytes` at `at`, as text that Postgres reads for the type under any
 * `DateStyle`. Empty values and spaces alone become null. A datetime without an offset stays without one: Postgres reads it in
 * the session's `TimeZone`. From `at` on, `outputBytes` must have {@link MAX_EXTRA_BYTES} bytes more than the value's length.
 * @returns where the text ends, {@link NULL_RESULT} or {@link MISFIT_RESULT}
 */
export function convertValue(
  outputBytes: Uint8Array,
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
  if (from === to) return NULL_RESULT;
  while (isSpace(bytes[to - 1] as number)) to--;
  if ((bytes[from] as number) >= 128 || (bytes[to - 1] as number) >= 128) {
    const value = decode(bytes, from, to);
    const trimmedText = value.trim();
    if (trimmedText === '') return NULL_RESULT;
    if (trimmedText === value) return MISFIT_RESULT;
    const trimmedBytes = encoder.encode(trimmedText);
    return convertValue(outputBytes, at, trimmedBytes, 0, trimmedBytes.length, conversion, createDecoder('utf-8'));
  }
  switch (conversion.type) {
    case 'boolean':
      return writeBoolean(outputBytes, at, bytes, from, to, decode);
    case 'integer':
      return writeInteger(outputBytes, at, bytes, from, to, conversion.decimalForms);
    case 'decimal':
      return writeDecimal(outputBytes, at, bytes, from, to, conversion.decimalForms);
    default:
      return writeTimestamp(outputBytes, at, bytes, from, to, conversion);
  }
}

function writeBoolean(
  outputBytes: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: Decode,
): number {
  const digit = to - from === 1 ? (bytes[from] as number) - 48 : -1;
  const booleanValue = digit === 0 || digit === 1 ? digit === 1 : findBooleanAt(bytes, from, to, decode)?.[1];
  if (booleanValue === undefined) return MISFIT_RESULT;
  return at + encoder.encodeInto(booleanValue ? 'true' : 'false', outputBytes.subarray(at)).written;
}
