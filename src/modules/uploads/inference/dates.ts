import { dateForm, SAW_FRACTION, SAW_OFFSET, SAW_SECONDS, SAW_T, SAW_TIME } from './forms.ts';

const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether the calendar has that day (years 1 to 9999). */
export function isDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > (LENGTHS[month - 1] as number)) return false;
  return month !== 2 || day < 29 || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0));
}

/** The full year of two digits: 70 to 99 are the last century's (as in Postgres and POSIX). */
export function fullYear(twoDigits: number): number {
  return twoDigits < 70 ? 2000 + twoDigits : 1900 + twoDigits;
}

/** What else {@link dateForms} saw in the value it was last called with (`SAW_…`). */
export let dateSaw = 0;

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

/** Whether an offset (`Z`, `±hh`, `±hhmm`, `±hh:mm`) stands exactly from `at` to `end`. */
function isOffset(bytes: Uint8Array, at: number, end: number): boolean {
  const sign = bytes[at] as number;
  if (sign === 90 || sign === 122) return at + 1 === end;
  if (sign !== 43 && sign !== 45) return false;
  const hours = twoDigits(bytes, at + 1, end);
  if (hours < 0 || hours > 15) return false;
  if (at + 3 === end) return true;
  const minutesAt = bytes[at + 3] === 58 ? at + 4 : at + 3;
  const minutes = twoDigits(bytes, minutesAt, end);
  return minutes >= 0 && minutes < 60 && minutesAt + 2 === end;
}

/** What `hh:mm[:ss[.f]][offset]` from `at` to `end` shows (`SAW_…`), or 0 when it is no time. */
function timeSaw(bytes: Uint8Array, at: number, end: number): number {
  const hours = twoDigits(bytes, at, end);
  const minutes = bytes[at + 2] === 58 ? twoDigits(bytes, at + 3, end) : -1;
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return 0;
  let saw = SAW_TIME;
  let index = at + 5;
  if (index < end && bytes[index] === 58) {
    const seconds = twoDigits(bytes, index + 1, end);
    if (seconds < 0 || seconds > 59) return 0;
    saw |= SAW_SECONDS;
    index += 3;
    if (index < end && bytes[index] === 46) {
      let fraction = index + 1;
      while (digit(bytes, fraction, end) >= 0) fraction++;
      const places = fraction - index - 1;
      if (places < 1 || places > 9) return 0;
      saw |= SAW_FRACTION;
      index = fraction;
    }
  }
  if (index === end) return saw;
  if (bytes[index] === 32) index++;
  return index < end && isOffset(bytes, index, end) ? saw | SAW_OFFSET : 0;
}

/**
 * The date forms of the trimmed value between `start` and `end`, with or without a time; 0 when it is no date.
 * Every reading that the calendar allows is a form: `01/02/2020` is day first and month first.
 */
export function dateForms(bytes: Uint8Array, start: number, end: number): number {
  dateSaw = 0;
  const parts = [0, 0, 0];
  const lengths = [0, 0, 0];
  let at = start;
  let separator = 0;
  for (let part = 0; part < 3; part++) {
    let value = 0;
    let length = 0;
    for (let next = digit(bytes, at, end); next >= 0 && length < 5; next = digit(bytes, ++at, end)) {
      value = value * 10 + next;
      length++;
    }
    if (length === 0 || length > 4) return 0;
    parts[part] = value;
    lengths[part] = length;
    if (part === 2) break;
    const byte = bytes[at] as number;
    if (at >= end || (part === 1 && byte !== separator)) return 0;
    separator = byte;
    at++;
  }
  const sign = separator === 45 ? 0 : separator === 47 ? 1 : separator === 46 ? 2 : -1;
  if (sign < 0) return 0;
  const forms = orderForms(parts as Triple, lengths as Triple, sign);
  if (forms === 0 || at === end) return forms;
  const gap = bytes[at] as number;
  if (gap !== 32 && gap !== 84 && gap !== 116) return 0;
  const saw = timeSaw(bytes, at + 1, end);
  if (saw === 0) return 0;
  dateSaw = gap === 32 ? saw : saw | SAW_T;
  return forms;
}

type Triple = [number, number, number];

function orderForms([first, second, third]: Triple, [a, b, c]: Triple, sign: number): number {
  if (b > 2) return 0;
  if (a === 4) return c <= 2 && isDay(first, second, third) ? dateForm(0, sign) : 0;
  if (a > 2 || (c !== 4 && c !== 2)) return 0;
  const year = c === 4 ? third : fullYear(third);
  const short = c === 4 ? 0 : 2;
  return (
    (isDay(year, second, first) ? dateForm(1 + short, sign) : 0) |
    (isDay(year, first, second) ? dateForm(2 + short, sign) : 0)
  );
}
