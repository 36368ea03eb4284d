import { type Conversion, MISFIT_RESULT, type ZoneEdges } from './conversion.ts';
import {
  dateEnd,
  dateTraits,
  expandYear,
  findDateForms,
  firstDateNumber,
  secondDateNumber,
  thirdDateNumber,
} from './dates.ts';
import { DMY_DATES, HAS_EDGE_YEAR, HAS_OFFSET, MDY_DATES, YMD_DATES } from './forms.ts';

const SPACE = 32;
const PLUS = 43;
const MINUS = 45;
const COLON = 58;
const POINT_SIGN = 46;

/**
 * Writes a date or timestamp as ISO 8601 for Postgres (`yyyy-mm-dd[ hh:mm:ss[.ffffff][±hh[:mm]]]`), or returns
 * `MISFIT_RESULT`. A date with the year first is unambiguous; otherwise the order of day and month must be the column's. A
 * timestamp without an offset is in the session's zone.
 */
export function writeTimestamp(
  outputBytes: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  { type, dateForms: form, zone }: Conversion,
): number {
  const formMask = findDateForms(bytes, from, to);
  const isEdge = (dateTraits & HAS_EDGE_YEAR) !== 0 && (dateTraits & HAS_OFFSET) === 0;
  const isDayFirst = (form & DMY_DATES) !== 0;
  let nextOffset: number;
  if ((formMask & YMD_DATES) !== 0)
    nextOffset = writeDay(outputBytes, at, firstDateNumber, secondDateNumber, thirdDateNumber);
  else if ((formMask & (isDayFirst ? DMY_DATES : MDY_DATES)) === 0) return MISFIT_RESULT;
  else {
    const year = thirdDateNumber < 100 && isShortYear(bytes) ? expandYear(thirdDateNumber) : thirdDateNumber;
    nextOffset = isDayFirst
      ? writeDay(outputBytes, at, year, secondDateNumber, firstDateNumber)
      : writeDay(outputBytes, at, year, firstDateNumber, secondDateNumber);
  }
  if (type === 'date') return isMidnight(bytes, dateEnd, to) ? nextOffset : MISFIT_RESULT;
  outputBytes[nextOffset++] = SPACE;
  const end = writeTime(outputBytes, nextOffset, bytes, dateEnd, to);
  return isEdge && zone !== null && isOutOfRange(outputBytes, at, zone) ? MISFIT_RESULT : end;
}

/** Returns true if the timestamp at `at`, in the zone's local time, is out of the years 1 to 9999 in UTC. */
function isOutOfRange(
  outputBytes: Uint8Array,
  at: number,
  { firstSecond: first, endSecond: last }: ZoneEdges,
): boolean {
  const readNumber = (from: number, count: number) => {
    let value = 0;
    for (let index = at + from; index < at + from + count; index++)
      value = value * 10 + (outputBytes[index] as number) - 48;
    return value;
  };
  const seconds = readNumber(11, 2) * 3600 + readNumber(14, 2) * 60 + readNumber(17, 2);
  const day = readNumber(5, 2) * 100 + readNumber(8, 2);
  return readNumber(0, 4) === 1 ? day === 101 && seconds < first : day === 1231 && seconds >= last;
}

/** Returns true if the year at the end of the date has two digits: `24`, not `0024`. */
function isShortYear(bytes: Uint8Array): boolean {
  const digitBeforeLastTwo = (bytes[dateEnd - 3] as number) - 48;
  return digitBeforeLastTwo < 0 || digitBeforeLastTwo > 9;
}

function writeDigits(outputBytes: Uint8Array, at: number, value: number, count: number): number {
  let remainingValue = value;
  for (let index = at + count - 1; index >= at; index--) {
    outputBytes[index] = 48 + (remainingValue % 10);
    remainingValue = Math.floor(remainingValue / 10);
  }
  return at + count;
}

function writeDay(outputBytes: Uint8Array, at: number, year: number, month: number, day: number): number {
  let nextOffset = writeDigits(outputBytes, at, year, 4);
  outputBytes[nextOffset++] = 45;
  nextOffset = writeDigits(outputBytes, nextOffset, month, 2);
  outputBytes[nextOffset++] = 45;
  return writeDigits(outputBytes, nextOffset, day, 2);
}

/** Returns true if only zeros and signs follow the date: no time, or midnight without an offset. */
function isMidnight(bytes: Uint8Array, at: number, to: number): boolean {
  for (let index = at + 1; index < to; index++) {
    const byte = bytes[index] as number;
    if (byte !== 48 && byte !== COLON && byte !== POINT_SIGN) return false;
  }
  return true;
}

/** Copies the time that `findDateForms` accepted; a date alone gets midnight, and zeros beyond microseconds are dropped. */
function writeTime(outputBytes: Uint8Array, at: number, bytes: Uint8Array, timeAt: number, to: number): number {
  let nextOffset = at;
  if (timeAt === to) {
    for (const byte of [48, 48, COLON, 48, 48, COLON, 48, 48]) outputBytes[nextOffset++] = byte;
    return nextOffset;
  }
  let index = timeAt + 1;
  for (const stop = index + 5; index < stop; index++) outputBytes[nextOffset++] = bytes[index] as number;
  outputBytes[nextOffset++] = COLON;
  const hasSeconds = index < to && bytes[index] === COLON;
  outputBytes[nextOffset++] = hasSeconds ? (bytes[index + 1] as number) : 48;
  outputBytes[nextOffset++] = hasSeconds ? (bytes[index + 2] as number) : 48;
  if (hasSeconds) index += 3;
  if (index < to && bytes[index] === POINT_SIGN) {
    for (let fractionDigitCount = 0; index < to; fractionDigitCount++, index++) {
      const byte = bytes[index] as number;
      if (fractionDigitCount > 0 && (byte < 48 || byte > 57)) break;
      if (fractionDigitCount <= 6) outputBytes[nextOffset++] = byte;
    }
  }
  if (index < to && bytes[index] === SPACE) index++;
  if (index === to) return nextOffset;
  return writeUtcOffset(outputBytes, nextOffset, bytes, index, to);
}

function writeUtcOffset(outputBytes: Uint8Array, at: number, bytes: Uint8Array, from: number, to: number): number {
  let nextOffset = at;
  const sign = bytes[from] as number;
  if (sign !== PLUS && sign !== MINUS) {
    for (const byte of [43, 48, 48]) outputBytes[nextOffset++] = byte;
    return nextOffset;
  }
  for (let index = from; index < to; index++) {
    if (index === from + 3) outputBytes[nextOffset++] = COLON;
    if (bytes[index] !== COLON) outputBytes[nextOffset++] = bytes[index] as number;
  }
  return nextOffset;
}
