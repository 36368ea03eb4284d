import type { Context } from '../../context.ts';
import { changes, commit } from '../../db/client.ts';
import { newestPrefix, renewed } from '../../platform/cipher.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { attempt, secondFactorOf } from './attempts.ts';
import type { SignedIn } from './complete.ts';
import { proofOf, type SecondFactorCode, secretContext } from './factor-codes.ts';
import { pendingEnded, wrongSecondFactor } from './failures.ts';
import {
  countTry,
  endPending,
  renewFactorSecret,
  selectFactorsNotUnder,
  selectPending,
  useProofAfterChange,
} from './second-factor-store.ts';
import { prepareSession } from './sessions.ts';

/**
 * Ends a sign-in that waits for the second factor. The code is used up, the pending token ended and the session begun in
 * one unit.
 * @throws Failure `second_factor.pending_ended`, `second_factor.wrong_code`, `sign_in.too_many_attempts`
 */
export async function logInWithSecondFactor(
  ctx: Context,
  input: { pendingToken: string; code: SecondFactorCode },
): Promise<SignedIn> {
  const digest = await sha256Hex(input.pendingToken);
  const [found] = await selectPending(ctx.db, digest, ctx.now());
  if (!found) throw pendingEnded();
  const { user } = found;
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  const factor = { id: found.factorId, secret: found.secret, companyId: user.companyId };
  return attempt(ctx, secondFactorOf(user.companyId, user.id), async () => {
    const now = ctx.now();
    const proof = await proofOf(ctx, factor, input.code);
    const session = await prepareSession(ctx, user, { afterChange: true });
    const [counted, , , begun] = await commit(ctx.db, [
      countTry(ctx.db, digest, now, 'login'),
      useProofAfterChange(ctx.db, factor, proof),
      endPending(ctx.db, digest, now),
      ...session.statements,
    ]);
    // Others have used the tries up meanwhile.
    if (changes(counted) === 0) throw pendingEnded();
    if (changes(begun) === 0) throw wrongSecondFactor();
    return { ...(await session.tokens()), user };
  });
}

/** Authenticators that one scheduled run renews. */
const RENEWED_AT_ONCE = 500;

/** The scheduled run's part: brings secrets of authenticators under the newest encryption key. @returns how many */
export async function renewSecondFactors(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdated = await selectFactorsNotUnder(ctx.db, newestPrefix(keys), RENEWED_AT_ONCE);
  const secrets = await Promise.all(outdated.map((factor) => renewed(keys, factor.secret, secretContext(factor))));
  const [first, ...others] = outdated.map((factor, at) => renewFactorSecret(ctx.db, factor, secrets[at] as string));
  if (first) await commit(ctx.db, [first, ...others]);
  return outdated.length;
}
