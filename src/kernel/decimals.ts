/** Returns true if two decimal notations (`-1.50`, `.5`, `1e-7`) mean the same number, digit for digit. */
export const isSameDecimal = (a: string, b: string): boolean => compareDecimals(a, b) === 0;

/** Compares two decimal notations digit for digit, for sorting. */
export function compareDecimals(a: string, b: string): number {
  const [left, right] = [normalizeDecimal(a), normalizeDecimal(b)];
  if (left.sign !== right.sign) return left.sign - right.sign;
  if (left.exponent !== right.exponent) return left.sign * (left.exponent - right.exponent);
  return left.digits === right.digits ? 0 : left.digits < right.digits ? -left.sign : left.sign;
}

/** Parses a decimal notation to `sign 0.digits × 10^exponent`, without zeros at either end of the digits. */
function normalizeDecimal(text: string): { sign: -1 | 0 | 1; digits: string; exponent: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^[+-]/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const allDigits = whole + fraction;
  const leadingZeros = allDigits.length - allDigits.replace(/^0+/, '').length;
  const digits = trimTrailingZeros(allDigits.slice(leadingZeros));
  if (digits === '') return { sign: 0, digits, exponent: 0 };
  return { sign: text.startsWith('-') ? -1 : 1, digits, exponent: whole.length - leadingZeros + Number(exponent) };
}

function trimTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
