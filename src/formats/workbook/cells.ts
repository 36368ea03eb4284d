import type { Shown } from './number-format.ts';
import { spanText, timestampText, timeText } from './timestamps.ts';

/** A number as the person sees it: dates, times and codes by their format; null where Excel shows nothing but `####`. */
export function shownText(text: string, shown: Shown, epoch1904: boolean): string | null {
  if (shown.kind === 'number') return numberText(text);
  const value = Number(text);
  if (!Number.isFinite(value)) return null;
  switch (shown.kind) {
    case 'date':
    case 'datetime':
      return timestampText(value, shown.kind, epoch1904);
    case 'time':
      return timeText(value);
    case 'span':
      return spanText(value);
    case 'code':
      return Number.isSafeInteger(Math.round(value)) ? codeText(value, shown.pattern, shown.digits) : numberText(text);
  }
}

/**
 * A number as a workbook stores it, as Excel shows it: 15 significant digits, which leaves out what binary fractions
 * add (0.1 + 0.2 is stored as 0.30000000000000004). Whole numbers keep all digits that other programs wrote.
 */
export function numberText(text: string): string | null {
  const trimmed = text.trim();
  if (/^-?\d+$/.test(trimmed)) return trimmed.replace(/^(-?)0+(?=\d)/, '$1');
  const value = Number(trimmed);
  if (trimmed === '' || !Number.isFinite(value)) return null;
  return String(Number(value.toPrecision(15)));
}

/** Digits into a pattern whose `#` stand for one each, zeros in front; more digits go where the first one does. */
function codeText(value: number, pattern: string, digits: number): string {
  const all = Math.round(Math.abs(value)).toFixed(0).padStart(digits, '0');
  let at = all.length - digits;
  let text = '';
  for (const sign of pattern) text += sign === '#' ? all[at++] : sign;
  const first = pattern.indexOf('#');
  return `${value < 0 ? '-' : ''}${text.slice(0, first)}${all.slice(0, all.length - digits)}${text.slice(first)}`;
}

/** The column's number, from 0, that a reference such as `AB12` begins with, and -1 for none; read from bytes. */
export function columnAt(bytes: Uint8Array, start: number, end: number): number {
  let column = 0;
  for (let at = start; at < end; at++) {
    const letter = ((bytes[at] as number) | 32) - 96;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column - 1;
}

/** A whole number of digits alone, or -1. */
export function integerAt(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end || end - start > 10) return -1;
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - 48;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

/** `_x000D_` stands for a character that XML cannot hold. NUL, which no text can, is left out. */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text
    .replace(/_x([0-9a-f]{4})_/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\0', '')
    .toWellFormed();
}
