import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { getNewestPrefix, reencrypt } from '../../platform/cipher.ts';
import { deleteExpiredSessions } from '../sessions/queries.ts';
import { computeKnownNetworkStart } from './attempts.ts';
import { computeOldestStep, makeSecretContext } from './factor-codes.ts';
import { deleteExpiredSecondFactors, replaceFactorSecret, selectFactorsUnderOlderKey } from './second-factor-store.ts';
import { deleteExpiredCodes, deleteOldNetworks } from './store.ts';

/** Deletes expired sessions, codes, pending tokens and networks. For the scheduled run. */
export async function purgeSignIns(ctx: Context): Promise<void> {
  const now = ctx.now();
  await commit(ctx.db, {
    sessions: deleteExpiredSessions(ctx.db, now),
    codes: deleteExpiredCodes(ctx.db, now),
    networks: deleteOldNetworks(ctx.db, computeKnownNetworkStart(ctx)),
    secondFactors: deleteExpiredSecondFactors(ctx.db, now, computeOldestStep(now)),
  });
}

/** The maximum number of authenticators that one scheduled run encrypts again. */
const BATCH_SIZE = 500;

/** Encrypts secrets of authenticators again under the newest key. For the scheduled run. @returns how many */
export async function reencryptSecondFactors(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdatedFactors = await selectFactorsUnderOlderKey(ctx.db, getNewestPrefix(keys), BATCH_SIZE);
  const secrets = await Promise.all(
    outdatedFactors.map((factor) => reencrypt(keys, factor.secret, makeSecretContext(factor))),
  );
  const replaceStatements = outdatedFactors.map((factor, index) =>
    replaceFactorSecret(ctx.db, factor, secrets[index] as string),
  );
  if (replaceStatements.length > 0) await commit(ctx.db, { replaced: replaceStatements });
  return replaceStatements.length;
}
