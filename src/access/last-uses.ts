import { type ControlDb, commit } from '../db/client.ts';
import { recordUses, type Use, type Used } from '../db/last-uses.ts';
import { logError } from '../platform/log.ts';

/** The precision of `last_used_at`. */
const PRECISION_MS = 60_000;

/** What an isolate knows of the last use of a credential. It is changed as uses are recorded. */
export interface LastUse {
  used: readonly Used[];
  recordedAt: number | null;
  /** Recorded by this isolate, so that the next use may wait for others to be recorded with. */
  isGathered: boolean;
}

/** Uses that wait to be recorded together. */
let waiting: Use[] = [];
let recordedAt = 0;

/** Whoever was used as lately as this is in use: nobody waits to see the next time. */
const RECENT_MS = 5 * PRECISION_MS;

/** More than these are recorded before their minute is over: a bound of memory and of one statement, met by thousands of keys. */
const MOST = 5000;

/**
 * Records that a credential was used, at most once a minute, and never in the way of a request. The first use in a while is
 * recorded at once; the following ones once a minute in one batch for all whom the isolate serves, so that the control database
 * is not asked more the more people there are.
 */
export function recordLastUse(
  { db, now, defer }: { db: ControlDb; now(): number; defer(work: Promise<unknown>): void },
  last: LastUse,
): void {
  const at = now();
  if (last.recordedAt !== null && at - last.recordedAt < PRECISION_MS) return;
  const isRecent = last.recordedAt !== null && at - last.recordedAt < RECENT_MS;
  last.recordedAt = at;
  waiting.push(...last.used.map((used) => ({ ...used, at })));
  const justRecorded = recordedAt <= at && at - recordedAt < PRECISION_MS;
  const mayWait = (last.isGathered || isRecent) && justRecorded && waiting.length < MOST;
  last.isGathered = true;
  if (mayWait) return;
  const uses = waiting;
  waiting = [];
  recordedAt = at;
  const recorded = commit(db, { uses: recordUses(db, uses) });
  defer(recorded.catch((error) => logError('last_uses_not_recorded', error)));
}
