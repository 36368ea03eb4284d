import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/kernel/clock.ts';
import { type Interval, listIntervals } from '../../src/kernel/time-zones.ts';

const MAX_INTERVALS = 1000;
const parseTime = (text: string) => Date.parse(text);
const formatIntervals = (interval: Interval, zone: string, from: string, to: string) =>
  listIntervals({ from: parseTime(from), to: parseTime(to) }, interval, zone, MAX_INTERVALS).map((start) =>
    new Date(start).toISOString().replace(':00.000Z', 'Z'),
  );

describe('the intervals of a time zone', () => {
  it.each([
    // Midnight is skipped: the day begins at one.
    [
      'day',
      'America/Sao_Paulo',
      '2018-11-03T12:00Z',
      '2018-11-05T12:00Z',
      ['2018-11-03T03:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z'],
    ],
    // The last hour of Saturday comes twice.
    ['day', 'America/Sao_Paulo', '2018-02-17T12:00Z', '2018-02-18T12:00Z', ['2018-02-17T02:00Z', '2018-02-18T03:00Z']],
    ['day', 'America/New_York', '2026-03-08T06:00Z', '2026-03-09T06:00Z', ['2026-03-08T05:00Z', '2026-03-09T04:00Z']],
    ['day', 'America/New_York', '2026-11-02T04:59Z', '2026-11-02T05:00Z', ['2026-11-01T04:00Z', '2026-11-02T05:00Z']],
    // A day that a zone left out.
    [
      'day',
      'Pacific/Apia',
      '2011-12-30T09:59Z',
      '2011-12-31T10:00Z',
      ['2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ],
    [
      'week',
      'Europe/Lisbon',
      '2026-03-28T12:00Z',
      '2026-04-05T23:00Z',
      ['2026-03-23T00:00Z', '2026-03-29T23:00Z', '2026-04-05T23:00Z'],
    ],
    ['hour', 'America/New_York', '2026-03-08T06:30Z', '2026-03-08T07:30Z', ['2026-03-08T06:00Z', '2026-03-08T07:00Z']],
    // One o'clock comes twice.
    [
      'hour',
      'America/New_York',
      '2026-11-01T05:10Z',
      '2026-11-01T07:10Z',
      ['2026-11-01T05:00Z', '2026-11-01T06:00Z', '2026-11-01T07:00Z'],
    ],
    ['hour', 'Asia/Kolkata', '2026-01-01T00:00Z', '2026-01-01T00:30Z', ['2025-12-31T23:30Z', '2026-01-01T00:30Z']],
    // Half an hour comes twice, and is skipped.
    [
      'hour',
      'Australia/Lord_Howe',
      '2026-04-04T14:10Z',
      '2026-04-04T16:10Z',
      ['2026-04-04T14:00Z', '2026-04-04T15:00Z', '2026-04-04T15:30Z'],
    ],
    [
      'hour',
      'Australia/Lord_Howe',
      '2026-10-03T15:10Z',
      '2026-10-03T16:10Z',
      ['2026-10-03T14:30Z', '2026-10-03T15:30Z', '2026-10-03T16:00Z'],
    ],
    ['week', 'UTC', '2024-03-06T00:00Z', '2024-03-11T00:00Z', ['2024-03-04T00:00Z', '2024-03-11T00:00Z']],
  ] as const)('are each %s of %s from %s to %s', (interval, zone, from, to, intervalStarts) => {
    expect(formatIntervals(interval, zone, from, to)).toEqual(intervalStarts);
  });

  it('are no more than the given maximum', () => {
    expect(listIntervals({ from: 0, to: 100 * DAY_MS }, 'hour', 'UTC', 7)).toHaveLength(7);
  });

  it('follow each other without gaps, and begin by the local clock', () => {
    const zones = [
      'UTC',
      'America/Sao_Paulo',
      'Europe/Lisbon',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    ];
    const intervalLengths = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS };
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom<Interval>('hour', 'day', 'week'),
        fc.integer({ min: parseTime('2000-01-01T00:00Z'), max: parseTime('2030-01-01T00:00Z') }),
        fc.integer({ min: 0, max: 40 }),
        (timeZone, interval, from, count) => {
          const to = from + count * intervalLengths[interval];
          const intervalStarts = listIntervals({ from, to }, interval, timeZone, MAX_INTERVALS);
          expect(intervalStarts[0]).toBeLessThanOrEqual(from);
          expect(intervalStarts.at(-1)).toBeLessThanOrEqual(to);
          // Asked for by any moment of it, an interval is the same.
          for (const [n, start] of intervalStarts.entries()) {
            const end = intervalStarts[n + 1];
            for (const moment of [start, ...(end === undefined ? [] : [end - 1])]) {
              expect(listIntervals({ from: moment, to: moment }, interval, timeZone, MAX_INTERVALS)).toEqual([start]);
            }
          }
          if (interval === 'hour') return;
          const day = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
          const name = new Intl.DateTimeFormat('en', { timeZone, weekday: 'long' });
          for (const start of intervalStarts) {
            expect(day.format(start)).not.toBe(day.format(start - 1));
            if (interval === 'week') expect(name.format(start)).toBe('Monday');
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
