import { MISFIT } from './conversion.ts';
import { COMMA_DECIMAL, DECIMALS, DOT_GROUPS, INTEGER, POINT_DECIMAL } from './forms.ts';
import { findNumberForms, isDigit } from './numbers.ts';

const POINT = 46;
const COMMA = 44;

/** Copies a number without plus sign and leading zeros; only inference keeps the zeros of codes such as `007`. */
function copyNumber(out: Uint8Array, at: number, bytes: Uint8Array, from: number, to: number): number {
  let index = from;
  let nextOffset = at;
  const sign = bytes[index];
  if (sign === 43 || sign === 45) index++;
  if (sign === 45) out[nextOffset++] = 45;
  while (bytes[index] === 48 && index + 1 < to && isDigit(bytes[index + 1])) index++;
  // After a plus, a second sign would be read as the number's sign.
  if (bytes[index] === 43 || bytes[index] === 45) return MISFIT;
  while (index < to) out[nextOffset++] = bytes[index++] as number;
  return nextOffset;
}

/** Writes a decimal of one form with a decimal point and without groups, or returns `MISFIT`. */
export function writeDecimal(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  form: number,
): number {
  const end = copyNumber(out, at, bytes, from, to);
  if (end === MISFIT || (findNumberForms(out, at, end) & DECIMALS & form) === 0) return MISFIT;
  if (form === POINT_DECIMAL) return end;
  const group = form === COMMA_DECIMAL ? 0 : form === DOT_GROUPS ? POINT : COMMA;
  let nextOffset = at;
  for (let index = at; index < end; index++) {
    const byte = out[index] as number;
    if (byte !== group) out[nextOffset++] = byte === COMMA ? POINT : byte;
  }
  return nextOffset;
}

/** Writes an integer, also one in the form of a decimal (`5.00`, `1.234` grouped), or returns `MISFIT`. */
export function writeInteger(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  form: number,
): number {
  const copiedEnd = copyNumber(out, at, bytes, from, to);
  if (copiedEnd === MISFIT || (findNumberForms(out, at, copiedEnd) & INTEGER) !== 0) return copiedEnd;
  let end = writeDecimal(out, at, bytes, from, to, form);
  if (end === MISFIT) return MISFIT;
  let pointOffset = at;
  while (pointOffset < end && out[pointOffset] !== POINT) pointOffset++;
  if (pointOffset < end) {
    for (let index = pointOffset + 1; index < end; index++) if (out[index] !== 48) return MISFIT;
    end = pointOffset;
  }
  return (findNumberForms(out, at, end) & INTEGER) === 0 ? MISFIT : end;
}
