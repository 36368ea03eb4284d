import { describe, expect, it } from 'vitest';
import { formatNumber, parseTypedNumber } from '../../src/web/filters/numbers.ts';

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
  ] as const)('is parsed by the rules of its language: %j in %s', (text, locale, value) => {
    expect(parseTypedNumber(text, locale)).toBe(value);
  });

  it.each([
    ['1.500', 'pt-BR', '1,500'],
    ['1.500', 'en', '1.500'],
    ['-2.5', 'es', '-2,5'],
    ['1500', 'es', '1500'],
    ['many.more', 'es', 'many.more'],
  ] as const)('has the same value when it is shown and typed again: %j in %s', (value, locale, text) => {
    expect(formatNumber(value, locale)).toBe(text);
    expect(parseTypedNumber(text, locale)).toBe(value);
  });
});
