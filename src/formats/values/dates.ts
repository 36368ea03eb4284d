import { isCalendarDay } from '../../kernel/calendar.ts';
import {
  HAS_EDGE_YEAR,
  HAS_FRACTION,
  HAS_OFFSET,
  HAS_SECONDS,
  HAS_STRICT_TIME,
  HAS_TIME,
  makeDateForm,
} from './forms.ts';

/** Expands a year of two digits: 70 to 99 are in the 1900s (as in Postgres and POSIX). */
export const expandYear = (twoDigits: number): number => (twoDigits < 70 ? 2000 + twoDigits : 1900 + twoDigits);

/** Traits (`HAS_…`) of the value that {@link findDateForms} received last. */
export let dateTraits = 0;
/** First number (year, month or day, as written) of the date that {@link findDateForms} found last. */
export let firstDateNumber = 0;
/** Second number (year, month or day, as written) of the date that {@link findDateForms} found last. */
export let secondDateNumber = 0;
/** Third number (year, month or day, as written) of the date that {@link findDateForms} found last. */
export let thirdDateNumber = 0;
/** Offset at which the date that {@link findDateForms} found last ends, and its time may begin. */
export let dateEnd = 0;

function readDigit(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return -1;
  const value = (bytes[at] as number) - 48;
  return value >= 0 && value <= 9 ? value : -1;
}

/** Reads two digits at `at`, or returns -1. */
function readTwoDigits(bytes: Uint8Array, at: number, end: number): number {
  const tensDigit = readDigit(bytes, at, end);
  const onesDigit = readDigit(bytes, at + 1, end);
  return tensDigit < 0 || onesDigit < 0 ? -1 : tensDigit * 10 + onesDigit;
}

/** Minutes since midnight of the time that {@link readTimeTraits} read, in UTC if it has an offset. */
let minutesOfDay = 0;

/** Returns true if the bytes from `at` to `end` are exactly `UTC`. */
const isUtc = (bytes: Uint8Array, at: number, end: number): boolean =>
  at + 3 === end && bytes[at] === 85 && bytes[at + 1] === 84 && bytes[at + 2] === 67;

/** Returns true if the bytes from `at` to `end` are exactly an offset (`Z`, `±hh`, `±hhmm`, `±hh:mm`). */
function isOffset(bytes: Uint8Array, at: number, end: number): boolean {
  const sign = bytes[at] as number;
  if (sign === 90 || sign === 122) return at + 1 === end;
  if (sign !== 43 && sign !== 45) return false;
  const hours = readTwoDigits(bytes, at + 1, end);
  if (hours < 0 || hours > 15) return false;
  const minutesAt = bytes[at + 3] === 58 ? at + 4 : at + 3;
  const minutes = at + 3 === end ? 0 : readTwoDigits(bytes, minutesAt, end);
  if (minutes < 0 || minutes > 59 || (at + 3 !== end && minutesAt + 2 !== end)) return false;
  minutesOfDay += (sign === 45 ? 1 : -1) * (hours * 60 + minutes);
  return true;
}

/** Number of fraction digits of a second that Postgres keeps; further ones must be zeros, up to `MAX_FRACTION_DIGITS`. */
const FRACTION_DIGITS = 6;
const MAX_FRACTION_DIGITS = 60;

/** Finds the end of the fraction's digits from `at` on; -1 if there are none, or more than can be kept. */
function findFractionEnd(bytes: Uint8Array, at: number, end: number): number {
  let index = at;
  for (let digit = readDigit(bytes, index, end); digit >= 0; digit = readDigit(bytes, index, end)) {
    if (digit > 0 && index - at >= FRACTION_DIGITS) return -1;
    index++;
  }
  return index > at && index - at <= MAX_FRACTION_DIGITS ? index : -1;
}

/** Reads `hh:mm[:ss[.f]][offset| UTC]` from `at` to `end` and returns its traits (`HAS_…`), or 0 if it is not a time. */
function readTimeTraits(bytes: Uint8Array, at: number, end: number): number {
  const hours = readTwoDigits(bytes, at, end);
  const minutes = bytes[at + 2] === 58 ? readTwoDigits(bytes, at + 3, end) : -1;
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return 0;
  minutesOfDay = hours * 60 + minutes;
  let traitMask = HAS_TIME;
  let index = at + 5;
  if (index < end && bytes[index] === 58) {
    const seconds = readTwoDigits(bytes, index + 1, end);
    if (seconds < 0 || seconds > 59) return 0;
    traitMask |= HAS_SECONDS;
    index += 3;
    if (index < end && bytes[index] === 46) {
      index = findFractionEnd(bytes, index + 1, end);
      if (index < 0) return 0;
      traitMask |= HAS_FRACTION;
    }
  }
  if (index === end) return traitMask;
  if (bytes[index] === 32) {
    index++;
    if (isUtc(bytes, index, end)) return traitMask | HAS_OFFSET;
  }
  return index < end && isOffset(bytes, index, end) ? traitMask | HAS_OFFSET : 0;
}

