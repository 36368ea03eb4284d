import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isNestedDeeper } from '../../src/kernel/json-depth.ts';

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

it('the depth of a JSON text is that of its value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(8), fc.boolean(), (value, limit, spaced) => {
      const text = JSON.stringify(value, null, spaced ? 2 : 0);
      expect(isNestedDeeper(text, limit)).toBe(depthOf(JSON.parse(text)) > limit);
    }),
    { numRuns: 2_000 },
  );
});

it.each([
  ['brackets in a string', '["[[[[", {"{{{{": 1}]', 2],
  ['brackets after an escaped quote', '["\\"[[[["]', 1],
  ['the end of a string after a backslash', '["\\\\", [1]]', 2],
])('the depth of a JSON text does not count %s', (_what, text, depth) => {
  expect([isNestedDeeper(text, depth), isNestedDeeper(text, depth - 1)]).toEqual([false, true]);
});

it.each(['"', '"\\', '[', '}}}', '', '"[[['])(
  'the depth of %j, which is no JSON, is found without an error',
  (text) => {
    expect(isNestedDeeper(text, 100)).toBe(false);
  },
);
