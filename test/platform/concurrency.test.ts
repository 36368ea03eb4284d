import { afterEach, describe, expect, it, vi } from 'vitest';
import { runConcurrently } from '../../src/platform/concurrency.ts';

const LIMITS = { concurrency: 2, timeoutMs: 50, failureEvent: 'part_failed' };
const never = () => new Promise<never>(() => undefined);

afterEach(() => vi.restoreAllMocks());

describe('runConcurrently', () => {
  it('works on all items with limited concurrency, and logs those that fail or hang', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    let now = 0;
    let most = 0;
    const done: number[] = [];
    await runConcurrently(
      [1, 2, 3, 4, 5],
      LIMITS,
      (one) => ({ part: String(one) }),
      async (one) => {
        now += 1;
        most = Math.max(most, now);
        try {
          await new Promise((resolve) => setTimeout(resolve, 5));
          if (one === 2) throw new Error('two');
        } finally {
          now -= 1;
        }
        if (one === 3) await never();
        done.push(one);
      },
    );
    expect(done).toEqual([1, 4, 5]);
    expect(most).toBe(2);
    const lines = log.mock.calls.map(([line]) => JSON.parse(line));
    expect(lines).toMatchObject([
      { event: 'part_failed', part: '2' },
      { event: 'part_failed', part: '3' },
    ]);
  });
});
