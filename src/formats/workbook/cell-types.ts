/** Kind of a cell's value: a number. */
export const NUMERIC_CELL = 0;
export const SHARED_TEXT_CELL = 1;
export const BOOLEAN_CELL = 2;
export const TEXT_CELL = 3;
export const ISO_DATE_CELL = 4;
export const ERROR_CELL = 5;

/** Reads the value type of an attribute `t`: `n`, `s`, `b`, `str`, `inlineStr`, `d`, `e`. */
export function readType(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length > 1) return TEXT_CELL;
  switch (bytes[start]) {
    case 115:
      return SHARED_TEXT_CELL;
    case 98:
      return BOOLEAN_CELL;
    case 100:
      return ISO_DATE_CELL;
    case 101:
      return ERROR_CELL;
    default:
      return NUMERIC_CELL;
  }
}

/**
 * Finds the end of a number that is displayed as it is stored, without zeros at the end of a fraction: some programs write
 * `5.0` for 5. The number has up to 15 digits, perhaps with a point among them. Returns -1 for any other number.
 */
export function findPlainEnd(bytes: Uint8Array, start: number, end: number): number {
  const from = bytes[start] === 45 ? start + 1 : start;
  if (end - from > 15 || end === from || bytes[from] === 46) return -1;
  let point = -1;
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === 46 && point < 0) point = at;
    else if (byte < 48 || byte > 57) return -1;
  }
  let plainEnd = end;
  if (point >= 0) while (bytes[plainEnd - 1] === 48) plainEnd--;
  if (point === plainEnd - 1) plainEnd--;
  // `007` would be a code, and zero has no sign.
  const isPlain = bytes[from] !== 48 || (plainEnd - from === 1 ? from === start : bytes[from + 1] === 46);
  return isPlain ? plainEnd : -1;
}

/** Writes the value of a boolean cell as `true` or `false`; null for a text that is neither. Some programs write `TRUE`. */
export function normalizeBoolean(text: string): 'true' | 'false' | null {
  const word = text.trim().toLowerCase();
  if (word === '1' || word === 'true') return 'true';
  return word === '0' || word === 'false' ? 'false' : null;
}

/**
 * Writes `2024-01-31T00:00:00.000Z` like the other dates; null for a text that is not a date or time, or has more than six
 * significant digits of a fraction.
 */
export function normalizeIsoText(text: string, isDay: boolean): string | null {
  const matchedParts = /^(?:(\d{4}-\d\d-\d\d)T?)?(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?((?<=\.\d{6})\d+)?Z?$/.exec(
    text.trim(),
  );
  const [, day, time, furtherDigits = ''] = matchedParts ?? [];
  if (day !== undefined && (isDay || time === undefined)) return day;
  if (time === undefined || /[1-9]/.test(furtherDigits)) return null;
  return day === undefined ? time : `${day}T${time.replace(/\.0+$/, '')}`;
}
