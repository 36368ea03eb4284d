import type { AnonymousActor, UserActor } from '../../access/actors.ts';
import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { invalidToken } from '../../access/failures.ts';
import type { Context, UserContext } from '../../context.ts';
import { commit, countChangedRows } from '../../db/client.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { User } from '../users/service.ts';
import { attemptGuess, makeSecondFactorGuess } from './attempts.ts';
import { requirePendingSignIn, type StartedSession } from './complete.ts';
import { computeProof, createBackupCodes, createTotpSecret, encryptSecret, makeOtpauthUrl } from './factor-codes.ts';
import { pendingSignInEnded, secondFactorEnabled, secondFactorNotSetUp, wrongSecondFactor } from './failures.ts';
import { useProofAfterChange } from './proof-store.ts';
import { type Reauthentication, runWithReauthentication } from './reauthentication.ts';
import { confirmFactor, replaceFactor, selectFactor } from './second-factor-store.ts';
import { prepareSecurityConsequences } from './security-mails.ts';
import { prepareSession } from './sessions.ts';
import { countTry, endPending, selectPendingSetup } from './store.ts';

/** The context of a caller with a session, or in the middle of a sign-in that waits for a second factor to be set up. */
type EnrolmentContext = Context<AnonymousActor | UserActor>;

/** The token of a pending sign-in, or else the proof with which the user of a session authenticates again. */
export interface EnrolmentCredential extends Reauthentication {
  pendingToken?: string;
}

/** Stores a new authenticator. It is not asked for until `enableSecondFactor` has confirmed it. */
export async function setUpSecondFactor(
  ctx: EnrolmentContext,
  { pendingToken, ...reauthentication }: EnrolmentCredential,
): Promise<{ secret: string; otpauthUrl: string }> {
  if (pendingToken !== undefined) {
    const { user } = await requirePendingSignIn(ctx, pendingToken, selectPendingSetup);
    const { statement, view } = await prepareFactor(ctx, user, { requiresProof: false });
    const { factor } = await commit(ctx.db, { factor: statement });
    if (countChangedRows(factor) === 0) throw secondFactorEnabled();
    return view;
  }
  const caller = requireUser(ctx);
  await requireNoEnabledFactor(caller);
  return runWithReauthentication(caller, null, reauthentication, async (proof) => {
    const { statement, view } = await prepareFactor(ctx, caller.actor, { requiresProof: true });
    const results = await commit(ctx.db, { proof, factor: statement });
    if (countChangedRows(results.proof) === 0) return undefined;
    if (countChangedRows(results.factor) === 0) throw secondFactorEnabled();
    return view;
  });
}

export interface EnabledSecondFactor {
  /** The codes in plain text: they cannot be read again. */
  backupCodes: string[];
  /** The session, where enabling the factor completed a pending sign-in. */
  startedSession?: StartedSession;
}

/** Enables the authenticator that was set up, if one of its codes is right, and completes a sign-in that waited for it. */
export async function enableSecondFactor(
  ctx: EnrolmentContext,
  { totp, pendingToken, ...reauthentication }: EnrolmentCredential & { totp?: string },
): Promise<EnabledSecondFactor> {
  if (pendingToken !== undefined) return enableAndSignIn(ctx, pendingToken, totp);
  const caller = requireUser(ctx);
  const factor = await readUnconfirmedFactor(ctx, caller.actor);
  const code = requireTotp(totp);
  const backupCodes = await runWithReauthentication(caller, null, reauthentication, (proof) =>
    attemptGuess(ctx, makeSecondFactorGuess(factor.companyId, factor.userId), async () => {
      const { codes, storedCodes } = await createBackupCodes(ctx, factor.id);
      const consequences = prepareSecurityConsequences(
        ctx,
        caller.actor,
        'second_factor_enabled',
        caller.actor.sessionId,
      );
      const results = await commitAccess(ctx, makeAffectedPrincipals(factor.companyId, factor.userId), {
        proof,
        use: useProofAfterChange(ctx.db, factor, await computeProof(ctx, factor, { totp: code })),
        ...confirmFactor(ctx.db, factor, storedCodes, ctx.now()),
        ...consequences.statements,
      });
      if (countChangedRows(results.proof) === 0) return undefined;
      if (countChangedRows(results.confirm) === 0) throw wrongSecondFactor();
      consequences.send();
      return codes;
    }),
  );
  return { backupCodes };
}

