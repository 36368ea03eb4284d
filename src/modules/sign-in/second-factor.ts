import type { Context, UserContext } from '../../context.ts';
import { changes, commit } from '../../db/client.ts';
import { decrypt, encrypt, newestPrefix, renewed } from '../../platform/cipher.ts';
import { verifyPassword } from '../../platform/passwords.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { noteSignIn, selectUser } from '../users/service.ts';
import { attempt, passwordOf, secondFactorOf } from './attempts.ts';
import { backupDigests, newBackupCodes } from './backup-codes.ts';
import type { SignedIn } from './complete.ts';
import {
  pendingEnded,
  secondFactorEnabled,
  secondFactorNotEnabled,
  secondFactorNotSetUp,
  wrongCredentials,
  wrongSecondFactor,
} from './failures.ts';
import {
  confirmFactor,
  countTry,
  endPending,
  type Proof,
  removeFactor,
  renewFactorSecret,
  replaceBackupCodes,
  replaceFactor,
  type SecondFactor,
  selectFactor,
  selectFactorsNotUnder,
  selectPending,
  useProof,
  useProofAfterChange,
} from './second-factor-store.ts';
import { prepareSession } from './sessions.ts';
import { newTotpSecret, otpauthUrl, stepOf } from './totp.ts';

/** What a person types to prove the second factor: six digits of the authenticator, or a backup code. */
export type SecondFactorCode = { totp: string } | { backupCode: string };

/** What a wrong code proves. */
const NOTHING: Proof = { backupDigests: [] };

type Factor = Pick<SecondFactor, 'id' | 'companyId' | 'userId' | 'secret'>;

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
  const factor = { id: found.factorId, secret: found.secret, companyId: user.companyId, userId: user.id };
  return attempt(ctx, secondFactorOf(user.companyId, user.id), async () => {
    const now = ctx.now();
    const proof = await proofOf(ctx, factor, input.code);
    const session = await prepareSession(ctx, user, { afterChange: true });
    const [counted, , , begun] = await commit(ctx.db, [
      countTry(ctx.db, digest, now),
      useProofAfterChange(ctx.db, factor, proof),
      endPending(ctx.db, digest, now),
      session.statement,
      noteSignIn(ctx.db, user, now),
    ]);
    // Others have used the tries up meanwhile.
    if (changes(counted) === 0) throw pendingEnded();
    if (changes(begun) === 0) throw wrongSecondFactor();
    return { ...(await session.tokens()), user };
  });
}

/**
 * A new authenticator for the caller; it counts once `enableSecondFactor` has seen a code of it.
 * @throws Failure `second_factor.enabled`
 */
export async function setUpSecondFactor(ctx: UserContext): Promise<{ secret: string; otpauthUrl: string }> {
  const { id: userId, companyId, email } = ctx.actor;
  const id = ctx.newId();
  const secret = newTotpSecret();
  const kept = replaceFactor(ctx.db, {
    id,
    companyId,
    userId,
    secret: await encrypt(ctx.config.ENCRYPTION_KEYS, secret, contextOf({ id, companyId })),
    confirmedAt: null,
    createdAt: ctx.now(),
  });
  const [result] = await commit(ctx.db, [kept]);
  if (changes(result) === 0) throw secondFactorEnabled();
  return { secret, otpauthUrl: otpauthUrl(secret, email) };
}

/**
 * Enables the authenticator that was set up, with a code of it, which is spent by that.
 * @returns the backup codes, which cannot be read again
 * @throws Failure `second_factor.not_set_up`, `second_factor.enabled`, `second_factor.wrong_code`, `sign_in.too_many_attempts`
 */
