import type { AnonymousActor, UserActor } from '../../access/actors.ts';
import { isAdministrator } from '../../access/evaluation.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireMayGrant } from '../../access/grants.ts';
import { accessReads, accessSources } from '../../access/sources.ts';
import type { Context, UserContext } from '../../context.ts';
import { changes, commit } from '../../db/client.ts';
import { invalid } from '../../kernel/failure.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { endSessionsOf } from '../sessions/queries.ts';
import { selectUser, type User, userNotFound } from '../users/service.ts';
import { attempt, secondFactorOf } from './attempts.ts';
import { newBackupCodes } from './backup-codes.ts';
import type { SignedIn } from './complete.ts';
import { encryptSecret, proofOf } from './factor-codes.ts';
import {
  noSecondFactor,
  ownersSecondFactor,
  ownSecondFactor,
  pendingEnded,
  secondFactorEnabled,
  secondFactorNotEnabled,
  secondFactorNotSetUp,
  wrongSecondFactor,
} from './failures.ts';
import { type Again, reauthenticated } from './reauthentication.ts';
import {
  addBackupCodes,
  confirmFactor,
  countTry,
  deleteOtherBackupCodes,
  endPending,
  removeFactor,
  removeRemains,
  replaceFactor,
  type SecondFactor,
  selectFactor,
  selectPendingSetup,
  useProofAfterChange,
} from './second-factor-store.ts';
import { prepareSecurityMail } from './security-mails.ts';
import { prepareSession } from './sessions.ts';
import { newTotpSecret, otpauthUrl } from './totp.ts';

/** Somebody with a session, or with the token of a sign-in that waits for a second factor to be set up. */
type Enrolling = Context<AnonymousActor | UserActor>;

/** How somebody who enrols shows who they are. The token of a sign-in is new enough to need nothing besides. */
export interface Shown extends Again {
  pendingToken?: string;
}

/**
 * A new authenticator; it counts once a code of it was seen.
 * @throws Failure `second_factor.enabled`, `token.invalid`, `second_factor.pending_ended`, and what `reauthenticated` throws
 */
export async function setUpSecondFactor(
  ctx: Enrolling,
  { pendingToken, ...again }: Shown,
): Promise<{ secret: string; otpauthUrl: string }> {
  if (pendingToken !== undefined) {
    const { user } = await waitingFor(ctx, pendingToken);
    const { statement, shown } = await prepareFactor(ctx, user, { afterProof: false });
    const [kept] = await commit(ctx.db, [statement]);
    if (changes(kept) === 0) throw secondFactorEnabled();
    return shown;
  }
  const caller = asUser(ctx);
  await requireNone(caller);
  return reauthenticated(caller, null, again, async (proof) => {
    const { statement, shown } = await prepareFactor(ctx, caller.actor, { afterProof: true });
    const [proven, kept] = await commit(ctx.db, [proof, statement]);
    if (changes(proven) === 0) return undefined;
    if (changes(kept) === 0) throw secondFactorEnabled();
    return shown;
  });
}

/** The second factor as it was enabled: the backup codes, which cannot be read again, and the session if one began thereby. */
export interface Enabled {
  backupCodes: string[];
  signedIn?: SignedIn;
}

/**
 * Enables the authenticator that was set up, with a code of it, which is spent by that. A sign-in that waited for it ends
 * with a session.
 * @throws Failure `second_factor.not_set_up`, `second_factor.enabled`, `second_factor.wrong_code`,
 * `second_factor.pending_ended`, `token.invalid`, `sign_in.too_many_attempts`, and what `reauthenticated` throws
 */
