import { describe, expect, it } from 'vitest';
import { FixedWindows } from '../../src/kernel/fixed-window.ts';

const WINDOW_MS = 1000;
const NOW_MS = 5_000_000;

describe('a fixed-window rate limiter', () => {
  it('allows as many requests as its limit, then none until the window ends', () => {
    const windows = new FixedWindows(WINDOW_MS);
    const take = (now: number) => windows.countRequest('key', 2, now);
    const resetAt = NOW_MS + WINDOW_MS;
    expect([take(NOW_MS), take(NOW_MS + 10), take(NOW_MS + WINDOW_MS - 1)]).toEqual([
      { limit: 2, remaining: 1, resetAt, allowed: true },
      { limit: 2, remaining: 0, resetAt, allowed: true },
      { limit: 2, remaining: 0, resetAt, allowed: false },
    ]);
    expect(take(NOW_MS + WINDOW_MS)).toEqual({ limit: 2, remaining: 1, resetAt: resetAt + WINDOW_MS, allowed: true });
  });

  it('counts neither refused requests nor peeks', () => {
    const windows = new FixedWindows(WINDOW_MS);
    windows.countRequest('key', 1, NOW_MS);
    windows.countRequest('key', 1, NOW_MS);
    windows.getState('key', 1, NOW_MS);
    expect(windows.countRequest('key', 3, NOW_MS)).toMatchObject({ remaining: 1, allowed: true });
  });

  it('gives back the requests that it counted for a key, and no more', () => {
    const windows = new FixedWindows(WINDOW_MS);
    windows.countRequest('key', 2, NOW_MS);
    windows.countRequest('key', 2, NOW_MS);
    windows.uncountRequest('key', NOW_MS);
    expect(windows.getState('key', 2, NOW_MS).remaining).toBe(1);
    for (let attempt = 0; attempt < 3; attempt += 1) windows.uncountRequest('key', NOW_MS);
    expect(windows.countRequest('key', 2, NOW_MS).remaining).toBe(1);
    windows.countRequest('key', 2, NOW_MS + WINDOW_MS);
    windows.uncountRequest('other', NOW_MS + WINDOW_MS);
    expect(windows.getState('key', 2, NOW_MS + WINDOW_MS).remaining).toBe(1);
  });

  it('counts each key separately', () => {
    const windows = new FixedWindows(WINDOW_MS);
    windows.countRequest('key', 1, NOW_MS);
    expect(windows.countRequest('other', 1, NOW_MS).allowed).toBe(true);
  });

  it('keeps the window of a key among the windows of ten thousand other keys', () => {
    const windows = new FixedWindows(WINDOW_MS);
    windows.countRequest('key', 1, NOW_MS);
    for (let count = 0; count < 10_001; count += 1) windows.countRequest(`other ${count}`, 1, NOW_MS);
    expect(windows.countRequest('key', 1, NOW_MS).allowed).toBe(false);
  });
});