export async function enableSecondFactor(ctx: UserContext, totp: string): Promise<string[]> {
  const [factor] = await selectFactor(ctx.db, ctx.actor.companyId, ctx.actor.id);
  if (!factor) throw secondFactorNotSetUp();
  if (factor.confirmedAt !== null) throw secondFactorEnabled();
  return attempt(ctx, secondFactorOf(factor.companyId, factor.userId), async () => {
    const proof = await proofOf(ctx, factor, { totp });
    const { codes, kept } = await newBackupCodes(ctx, factor.id);
    const [, confirmed] = await commit(ctx.db, [
      useProof(ctx.db, factor, proof),
      ...confirmFactor(ctx.db, factor, kept, ctx.now()),
    ]);
    if (changes(confirmed) === 0) throw wrongSecondFactor();
    return codes;
  });
}

/**
 * Disables the caller's second factor, proved by the password or by a code.
 * @throws Failure `second_factor.not_enabled`, `sign_in.wrong_credentials`, `second_factor.wrong_code`, `sign_in.too_many_attempts`
 */
export async function disableSecondFactor(
  ctx: UserContext,
  input: { password: string } | { code: SecondFactorCode },
): Promise<void> {
  const factor = await enabledFactor(ctx);
  if ('password' in input) {
    await attempt(ctx, passwordOf(ctx.actor.companyId, ctx.actor.email), async () => {
      const [user] = await selectUser(ctx.db, ctx.actor.companyId, ctx.actor.id);
      if (!(await verifyPassword(input.password, user?.passwordHash ?? null))) throw wrongCredentials();
    });
    await commit(ctx.db, removeFactor(ctx.db, factor, ctx.now(), { afterProof: false }));
    return;
  }
  await attempt(ctx, secondFactorOf(factor.companyId, factor.userId), async () => {
    const proof = await proofOf(ctx, factor, input.code);
    const [, removed] = await commit(ctx.db, [
      useProof(ctx.db, factor, proof),
      ...removeFactor(ctx.db, factor, ctx.now(), { afterProof: true }),
    ]);
    if (changes(removed) === 0) throw wrongSecondFactor();
  });
}

/** A new set of backup codes for the caller; the old ones stop working. @throws Failure `second_factor.not_enabled` */
export async function renewBackupCodes(ctx: UserContext): Promise<string[]> {
  const factor = await enabledFactor(ctx);
  const { codes, kept } = await newBackupCodes(ctx, factor.id);
  await commit(ctx.db, replaceBackupCodes(ctx.db, factor, kept));
  return codes;
}

/** Authenticators that one scheduled run renews. */
const RENEWED_AT_ONCE = 500;

/** The scheduled run's part: brings secrets of authenticators under the newest encryption key. @returns how many */
export async function renewSecondFactors(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdated = await selectFactorsNotUnder(ctx.db, newestPrefix(keys), RENEWED_AT_ONCE);
  const secrets = await Promise.all(outdated.map((factor) => renewed(keys, factor.secret, contextOf(factor))));
  const [first, ...others] = outdated.map((factor, at) => renewFactorSecret(ctx.db, factor, secrets[at] as string));
  if (first) await commit(ctx.db, [first, ...others]);
  return outdated.length;
}

async function enabledFactor(ctx: UserContext): Promise<SecondFactor> {
  const [factor] = await selectFactor(ctx.db, ctx.actor.companyId, ctx.actor.id);
  if (!factor || factor.confirmedAt === null) throw secondFactorNotEnabled();
  return factor;
}

/** What has to be used up for a code to count. */
async function proofOf(ctx: Context, factor: Factor, code: SecondFactorCode): Promise<Proof> {
  if ('backupCode' in code) return { backupDigests: await backupDigests(ctx, factor.id, code.backupCode) };
  const secret = await decrypt(ctx.config.ENCRYPTION_KEYS, factor.secret, contextOf(factor));
  const step = stepOf(secret, code.totp, ctx.now());
  return step === null ? NOTHING : { step };
}

const contextOf = ({ companyId, id }: Pick<Factor, 'companyId' | 'id'>): string => `totp:${companyId}:${id}`;
