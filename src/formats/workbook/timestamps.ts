import { DAY_MS } from '../../kernel/clock.ts';

/** Day 0 of the 1900 calendar, in days since 1970-01-01. */
const EPOCH_1900_DAYS = -25_569;
const EPOCH_1904_DAYS = -24_107;
/** Number of 29 February 1900 in the 1900 calendar, a day that did not exist. */
const FALSE_LEAP_DAY_SERIAL = 60;
/** Last day of the year 9999 in the 1900 calendar, Excel's last day. */
const LAST_DAY_1900 = 2_958_465;
const LAST_DAY_1904 = LAST_DAY_1900 + EPOCH_1900_DAYS - EPOCH_1904_DAYS;
/** Maximum number of milliseconds that Excel displays as a time or a span. */
const MAX_DISPLAYED_MS = (LAST_DAY_1900 + 1) * DAY_MS;

const padToTwo = (number: number): string => String(number).padStart(2, '0');

/** Formats a day and time stored as a number in ISO 8601; null if the number is out of range. */
export function formatTimestamp(serial: number, kind: 'date' | 'datetime', usesEpoch1904: boolean): string | null {
  const totalMs = Math.round(serial * DAY_MS);
  const days = Math.floor(totalMs / DAY_MS);
  if (!(serial >= 0 && days <= (usesEpoch1904 ? LAST_DAY_1904 : LAST_DAY_1900))) return null;
  // Excel displays a number below one day as a time on a day that does not exist.
  if (days === 0 && !usesEpoch1904) return formatTime(serial);
  const epochDays = usesEpoch1904
    ? EPOCH_1904_DAYS
    : days < FALSE_LEAP_DAY_SERIAL
      ? EPOCH_1900_DAYS + 1
      : EPOCH_1900_DAYS;
  const day = new Date((epochDays + days) * DAY_MS);
  // Half the time of `toISOString`.
  const date = `${day.getUTCFullYear()}-${padToTwo(day.getUTCMonth() + 1)}-${padToTwo(day.getUTCDate())}`;
  return kind === 'date' ? date : `${date}T${formatClock(totalMs - days * DAY_MS, 0)}`;
}

/** Formats a time of day as `hh:mm:ss`; null if Excel displays only `####`. */
export function formatTime(serial: number): string | null {
  const totalMs = Math.round(serial * DAY_MS);
  return totalMs >= 0 && totalMs < MAX_DISPLAYED_MS ? formatClock(totalMs % DAY_MS, 0) : null;
}

/** Formats a span of time as `hh:mm:ss` with hours beyond 24; null if it is out of range. */
export function formatDuration(serial: number): string | null {
  const totalMs = Math.round(Math.abs(serial) * DAY_MS);
  if (!(totalMs < MAX_DISPLAYED_MS)) return null;
  const days = Math.floor(totalMs / DAY_MS);
  return `${serial < 0 ? '-' : ''}${formatClock(totalMs - days * DAY_MS, days * 24)}`;
}

function formatClock(ms: number, hours: number): string {
  const seconds = Math.floor(ms / 1000);
  const fraction = ms % 1000;
  const time = `${padToTwo(hours + Math.floor(seconds / 3600))}:${padToTwo(Math.floor(seconds / 60) % 60)}:${padToTwo(seconds % 60)}`;
  return fraction === 0 ? time : `${time}.${String(fraction).padStart(3, '0')}`;
}
