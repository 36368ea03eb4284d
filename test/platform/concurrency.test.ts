import { expect, it, vi } from 'vitest';
import { runConcurrently } from '../../src/platform/concurrency.ts';

const CONCURRENCY_LIMITS = { concurrency: 2, timeoutMs: 50, failureEvent: 'part_failed' };
const waitForever = () => new Promise<never>(() => undefined);

it('runConcurrently works on all items with limited concurrency, and logs the items that fail or hang', async () => {
  const logSpy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  let now = 0;
  let maxRunningCount = 0;
  const doneItems: number[] = [];
  await runConcurrently(
    [1, 2, 3, 4, 5],
    CONCURRENCY_LIMITS,
    (item) => ({ part: String(item) }),
    async (item) => {
      now += 1;
      maxRunningCount = Math.max(maxRunningCount, now);
      try {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (item === 2) throw new Error('two');
      } finally {
        now -= 1;
      }
      if (item === 3) await waitForever();
      doneItems.push(item);
    },
  );
  expect(doneItems).toEqual([1, 4, 5]);
  expect(maxRunningCount).toBe(2);
  const lines = logSpy.mock.calls.map(([line]) => JSON.parse(line));
  expect(lines).toMatchObject([
    { event: 'part_failed', part: '2' },
    { event: 'part_failed', part: '3' },
  ]);
});
