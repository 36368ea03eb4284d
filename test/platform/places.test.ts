import { afterEach, expect, it, vi } from 'vitest';
import { Places } from '../../src/platform/places.ts';

const limits = { places: 2, waiting: 2, waitMs: 100, placeMs: 60_000 };
type Taken = Awaited<ReturnType<Places['take']>>;
afterEach(() => {
  vi.useRealTimers();
});

const isGiven = (taken: Taken) => taken !== null;

it('places are given in the order of asking', async () => {
  const places = new Places(limits);
  const [first, second] = [await places.take(), await places.take()];
  const given: number[] = [];
  const waiting = [3, 4].map((n) => places.take().then((leave) => given.push(leave ? n : -n)));
  first?.();
  first?.();
  await waiting[0];
  expect(given).toEqual([3]);
  second?.();
  await waiting[1];
  expect(given).toEqual([3, 4]);
});

it('who finds the queue full is turned away at once, who waits too long later', async () => {
  vi.useFakeTimers();
  const places = new Places(limits);
  await places.take();
  await places.take();
  const waiting = [places.take(), places.take()];
  expect(isGiven(await places.take())).toBe(false);
  await vi.advanceTimersByTimeAsync(limits.waitMs);
  expect((await Promise.all(waiting)).map(isGiven)).toEqual([false, false]);
  expect(places.isIdle).toBe(false);
});

it('a free place is taken without waiting, or not at all', async () => {
  const places = new Places(limits);
  const leave = places.takeFree();
  expect(isGiven(leave)).toBe(true);
  expect(isGiven(places.takeFree())).toBe(true);
  expect(isGiven(places.takeFree())).toBe(false);
  leave?.();
  expect(isGiven(places.takeFree())).toBe(true);
});

it('a place that is never given back is free again in time', async () => {
  vi.useFakeTimers();
  const places = new Places({ ...limits, placeMs: 20 });
  await places.take();
  await places.take();
  expect(isGiven(places.takeFree())).toBe(false);
  // Whoever waits looks once more at the end.
  const waiting = places.take();
  await vi.advanceTimersByTimeAsync(limits.waitMs);
  expect(isGiven(await waiting)).toBe(true);
});

it('work that runs in a place gives it back, also when it fails, and is not done where too many wait', async () => {
  const places = new Places({ ...limits, places: 1, waiting: 0 });
  const full = () => new Error('full');
  const { promise: mayEnd, resolve: goOn } = Promise.withResolvers<void>();
  const work = places.run(async () => mayEnd.then(() => 'done'), full);
  await expect(places.run(async () => 'done beside it', full)).rejects.toThrow('full');
  goOn();
  expect(await work).toBe('done');
  await expect(places.run(() => Promise.reject(new Error('failed')), full)).rejects.toThrow('failed');
  expect(await places.run(async () => 'done next', full)).toBe('done next');
});
