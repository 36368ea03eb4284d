import { describe, expect, it } from 'vitest';
import { shownNumber, typedNumber } from '../../src/web/filters/numbers.ts';

describe('a number that is typed', () => {
  it.each([
    ['1500', 'en', '1500'],
    ['1,500', 'en', '1500'],
    ['-1,500,000.25', 'en', '-1500000.25'],
    ['1,5', 'en', '1.5'],
    ['1.500', 'en', '1.500'],
    ['1.500', 'pt-BR', '1500'],
    ['1.500,25', 'pt-BR', '1500.25'],
    ['1,5', 'pt-BR', '1.5'],
    ['1.5', 'es', '1.5'],
    ['-12.345.678', 'es', '-12345678'],
    ['1 500,5', 'es', '1500.5'],
    ['many', 'en', 'many'],
  ] as const)('is read by the language: %j in %s', (text, locale, value) => {
    expect(typedNumber(text, locale)).toBe(value);
  });

  it.each([
    ['1.500', 'pt-BR', '1,500'],
    ['1.500', 'en', '1.500'],
    ['-2.5', 'es', '-2,5'],
    ['1500', 'es', '1500'],
    ['many.more', 'es', 'many.more'],
  ] as const)('means the same when it is shown again: %j in %s', (value, locale, text) => {
    expect(shownNumber(value, locale)).toBe(text);
    expect(typedNumber(text, locale)).toBe(value);
  });
});
