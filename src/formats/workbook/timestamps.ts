const DAY_MS = 86_400_000;
/** Day 0 of the two calendars, as days since 1970-01-01. */
const EPOCH_1900 = -25_569;
const EPOCH_1904 = -24_107;
/** The first of 1900's calendar that counts a 29 February which never was. */
const LEAP_DAY = 60;
/** The end of the year 9999 in each: Excel has no later day. */
const LAST_1900 = 2_958_465;
const LAST_1904 = LAST_1900 + EPOCH_1900 - EPOCH_1904;
/** So many milliseconds Excel shows as a time or a span. */
const MOST_MS = (LAST_1900 + 1) * DAY_MS;

const two = (number: number): string => String(number).padStart(2, '0');

/** A day and time as a workbook's number, in ISO 8601; null for a number that is none. */
export function timestampText(serial: number, kind: 'date' | 'datetime', epoch1904: boolean): string | null {
  const all = Math.round(serial * DAY_MS);
  const days = Math.floor(all / DAY_MS);
  if (!(serial >= 0 && days <= (epoch1904 ? LAST_1904 : LAST_1900))) return null;
  // Excel shows what is less than a day as time on a day that does not exist.
  if (days === 0 && !epoch1904) return timeText(serial);
  const epoch = epoch1904 ? EPOCH_1904 : days < LEAP_DAY ? EPOCH_1900 + 1 : EPOCH_1900;
  const date = new Date((epoch + days) * DAY_MS).toISOString().slice(0, 10);
  return kind === 'date' ? date : `${date}T${clock(all - days * DAY_MS, 0)}`;
}

/** A time of day as `hh:mm:ss`; null where Excel shows nothing but `####`. */
export function timeText(serial: number): string | null {
  const all = Math.round(serial * DAY_MS);
  return all >= 0 && all < MOST_MS ? clock(all % DAY_MS, 0) : null;
}

/** A span of time as `hh:mm:ss`, its hours not cut at a day; null for one longer than any. */
export function spanText(serial: number): string | null {
  const all = Math.round(Math.abs(serial) * DAY_MS);
  if (!(all < MOST_MS)) return null;
  const days = Math.floor(all / DAY_MS);
  return `${serial < 0 ? '-' : ''}${clock(all - days * DAY_MS, days * 24)}`;
}

function clock(ms: number, hours: number): string {
  const seconds = Math.floor(ms / 1000);
  const fraction = ms % 1000;
  const time = `${two(hours + Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return fraction === 0 ? time : `${time}.${String(fraction).padStart(3, '0')}`;
}
