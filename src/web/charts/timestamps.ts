import type { ViewCell, ViewColumn } from '../../presentation/viewing.ts';
import { LOCALE } from '../texts.ts';

/** Ticks along an axis of time, in UTC like the data. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The possible distances between ticks, finest first: a number of hours, days or months. */
const STEPS: [unit: 'hour' | 'day' | 'month', size: number][] = [
  ...[1, 3, 6, 12].map((size): ['hour', number] => ['hour', size]),
  ...[1, 2, 7].map((size): ['day', number] => ['day', size]),
  ...[1, 3, 6, 12, 24, 60, 120, 240, 600, 1200].map((size): ['month', number] => ['month', size]),
];

const LENGTH = { hour: HOUR, day: DAY, month: 30.4375 * DAY };

const makeFormat = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: 'UTC' });
const FORMATS = {
  hour: makeFormat({ month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' }),
  day: makeFormat({ month: 'short', day: 'numeric', year: 'numeric' }),
  month: makeFormat({ month: 'short', year: 'numeric' }),
  year: makeFormat({ year: 'numeric' }),
};

/** The cells of a column in milliseconds, where all are timestamps and two differ at least; else undefined. */
export function parseTimestamps({ type }: ViewColumn, cells: readonly ViewCell[]): number[] | undefined {
  if (type !== 'date' && type !== 'datetime') return undefined;
  const timestamps = cells.map((cell) => (cell === null ? Number.NaN : Date.parse(String(cell))));
  return timestamps.some(Number.isNaN) || new Set(timestamps).size < 2 ? undefined : timestamps;
}

/** A tick: its position in milliseconds, and its label. */
export interface Tick {
  value: number;
  label: string;
}

/** Chooses at most `most` ticks (at least 2) between two timestamps: at round hours, days, Mondays, months or years. */
export function timestampTicks(from: number, to: number, most: number): Tick[] {
  const [unit, size] = STEPS.find(([name, n]) => (to - from) / (LENGTH[name] * n) < most) ?? (['month', 1200] as const);
  const format = FORMATS[unit === 'month' && size >= 12 ? 'year' : unit];
  const ticks: Tick[] = [];
  for (let at = firstTick(from, unit, size); at <= to && ticks.length < most; at = nextTick(at, unit, size)) {
    ticks.push({ value: at, label: format.format(at) });
  }
  // A single tick shows no scale: both ends get one instead. Those of days have no hour.
  const ends = from % DAY === 0 && to % DAY === 0 ? FORMATS.day : FORMATS.hour;
  return ticks.length < 2 ? [from, to].map((value) => ({ value, label: ends.format(value) })) : ticks;
}

/** The first round timestamp that is not before `from`. */
function firstTick(from: number, unit: 'hour' | 'day' | 'month', size: number): number {
  if (unit !== 'month') {
    const step = LENGTH[unit] * size;
    // The epoch began on a Thursday.
    const monday = unit === 'day' && size === 7 ? 4 * DAY : 0;
    return Math.ceil((from - monday) / step) * step + monday;
  }
  const months = countMonths(from);
  const whole = Math.floor(months / size) * size;
  return startOfMonth(whole) >= from ? startOfMonth(whole) : startOfMonth(whole + size);
}

const nextTick = (at: number, unit: 'hour' | 'day' | 'month', size: number): number =>
  unit === 'month' ? startOfMonth(countMonths(at) + size) : at + LENGTH[unit] * size;

/** Months since year 0. */
function countMonths(timestamp: number): number {
  const date = new Date(timestamp);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

const startOfMonth = (months: number): number => new Date(0).setUTCFullYear(Math.floor(months / 12), months % 12, 1);
