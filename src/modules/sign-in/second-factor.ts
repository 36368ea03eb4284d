import type { Context } from '../../context.ts';
import { commit, countChangedRows } from '../../db/client.ts';
import { afterChange } from '../../db/statements.ts';
import { attempt, guessSecondFactor } from './attempts.ts';
import { requirePending, type SignedIn } from './complete.ts';
import { proveCode, type SecondFactorCode } from './factor-codes.ts';
import { pendingSignInEnded, wrongSecondFactor } from './failures.ts';
import { countTry, endPending, selectPending } from './pending-store.ts';
import { useProofAfterChange } from './proof-store.ts';
import { prepareSession } from './sessions.ts';

/** Completes a sign-in with the second factor: uses the code, ends the pending token and begins the session in one unit. */
export async function logInWithSecondFactor(
  ctx: Context,
  input: { pendingToken: string; code: SecondFactorCode },
): Promise<SignedIn> {
  const requireLive = () => requirePending(ctx, input.pendingToken, selectPending);
  const { user, digest, needsNoSso, factorId, secret } = await requireLive();
  const factor = { id: factorId, secret, companyId: user.companyId };
  return attempt(ctx, guessSecondFactor(user.companyId, user.id), async () => {
    const now = ctx.now();
    const proof = await proveCode(ctx, factor, input.code);
    const session = await prepareSession(ctx, user, { when: afterChange });
    const results = await commit(ctx.db, {
      count: countTry(ctx.db, digest, now, { purpose: 'login', needsNoSso }),
      use: useProofAfterChange(ctx.db, factor, proof),
      end: endPending(ctx.db, digest, now),
      ...session.statements,
    });
    // The pending token has ended since it was read, or its company takes it no longer.
    if (countChangedRows(results.count) === 0) {
      await requireLive();
      throw pendingSignInEnded();
    }
    if (countChangedRows(results.session) === 0) throw wrongSecondFactor();
    return { ...(await session.tokens()), user };
  });
}
