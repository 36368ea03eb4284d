import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ExactNumber } from '../../src/kernel/exact-json.ts';
import { NestedTooDeepError } from '../../src/kernel/json-walk.ts';
import { readBodyWithUnreadList, type UnreadObject } from '../../src/kernel/unread-json.ts';

const LIST_OPTIONS = { list: 'rows', maxObjects: 20 };
const MAX_DEPTH = 100;

const readLazily = (text: string | Uint8Array, listOptions = LIST_OPTIONS) =>
  readBodyWithUnreadList(typeof text === 'string' ? new TextEncoder().encode(text) : text, listOptions, MAX_DEPTH);

const isNested = (value: unknown) => typeof value === 'object' && value !== null;

const roundNumber = (value: unknown) => (value instanceof ExactNumber ? Number(value.digits) : value);

/** Computes the expected objects with `JSON.parse`, as name and value pairs; nested values are left out. */
const computeExpected = (text: string) => {
  const { rows } = JSON.parse(text) as { rows: unknown[] };
  return rows.map((row) =>
    isNested(row) && !Array.isArray(row)
      ? Object.entries(row as object).map(([name, value]) => [name, isNested(value) ? [] : value])
      : null,
  );
};

const readEntries = (text: string) =>
  (readLazily(text) as { rows: (UnreadObject | null)[] }).rows.map(
    (row) => row && Object.entries(row.parseFields()).map(([name, value]) => [name, roundNumber(value)]),
  );

const rows = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()) }, fc.jsonValue()),
  {
    maxLength: 20,
  },
);

it('objects of the lazy JSON reader equal those of JSON.parse', () => {
  fc.assert(
    fc.property(rows, fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(2), (someRows, otherMembers, indent) => {
      const text = JSON.stringify({ ...otherMembers, rows: someRows, more: otherMembers }, null, indent);
      expect(readEntries(text)).toEqual(computeExpected(text));
    }),
    { numRuns: 400 },
  );
});

it('a text is valid for the lazy JSON reader exactly if it is valid for JSON.parse', () => {
  const JSON_PIECES = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    'u00e9',
    '"a"',
    '0',
    '-',
    '1',
    '.',
    'e+',
    'E',
    'true',
    'nul',
    'l',
    ' ',
    '\n',
    'é',
    '\u0000',
  ];
  const arbitraryNearJson = fc
    .array(fc.constantFrom(...JSON_PIECES), { maxLength: 8 })
    .map((somePieces) => somePieces.join(''));
  const arbitraryBrokenJson = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom(...JSON_PIECES))
    .map(([text, at, piece]) => {
      const position = at % (text.length + 1);
      return text.slice(0, position) + piece + text.slice(position + 1);
    });
  fc.assert(
    fc.property(fc.oneof(arbitraryNearJson, arbitraryBrokenJson), fc.boolean(), (value, isInRow) => {
      const text = isInRow ? `{"rows":[{"a":${value}}]}` : value;
      expect(getOutcome(() => readLazily(text))).toBe(getOutcome(() => JSON.parse(text)));
    }),
    { numRuns: 2_500 },
  );
});

const getOutcome = (work: () => unknown) => {
  try {
    work();
    return 'JSON';
  } catch (error) {
    return (error as Error).name;
  }
};

it.each([
  ['{"rows":1}', { rows: 0 }],
  ['{"rows":"x"}', { rows: '' }],
  ['{"rows":{"a":1}}', { rows: {} }],
  ['{"rows":null}', { rows: null }],
  ['{"rows":true}', { rows: false }],
  ['{"other":[1]}', { other: null }],
  ['{"__proto__":1}', JSON.parse('{"__proto__":null}')],
  ['[{"rows":[]}]', []],
  ['"rows"', ''],
  ['\ufeff{"rows":[]}', { rows: [] }],
  ['{"\\u0072ows":[]}', { rows: [] }],
  ['{"rows":[],"rows":[1]}', { rows: [null] }],
])('the lazy JSON reader keeps only the types of %s', (text, value) => {
  expect(readLazily(text)).toEqual(value);
});

it('the lazy JSON reader keeps at most a hundred names of unexpected fields', () => {
  const manyFields = Array.from({ length: 1_000 }, (_, index) => `"f${index}":0`).join();
  const names = Object.keys(readLazily(`{"${'x'.repeat(100_000)}":0,${manyFields}}`) as object);
  expect([names.length, names[0]?.length]).toEqual([100, 100_000]);
});

it('the lazy JSON reader reads only one entry more than the list may have', () => {
  expect(readLazily(`{"rows":[${'[],'.repeat(1_000)}{}]}`)).toEqual({ rows: Array.from({ length: 21 }, () => null) });
});

it('the lazy JSON reader keeps all digits of numbers', () => {
  const { rows: someRows } = readLazily('{"rows":[{"a":12345678901234567890}]}') as { rows: UnreadObject[] };
  expect(someRows.map((row) => row.parseFields())).toEqual([{ a: new ExactNumber('12345678901234567890') }]);
});

it('the lazy JSON reader counts each of several fields of the same name', () => {
  const { rows: someRows } = readLazily('{"rows":[{"a":1,"a":[2,{"b":3}],"c":4}]}') as { rows: UnreadObject[] };
  expect(someRows.map(({ fieldCount: fields }) => fields)).toEqual([3]);
});

it.each([
  ['in a field', '{"rows":[{"a":"\xe2\x82"}]}'],
  ['behind the list', '{"rows":[{}],"b":"\xff"}'],
  ['at the end', '{"rows":[{}]}\xe2'],
])('the lazy JSON reader refuses bytes that are not UTF-8: %s', (_where, text) => {
  expect(() => readLazily(Buffer.from(text, 'latin1'))).toThrow(TypeError);
});

it.each([
  [99, false],
  [100, true],
])('arrays nested %i deep in the body: too deep is %s', (depth, isTooDeep) => {
  const readNested = () => readLazily(`{"x":${'['.repeat(depth)}${']'.repeat(depth)}}`);
  if (isTooDeep) expect(readNested).toThrow(NestedTooDeepError);
  else expect(readNested()).toEqual({ x: null });
});
