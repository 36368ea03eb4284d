import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { logError } from '../../platform/log.ts';
import { touchKey } from './store.ts';

/** How fine `last_used_at` is: a busy key costs one write in this time. */
const GRAIN_MS = 60_000;

/** Records after the answer that a key was used, unless that was recorded within the last minute. */
export function recordUse(
  ctx: Context,
  key: { id: string; companyId: string; serviceAccountId: string; lastUsedAt: number | null },
): void {
  const now = ctx.now();
  if (key.lastUsedAt !== null && now - key.lastUsedAt < GRAIN_MS) return;
  const used = { companyId: key.companyId, keyId: key.id, serviceAccountId: key.serviceAccountId };
  const recorded = commit(ctx.db, { touched: touchKey(ctx.db, used, now, now - GRAIN_MS) }).catch((error) =>
    logError('key_use_not_recorded', error),
  );
  ctx.defer(recorded);
}
