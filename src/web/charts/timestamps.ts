import type { ViewCell, ViewColumn } from '../../presentation/viewing.ts';
import { LOCALE } from '../texts.ts';

/** This module chooses the ticks along an axis of time, in UTC like the data. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The possible distances between ticks, the finest first: a number of hours, days or months. */
const TICK_STEPS: [unit: 'hour' | 'day' | 'month', size: number][] = [
  ...[1, 3, 6, 12].map((size): ['hour', number] => ['hour', size]),
  ...[1, 2, 7].map((size): ['day', number] => ['day', size]),
  ...[1, 3, 6, 12, 24, 60, 120, 240, 600, 1200].map((size): ['month', number] => ['month', size]),
];

const UNIT_MS = { hour: HOUR_MS, day: DAY_MS, month: 30.4375 * DAY_MS };

const makeFormat = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: 'UTC' });
const TICK_FORMATS = {
  hour: makeFormat({ month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' }),
  day: makeFormat({ month: 'short', day: 'numeric', year: 'numeric' }),
  month: makeFormat({ month: 'short', year: 'numeric' }),
  year: makeFormat({ year: 'numeric' }),
};

/** Parses the cells of a column to milliseconds, where all are timestamps and at least two differ; else undefined. */
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

/** Chooses at most `maxTicks` ticks (at least 2) between two timestamps: at round hours, days, Mondays, months or years. */
export function chooseTimestampTicks(from: number, to: number, maxTicks: number): Tick[] {
  const [unit, size] =
    TICK_STEPS.find(([name, n]) => (to - from) / (UNIT_MS[name] * n) < maxTicks) ?? (['month', 1200] as const);
  const format = TICK_FORMATS[unit === 'month' && size >= 12 ? 'year' : unit];
  const ticks: Tick[] = [];
  for (
    let at = findFirstTick(from, unit, size);
    at <= to && ticks.length < maxTicks;
    at = computeNextTick(at, unit, size)
  ) {
    ticks.push({ value: at, label: format.format(at) });
  }
  // A single tick shows no scale: both ends get one instead. Those of days have no hour.
  const ends = from % DAY_MS === 0 && to % DAY_MS === 0 ? TICK_FORMATS.day : TICK_FORMATS.hour;
  return ticks.length < 2 ? [from, to].map((value) => ({ value, label: ends.format(value) })) : ticks;
}

/** Finds the first round timestamp that is not before `from`. */
function findFirstTick(from: number, unit: 'hour' | 'day' | 'month', size: number): number {
  if (unit !== 'month') {
    const step = UNIT_MS[unit] * size;
    // The epoch began on a Thursday.
    const mondayOffset = unit === 'day' && size === 7 ? 4 * DAY_MS : 0;
    return Math.ceil((from - mondayOffset) / step) * step + mondayOffset;
  }
  const monthCount = countMonths(from);
  const roundMonthCount = Math.floor(monthCount / size) * size;
  return computeMonthStart(roundMonthCount) >= from
    ? computeMonthStart(roundMonthCount)
    : computeMonthStart(roundMonthCount + size);
}

const computeNextTick = (at: number, unit: 'hour' | 'day' | 'month', size: number): number =>
  unit === 'month' ? computeMonthStart(countMonths(at) + size) : at + UNIT_MS[unit] * size;

/** Counts the months since year 0. */
function countMonths(timestamp: number): number {
  const date = new Date(timestamp);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

const computeMonthStart = (monthCount: number): number =>
  new Date(0).setUTCFullYear(Math.floor(monthCount / 12), monthCount % 12, 1);
