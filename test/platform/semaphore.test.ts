import { afterEach, expect, it, vi } from 'vitest';
import { Semaphore } from '../../src/platform/semaphore.ts';

const limits = { permits: 2, maxWaiting: 2, waitMs: 100, holdMs: 60_000 };
type Taken = Awaited<ReturnType<Semaphore['acquire']>>;
afterEach(() => {
  vi.useRealTimers();
});

const isGiven = (taken: Taken) => taken !== null;

it('a semaphore grants permits in the order of asking', async () => {
  const semaphore = new Semaphore(limits);
  const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
  const given: number[] = [];
  const waiting = [3, 4].map((n) => semaphore.acquire().then((release) => given.push(release ? n : -n)));
  first?.();
  first?.();
  await waiting[0];
  expect(given).toEqual([3]);
  second?.();
  await waiting[1];
  expect(given).toEqual([3, 4]);
});

it('a semaphore refuses a permit at once when its queue is full, and after too long a wait', async () => {
  vi.useFakeTimers();
  const semaphore = new Semaphore(limits);
  await semaphore.acquire();
  await semaphore.acquire();
  const waiting = [semaphore.acquire(), semaphore.acquire()];
  expect(isGiven(await semaphore.acquire())).toBe(false);
  await vi.advanceTimersByTimeAsync(limits.waitMs);
  expect((await Promise.all(waiting)).map(isGiven)).toEqual([false, false]);
  expect(semaphore.isIdle).toBe(false);
});

it('a semaphore gives a free permit without waiting, or none', async () => {
  const semaphore = new Semaphore(limits);
  const release = semaphore.tryAcquire();
  expect(isGiven(release)).toBe(true);
  expect(isGiven(semaphore.tryAcquire())).toBe(true);
  expect(isGiven(semaphore.tryAcquire())).toBe(false);
  release?.();
  expect(isGiven(semaphore.tryAcquire())).toBe(true);
});

it('a permit that is never released is freed after its maximum hold time', async () => {
  vi.useFakeTimers();
  const semaphore = new Semaphore({ ...limits, holdMs: 20 });
  await semaphore.acquire();
  await semaphore.acquire();
  expect(isGiven(semaphore.tryAcquire())).toBe(false);
  // Whoever waits looks once more at the end.
  const waiting = semaphore.acquire();
  await vi.advanceTimersByTimeAsync(limits.waitMs);
  expect(isGiven(await waiting)).toBe(true);
});

it('work under a permit releases it, also when it fails, and is not done if too many wait', async () => {
  const semaphore = new Semaphore({ ...limits, permits: 1, maxWaiting: 0 });
  const full = () => new Error('full');
  const { promise: mayEnd, resolve: goOn } = Promise.withResolvers<void>();
  const work = semaphore.run(async () => mayEnd.then(() => 'done'), full);
  await expect(semaphore.run(async () => 'done beside it', full)).rejects.toThrow('full');
  goOn();
  expect(await work).toBe('done');
  await expect(semaphore.run(() => Promise.reject(new Error('failed')), full)).rejects.toThrow('failed');
  expect(await semaphore.run(async () => 'done next', full)).toBe('done next');
});
