import type { UnreadObject } from '../../kernel/unread-json.ts';
import { Semaphore } from '../../platform/semaphore.ts';
import { tooManyLargeRows } from './failures.ts';

/** Rows that are no larger are written beside any others. */
const LARGE_BYTES = 1024 * 1024;

/**
 * A value of 10 MiB takes some 40 MB on its way to Postgres, of the 128 MB that an isolate has. Those that wait hold their
 * bodies, of 10 MiB at most.
 */
const semaphore = new Semaphore({ permits: 1, maxWaiting: 3, waitMs: 20_000, holdMs: 60_000 });

/**
 * Runs `work`, which writes these rows: where one of them is large, when no other such work of the isolate is under way.
 * @throws tooManyLargeRows where too many others wait, or for too long
 */
export function limitLargeRows<T>(rows: readonly (UnreadObject | null)[], work: () => Promise<T>): Promise<T> {
  const isLarge = rows.some((row) => row && row.bytes > LARGE_BYTES);
  return isLarge ? semaphore.run(work, tooManyLargeRows) : work();
}
