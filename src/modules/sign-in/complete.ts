import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { type ControlDb, commit, readTogether, type Statement } from '../../db/client.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import { selectUserByEmail, type User } from '../users/service.ts';
import { pendingSignInEnded, sessionsEnded, ssoRequired, userNotActive } from './failures.ts';
import { selectAnyPasskey } from './second-factor-store.ts';
import { beginSession, type TokenPair } from './sessions.ts';
import { insertPending, type PendingSignIn } from './store.ts';

/** The lifetime of a pending sign-in, in seconds, by what it waits for. */
const PENDING_SIGN_IN_SECONDS: Record<PendingSignIn['purpose'], number> = { login: 300, setup: 600 };

/**
 * The prefix of the pending token of a single sign-on. If the company requires single sign-on after the first factor
 * was proved, other pending tokens are rejected, except the owner's.
 */
const SSO_TOKEN_PREFIX = 'sso.';

export interface StartedSession extends TokenPair {
  user: User;
}

/** The first factor was right; the second is needed, or has to be set up. `expiresIn` in seconds. */
export interface PendingSecondFactor {
  purpose: PendingSignIn['purpose'];
  pendingToken: string;
  expiresIn: number;
}

/** The company requires a second factor, and the user has only a passkey: they can sign in only with it. */
export interface PasskeyNeeded {
  purpose: 'passkey';
}

export type SignInResult = StartedSession | PendingSecondFactor | PasskeyNeeded;

/**
 * Completes a sign-in once the first factor is proved: begins a session, or asks for the second factor, or to set one up where
 * the company requires it. @param extraStatements committed in the same unit as the result @param options.sessionEpoch that of the
 * user when the sign-in began, if that was in an earlier request @throws sessionsEnded if all their sessions were ended since
 */
export async function completeSignIn(
  ctx: Context,
  user: User,
  extraStatements: Statement[] = [],
  { isSso = false, sessionEpoch = user.sessionEpoch }: { isSso?: boolean; sessionEpoch?: number | null } = {},
): Promise<SignInResult> {
  ctx.setOwner(user.companyId, { type: 'user', id: user.id });
  if (!user.isActive) throw userNotActive();
  if (user.sessionEpoch !== sessionEpoch) throw sessionsEnded();
  const {
    companies: [company],
    passkeys,
  } = await readTogether(ctx.db, {
    companies: selectCompany(ctx.db, user.companyId),
    passkeys: selectAnyPasskey(ctx.db, user.companyId, user.id),
  });
  if (company) requireActiveCompany(company);
  const tokenPrefix = isSso ? SSO_TOKEN_PREFIX : '';
  if (user.mfaEnabled) return askForSecondFactor(ctx, user, 'login', { tokenPrefix, extraStatements });
  if (company?.require2fa) {
    // A passkey is no way in beside the single sign-on that a company requires, so it does not count after one.
    const isPasskeyRefused = isSso && company.ssoOnly && !user.isOwner;
    // Else whoever knows the password could set up an authenticator of their own, and sign in past the passkey.
    if (passkeys.length > 0 && !isPasskeyRefused) return { purpose: 'passkey' };
    return askForSecondFactor(ctx, user, 'setup', { tokenPrefix, extraStatements });
  }
  return { ...(await beginSession(ctx, user, extraStatements)), user };
}

async function askForSecondFactor(
  ctx: Context,
  user: User,
  purpose: PendingSignIn['purpose'],
  { tokenPrefix, extraStatements }: { tokenPrefix: string; extraStatements: Statement[] },
): Promise<PendingSecondFactor> {
  const now = ctx.now();
  const pendingToken = `${tokenPrefix}${newSecretToken()}`;
  const pendingInsert = insertPending(ctx.db, {
    digest: await computeSha256Hex(pendingToken),
    companyId: user.companyId,
    userId: user.id,
    purpose,
    sessionEpoch: user.sessionEpoch,
    tries: 0,
    createdAt: now,
    expiresAt: now + PENDING_SIGN_IN_SECONDS[purpose] * 1000,
    endedAt: null,
  });
  await commit(ctx.db, { pending: pendingInsert, alongside: extraStatements });
  return { purpose, pendingToken, expiresIn: PENDING_SIGN_IN_SECONDS[purpose] };
}

interface FoundPendingSignIn {
  user: User;
  company: Pick<Company, 'suspendedAt' | 'ssoOnly'>;
}

/**
 * Returns what `selectPendingSignIn` finds by a pending token, whose company may have changed since the first factor was proved. @throws
 * pendingSignInEnded if nothing is found; the failure of a suspended company; ssoRequired
 */
export async function requirePendingSignIn<T extends FoundPendingSignIn>(
  ctx: Context,
  pendingToken: string,
  selectPendingSignIn: (db: ControlDb, digest: string, now: number) => PromiseLike<T[]>,
): Promise<T & { digest: string; needsNoSso: boolean }> {
  const digest = await computeSha256Hex(pendingToken);
  const [found] = await selectPendingSignIn(ctx.db, digest, ctx.now());
  if (!found) throw pendingSignInEnded();
  const { user, company } = found;
  ctx.setOwner(user.companyId, { type: 'user', id: user.id });
  requireActiveCompany(company);
  const isSso = pendingToken.startsWith(SSO_TOKEN_PREFIX);
  if (!isSso) requireSsoOptional(company, user);
  return { ...found, digest, needsNoSso: isSso || user.isOwner };
}

/**
 * Throws where only single sign-on is allowed, also without a user (an unknown email), but not for the owner, who must get in
 * when the provider fails.
 */
export function requireSsoOptional(company: Pick<Company, 'ssoOnly'>, user: Pick<User, 'isOwner'> | undefined): void {
  if (company.ssoOnly && !user?.isOwner) throw ssoRequired();
}

/** Checks like `requireSsoOptional` for the user of an email, who is read only if the company requires single sign-on. */
export async function requireSsoOptionalForEmail(
  ctx: Context,
  company: Pick<Company, 'id' | 'ssoOnly'>,
  email: string,
): Promise<void> {
  if (company.ssoOnly) requireSsoOptional(company, (await selectUserByEmail(ctx.db, company.id, email))[0]);
}
