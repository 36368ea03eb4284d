import { COMMA_DECIMAL, COMMA_GROUPS, DECIMALS, DOT_GROUPS, INTEGER, ONE_ZERO, POINT_DECIMAL } from './forms.ts';

const POINT_SIGN = 46;
const COMMA_SIGN = 44;
/** The number of digits, and the exponent, that Postgres's NUMERIC is sure to hold; a longer value is text. */
const MAX_LENGTH = 1000;
const MAX_INT64 = [...'9223372036854775807'].map((digit) => digit.charCodeAt(0));

export const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 48 && byte <= 57;

/** Whether the digits from `from` to `end` (without leading zero) fit in 64 bits. */
function fits64(bytes: Uint8Array, from: number, end: number, negative: boolean): boolean {
  const length = end - from;
  if (length !== 19) return length < 19;
  for (let index = 0; index < 19; index++) {
    const digit = bytes[from + index] as number;
    const most = (MAX_INT64[index] as number) + (negative && index === 18 ? 1 : 0);
    if (digit !== most) return digit < most;
  }
  return true;
}

/** The end of the run of digits that starts at `at`. */
function digitsEnd(bytes: Uint8Array, at: number, end: number): number {
  let index = at;
  while (index < end && isDigit(bytes[index])) index++;
  return index;
}

/** Whether the bytes from `at` to `end` are exactly `e[+-]digits`, of a size that NUMERIC holds. */
function isExponent(bytes: Uint8Array, at: number, end: number): boolean {
  if (((bytes[at] as number) | 32) !== 101) return false;
  let index = at + 1;
  if (bytes[index] === 43 || bytes[index] === 45) index++;
  return index < end && end - index <= 3 && digitsEnd(bytes, index, end) === end;
}

const CAPITAL_E = 69;

/** Whether the number is written as codes of products are: digits, `E`, digits (`32E4`). */
export function isCode(bytes: Uint8Array, start: number, end: number): boolean {
  const letter = digitsEnd(bytes, start, end);
  return letter > start && letter < end - 1 && bytes[letter] === CAPITAL_E && digitsEnd(bytes, letter + 1, end) === end;
}

const TELEPHONE_DIGITS = 8;

/** Whether the number between `start` and `end` is a plus sign and as many digits as telephone numbers have. */
export const isTelephone = (bytes: Uint8Array, start: number, end: number): boolean =>
  bytes[start] === 43 && end - start > TELEPHONE_DIGITS && digitsEnd(bytes, start + 1, end) === end;

/** Reads groups of three digits after the first separator, then optionally the other separator and decimals. */
function groupedForms(bytes: Uint8Array, at: number, end: number, separator: number): number {
  let index = at;
  while (index < end && bytes[index] === separator) {
    const next = digitsEnd(bytes, index + 1, end);
    if (next - index !== 4) return 0;
    index = next;
  }
  const other = separator === POINT_SIGN ? COMMA_SIGN : POINT_SIGN;
  if (index < end && (bytes[index] !== other || digitsEnd(bytes, index + 1, end) !== end)) return 0;
  return separator === POINT_SIGN ? DOT_GROUPS : COMMA_GROUPS;
}

/** The number forms of a trimmed value, 0 for none. A zero before another digit makes it a code, which keeps it. */
export function numberForms(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > MAX_LENGTH) return 0;
  let from = start;
  const sign = bytes[start];
  if (sign === 43 || sign === 45) from++;
  const whole = digitsEnd(bytes, from, end);
  const count = whole - from;
  const leadingZero = bytes[from] === 48;
  if (count > 1 && leadingZero) return 0;
  if (whole === end) {
    if (count === 0) return 0;
    let forms = DECIMALS;
    if (count < 19 || fits64(bytes, from, end, sign === 45)) forms |= INTEGER;
    if (end - start === 1 && (bytes[start] === 48 || bytes[start] === 49)) forms |= ONE_ZERO;
    return forms;
  }
  const separator = bytes[whole] as number;
  if (separator !== POINT_SIGN && separator !== COMMA_SIGN) {
    return count > 0 && isExponent(bytes, whole, end) ? POINT_DECIMAL | COMMA_DECIMAL : 0;
  }
  const fraction = digitsEnd(bytes, whole + 1, end);
  const decimals = fraction - whole - 1;
  if (count + decimals === 0) return 0;
  const groupShape = count >= 1 && count <= 3 && decimals === 3 && !leadingZero;
  if (fraction === end) {
    if (separator === POINT_SIGN) return POINT_DECIMAL | COMMA_GROUPS | (groupShape ? DOT_GROUPS : 0);
    return COMMA_DECIMAL | DOT_GROUPS | (groupShape ? COMMA_GROUPS : 0);
  }
  if (isExponent(bytes, fraction, end)) return separator === POINT_SIGN ? POINT_DECIMAL : COMMA_DECIMAL;
  return groupShape ? groupedForms(bytes, whole, end, separator) : 0;
}
