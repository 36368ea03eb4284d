import type { NumberFormat } from './number-format.ts';
import { formatDuration, formatTime, formatTimestamp } from './timestamps.ts';

/** Formats a number as Excel displays it; `####` stays a number. Null for a text that is no number. */
export const formatNumber = (text: string, format: NumberFormat, usesEpoch1904: boolean): string | null =>
  formatByKind(text, format, usesEpoch1904) ?? formatPlainNumber(text);

function formatByKind(text: string, format: NumberFormat, usesEpoch1904: boolean): string | null {
  const value = Number(text);
  if (format.kind === 'number' || !Number.isFinite(value)) return null;
  switch (format.kind) {
    case 'date':
    case 'datetime':
      return formatTimestamp(value, format.kind, usesEpoch1904);
    case 'time':
      return formatTime(value);
    case 'span':
      return formatDuration(value);
    case 'code':
      return Number.isSafeInteger(Math.round(value)) ? fillPattern(value, format.pattern, format.digitCount) : null;
  }
}

/**
 * Formats a number as Excel displays it, with 15 digits, so that the rounding error of 0.1 + 0.2 is dropped. Integers
 * stay as written, without leading zeros or the sign of zero.
 */
export function formatPlainNumber(text: string): string | null {
  const trimmedText = text.trim();
  if (/^-?\d+$/.test(trimmedText)) return trimmedText.replace(/^(-?)0+(?=\d)/, '$1').replace(/^-0$/, '0');
  const value = Number(trimmedText);
  if (trimmedText === '' || !Number.isFinite(value)) return null;
  return String(Number(value.toPrecision(15)));
}

/** Fills digits into a pattern, one for each `#`, with zeros in front; surplus digits precede the first `#`. */
function fillPattern(value: number, pattern: string, digits: number): string {
  const allDigits = Math.round(Math.abs(value)).toFixed(0).padStart(digits, '0');
  let at = allDigits.length - digits;
  let text = '';
  for (const character of pattern) text += character === '#' ? allDigits[at++] : character;
  const firstDigitIndex = pattern.indexOf('#');
  return `${value < 0 ? '-' : ''}${text.slice(0, firstDigitIndex)}${allDigits.slice(0, allDigits.length - digits)}${text.slice(firstDigitIndex)}`;
}

/** Reads the column number, from 0, of a reference such as `AB12`; -1 if it begins with no column. */
export function readColumn(bytes: Uint8Array, start: number, end: number): number {
  let column = 0;
  for (let at = start; at < end; at++) {
    const letter = ((bytes[at] as number) | 32) - 96;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column - 1;
}

/** Parses digits as an integer; -1 for anything else. */
export function parseInteger(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end || end - start > 10) return -1;
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - 48;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

/** Decodes `_x000D_`, which stands for a character that XML cannot hold, and drops NUL, which text cannot hold. */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text
    .replace(/_x([0-9a-f]{4})_/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\0', '')
    .toWellFormed();
}
