import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withWorkbookLimit } from '../../src/modules/uploads/workbook-limit.ts';

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Begins to convert a workbook whose texts take so many bytes, and lasts until it is ended. */
function beginConversion(bytes: number) {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  let hasBegun = false;
  const done = withWorkbookLimit(async (reserve) => {
    await reserve(bytes);
    hasBegun = true;
    await isOver;
    return 'converted';
  });
  return { end, done, hasBegun: () => hasBegun };
}

it('workbooks with many texts are converted one at a time, others in parallel', async () => {
  const [first, second, small] = [beginConversion(48 * MIB), beginConversion(9 * MIB), beginConversion(8 * MIB)];
  await vi.advanceTimersByTimeAsync(1_000);
  expect([first, second, small].map(({ hasBegun }) => hasBegun())).toEqual([true, false, true]);
  first.end();
  expect(await first.done).toBe('converted');
  await vi.advanceTimersByTimeAsync(0);
  expect(second.hasBegun()).toBe(true);
  for (const { end } of [second, small]) end();
  expect(await Promise.all([second.done, small.done])).toEqual(['converted', 'converted']);
});

it('a workbook whose conversion fails lets the next one begin', async () => {
  const failing = withWorkbookLimit(async (reserve) => {
    await reserve(48 * MIB);
    throw new Error('damaged');
  });
  await expect(failing).rejects.toThrow('damaged');
  const next = beginConversion(48 * MIB);
  next.end();
  expect(await next.done).toBe('converted');
});

it('a workbook that waits for 20 seconds is left for the next message', async () => {
  const [first, second] = [beginConversion(48 * MIB), beginConversion(48 * MIB)];
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await second.done).toBeNull();
  first.end();
  await first.done;
});
