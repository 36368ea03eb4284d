import { MISFIT_RESULT } from './conversion.ts';
import { COMMA_DECIMAL, DECIMALS, DOT_GROUPS, INTEGER, POINT_DECIMAL } from './forms.ts';
import { findNumberForms, isDigit } from './numbers.ts';

const POINT = 46;
const COMMA = 44;

/**
 * Copies a number without plus sign and leading zeros. Inference reads codes such as `007` as texts, which keep their zeros.
 */
function copyNumber(outputBytes: Uint8Array, at: number, bytes: Uint8Array, from: number, to: number): number {
  let index = from;
  let nextOffset = at;
  const sign = bytes[index];
  if (sign === 43 || sign === 45) index++;
  if (sign === 45) outputBytes[nextOffset++] = 45;
  while (bytes[index] === 48 && index + 1 < to && isDigit(bytes[index + 1])) index++;
  // After a plus, a second sign would be read as the number's sign.
  if (bytes[index] === 43 || bytes[index] === 45) return MISFIT_RESULT;
  while (index < to) outputBytes[nextOffset++] = bytes[index++] as number;
  return nextOffset;
}

/** Writes a decimal of one form with a decimal point and without groups, or returns `MISFIT_RESULT`. */
export function writeDecimal(
  outputBytes: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  formMask: number,
): number {
  const end = copyNumber(outputBytes, at, bytes, from, to);
  if (end === MISFIT_RESULT || (findNumberForms(outputBytes, at, end) & DECIMALS & formMask) === 0)
    return MISFIT_RESULT;
  if (formMask === POINT_DECIMAL) return end;
  const group = formMask === COMMA_DECIMAL ? 0 : formMask === DOT_GROUPS ? POINT : COMMA;
  let nextOffset = at;
  for (let index = at; index < end; index++) {
    const byte = outputBytes[index] as number;
    if (byte !== group) outputBytes[nextOffset++] = byte === COMMA ? POINT : byte;
  }
  return nextOffset;
}

/** Writes an integer, also one in the form of a decimal (`5.00`, `1.234` grouped), or returns `MISFIT_RESULT`. */
export function writeInteger(
  outputBytes: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  formMask: number,
): number {
  const copiedEnd = copyNumber(outputBytes, at, bytes, from, to);
  if (copiedEnd === MISFIT_RESULT || (findNumberForms(outputBytes, at, copiedEnd) & INTEGER) !== 0) return copiedEnd;
  let end = writeDecimal(outputBytes, at, bytes, from, to, formMask);
  if (end === MISFIT_RESULT) return MISFIT_RESULT;
  let pointOffset = at;
  while (pointOffset < end && outputBytes[pointOffset] !== POINT) pointOffset++;
  if (pointOffset < end) {
    for (let index = pointOffset + 1; index < end; index++) if (outputBytes[index] !== 48) return MISFIT_RESULT;
    end = pointOffset;
  }
  return (findNumberForms(outputBytes, at, end) & INTEGER) === 0 ? MISFIT_RESULT : end;
}
