import { DAY_MS } from '../../kernel/clock.ts';

/** Day 0 of the two calendars, in days since 1970-01-01. */
const EPOCH_1900 = -25_569;
const EPOCH_1904 = -24_107;
/** The first day of the 1900 calendar that counts a 29 February 1900, which did not exist. */
const LEAP_DAY = 60;
/** The last day of the year 9999 in each calendar, and Excel's last day. */
const LAST_1900 = 2_958_465;
const LAST_1904 = LAST_1900 + EPOCH_1900 - EPOCH_1904;
/** The maximum number of milliseconds that Excel displays as a time or a span. */
const MAX_DISPLAYED_MS = (LAST_1900 + 1) * DAY_MS;

const two = (number: number): string => String(number).padStart(2, '0');

/** Formats a day and time stored as a number in ISO 8601; null if the number is out of range. */
export function timestampText(serial: number, kind: 'date' | 'datetime', epoch1904: boolean): string | null {
  const all = Math.round(serial * DAY_MS);
  const days = Math.floor(all / DAY_MS);
  if (!(serial >= 0 && days <= (epoch1904 ? LAST_1904 : LAST_1900))) return null;
  // Excel displays a number below one day as a time on a day that does not exist.
  if (days === 0 && !epoch1904) return timeText(serial);
  const epoch = epoch1904 ? EPOCH_1904 : days < LEAP_DAY ? EPOCH_1900 + 1 : EPOCH_1900;
  const day = new Date((epoch + days) * DAY_MS);
  // Half the time of `toISOString`.
  const date = `${day.getUTCFullYear()}-${two(day.getUTCMonth() + 1)}-${two(day.getUTCDate())}`;
  return kind === 'date' ? date : `${date}T${clock(all - days * DAY_MS, 0)}`;
}

/** Formats a time of day as `hh:mm:ss`; null where Excel displays only `####`. */
export function timeText(serial: number): string | null {
  const all = Math.round(serial * DAY_MS);
  return all >= 0 && all < MAX_DISPLAYED_MS ? clock(all % DAY_MS, 0) : null;
}

/** Formats a span of time as `hh:mm:ss` with hours beyond 24; null if it is out of range. */
export function spanText(serial: number): string | null {
  const all = Math.round(Math.abs(serial) * DAY_MS);
  if (!(all < MAX_DISPLAYED_MS)) return null;
  const days = Math.floor(all / DAY_MS);
  return `${serial < 0 ? '-' : ''}${clock(all - days * DAY_MS, days * 24)}`;
}

function clock(ms: number, hours: number): string {
  const seconds = Math.floor(ms / 1000);
  const fraction = ms % 1000;
  const time = `${two(hours + Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return fraction === 0 ? time : `${time}.${String(fraction).padStart(3, '0')}`;
}