export async function enableSecondFactor(
  ctx: Enrolling,
  { totp, pendingToken, ...again }: Shown & { totp?: string },
): Promise<Enabled> {
  if (pendingToken !== undefined) return enableAndSignIn(ctx, pendingToken, totp);
  const caller = asUser(ctx);
  const factor = await unconfirmedFactor(ctx, caller.actor);
  const code = given(totp);
  const backupCodes = await reauthenticated(caller, null, again, (proof) =>
    attempt(ctx, secondFactorOf(factor.companyId, factor.userId), async () => {
      const { codes, kept } = await newBackupCodes(ctx, factor.id);
      const used = useProofAfterChange(ctx.db, factor, await proofOf(ctx, factor, { totp: code }));
      const told = tell(ctx, caller.actor, 'second_factor_enabled', caller.actor.sessionId);
      const confirm = confirmFactor(ctx.db, factor, kept, ctx.now());
      const [proven, , confirmed] = await commit(ctx.db, [proof, used, ...confirm, ...told.statements]);
      if (changes(proven) === 0) return undefined;
      if (changes(confirmed) === 0) throw wrongSecondFactor();
      told.send();
      return codes;
    }),
  );
  return { backupCodes };
}

async function enableAndSignIn(ctx: Context, pendingToken: string, totp: string | undefined): Promise<Enabled> {
  const { user, digest } = await waitingFor(ctx, pendingToken);
  const factor = await unconfirmedFactor(ctx, user);
  const code = given(totp);
  return attempt(ctx, secondFactorOf(user.companyId, user.id), async () => {
    const now = ctx.now();
    const { codes, kept } = await newBackupCodes(ctx, factor.id);
    const used = useProofAfterChange(ctx.db, factor, await proofOf(ctx, factor, { totp: code }));
    // Enabling ends every sign-in under way but this one.
    const after = { ...user, sessionEpoch: user.sessionEpoch + 1 };
    const session = await prepareSession(ctx, after, { afterChange: true });
    const told = tell(ctx, user, 'second_factor_enabled', session.sessionId);
    const results = await commit(ctx.db, [
      countTry(ctx.db, digest, now, 'setup'),
      used,
      ...confirmFactor(ctx.db, factor, kept, now),
      endPending(ctx.db, digest, now),
      ...session.statements,
      ...told.statements,
    ]);
    // Others have used the tries up meanwhile.
    if (changes(results[0]) === 0) throw pendingEnded();
    if (changes(results[6]) === 0) throw wrongSecondFactor();
    told.send();
    return { backupCodes: codes, signedIn: { ...(await session.tokens()), user } };
  });
}

/** Disables the caller's second factor. @throws Failure `second_factor.not_enabled`, and what `reauthenticated` throws */
export async function disableSecondFactor(ctx: UserContext, again: Again): Promise<void> {
  const factor = await enabledFactor(ctx);
  await reauthenticated(ctx, factor, again, async (proof) => {
    const told = tell(ctx, ctx.actor, 'second_factor_disabled', ctx.actor.sessionId);
    const [, removed] = await commit(ctx.db, [
      proof,
      ...removeFactor(ctx.db, factor, ctx.now(), { afterProof: true }),
      ...told.statements,
      ...removeRemains(ctx.db, factor),
    ]);
    if (changes(removed) === 0) return undefined;
    told.send();
    return true;
  });
}

/**
 * A new set of backup codes for the caller; the old ones stop working.
 * @throws Failure `second_factor.not_enabled`, and what `reauthenticated` throws
 */
export async function renewBackupCodes(ctx: UserContext, again: Again): Promise<string[]> {
  const factor = await enabledFactor(ctx);
  return reauthenticated(ctx, factor, again, async (proof) => {
    const { codes, kept } = await newBackupCodes(ctx, factor.id);
    const told = tell(ctx, ctx.actor, 'backup_codes_renewed', ctx.actor.sessionId);
    const [, renewed] = await commit(ctx.db, [
      proof,
      ...addBackupCodes(ctx.db, factor, kept),
      ...told.statements,
      deleteOtherBackupCodes(ctx.db, factor, kept),
    ]);
    if (changes(renewed) === 0) return undefined;
    told.send();
    return codes;
  });
}

/**
 * Takes the second factor of somebody else away, who has lost it. Whoever may do more than the caller keeps it: the caller
 * would be one step nearer to what they may not do.
 * @throws Failure `user.not_found`, `second_factor.own`, `second_factor.none`, `access.grant_exceeds`
 */
