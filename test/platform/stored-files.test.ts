import { expect, it } from 'vitest';
import { deleteObjects } from '../../src/platform/stored-files.ts';

it.each([
  [0, []],
  [1, [1]],
  [1_000, [1_000]],
  [2_001, [1_000, 1_000, 1]],
])('deleting objects deletes %i of them in lists of at most a thousand', async (count, expectedSizes) => {
  const deletedLists: string[][] = [];
  const bucket = { delete: async (keys: string | string[]) => void deletedLists.push([keys].flat()) };
  const keys = Array.from({ length: count }, (_, n) => `key-${n}`);
  await deleteObjects(bucket, keys);
  expect(deletedLists.map(({ length }) => length)).toEqual(expectedSizes);
  expect(deletedLists.flat()).toEqual(keys);
});
