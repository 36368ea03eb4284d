import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { newestPrefix, reencrypt } from '../../platform/cipher.ts';
import { deleteExpiredSessions } from '../sessions/queries.ts';
import { oldestKnownNetwork } from './attempts.ts';
import { secretContext } from './factor-codes.ts';
import { deleteOldNetworks } from './network-store.ts';
import { deleteExpiredCodes } from './passwordless-store.ts';
import { deleteExpiredSecondFactors, replaceFactorSecret, selectFactorsUnderOlderKey } from './second-factor-store.ts';
import { oldestStep } from './totp.ts';

/** Deletes expired sessions, codes, pending tokens and networks. For the scheduled run. */
export async function purgeSignIns(ctx: Context): Promise<void> {
  const now = ctx.now();
  await commit(ctx.db, {
    sessions: deleteExpiredSessions(ctx.db, now),
    codes: deleteExpiredCodes(ctx.db, now),
    networks: deleteOldNetworks(ctx.db, oldestKnownNetwork(ctx)),
    secondFactors: deleteExpiredSecondFactors(ctx.db, now, oldestStep(now)),
  });
}

/** Authenticators that one scheduled run encrypts again. */
const BATCH = 500;

/** Encrypts secrets of authenticators under the newest key. For the scheduled run. @returns how many */
export async function reencryptSecondFactors(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdated = await selectFactorsUnderOlderKey(ctx.db, newestPrefix(keys), BATCH);
  const secrets = await Promise.all(outdated.map((factor) => reencrypt(keys, factor.secret, secretContext(factor))));
  const replaced = outdated.map((factor, index) => replaceFactorSecret(ctx.db, factor, secrets[index] as string));
  if (replaced.length > 0) await commit(ctx.db, { replaced });
  return replaced.length;
}
