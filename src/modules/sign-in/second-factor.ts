import type { Context } from '../../context.ts';
import { commit, countChangedRows } from '../../db/client.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { attemptGuess, makeSecondFactorGuess } from './attempts.ts';
import { requirePendingSignIn, type StartedSession } from './complete.ts';
import { computeProof, type SecondFactorCode } from './factor-codes.ts';
import { pendingSignInEnded, wrongSecondFactor } from './failures.ts';
import { countTry, endPending, selectPending } from './pending-store.ts';
import { useProofAfterChange } from './proof-store.ts';
import { prepareSession } from './sessions.ts';

/** Completes a sign-in with the second factor: uses the code, ends the pending token and begins the session in one unit. */
export async function logInWithSecondFactor(
  ctx: Context,
  input: { pendingToken: string; code: SecondFactorCode },
): Promise<StartedSession> {
  const requireLiveSignIn = () => requirePendingSignIn(ctx, input.pendingToken, selectPending);
  const { user, digest, needsNoSso, factorId, secret } = await requireLiveSignIn();
  const factor = { id: factorId, secret, companyId: user.companyId };
  return attemptGuess(ctx, makeSecondFactorGuess(user.companyId, user.id), async () => {
    const now = ctx.now();
    const proof = await computeProof(ctx, factor, input.code);
    const session = await prepareSession(ctx, user, { condition: HAS_CHANGED_ROWS });
    const results = await commit(ctx.db, {
      count: countTry(ctx.db, digest, now, { purpose: 'login', needsNoSso }),
      use: useProofAfterChange(ctx.db, factor, proof),
      end: endPending(ctx.db, digest, now),
      ...session.statements,
    });
    // The pending token has ended since it was read, or its company takes it no longer.
    if (countChangedRows(results.count) === 0) {
      await requireLiveSignIn();
      throw pendingSignInEnded();
    }
    if (countChangedRows(results.session) === 0) throw wrongSecondFactor();
    return { ...(await session.tokens()), user };
  });
}
