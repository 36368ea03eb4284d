import type { AnonymousActor } from '../../access/actors.ts';
import { compileAccess } from '../../access/evaluation.ts';
import { invalidToken } from '../../access/failures.ts';
import type { KnownPrincipal, PresentedCredential } from '../../access/known-principals.ts';
import { type LastUse, recordLastUse } from '../../access/last-uses.ts';
import { selectAccess, toAccessSources } from '../../access/sources.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Authenticate, Context } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { hashPassword, verifyPassword } from '../../platform/passwords.ts';
import { getActiveCompanyBySlug } from '../companies/service.ts';
import { selectLiveSession } from '../sessions/queries.ts';
import { selectUserByEmail, upgradePasswordHash } from '../users/service.ts';
import { attemptPassword, selectCallerNetworkKnown } from './attempts.ts';
import { completeSignIn, requireSsoOptional, type SignInResult } from './complete.ts';
import { wrongCredentials } from './failures.ts';
import { type Audience, readAudience, verifyAccessToken } from './tokens.ts';

export { attemptGuess, getCallerNetwork } from './attempts.ts';
export {
  completeSignIn,
  type PendingSecondFactor,
  requireSsoOptional,
  requireSsoOptionalForEmail,
  type SignInResult,
  type StartedSession,
} from './complete.ts';
export { CODE_VALIDITY_MINUTES, prepareCode, prepareCodeCheck } from './emailed-codes.ts';
export { sessionsEnded, signInFailures, ssoRequired, userNotActive, wrongEmailedCode } from './failures.ts';
export { purgeSignIns, reencryptSecondFactors } from './maintenance.ts';
export { mailCode } from './passwordless.ts';
export { type Reauthentication, runWithOwnFactor } from './reauthentication.ts';
export {
  createSession,
  prepareClaimedRotation,
  prepareRotation,
  type RefreshToken,
} from './rotation.ts';
export { countBackupCodes } from './second-factor-store.ts';
export { mailSecurityChange, prepareSecurityConsequences, prepareSecurityMail } from './security-mails.ts';
export { logOut, prepareSession, refreshSession, type TokenPair } from './sessions.ts';
export {
  ACCESS_TOKEN_SECONDS,
  countSecondsUntil,
  getPublicKeySet,
  makeValidity,
  readAudience,
  signStatement,
  signToken,
  verifyToken,
} from './tokens.ts';

/** Signs in with a password. Unknown emails and wrong passwords take the same time, and are answered and counted alike. */
export async function logIn(
  ctx: Context,
  input: { companySlug: string; email: string; password: string },
): Promise<SignInResult> {
  const company = await getActiveCompanyBySlug(ctx, input.companySlug);
  const {
    user: [user],
    known,
  } = await readTogether(ctx.db, {
    user: selectUserByEmail(ctx.db, company.id, input.email),
    known: selectCallerNetworkKnown(ctx, company.id, input.email),
  });
  requireSsoOptional(company, user);
  const passwordAttempt = { companyId: company.id, email: input.email, isNetworkKnown: known.length > 0 };
  return attemptPassword(ctx, passwordAttempt, async () => {
    const verdict = await verifyPassword(input.password, user?.passwordHash ?? null);
    if (!verdict.isCorrect || !user) throw wrongCredentials();
    const hashUpgrade = verdict.isOutdated
      ? [upgradePasswordHash(ctx.db, user, await hashPassword(input.password))]
      : [];
    return completeSignIn(ctx, user, hashUpgrade);
  });
}

/** Authenticates the bearer of a token by the function for its audience; other audiences are rejected. */
export const authenticateByAudience =
  (authenticators: Partial<Record<Audience, AuthenticateToken>>): Authenticate =>
  async (ctx, request) => {
    const token = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1];
    const audience = token === undefined ? undefined : readAudience(token);
    const authenticate = audience && authenticators[audience];
    if (token === undefined || !authenticate) throw invalidToken();
    return authenticate(ctx, token);
  };

/** A function that authenticates a token whose audience is known. */
export type AuthenticateToken = (ctx: Context<AnonymousActor>, token: string) => ReturnType<Authenticate>;

/** Authenticates a session token, whose claims name the company, user and session. */
export const authenticateSession: AuthenticateToken = async (ctx, token): Promise<PresentedCredential> => {
  const claims = await verifyAccessToken(ctx, token);
  const key = { companyId: claims.company_id, userId: claims.user_id, sessionId: claims.sid };
  return {
    credential: `session ${key.companyId} ${key.userId} ${key.sessionId}`,
    claims: { companyId: key.companyId, type: 'user', principalId: key.userId, credentialId: key.sessionId },
    // The token was verified, and names its session.
    matchesPrincipal: async () => true,
    readPrincipal: () => readSession(ctx, key),
    recordUse: ({ proof }) => recordLastUse(ctx, proof as LastUse),
  };
};

/** Reads the user of a session and their access in one batch. */
async function readSession(
  ctx: Context,
  key: { companyId: string; userId: string; sessionId: string },
): Promise<KnownPrincipal<LastUse>> {
  const {
    session: [live],
    access,
  } = await readTogether(ctx.db, {
    session: selectLiveSession(ctx.db, key, ctx.now()),
    access: selectAccess(ctx.db, { companyId: key.companyId, principalType: 'user', principalId: key.userId }),
  });
  if (!live) throw invalidToken();
  requireActiveCompany(live, () =>
    ctx.setOwner(key.companyId, { type: 'user', id: key.userId, credential: key.sessionId }),
  );
  const { user, companySlug, expiresAt, lastUsedAt } = live;
  return {
    actor: {
      kind: 'user',
      id: user.id,
      companyId: user.companyId,
      companySlug,
      email: user.email,
      name: user.name,
      isOwner: user.isOwner,
      sessionId: key.sessionId,
      access: compileAccess(toAccessSources(user.companyId, user.isOwner, access)),
    },
    expiresAt,
    proof: {
      usedCredentials: [{ kind: 'session', companyId: key.companyId, id: key.sessionId }],
      recordedAt: lastUsedAt,
      isRecordedHere: false,
    },
  };
}
