/** Whether two decimal notations (`-1.50`, `.5`, `1e-7`) mean the same number, digit for digit. */
export function sameDecimal(a: string, b: string): boolean {
  const left = normalized(a);
  const right = normalized(b);
  return left.digits === right.digits && left.exponent === right.exponent && left.sign === right.sign;
}

/** `sign 0.digits × 10^exponent`, without zeros at either end of the digits. */
function normalized(text: string): { sign: string; digits: string; exponent: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^[+-]/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = whole + fraction;
  const leading = all.length - all.replace(/^0+/, '').length;
  const digits = trimTrailingZeros(all.slice(leading));
  if (digits === '') return { sign: '', digits, exponent: 0 };
  return { sign: text.startsWith('-') ? '-' : '', digits, exponent: whole.length - leading + Number(exponent) };
}

function trimTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
