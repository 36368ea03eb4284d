import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOCALES } from '../../src/texts/locales.ts';
import { formatDate, isBackwardsRange, makePresetRange, PRESETS, parseTypedDate } from '../../src/web/filters/dates.ts';

describe('a date that people type', () => {
  it.each([
    ['1/31/2026', 'en', '2026-01-31'],
    ['01-31-2026', 'en', '2026-01-31'],
    [' 31/1/2026 ', 'pt-BR', '2026-01-31'],
    ['31.01.2026', 'es', '2026-01-31'],
    ['2026-01-31', 'en', '2026-01-31'],
    ['2026-01-31', 'es', '2026-01-31'],
    ['31/01/2026', 'en', undefined],
    ['02/30/2026', 'en', undefined],
    ['29/02/2024', 'pt-BR', '2024-02-29'],
    ['29/02/2026', 'pt-BR', undefined],
    ['2026-02-30', 'en', undefined],
    ['1/31/26', 'en', undefined],
    ['1/31', 'en', undefined],
    ['tomorrow', 'en', undefined],
    ['', 'en', undefined],
  ] as const)('is parsed by the rules of its language: %j in %s', (text, locale, date) => {
    expect(parseTypedDate(text, locale)).toBe(date);
  });

  it('is parsed to the same date when it is shown and typed again', () => {
    const arbitraryDays = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(arbitraryDays, fc.constantFrom(...LOCALES), (day, locale) => {
        const date = day.toISOString().slice(0, 10);
        expect(parseTypedDate(formatDate(date, locale), locale)).toBe(date);
      }),
    );
    expect(formatDate('2026-01-31', 'en')).toBe('01/31/2026');
    expect(formatDate('2026-01-31', 'es')).toBe('31/01/2026');
    expect(formatDate('soon', 'es')).toBe('soon');
  });
});

describe('a preset date range', () => {
  const leapDay = new Date(2024, 1, 29, 23, 59);
  it.each([
    ['7', '2024-02-23', '2024-02-29'],
    ['30', '2024-01-31', '2024-02-29'],
    ['90', '2023-12-02', '2024-02-29'],
    ['month', '2024-02-01', '2024-02-29'],
    ['year', '2024-01-01', '2024-12-31'],
  ] as const)('covers the last days including today, or the month or the year: %s', (preset, from, to) => {
    expect(makePresetRange(preset, leapDay)).toEqual({ from, to });
  });

  it('never ends before it begins', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }), (now) => {
        for (const preset of PRESETS) expect(isBackwardsRange(makePresetRange(preset, now))).toBe(false);
      }),
    );
    expect(isBackwardsRange({ from: '2026-02-01', to: '2026-01-31' })).toBe(true);
    expect([
      isBackwardsRange({ from: '2026-02-01' }),
      isBackwardsRange({ to: '2026-01-31' }),
      isBackwardsRange({}),
    ]).toEqual([false, false, false]);
  });
});
