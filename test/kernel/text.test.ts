import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findIllFormedTextPath, limitCombiningMarks, shorten, truncateText } from '../../src/kernel/text.ts';

const arbitraryText = fc
  .array(fc.constantFrom('a', 'é', '€', '😀', '𝄞'), { maxLength: 12 })
  .map((parts) => parts.join(''));
const arbitraryMaxLength = fc.integer({ min: 1, max: 12 });

describe('a text that is cut', () => {
  test('keeps as many whole characters of its beginning as fit', () => {
    fc.assert(
      fc.property(arbitraryText, arbitraryMaxLength, (text, maxLetters) => {
        const start = truncateText(text, maxLetters);
        expect(start.isWellFormed()).toBe(true);
        expect(text.startsWith(start)).toBe(true);
        expect(start.length).toBeLessThanOrEqual(maxLetters);
        const [next = ''] = [...text.slice(start.length)];
        expect(next === '' || start.length + next.length > maxLetters).toBe(true);
      }),
    );
  });

  test('ends with … exactly when something was cut off', () => {
    fc.assert(
      fc.property(arbitraryText, arbitraryMaxLength, (text, maxLetters) => {
        const shortenedText = shorten(text, maxLetters);
        expect(shortenedText.isWellFormed()).toBe(true);
        expect(shortenedText.length).toBeLessThanOrEqual(maxLetters);
        expect(shortenedText === text).toBe(text.length <= maxLetters);
        expect(shortenedText.endsWith('…')).toBe(text.length > maxLetters);
      }),
    );
  });
});

test('half of a surrogate pair is found wherever it stands', () => {
  expect(findIllFormedTextPath({ a: ['😀', { b: 'x\ud83d' }] })).toEqual(['a', '1', 'b']);
  expect(findIllFormedTextPath({ a: 1, 'b\ude00': null })).toEqual(['b\ude00']);
  expect(findIllFormedTextPath('\ud83d')).toEqual([]);
  expect(findIllFormedTextPath({ a: ['😀', null, true, 1.5] })).toBeNull();
});

describe('a text whose combining marks are limited', () => {
  const [above, below] = ['\u0301', '\u0323'];

  test('has at most thirty marks in a row', () => {
    expect(limitCombiningMarks(`a${above.repeat(40)}${below.repeat(40)}b${below.repeat(31)}`)).toBe(
      `a${above.repeat(30)}b${below.repeat(30)}`,
    );
    // Marks once they are normalized.
    expect(limitCombiningMarks('\uff9e'.repeat(40))).toBe('\uff9e'.repeat(30));
  });

  test.each([['é̂ ạ́ ñ'], [`a${above.repeat(30)}`], ['ガギグ ｶﾞ'], [''], ['👩🏽‍🚀']])('is unchanged: %j', (text) => {
    expect(limitCombiningMarks(text)).toBe(text);
  });
});
