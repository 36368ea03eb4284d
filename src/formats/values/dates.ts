import { isCalendarDay } from '../../kernel/calendar.ts';
import { dateForm, HAS_EDGE, HAS_FRACTION, HAS_OFFSET, HAS_SECONDS, HAS_T, HAS_TIME } from './forms.ts';

/** The year that two digits stand for: 70 to 99 are in the 1900s (as in Postgres and POSIX). */
export const fullYear = (twoDigits: number): number => (twoDigits < 70 ? 2000 + twoDigits : 1900 + twoDigits);

/** The traits (`HAS_…`) of the value last given to {@link dateForms}. */
export let dateTraits = 0;
/** The three numbers of that date, in their order, and the offset at which the date ends. */
export let dateFirst = 0;
export let dateSecond = 0;
export let dateThird = 0;
export let dateEnd = 0;

function digit(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return -1;
  const value = (bytes[at] as number) - 48;
  return value >= 0 && value <= 9 ? value : -1;
}

/** Two digits at `at`, or -1. */
function twoDigits(bytes: Uint8Array, at: number, end: number): number {
  const high = digit(bytes, at, end);
  const low = digit(bytes, at + 1, end);
  return high < 0 || low < 0 ? -1 : high * 10 + low;
}

/** Minutes since midnight of the time that {@link timeTraits} read, in UTC if it has an offset. */
let minutesOfDay = 0;

/** Whether the bytes from `at` to `end` are exactly `UTC`. */
const isUtc = (bytes: Uint8Array, at: number, end: number): boolean =>
  at + 3 === end && bytes[at] === 85 && bytes[at + 1] === 84 && bytes[at + 2] === 67;

/** Whether the bytes from `at` to `end` are exactly an offset (`Z`, `±hh`, `±hhmm`, `±hh:mm`). */
function isOffset(bytes: Uint8Array, at: number, end: number): boolean {
  const sign = bytes[at] as number;
  if (sign === 90 || sign === 122) return at + 1 === end;
  if (sign !== 43 && sign !== 45) return false;
  const hours = twoDigits(bytes, at + 1, end);
  if (hours < 0 || hours > 15) return false;
  const minutesAt = bytes[at + 3] === 58 ? at + 4 : at + 3;
  const minutes = at + 3 === end ? 0 : twoDigits(bytes, minutesAt, end);
  if (minutes < 0 || minutes > 59 || (at + 3 !== end && minutesAt + 2 !== end)) return false;
  minutesOfDay += (sign === 45 ? 1 : -1) * (hours * 60 + minutes);
  return true;
}

/** The digits of a second that Postgres keeps; further ones must be zeros, up to the second limit. */
const FRACTION_DIGITS = 6;
const MAX_FRACTION_DIGITS = 60;

/** The end of the fraction's digits from `at` on; -1 when there are none, or more than can be kept. */
function fractionEnd(bytes: Uint8Array, at: number, end: number): number {
  let index = at;
  for (let next = digit(bytes, index, end); next >= 0; next = digit(bytes, index, end)) {
    if (next > 0 && index - at >= FRACTION_DIGITS) return -1;
    index++;
  }
  return index > at && index - at <= MAX_FRACTION_DIGITS ? index : -1;
}

/** Reads `hh:mm[:ss[.f]][offset| UTC]` from `at` to `end` and returns its traits (`HAS_…`), or 0 if it is not a time. */
function timeTraits(bytes: Uint8Array, at: number, end: number): number {
  const hours = twoDigits(bytes, at, end);
  const minutes = bytes[at + 2] === 58 ? twoDigits(bytes, at + 3, end) : -1;
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return 0;
  minutesOfDay = hours * 60 + minutes;
  let traits = HAS_TIME;
  let index = at + 5;
  if (index < end && bytes[index] === 58) {
    const seconds = twoDigits(bytes, index + 1, end);
    if (seconds < 0 || seconds > 59) return 0;
    traits |= HAS_SECONDS;
    index += 3;
    if (index < end && bytes[index] === 46) {
      index = fractionEnd(bytes, index + 1, end);
      if (index < 0) return 0;
      traits |= HAS_FRACTION;
    }
  }
  if (index === end) return traits;
  if (bytes[index] === 32) {
    index++;
    if (isUtc(bytes, index, end)) return traits | HAS_OFFSET;
  }
  return index < end && isOffset(bytes, index, end) ? traits | HAS_OFFSET : 0;
}

/** Number of digits that {@link numberAt} read. */
let digits = 0;

/** Reads the number of up to four digits at `at`; sets {@link digits} to their count, 0 for none or more than four. */
function numberAt(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  digits = 0;
  for (let next = digit(bytes, at, end); next >= 0; next = digit(bytes, at + digits, end)) {
    value = value * 10 + next;
    if (++digits > 4) {
      digits = 0;
      return 0;
    }
  }
  return value;
}

const FIRST_YEAR = 1;
const LAST_YEAR = 9999;

/** Whether a timestamp, that many minutes after its day's midnight in UTC, lies before year 1 or after year 9999. */
function isBeyond(year: number, first: number, second: number, minutes: number): boolean {
  if (year === FIRST_YEAR) return first === 1 && second === 1 && minutes < 0;
  return first * second === 12 * 31 && minutes >= 24 * 60;
}

/**
 * Returns the date forms of the trimmed value between `start` and `end`, with or without a time; 0 if it is not a date.
 * Every reading that the calendar allows is a form: `01/02/2020` is day first and month first. A timestamp has none if
 * its offset moves it out of the years 1 to 9999, or if it is finer than a microsecond.
 */
export function dateForms(bytes: Uint8Array, start: number, end: number): number {
  dateTraits = 0;
  const first = numberAt(bytes, start, end);
  dateFirst = first;
  const firstDigits = digits;
  const separatorAt = start + digits;
  const separator = bytes[separatorAt] as number;
  const sign = separator === 45 ? 0 : separator === 47 ? 1 : separator === 46 ? 2 : -1;
  if (firstDigits === 0 || firstDigits === 3 || sign < 0 || separatorAt >= end) return 0;
  const second = numberAt(bytes, separatorAt + 1, end);
  const againAt = separatorAt + 1 + digits;
  if (digits === 0 || digits > 2 || againAt >= end || bytes[againAt] !== separator) return 0;
  const third = numberAt(bytes, againAt + 1, end);
  const at = againAt + 1 + digits;
  dateSecond = second;
  dateThird = third;
  dateEnd = at;
  let forms = 0;
  let year = first;
  if (firstDigits === 4) {
    if ((digits === 1 || digits === 2) && isCalendarDay(first, second, third)) forms = dateForm(0, sign);
  } else if (digits === 4 || digits === 2) {
    year = digits === 4 ? third : fullYear(third);
    const short = digits === 4 ? 0 : 2;
    if (isCalendarDay(year, second, first)) forms |= dateForm(1 + short, sign);
    if (isCalendarDay(year, first, second)) forms |= dateForm(2 + short, sign);
  }
  const edge = year === FIRST_YEAR || year === LAST_YEAR ? HAS_EDGE : 0;
  dateTraits = edge;
  if (forms === 0 || at === end) return forms;
  const gap = bytes[at] as number;
  if (gap !== 32 && gap !== 84 && gap !== 116) return 0;
  const seen = timeTraits(bytes, at + 1, end);
  if (seen === 0) return 0;
  if (edge !== 0 && isBeyond(year, firstDigits === 4 ? third : first, second, minutesOfDay)) return 0;
  dateTraits = (gap === 32 ? seen : seen | HAS_T) | edge;
  return forms;
}
