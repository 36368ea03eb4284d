import { COMMA_DECIMAL, COMMA_GROUPS, DECIMALS, DOT_GROUPS, INTEGER, ONE_ZERO, POINT_DECIMAL } from './forms.ts';

const POINT_SIGN = 46;
const COMMA_SIGN = 44;
/** Maximum number of digits, and maximum exponent, that Postgres's NUMERIC is sure to hold; a longer value is text. */
const MAX_NUMERIC_LENGTH = 1000;
const MAX_INT64_DIGITS = [...'9223372036854775807'].map((digit) => digit.charCodeAt(0));

export const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 48 && byte <= 57;

/** Returns true if the digits from `from` to `end` (without leading zero) fit in 64 bits. */
function fitsInt64(bytes: Uint8Array, from: number, end: number, isNegative: boolean): boolean {
  const length = end - from;
  if (length !== 19) return length < 19;
  for (let index = 0; index < 19; index++) {
    const digit = bytes[from + index] as number;
    const maxDigit = (MAX_INT64_DIGITS[index] as number) + (isNegative && index === 18 ? 1 : 0);
    if (digit !== maxDigit) return digit < maxDigit;
  }
  return true;
}

/** Finds the end of the run of digits that starts at `at`. */
function findDigitsEnd(bytes: Uint8Array, at: number, end: number): number {
  let index = at;
  while (index < end && isDigit(bytes[index])) index++;
  return index;
}

/** Returns true if the bytes from `at` to `end` are exactly `e[+-]digits`, of a size that NUMERIC holds. */
function isExponent(bytes: Uint8Array, at: number, end: number): boolean {
  if (((bytes[at] as number) | 32) !== 101) return false;
  let index = at + 1;
  if (bytes[index] === 43 || bytes[index] === 45) index++;
  return index < end && end - index <= 3 && findDigitsEnd(bytes, index, end) === end;
}

const CAPITAL_E = 69;

/** Returns true if the number is written like a product code: digits, `E`, digits (`32E4`). */
export function isProductCode(bytes: Uint8Array, start: number, end: number): boolean {
  const letter = findDigitsEnd(bytes, start, end);
  return (
    letter > start && letter < end - 1 && bytes[letter] === CAPITAL_E && findDigitsEnd(bytes, letter + 1, end) === end
  );
}

const MIN_TELEPHONE_DIGITS = 8;

/** Returns true if the number between `start` and `end` is a plus sign and as many digits as telephone numbers have. */
export const isTelephone = (bytes: Uint8Array, start: number, end: number): boolean =>
  bytes[start] === 43 && end - start > MIN_TELEPHONE_DIGITS && findDigitsEnd(bytes, start + 1, end) === end;

/** Reads groups of three digits after the first separator, then optionally the other separator and decimals. */
function findGroupedForms(bytes: Uint8Array, at: number, end: number, separator: number): number {
  let index = at;
  while (index < end && bytes[index] === separator) {
    const groupEnd = findDigitsEnd(bytes, index + 1, end);
    if (groupEnd - index !== 4) return 0;
    index = groupEnd;
  }
  const decimalSeparator = separator === POINT_SIGN ? COMMA_SIGN : POINT_SIGN;
  if (index < end && (bytes[index] !== decimalSeparator || findDigitsEnd(bytes, index + 1, end) !== end)) return 0;
  return separator === POINT_SIGN ? DOT_GROUPS : COMMA_GROUPS;
}

/**
 * Finds the number forms of a trimmed value, 0 for none. A value with a zero before another digit is a code, which
 * keeps the zero.
 */
export function findNumberForms(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > MAX_NUMERIC_LENGTH) return 0;
  let from = start;
  const sign = bytes[start];
  if (sign === 43 || sign === 45) from++;
  const integerEnd = findDigitsEnd(bytes, from, end);
  const count = integerEnd - from;
  const hasLeadingZero = bytes[from] === 48;
  if (count > 1 && hasLeadingZero) return 0;
  if (integerEnd === end) {
    if (count === 0) return 0;
    let formMask = DECIMALS;
    if (count < 19 || fitsInt64(bytes, from, end, sign === 45)) formMask |= INTEGER;
    if (end - start === 1 && (bytes[start] === 48 || bytes[start] === 49)) formMask |= ONE_ZERO;
    return formMask;
  }
  const separator = bytes[integerEnd] as number;
  if (separator !== POINT_SIGN && separator !== COMMA_SIGN) {
    return count > 0 && isExponent(bytes, integerEnd, end) ? POINT_DECIMAL | COMMA_DECIMAL : 0;
  }
  const fractionEnd = findDigitsEnd(bytes, integerEnd + 1, end);
  const decimalCount = fractionEnd - integerEnd - 1;
  if (count + decimalCount === 0) return 0;
  const mayBeGroup = count >= 1 && count <= 3 && decimalCount === 3 && !hasLeadingZero;
  if (fractionEnd === end) {
    if (separator === POINT_SIGN) return POINT_DECIMAL | COMMA_GROUPS | (mayBeGroup ? DOT_GROUPS : 0);
    return COMMA_DECIMAL | DOT_GROUPS | (mayBeGroup ? COMMA_GROUPS : 0);
  }
  if (isExponent(bytes, fractionEnd, end)) return separator === POINT_SIGN ? POINT_DECIMAL : COMMA_DECIMAL;
  return mayBeGroup ? findGroupedForms(bytes, integerEnd, end, separator) : 0;
}
