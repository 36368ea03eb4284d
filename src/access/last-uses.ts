import { type ControlDb, commit } from '../db/client.ts';
import { type CredentialUse, recordUses, type UsedCredential } from '../db/last-uses.ts';
import { logError } from '../platform/log.ts';

/** The precision of `last_used_at`. */
const PRECISION_MS = 60_000;

/** The last use of a credential, as an isolate knows it. It is changed as uses are recorded. */
export interface LastUse {
  used: readonly UsedCredential[];
  recordedAt: number | null;
  /** Whether this isolate recorded it, so that the next use may wait for the batch. */
  isGathered: boolean;
}

/** Uses that wait to be recorded together. */
let waitingUses: CredentialUse[] = [];
let recordedAt = 0;

/** A credential that was used within this time is in constant use: its next record may wait for the batch. */
const RECENT_MS = 5 * PRECISION_MS;

/** The maximum number of uses in a batch, which bounds memory and the statement. */
const MAX_WAITING = 5000;

/**
 * Records when a credential was used, at most once a minute and without delaying the request. The first use after a while is
 * recorded at once, later ones in one batch a minute for all credentials of the isolate.
 */
export function recordLastUse(
  { db, now, defer }: { db: ControlDb; now(): number; defer(work: Promise<unknown>): void },
  last: LastUse,
): void {
  const at = now();
  if (last.recordedAt !== null && at - last.recordedAt < PRECISION_MS) return;
  const isRecent = last.recordedAt !== null && at - last.recordedAt < RECENT_MS;
  last.recordedAt = at;
  waitingUses.push(...last.used.map((used) => ({ ...used, at })));
  const justRecorded = recordedAt <= at && at - recordedAt < PRECISION_MS;
  const mayWait = (last.isGathered || isRecent) && justRecorded && waitingUses.length < MAX_WAITING;
  last.isGathered = true;
  if (mayWait) return;
  const uses = waitingUses;
  waitingUses = [];
  recordedAt = at;
  const recorded = commit(db, { uses: recordUses(db, uses) });
  defer(recorded.catch((error) => logError('last_uses_not_recorded', error)));
}