async function enableAndSignIn(
  ctx: Context,
  pendingToken: string,
  totp: string | undefined,
): Promise<EnabledSecondFactor> {
  const requireLiveSignIn = () => requirePendingSignIn(ctx, pendingToken, selectPendingSetup);
  const { user, digest, needsNoSso } = await requireLiveSignIn();
  const factor = await readUnconfirmedFactor(ctx, user);
  const code = requireTotp(totp);
  return attemptGuess(ctx, makeSecondFactorGuess(user.companyId, user.id), async () => {
    const now = ctx.now();
    const { codes, storedCodes } = await createBackupCodes(ctx, factor.id);
    const proof = await computeProof(ctx, factor, { totp: code });
    // Enabling ends every sign-in under way but this one.
    const enabledUser = { ...user, sessionEpoch: user.sessionEpoch + 1 };
    const session = await prepareSession(ctx, enabledUser, { condition: HAS_CHANGED_ROWS });
    const consequences = prepareSecurityConsequences(ctx, user, 'second_factor_enabled', session.sessionId);
    const results = await commitAccess(ctx, makeAffectedPrincipals(factor.companyId, factor.userId), {
      count: countTry(ctx.db, digest, now, { purpose: 'setup', needsNoSso }),
      use: useProofAfterChange(ctx.db, factor, proof),
      ...confirmFactor(ctx.db, factor, storedCodes, now),
      end: endPending(ctx.db, digest, now),
      ...session.statements,
      ...consequences.statements,
    });
    // The pending token has ended since it was read, or its company takes it no longer.
    if (countChangedRows(results.count) === 0) {
      await requireLiveSignIn();
      throw pendingSignInEnded();
    }
    if (countChangedRows(results.session) === 0) throw wrongSecondFactor();
    consequences.send();
    return { backupCodes: codes, startedSession: { ...(await session.tokens()), user } };
  });
}

/** Prepares a new authenticator: the statement that stores it, and the view for its user. */
async function prepareFactor(
  ctx: Context,
  { id: userId, companyId, email }: Pick<User, 'id' | 'companyId' | 'email'>,
  { requiresProof }: { requiresProof: boolean },
) {
  const id = ctx.newId();
  const secret = createTotpSecret();
  const encryptedSecret = await encryptSecret(ctx, secret, { id, companyId });
  const record = { id, companyId, userId, secret: encryptedSecret, confirmedAt: null, createdAt: ctx.now() };
  return {
    statement: replaceFactor(ctx.db, record, { requiresProof }),
    view: { secret, otpauthUrl: makeOtpauthUrl(secret, email) },
  };
}

async function requireNoEnabledFactor({ db, actor }: UserContext): Promise<void> {
  const [factor] = await selectFactor(db, actor.companyId, actor.id);
  if (factor && factor.confirmedAt !== null) throw secondFactorEnabled();
}

async function readUnconfirmedFactor(ctx: Context, { companyId, id }: Pick<User, 'companyId' | 'id'>) {
  const [factor] = await selectFactor(ctx.db, companyId, id);
  if (!factor) throw secondFactorNotSetUp();
  if (factor.confirmedAt !== null) throw secondFactorEnabled();
  return factor;
}

function requireUser(ctx: EnrolmentContext): UserContext {
  const { actor } = ctx;
  if (actor.kind !== 'user') throw invalidToken();
  return { ...ctx, actor };
}

/** Requires a code, which the body's schema leaves optional, so that a bad token is answered before a missing code. */
function requireTotp(totp: string | undefined): string {
  if (totp === undefined)
    throw invalidInput([{ field: 'totp_token', message: 'is required: a code from the authenticator' }]);
  return totp;
}
