import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { deleteExpiredSessions } from '../sessions/queries.ts';
import { forgottenNetworks } from './attempts.ts';
import { deleteOldNetworks } from './network-store.ts';
import { deleteExpiredCodes } from './passwordless-store.ts';
import { deleteExpiredSecondFactors } from './second-factor-store.ts';
import { oldestStep } from './totp.ts';

/** The scheduled run's part: forgets sessions, codes and pending tokens that have expired, and networks of long ago. */
export async function purgeSignIns(ctx: Context): Promise<void> {
  const now = ctx.now();
  await commit(ctx.db, [
    deleteExpiredSessions(ctx.db, now),
    deleteExpiredCodes(ctx.db, now),
    deleteOldNetworks(ctx.db, forgottenNetworks(ctx)),
    ...deleteExpiredSecondFactors(ctx.db, now, oldestStep(now)),
  ]);
}
