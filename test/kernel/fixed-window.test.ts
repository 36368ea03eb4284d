import { describe, expect, it } from 'vitest';
import { FixedWindows } from '../../src/kernel/fixed-window.ts';

const LENGTH = 1000;
const NOW = 5_000_000;

describe('a fixed-window rate limiter', () => {
  it('allows as many requests as its limit, then none until the window ends', () => {
    const windows = new FixedWindows(LENGTH);
    const take = (now: number) => windows.take('key', 2, now);
    const resetAt = NOW + LENGTH;
    expect([take(NOW), take(NOW + 10), take(NOW + LENGTH - 1)]).toEqual([
      { limit: 2, remaining: 1, resetAt, allowed: true },
      { limit: 2, remaining: 0, resetAt, allowed: true },
      { limit: 2, remaining: 0, resetAt, allowed: false },
    ]);
    expect(take(NOW + LENGTH)).toEqual({ limit: 2, remaining: 1, resetAt: resetAt + LENGTH, allowed: true });
  });

  it('counts neither refused requests nor peeks', () => {
    const windows = new FixedWindows(LENGTH);
    windows.take('key', 1, NOW);
    windows.take('key', 1, NOW);
    windows.peek('key', 1, NOW);
    expect(windows.take('key', 3, NOW)).toMatchObject({ remaining: 1, allowed: true });
  });

  it('gives back what it counted for a key, and no more', () => {
    const windows = new FixedWindows(LENGTH);
    windows.take('key', 2, NOW);
    windows.take('key', 2, NOW);
    windows.giveBack('key', NOW);
    expect(windows.peek('key', 2, NOW).remaining).toBe(1);
    for (let times = 0; times < 3; times += 1) windows.giveBack('key', NOW);
    expect(windows.take('key', 2, NOW).remaining).toBe(1);
    windows.take('key', 2, NOW + LENGTH);
    windows.giveBack('other', NOW + LENGTH);
    expect(windows.peek('key', 2, NOW + LENGTH).remaining).toBe(1);
  });

  it('counts each key separately', () => {
    const windows = new FixedWindows(LENGTH);
    windows.take('key', 1, NOW);
    expect(windows.take('other', 1, NOW).allowed).toBe(true);
  });

  it('keeps the window of a key among those of ten thousand others', () => {
    const windows = new FixedWindows(LENGTH);
    windows.take('key', 1, NOW);
    for (let count = 0; count < 10_001; count += 1) windows.take(`other ${count}`, 1, NOW);
    expect(windows.take('key', 1, NOW).allowed).toBe(false);
  });
});
