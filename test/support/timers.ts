import { vi } from 'vitest';

/** Has each timer that is set for the given number of milliseconds end after another number of them, until the test ends. */
export function replaceDelays(delays: Record<number, number>): void {
  const { setTimeout } = globalThis;
  const setOtherTimeout = (work: () => void, delay = 0) => setTimeout(work, delays[delay] ?? delay);
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(setOtherTimeout as typeof setTimeout);
}
