import { type ControlDb, commit } from '../db/client.ts';
import { type CredentialUse, recordUses, type UsedCredential } from '../db/last-uses.ts';
import { logError } from '../platform/log.ts';

/** Precision of `last_used_at`. */
const LAST_USE_PRECISION_MS = 60_000;

/** Last use of a credential, as this isolate knows it. It is updated as uses are recorded. */
export interface LastUse {
  usedCredentials: readonly UsedCredential[];
  recordedAt: number | null;
  /** True if this isolate recorded the last use, so that the next use may wait for the batch. */
  isRecordedHere: boolean;
}

/** Uses that wait to be recorded together. */
let waitingUses: CredentialUse[] = [];
let recordedAt = 0;

/** Age of the last use up to which a credential counts as constantly used: the next use may then wait for the batch. */
const RECENT_USE_MS = 5 * LAST_USE_PRECISION_MS;

/** The maximum number of uses in a batch, which bounds memory and the statement. */
const MAX_WAITING_USES = 5000;

/**
 * Records when a credential was used, at most once a minute and without delaying the request. The first use after a while is
 * recorded at once, later ones in one batch a minute for all credentials of the isolate.
 */
export function recordLastUse(
  { db, now, defer }: { db: ControlDb; now(): number; defer(work: Promise<unknown>): void },
  lastUse: LastUse,
): void {
  const at = now();
  if (lastUse.recordedAt !== null && at - lastUse.recordedAt < LAST_USE_PRECISION_MS) return;
  const isInConstantUse = lastUse.recordedAt !== null && at - lastUse.recordedAt < RECENT_USE_MS;
  lastUse.recordedAt = at;
  waitingUses.push(...lastUse.usedCredentials.map((usedCredential) => ({ ...usedCredential, at })));
  const isBatchRecent = recordedAt <= at && at - recordedAt < LAST_USE_PRECISION_MS;
  const mayWait = (lastUse.isRecordedHere || isInConstantUse) && isBatchRecent && waitingUses.length < MAX_WAITING_USES;
  lastUse.isRecordedHere = true;
  if (mayWait) return;
  const uses = waitingUses;
  waitingUses = [];
  recordedAt = at;
  const recordedUses = commit(db, { uses: recordUses(db, uses) });
  defer(recordedUses.catch((error) => logError('last_uses_not_recorded', error)));
}
