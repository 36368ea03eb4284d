import type { UnreadObject } from '../../kernel/unread-json.ts';
import { Semaphore } from '../../platform/semaphore.ts';
import { tooManyLargeRows } from './failures.ts';

/** The maximum number of bytes of a row that may be written concurrently with others. */
const MAX_SMALL_ROW_BYTES = 1024 * 1024;

/**
 * The limit for writing large rows: a value of 10 MiB takes some 40 MB on its way to Postgres, of the 128 MB of an isolate.
 * Waiting requests hold their bodies, of 10 MiB each at most.
 */
const largeRowSemaphore = new Semaphore({ permitCount: 1, maxWaiting: 3, waitMs: 20_000, holdMs: 60_000 });

/**
 * Runs `work`, which writes these rows. If one of them is large, only one such `work` of the isolate runs at a time.
 * @throws tooManyLargeRows if too many others wait, or the wait is too long
 */
export function runWithLargeRowLimit<T>(rows: readonly (UnreadObject | null)[], work: () => Promise<T>): Promise<T> {
  const isLarge = rows.some((row) => row && row.byteCount > MAX_SMALL_ROW_BYTES);
  return isLarge ? largeRowSemaphore.runWithPermit(work, tooManyLargeRows) : work();
}
