import { afterEach, expect, it, vi } from 'vitest';
import { Semaphore } from '../../src/platform/semaphore.ts';

const semaphoreLimits = { permitCount: 2, maxWaiting: 2, waitMs: 100, holdMs: 60_000 };
type AcquiredPermit = Awaited<ReturnType<Semaphore['acquire']>>;
afterEach(() => {
  vi.useRealTimers();
});

const isGranted = (permit: AcquiredPermit) => permit !== null;

it('a semaphore grants permits in the order of the requests', async () => {
  const semaphore = new Semaphore(semaphoreLimits);
  const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
  const grantedOrder: number[] = [];
  const waitingPermits = [3, 4].map((n) => semaphore.acquire().then((release) => grantedOrder.push(release ? n : -n)));
  first?.();
  first?.();
  await waitingPermits[0];
  expect(grantedOrder).toEqual([3]);
  second?.();
  await waitingPermits[1];
  expect(grantedOrder).toEqual([3, 4]);
});

it('a semaphore refuses a permit at once when its queue is full, and after too long a wait', async () => {
  vi.useFakeTimers();
  const semaphore = new Semaphore(semaphoreLimits);
  await semaphore.acquire();
  await semaphore.acquire();
  const waitingPermits = [semaphore.acquire(), semaphore.acquire()];
  expect(isGranted(await semaphore.acquire())).toBe(false);
  await vi.advanceTimersByTimeAsync(semaphoreLimits.waitMs);
  expect((await Promise.all(waitingPermits)).map(isGranted)).toEqual([false, false]);
  expect(semaphore.isIdle).toBe(false);
});

it('a semaphore gives a free permit without waiting, or null', async () => {
  const semaphore = new Semaphore(semaphoreLimits);
  const release = semaphore.tryAcquire();
  expect(isGranted(release)).toBe(true);
  expect(isGranted(semaphore.tryAcquire())).toBe(true);
  expect(isGranted(semaphore.tryAcquire())).toBe(false);
  release?.();
  expect(isGranted(semaphore.tryAcquire())).toBe(true);
});

it('a permit that is never released is freed after its maximum hold time', async () => {
  vi.useFakeTimers();
  const semaphore = new Semaphore({ ...semaphoreLimits, holdMs: 20 });
  await semaphore.acquire();
  await semaphore.acquire();
  expect(isGranted(semaphore.tryAcquire())).toBe(false);
  // Whoever waits looks once more at the end.
  const waitingPermits = semaphore.acquire();
  await vi.advanceTimersByTimeAsync(semaphoreLimits.waitMs);
  expect(isGranted(await waitingPermits)).toBe(true);
});

it('work under a permit releases the permit, also when the work fails, and is not done if too many wait', async () => {
  const semaphore = new Semaphore({ ...semaphoreLimits, permitCount: 1, maxWaiting: 0 });
  const createFullError = () => new Error('full');
  const { promise: mayEnd, resolve: allowEnd } = Promise.withResolvers<void>();
  const work = semaphore.runWithPermit(async () => mayEnd.then(() => 'done'), createFullError);
  await expect(semaphore.runWithPermit(async () => 'done beside it', createFullError)).rejects.toThrow('full');
  allowEnd();
  expect(await work).toBe('done');
  await expect(semaphore.runWithPermit(() => Promise.reject(new Error('failed')), createFullError)).rejects.toThrow(
    'failed',
  );
  expect(await semaphore.runWithPermit(async () => 'done next', createFullError)).toBe('done next');
});
