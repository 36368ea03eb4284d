import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cut, findIllFormedText, limitMarks, shorten } from '../../src/kernel/text.ts';

const texts = fc.array(fc.constantFrom('a', 'é', '€', '😀', '𝄞'), { maxLength: 12 }).map((parts) => parts.join(''));
const lengths = fc.integer({ min: 1, max: 12 });

describe('a text that is cut', () => {
  test('keeps whole characters of its beginning, as many as fit', () => {
    fc.assert(
      fc.property(texts, lengths, (text, most) => {
        const start = cut(text, most);
        expect(start.isWellFormed()).toBe(true);
        expect(text.startsWith(start)).toBe(true);
        expect(start.length).toBeLessThanOrEqual(most);
        const [next = ''] = [...text.slice(start.length)];
        expect(next === '' || start.length + next.length > most).toBe(true);
      }),
    );
  });

  test('ends with … when something was cut off, and only then', () => {
    fc.assert(
      fc.property(texts, lengths, (text, most) => {
        const short = shorten(text, most);
        expect(short.isWellFormed()).toBe(true);
        expect(short.length).toBeLessThanOrEqual(most);
        expect(short === text).toBe(text.length <= most);
        expect(short.endsWith('…')).toBe(text.length > most);
      }),
    );
  });
});

test('half of a surrogate pair is found wherever it stands', () => {
  expect(findIllFormedText({ a: ['😀', { b: 'x\ud83d' }] })).toEqual(['a', '1', 'b']);
  expect(findIllFormedText({ a: 1, 'b\ude00': null })).toEqual(['b\ude00']);
  expect(findIllFormedText('\ud83d')).toEqual([]);
  expect(findIllFormedText({ a: ['😀', null, true, 1.5] })).toBeNull();
});

describe('a text whose combining marks are limited', () => {
  const [above, below] = ['\u0301', '\u0323'];

  test('has at most thirty marks in a row', () => {
    expect(limitMarks(`a${above.repeat(40)}${below.repeat(40)}b${below.repeat(31)}`)).toBe(
      `a${above.repeat(30)}b${below.repeat(30)}`,
    );
    // Marks once they are normalized.
    expect(limitMarks('\uff9e'.repeat(40))).toBe('\uff9e'.repeat(30));
  });

  test.each([['é̂ ạ́ ñ'], [`a${above.repeat(30)}`], ['ガギグ ｶﾞ'], [''], ['👩🏽‍🚀']])('is unchanged: %j', (text) => {
    expect(limitMarks(text)).toBe(text);
  });
});
