import type { UnreadObject } from '../../kernel/unread-json.ts';
import { Places } from '../../platform/places.ts';
import { tooManyLargeRows } from './failures.ts';

/** Rows that are no larger are written beside any others. */
const LARGE_BYTES = 1024 * 1024;

/** A value of 10 MiB takes some 40 MB on its way to Postgres, of the 128 MB that an isolate has. */
const places = new Places({ places: 1, waiting: 20, waitMs: 20_000, placeMs: 60_000 });

/**
 * Does work that writes these rows: where one of them is large, beside no other such work of the isolate.
 * @throws Failure where too many others wait to
 */
export async function besideNoLargeRows<T>(rows: readonly (UnreadObject | null)[], work: () => Promise<T>): Promise<T> {
  if (!rows.some((row) => row && row.bytes > LARGE_BYTES)) return work();
  const leave = await places.take();
  if (!leave) throw tooManyLargeRows();
  try {
    return await work();
  } finally {
    leave();
  }
}
