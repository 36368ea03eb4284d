import { DAY_MS, HOUR_MS } from './clock.ts';

/** Tells whether a name is an IANA time zone. */
export function isTimeZone(name: string): boolean {
  // JavaScript also takes offsets, which have no summer; Postgres counts them to the west.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Interval lengths without clock changes, and the start of the first interval: weeks start on a Monday. Milliseconds. */
const INTERVAL_UNITS = {
  hour: { ms: HOUR_MS, first: 0 },
  day: { ms: DAY_MS, first: 0 },
  // The epoch was a Thursday.
  week: { ms: 7 * DAY_MS, first: 4 * DAY_MS },
} as const;

export type Interval = keyof typeof INTERVAL_UNITS;

export const INTERVALS = Object.keys(INTERVAL_UNITS) as [Interval, ...Interval[]];

/** The maximum by which a clock change can shift the beginning of an interval. */
const MAX_SHIFT_MS = DAY_MS + 3 * HOUR_MS;

/**
 * Lists the hours, days or weeks of a time zone that a time range overlaps, by their beginnings. Where the clock changes, a day
 * has 23 or 25 hours; an hour that comes twice is listed twice, and the rest of an hour that the change cuts is listed as an
 * hour.
 * @param range.to included, in milliseconds as `from`
 * @returns milliseconds, ascending; at most `maxIntervals`
 */
export function listIntervals(
  { from, to }: { from: number; to: number },
  interval: Interval,
  timeZone: string,
  maxIntervals: number,
): number[] {
  const { ms, first } = INTERVAL_UNITS[interval];
  const getOffset = makeOffsetGetter(timeZone);
  /** Returns an interval's number by the local clock, and for hours the clock itself: a repeated hour has one number. */
  const identifyInterval = (at: number) => {
    const offset = getOffset(at);
    return { number: Math.floor((at + offset - first) / ms), offset, clock: interval === 'hour' ? offset : 0 };
  };
  const isSameInterval = (at: number, { number, clock }: ReturnType<typeof identifyInterval>) => {
    const name = identifyInterval(at);
    return name.number === number && name.clock === clock;
  };
  /** Finds the first moment after `from`, up to `to`, at which a condition holds that stays true from then on. */
  const findFirstTime = (from: number, to: number, holdsAt: (at: number) => boolean): number => {
    let [before, at] = [from, to];
    while (at - before > 1) {
      const middle = Math.floor((before + at) / 2);
      if (holdsAt(middle)) at = middle;
      else before = middle;
    }
    return at;
  };
  const findStart = (at: number): number => {
    const name = identifyInterval(at);
    const start = name.number * ms + first - name.offset;
    if (isSameInterval(start, name) && !isSameInterval(start - 1, name)) return start;
    return findFirstTime(start - MAX_SHIFT_MS, at, (time) => isSameInterval(time, name));
  };
  const findEnd = (start: number): number => {
    const name = identifyInterval(start);
    const end = (name.number + 1) * ms + first - name.offset;
    if (isSameInterval(end - 1, name) && !isSameInterval(end, name)) return end;
    return findFirstTime(start, end + MAX_SHIFT_MS, (time) => !isSameInterval(time, name));
  };
  const intervalStarts: number[] = [];
  for (let start = findStart(from); start <= to && intervalStarts.length < maxIntervals; start = findEnd(start))
    intervalStarts.push(start);
  return intervalStarts;
}

/** Returns a function that returns a time zone's offset from UTC at a moment, in milliseconds. */
function makeOffsetGetter(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (at) => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    // GMT, GMT-03:00 or GMT-03:06:28.
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /^GMT([+-])(\d+):(\d+)(?::(\d+))?$/.exec(name) ?? [];
    const offsetMs = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
    return sign === '-' ? -offsetMs : offsetMs;
  };
}
