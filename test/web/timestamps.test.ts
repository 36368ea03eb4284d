import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseTimestampTicks, parseTimestamps } from '../../src/web/charts/timestamps.ts';

const listTicks = (from: string, to: string, maxCount = 8) =>
  chooseTimestampTicks(Date.parse(from), Date.parse(to), maxCount).map(({ label }) => label);

describe('the ticks of a time axis', () => {
  it('are at round hours, days, months or years', () => {
    expect(listTicks('2024-01-01T05:30Z', '2024-01-01T09:10Z')).toEqual([
      expect.stringMatching(/^Jan 1, 6:00\sAM$/),
      expect.stringMatching(/^Jan 1, 7:00\sAM$/),
      expect.stringMatching(/^Jan 1, 8:00\sAM$/),
      expect.stringMatching(/^Jan 1, 9:00\sAM$/),
    ]);
    expect(listTicks('2024-02-27', '2024-03-02')).toEqual([
      'Feb 27, 2024',
      'Feb 28, 2024',
      'Feb 29, 2024',
      'Mar 1, 2024',
      'Mar 2, 2024',
    ]);
    expect(listTicks('2023-11-15', '2024-03-02')).toEqual(['Dec 2023', 'Jan 2024', 'Feb 2024', 'Mar 2024']);
    expect(listTicks('1989-06-01', '2024-01-01')).toEqual(['1990', '1995', '2000', '2005', '2010', '2015', '2020']);
  });

  it('stand at both ends where no two others have room, without an hour if both are days', () => {
    expect(listTicks('2026-11-01', '2026-11-27', 3)).toEqual(['Nov 1, 2026', 'Nov 27, 2026']);
    expect(listTicks('2026-11-01', '2026-11-27T06:00Z', 3)[0]).toMatch(/^Nov 1, 12:00\sAM$/);
  });

  it('are never more than the maximum, within the axis and in order', () => {
    const arbitraryTimestamp = fc.integer({ min: Date.parse('0100-01-01'), max: Date.parse('9000-01-01') });
    fc.assert(
      fc.property(arbitraryTimestamp, arbitraryTimestamp, fc.integer({ min: 2, max: 20 }), (a, b, maxCount) => {
        fc.pre(a !== b);
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const values = chooseTimestampTicks(from, to, maxCount).map(({ value }) => value);
        expect(values.length).toBeLessThanOrEqual(maxCount);
        expect(values.every((value, at) => value >= from && value <= to && value > (values[at - 1] ?? -Infinity))).toBe(
          true,
        );
      }),
    );
  });

  it('are drawn only for columns of timestamps', () => {
    const parseDays = (cells: (string | null)[]) => parseTimestamps({ name: 'day', type: 'date' }, cells);
    expect(parseDays(['2024-01-02', '2024-01-01'])).toEqual([Date.parse('2024-01-02'), Date.parse('2024-01-01')]);
    expect(parseDays(['2024-01-02', null])).toBeUndefined();
    expect(parseDays(['2024-01-02', '2024-01-02'])).toBeUndefined();
    expect(parseTimestamps({ name: 'day', type: 'text' }, ['2024-01-02', '2024-01-03'])).toBeUndefined();
  });
});
