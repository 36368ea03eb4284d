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

/** Returns true if a number is displayed as it is stored: up to 15 digits, perhaps with a point among them. */
export function isPlainNumber(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === 45 ? start + 1 : start;
  const from = at;
  if (end - at > 15 || end === at) return false;
  let pointCount = 0;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === 46) pointCount++;
    else if (byte < 48 || byte > 57) return false;
  }
  // `007` would be a code.
  return pointCount < 2 && bytes[end - 1] !== 46 && (bytes[from] !== 48 || end - from === 1 || bytes[from + 1] === 46);
}

/** Writes `2024-01-31T00:00:00.000Z` like the other dates; null for a text that is not a date or time. */
export function normalizeIsoText(text: string, isDay: boolean): string | null {
  const matchedParts = /^(?:(\d{4}-\d\d-\d\d)T?)?(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?\d*Z?$/.exec(text.trim());
  const [, day, time] = matchedParts ?? [];
  if (day === undefined) return time ?? null;
  return isDay || time === undefined ? day : `${day}T${time.replace(/\.0+$/, '')}`;
}