export async function resetSecondFactor(ctx: UserContext, userId: string): Promise<void> {
  const { companyId } = ctx.actor;
  if (userId === ctx.actor.id) throw ownSecondFactor();
  const [[user], [factor], ...access] = await ctx.db.batch([
    selectUser(ctx.db, companyId, userId),
    selectFactor(ctx.db, companyId, userId),
    ...accessReads(ctx.db, { companyId, principalType: 'user', principalId: userId }),
  ]);
  if (!user) throw userNotFound();
  if (user.isOwner && !isAdministrator(ctx.actor.access)) throw ownersSecondFactor();
  requireMayGrant(ctx.actor, accessSources(companyId, user.isOwner, access));
  if (!factor) throw noSecondFactor();
  const told = tell(ctx, user, 'second_factor_reset');
  const [removed] = await commit(ctx.db, [
    ...removeFactor(ctx.db, factor, ctx.now(), { afterProof: false }),
    ...told.statements,
    ...removeRemains(ctx.db, factor),
  ]);
  if (changes(removed) === 0) throw noSecondFactor();
  told.send();
}

/** What follows a change, if the statement before it changed a row: a mail to the person, and the end of other sessions. */
function tell(
  ctx: Context,
  { id, companyId, email }: Pick<User, 'id' | 'companyId' | 'email'>,
  change: Parameters<typeof prepareSecurityMail>[2],
  except?: string,
) {
  const mail = prepareSecurityMail(ctx, { companyId, email }, change);
  const ended = endSessionsOf(ctx.db, { companyId, userId: id }, ctx.now(), { except, afterChange: true });
  return { statements: [mail.statement, ended] as const, send: mail.send };
}

/** A new authenticator, the statement that keeps it, and what its person is shown. */
async function prepareFactor(
  ctx: Context,
  { id: userId, companyId, email }: Pick<User, 'id' | 'companyId' | 'email'>,
  { afterProof }: { afterProof: boolean },
) {
  const id = ctx.newId();
  const secret = newTotpSecret();
  const kept = await encryptSecret(ctx, secret, { id, companyId });
  const record = { id, companyId, userId, secret: kept, confirmedAt: null, createdAt: ctx.now() };
  return {
    statement: replaceFactor(ctx.db, record, { afterProof }),
    shown: { secret, otpauthUrl: otpauthUrl(secret, email) },
  };
}

async function waitingFor(ctx: Context, pendingToken: string): Promise<{ user: User; digest: string }> {
  const digest = await sha256Hex(pendingToken);
  const [found] = await selectPendingSetup(ctx.db, digest, ctx.now());
  if (!found) throw pendingEnded();
  const { user } = found;
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  return { user, digest };
}

async function requireNone({ db, actor }: UserContext): Promise<void> {
  const [factor] = await selectFactor(db, actor.companyId, actor.id);
  if (factor && factor.confirmedAt !== null) throw secondFactorEnabled();
}

async function unconfirmedFactor(ctx: Context, { companyId, id }: Pick<User, 'companyId' | 'id'>) {
  const [factor] = await selectFactor(ctx.db, companyId, id);
  if (!factor) throw secondFactorNotSetUp();
  if (factor.confirmedAt !== null) throw secondFactorEnabled();
  return factor;
}

async function enabledFactor({ db, actor }: UserContext): Promise<SecondFactor> {
  const [factor] = await selectFactor(db, actor.companyId, actor.id);
  if (!factor || factor.confirmedAt === null) throw secondFactorNotEnabled();
  return factor;
}

function asUser(ctx: Enrolling): UserContext {
  const { actor } = ctx;
  if (actor.kind !== 'user') throw invalidToken();
  return { ...ctx, actor };
}

/** Who calls is known before what is missing is said. */
function given(totp: string | undefined): string {
  if (totp === undefined) throw invalid([{ field: 'totp_token', message: 'a code of the authenticator is needed' }]);
  return totp;
}
