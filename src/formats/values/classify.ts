import type { Decode } from '../text/decode.ts';
import { findBooleanAt } from './booleans.ts';
import { dateTraits, findDateForms } from './dates.ts';
import { BLANK_FORM, HAS_FALSE, HAS_TRUE, HAS_WIDE_SPACE, TELEPHONE } from './forms.ts';
import { findNumberForms, isDigit, isProductCode, isTelephone } from './numbers.ts';

/** Traits (`HAS_…`) of the value that {@link classifyValue} received last. */
export let valueTraits = 0;

function findWordForms(bytes: Uint8Array, from: number, to: number, decode: Decode): number {
  const foundWord = findBooleanAt(bytes, from, to, decode);
  if (foundWord === undefined) return 0;
  valueTraits |= foundWord[1] ? HAS_TRUE : HAS_FALSE;
  return foundWord[0];
}

/**
 * Returns the forms in which the value between `start` and `end` can be read (forms.ts): 0 for text, {@link BLANK_FORM} for
 * spaces alone. Sets {@link valueTraits}. Works on bytes: making strings of a million rows costs more than all the rest.
 */
export function classifyValue(bytes: Uint8Array, start: number, end: number, decode: Decode): number {
  valueTraits = 0;
  let from = start;
  let to = end;
  while (from < to && isSpace(bytes[from] as number)) from++;
  if (from === to) return BLANK_FORM;
  while (isSpace(bytes[to - 1] as number)) to--;
  const firstByte = bytes[from] as number;
  if (firstByte >= 128 || (bytes[to - 1] as number) >= 128) return classifyWideText(bytes, from, to, decode);
  if (firstByte >= 48 && firstByte <= 57) {
    const number = findNumberForms(bytes, from, to);
    if (number !== 0) return isDigit(bytes[to - 1]) && isProductCode(bytes, from, to) ? 0 : number;
    const date = findDateForms(bytes, from, to);
    if (date !== 0) valueTraits = dateTraits;
    return date;
  }
  if (firstByte >= 43 && firstByte <= 46) {
    const number = findNumberForms(bytes, from, to);
    return number !== 0 && isTelephone(bytes, from, to) ? number | TELEPHONE : number;
  }
  return findWordForms(bytes, from, to, decode);
}

/**
 * Classifies a value that begins or ends with a character beyond ASCII. No form has such an end: the value is a text, unless
 * Unicode's spaces surround a value of a form.
 */
function classifyWideText(bytes: Uint8Array, from: number, to: number, decode: Decode): number {
  if (to - from > 128) return 0;
  const value = decode(bytes, from, to);
  const trimmedText = value.trim();
  if (trimmedText.length === value.length) return 0;
  const formMask = classifyString(trimmedText);
  valueTraits |= HAS_WIDE_SPACE;
  return formMask;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Classifies a string, as {@link classifyValue} does bytes. */
function classifyString(value: string): number {
  const bytes = encoder.encode(value);
  return classifyValue(bytes, 0, bytes.length, (piece, start, end) => decoder.decode(piece.subarray(start, end)));
}

/** Returns true if there are only spaces between `start` and `end`, so that {@link classifyValue} returns {@link BLANK_FORM}. */
export function isBlank(bytes: Uint8Array, start: number, end: number, decode: Decode): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= 128) return classifyValue(bytes, start, end, decode) === BLANK_FORM;
    if (!isSpace(byte)) return false;
  }
  return true;
}

/** Returns true if a byte is a space that Postgres, too, skips around numbers and dates. */
export const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);
