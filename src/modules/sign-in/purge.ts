import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { deleteExpiredCodes } from './passwordless-store.ts';
import { deleteExpiredSecondFactors } from './second-factor-store.ts';
import { deleteExpiredSessions } from './store.ts';
import { oldestStep } from './totp.ts';

/** The scheduled run's part: forgets sessions, codes and pending tokens that have expired. */
export async function purgeSignIns(ctx: Context): Promise<void> {
  const now = ctx.now();
  await commit(ctx.db, [
    deleteExpiredSessions(ctx.db, now),
    deleteExpiredCodes(ctx.db, now),
    ...deleteExpiredSecondFactors(ctx.db, now, oldestStep(now)),
  ]);
}
