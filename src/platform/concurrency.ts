import { withinTime } from '../kernel/time-limit.ts';
import { logError } from './log.ts';

export interface ConcurrencyLimits {
  /** Items worked on at once. */
  concurrency: number;
  /** For each item. */
  timeoutMs: number;
  /** The log's event for an item that failed or took too long. */
  failureEvent: string;
}

/**
 * Runs `work` for each item. One that fails or takes too long is logged, and keeps no other from running. Work that took too long
 * is abandoned, not stopped: it must end by itself.
 * @param factsOf the data about an item for the log
 */
export async function runConcurrently<T>(
  items: readonly T[],
  { concurrency, timeoutMs, failureEvent }: ConcurrencyLimits,
  factsOf: (item: T) => Record<string, string>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await withinTime(timeoutMs, work(item));
      } catch (error) {
        logError(failureEvent, error, factsOf(item));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
}

/** The shortest pause before another try, and its random part, in milliseconds. */
const PAUSE = { min: 250, spread: 1_000 };

/** Waits before another try: for a random time, so that not all who were turned away try at once. */
export const pauseBeforeRetry = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, PAUSE.min + Math.random() * PAUSE.spread));