/** Number of digits that {@link readNumberAt} read. */
let digitCount = 0;

/** Reads the number of up to four digits at `at`; sets {@link digitCount} to their count, 0 for none or more than four. */
function readNumberAt(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  digitCount = 0;
  for (let digit = readDigit(bytes, at, end); digit >= 0; digit = readDigit(bytes, at + digitCount, end)) {
    value = value * 10 + digit;
    if (++digitCount > 4) {
      digitCount = 0;
      return 0;
    }
  }
  return value;
}

const FIRST_YEAR = 1;
const LAST_YEAR = 9999;

/** Returns true if the timestamp `minutes` after midnight of its day in UTC lies before year 1 or after year 9999. */
function isOutOfRange(year: number, firstNumber: number, secondNumber: number, minutes: number): boolean {
  if (year === FIRST_YEAR) return firstNumber === 1 && secondNumber === 1 && minutes < 0;
  return firstNumber * secondNumber === 12 * 31 && minutes >= 24 * 60;
}

/**
 * Returns the date forms of the trimmed value between `start` and `end`, with or without a time; 0 if it is not a date.
 * Every reading that the calendar allows is a form: `01/02/2020` is day first and month first. A timestamp has none if
 * its offset moves it out of the years 1 to 9999, or if it is finer than a microsecond.
 */
export function findDateForms(bytes: Uint8Array, start: number, end: number): number {
  dateTraits = 0;
  const firstNumber = readNumberAt(bytes, start, end);
  firstDateNumber = firstNumber;
  const firstDigitCount = digitCount;
  const separatorAt = start + digitCount;
  const separator = bytes[separatorAt] as number;
  const separatorIndex = separator === 45 ? 0 : separator === 47 ? 1 : separator === 46 ? 2 : -1;
  if (firstDigitCount === 0 || firstDigitCount === 3 || separatorIndex < 0 || separatorAt >= end) return 0;
  const secondNumber = readNumberAt(bytes, separatorAt + 1, end);
  const secondSeparatorAt = separatorAt + 1 + digitCount;
  if (digitCount === 0 || digitCount > 2 || secondSeparatorAt >= end || bytes[secondSeparatorAt] !== separator)
    return 0;
  const thirdNumber = readNumberAt(bytes, secondSeparatorAt + 1, end);
  const at = secondSeparatorAt + 1 + digitCount;
  secondDateNumber = secondNumber;
  thirdDateNumber = thirdNumber;
  dateEnd = at;
  let formMask = 0;
  let year = firstNumber;
  if (firstDigitCount === 4) {
    if ((digitCount === 1 || digitCount === 2) && isCalendarDay(firstNumber, secondNumber, thirdNumber))
      formMask = makeDateForm(0, separatorIndex);
  } else if (digitCount === 4 || digitCount === 2) {
    year = digitCount === 4 ? thirdNumber : expandYear(thirdNumber);
    const yearFormOffset = digitCount === 4 ? 0 : 2;
    if (isCalendarDay(year, secondNumber, firstNumber)) formMask |= makeDateForm(1 + yearFormOffset, separatorIndex);
    if (isCalendarDay(year, firstNumber, secondNumber)) formMask |= makeDateForm(2 + yearFormOffset, separatorIndex);
  }
  const edgeTrait = year === FIRST_YEAR || year === LAST_YEAR ? HAS_EDGE_YEAR : 0;
  dateTraits = edgeTrait;
  if (formMask === 0 || at === end) return formMask;
  const separatorByte = bytes[at] as number;
  if (separatorByte !== 32 && separatorByte !== 84 && separatorByte !== 116) return 0;
  const foundTraits = readTimeTraits(bytes, at + 1, end);
  if (foundTraits === 0) return 0;
  if (
    edgeTrait !== 0 &&
    isOutOfRange(year, firstDigitCount === 4 ? thirdNumber : firstNumber, secondNumber, minutesOfDay)
  )
    return 0;
  dateTraits = (separatorByte === 32 ? foundTraits : foundTraits | HAS_STRICT_TIME) | edgeTrait;
  return formMask;
}
