import { DAY_MS, HOUR_MS } from './clock.ts';

/** Whether this is a time zone of IANA. */
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

/** Lengths of intervals on a clock that is never changed, and where the first begins: weeks on a Monday. Milliseconds. */
const UNITS = {
  hour: { ms: HOUR_MS, first: 0 },
  day: { ms: DAY_MS, first: 0 },
  // The epoch was a Thursday.
  week: { ms: 7 * DAY_MS, first: 4 * DAY_MS },
} as const;

export type Interval = keyof typeof UNITS;

export const INTERVALS = Object.keys(UNITS) as [Interval, ...Interval[]];

/** The maximum by which a change of the clock can shift the beginning of an interval. */
const SHIFT_MS = DAY_MS + 3 * HOUR_MS;

/**
 * The hours, days or weeks of a time zone that a range of time reaches into, by their beginnings. Where the clock changes, a day
 * has 23 or 25 hours; an hour that comes twice is two, and the rest of an hour that the change cuts is one of its own.
 * @param range milliseconds, both ends included
 * @returns milliseconds, ascending; more than `most` are cut off
 */
export function listIntervals(
  { from, to }: { from: number; to: number },
  interval: Interval,
  timeZone: string,
  most: number,
): number[] {
  const { ms, first } = UNITS[interval];
  const offsetAt = makeOffsets(timeZone);
  /** The number of an interval by the clock, and for hours the clock itself: an hour that comes twice has one number. */
  const nameAt = (at: number) => {
    const offset = offsetAt(at);
    return { number: Math.floor((at + offset - first) / ms), offset, clock: interval === 'hour' ? offset : 0 };
  };
  const isSame = (at: number, { number, clock }: ReturnType<typeof nameAt>) => {
    const name = nameAt(at);
    return name.number === number && name.clock === clock;
  };
  /** The first moment after `from` for which something holds that holds from then on, until `to`. */
  const findFirst = (from: number, to: number, holds: (at: number) => boolean): number => {
    let [before, at] = [from, to];
    while (at - before > 1) {
      const middle = Math.floor((before + at) / 2);
      if (holds(middle)) at = middle;
      else before = middle;
    }
    return at;
  };
  const findStart = (at: number): number => {
    const name = nameAt(at);
    const start = name.number * ms + first - name.offset;
    if (isSame(start, name) && !isSame(start - 1, name)) return start;
    return findFirst(start - SHIFT_MS, at, (each) => isSame(each, name));
  };
  const findEnd = (start: number): number => {
    const name = nameAt(start);
    const end = (name.number + 1) * ms + first - name.offset;
    if (isSame(end - 1, name) && !isSame(end, name)) return end;
    return findFirst(start, end + SHIFT_MS, (each) => !isSame(each, name));
  };
  const starts: number[] = [];
  for (let start = findStart(from); start <= to && starts.length < most; start = findEnd(start)) starts.push(start);
  return starts;
}

/** Returns a function that tells how far the clock of a time zone is ahead of UTC at a moment. Milliseconds. */
function makeOffsets(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (at) => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    // GMT, GMT-03:00 or GMT-03:06:28.
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /^GMT([+-])(\d+):(\d+)(?::(\d+))?$/.exec(name) ?? [];
    const ahead = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
    return sign === '-' ? -ahead : ahead;
  };
}
