import { awaitWithinTime } from '../kernel/time-limit.ts';
import { logError } from './log.ts';

export interface ConcurrencyLimits {
  /** The maximum number of items worked on at the same time. */
  concurrency: number;
  /** The maximum time for each item. */
  timeoutMs: number;
  /** The log event for an item that failed or took too long. */
  failureEvent: string;
}

/**
 * Runs `work` for each item. An item that fails or takes too long is logged, and does not stop the others. Work that took too
 * long is abandoned, not stopped: it must end by itself. @param listLogFields the data about an item for the log
 */
export async function runConcurrently<T>(
  items: readonly T[],
  { concurrency, timeoutMs, failureEvent }: ConcurrencyLimits,
  listLogFields: (item: T) => Record<string, string>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = [...items];
  const runWorker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await awaitWithinTime(timeoutMs, work(item));
      } catch (error) {
        logError(failureEvent, error, listLogFields(item));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, runWorker));
}

/** The shortest pause before a retry, and the range of its random part, in milliseconds. */
const RETRY_PAUSE_MS = { min: 250, spread: 1_000 };

/** Waits before a retry: for a random time, so that not all rejected callers retry together. */
export const pauseBeforeRetry = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS.min + Math.random() * RETRY_PAUSE_MS.spread));
