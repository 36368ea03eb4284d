import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { isUnrestricted } from '../../access/evaluation.ts';
import { requireMayGrant } from '../../access/grants.ts';
import { selectAccess, toAccessSources } from '../../access/sources.ts';
import type { Context, PrincipalContext, UserContext } from '../../context.ts';
import { commit, countChangedRows, readTogether } from '../../db/client.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { selectUser, userNotFound } from '../users/service.ts';
import { attemptGuess, makeSecondFactorGuess } from './attempts.ts';
import { requirePendingSignIn, type StartedSession } from './complete.ts';
import { computeProof, createBackupCodes, type SecondFactorCode } from './factor-codes.ts';
import {
  cannotResetOwnersFactor,
  cannotResetOwnFactor,
  noSecondFactor,
  pendingSignInEnded,
  secondFactorNotEnabled,
  wrongSecondFactor,
} from './failures.ts';
import { useProofAfterChange } from './proof-store.ts';
import { type Reauthentication, runWithReauthentication } from './reauthentication.ts';
import {
  addBackupCodes,
  deleteFactorRemains,
  deleteOtherBackupCodes,
  removeAllFactors,
  removeFactor,
  type SecondFactor,
  selectFactor,
} from './second-factor-store.ts';
import { prepareSecurityConsequences } from './security-mails.ts';
import { prepareSession } from './sessions.ts';
import { countTry, endPending, selectPending } from './store.ts';

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

/** Disables the caller's second factor. */
export async function disableSecondFactor(ctx: UserContext, reauthentication: Reauthentication): Promise<void> {
  const factor = await readEnabledFactor(ctx);
  await runWithReauthentication(ctx, factor, reauthentication, async (proof) => {
    const consequences = prepareSecurityConsequences(ctx, ctx.actor, 'second_factor_disabled', ctx.actor.sessionId);
    const results = await commitAccess(ctx, makeAffectedPrincipals(ctx.actor.companyId, ctx.actor.id), {
      proof,
      ...removeFactor(ctx.db, factor, ctx.now()),
      ...consequences.statements,
      remains: deleteFactorRemains(ctx.db, factor),
    });
    if (countChangedRows(results.disable) === 0) return undefined;
    consequences.send();
    return true;
  });
}

/** Replaces the caller's backup codes: the old ones stop working. */
export async function replaceBackupCodes(ctx: UserContext, reauthentication: Reauthentication): Promise<string[]> {
  const factor = await readEnabledFactor(ctx);
  return runWithReauthentication(ctx, factor, reauthentication, async (proof) => {
    const { codes, storedCodes } = await createBackupCodes(ctx, factor.id);
    const consequences = prepareSecurityConsequences(ctx, ctx.actor, 'backup_codes_renewed', ctx.actor.sessionId);
    const results = await commitAccess(ctx, makeAffectedPrincipals(ctx.actor.companyId, ctx.actor.id), {
      proof,
      ...addBackupCodes(ctx.db, factor, storedCodes),
      ...consequences.statements,
      old: deleteOtherBackupCodes(ctx.db, factor, storedCodes),
    });
    if (countChangedRows(results.user) === 0) return undefined;
    consequences.send();
    return codes;
  });
}

/**
 * Removes the second factor of another user, who has lost it, and their passkeys. The factors of a user who may do more
 * than the caller stay: without them the caller could sign in as that user more easily.
 */
export async function resetSecondFactor(ctx: PrincipalContext, userId: string): Promise<void> {
  const { companyId } = ctx.actor;
  if (userId === ctx.actor.id) throw cannotResetOwnFactor();
  const {
    user: [user],
    access,
  } = await readTogether(ctx.db, {
    user: selectUser(ctx.db, companyId, userId),
    access: selectAccess(ctx.db, { companyId, principalType: 'user', principalId: userId }),
  });
  if (!user) throw userNotFound();
  if (user.isOwner && !isUnrestricted(ctx.actor.access)) throw cannotResetOwnersFactor();
  requireMayGrant(ctx.actor, toAccessSources(companyId, user.isOwner, access));
  const removedFactors = removeAllFactors(ctx.db, user, ctx.now());
  const consequences = prepareSecurityConsequences(ctx, user, 'second_factor_reset');
  const results = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
    user: removedFactors.user,
    ...consequences.statements,
    factors: removedFactors.factors,
  });
  if (countChangedRows(results.user) === 0) throw noSecondFactor();
  consequences.send();
}

async function readEnabledFactor({ db, actor }: UserContext): Promise<SecondFactor> {
  const [factor] = await selectFactor(db, actor.companyId, actor.id);
  if (!factor || factor.confirmedAt === null) throw secondFactorNotEnabled();
  return factor;
}
