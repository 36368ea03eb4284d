import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findExceededBound } from '../../src/http/json-bounds.ts';

const GENEROUS_LIMITS = { depth: 1_000, maxSigns: 1_000, maxNames: 1_000 };
const isNestedDeeper = (text: string, depth: number) =>
  findExceededBound(text, { ...GENEROUS_LIMITS, depth }) === 'depth';

const measureDepth = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(measureDepth)) : 0;

it('the depth found in a JSON text is the depth of its parsed value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(8), fc.boolean(), (value, limit, isSpaced) => {
      const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
      expect(isNestedDeeper(text, limit)).toBe(measureDepth(JSON.parse(text)) > limit);
    }),
    { numRuns: 2_000 },
  );
});

it.each([
  ['brackets in a string', '["[[[[", {"{{{{": 1}]', 2],
  ['brackets after an escaped quote', '["\\"[[[["]', 1],
  ['a string that ends with an escaped backslash', '["\\\\", [1]]', 2],
])('the depth of a JSON text does not count %s', (_what, text, depth) => {
  expect([isNestedDeeper(text, depth), isNestedDeeper(text, depth - 1)]).toEqual([false, true]);
});

it.each(['"', '"\\', '[', '}}}', '', '"[[['])(
  'the depth of %j, which is not JSON, is found without an error',
  (text) => {
    expect(isNestedDeeper(text, 100)).toBe(false);
  },
);

/** Counts arrays, objects, and their members after the first: the brackets and commas of the JSON text. */
const countSigns = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Math.max(1, Object.values(value).length) +
      Object.values(value).reduce((sum: number, listedValue) => sum + countSigns(listedValue), 0)
    : 0;

const listNames = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(listNames)]
    : [];

it('the commas, brackets and names counted in a JSON text equal those of its parsed value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(12), fc.boolean(), (value, limit, isSpaced) => {
      const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
      const parsedValue = JSON.parse(text);
      expect(findExceededBound(text, { ...GENEROUS_LIMITS, maxSigns: limit })).toBe(
        countSigns(parsedValue) > limit ? 'maxSigns' : null,
      );
      expect(findExceededBound(text, { ...GENEROUS_LIMITS, maxNames: limit })).toBe(
        new Set(listNames(parsedValue)).size > limit ? 'maxNames' : null,
      );
    }),
    { numRuns: 2_000 },
  );
});
