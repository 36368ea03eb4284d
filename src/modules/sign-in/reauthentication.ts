import type { UserContext } from '../../context.ts';
import { readTogether, type Statement } from '../../db/client.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { verifyPassword } from '../../platform/passwords.ts';
import { selectUser, type User } from '../users/service.ts';
import { attemptGuess, attemptPassword, makeSecondFactorGuess, selectCallerNetworkKnown } from './attempts.ts';
import { computeProof, type SecondFactorCode } from './factor-codes.ts';
import { reauthenticationRequired, wrongCredentials, wrongSecondFactor } from './failures.ts';
import { useFreshSession, usePassword, useProof } from './proof-store.ts';
import { type SecondFactor, selectFactor } from './second-factor-store.ts';

/** The proof with which a signed-in caller authenticates again: the password, or a code of the second factor. */
export interface Reauthentication {
  password?: string;
  code?: SecondFactorCode;
}

/** The maximum age of the session of a caller who has neither password nor second factor. */
const MAX_FRESH_SESSION_AGE_MS = 10 * MINUTE_MS;

/**
 * Runs `work` once the caller has authenticated again: an access token alone may be stolen, and must not change how its user
 * signs in. @param factor the caller's enabled authenticator, if there is one @param work commits a unit that begins with
 * `proof`, and changes nothing else unless `proof` changed a row; answers undefined if nothing was changed
 */
export async function runWithReauthentication<T>(
  ctx: UserContext,
  factor: SecondFactor | null,
  { password, code }: Reauthentication,
  work: (proof: Statement) => Promise<T | undefined>,
): Promise<T> {
  const { companyId, id, sessionId } = ctx.actor;
  if (code !== undefined) {
    if (!factor) throw wrongSecondFactor();
    return attemptGuess(ctx, makeSecondFactorGuess(companyId, id), async () => {
      const proof = await computeProof(ctx, factor, code);
      return (await work(useProof(ctx.db, factor, proof))) ?? throwError(wrongSecondFactor());
    });
  }
  if (password !== undefined) {
    return runWithPassword(ctx, password, async (user) => {
      return (await work(usePassword(ctx.db, user))) ?? throwError(wrongCredentials());
    });
  }
  const [user] = await selectUser(ctx.db, companyId, id);
  if (!user || user.passwordHash !== null) throw wrongCredentials();
  if (factor) throw wrongSecondFactor();
  const now = ctx.now();
  return (
    (await work(useFreshSession(ctx.db, user, { sessionId, since: now - MAX_FRESH_SESSION_AGE_MS }))) ??
    throwError(reauthenticationRequired())
  );
}

/** Reads the caller's authenticator, if any, and runs `work` like `runWithReauthentication`. */
export async function runWithOwnFactor<T>(
  ctx: UserContext,
  reauthentication: Reauthentication,
  work: (proof: Statement) => Promise<T | undefined>,
): Promise<T> {
  const [factor] = await selectFactor(ctx.db, ctx.actor.companyId, ctx.actor.id);
  return runWithReauthentication(ctx, factor && factor.confirmedAt !== null ? factor : null, reauthentication, work);
}

/** Runs `work` if this is the caller's password. A wrong password counts as a failed sign-in. */
export async function runWithPassword<T>(
  ctx: UserContext,
  password: string,
  work: (user: User) => Promise<T>,
): Promise<T> {
  const { companyId, id, email } = ctx.actor;
  const {
    user: [user],
    known,
  } = await readTogether(ctx.db, {
    user: selectUser(ctx.db, companyId, id),
    known: selectCallerNetworkKnown(ctx, companyId, email),
  });
  return attemptPassword(ctx, { companyId, email, isNetworkKnown: known.length > 0 }, async () => {
    const { isCorrect } = await verifyPassword(password, user?.passwordHash ?? null);
    if (!isCorrect || !user) throw wrongCredentials();
    return work(user);
  });
}

function throwError(error: Error): never {
  throw error;
}
