import { compileAccess } from '../../access/evaluation.ts';
import { invalidToken } from '../../access/failures.ts';
import { accessReads, accessSources } from '../../access/sources.ts';
import type { Authenticate, Context } from '../../context.ts';
import { hashPassword, isOutdated, verifyPassword } from '../../platform/passwords.ts';
import { companyBySlug } from '../companies/service.ts';
import { selectLiveSession } from '../sessions/queries.ts';
import { selectUserByEmail, upgradePasswordHash } from '../users/service.ts';
import { attemptPassword, selectKnownHere } from './attempts.ts';
import { completeSignIn, type SignInResult } from './complete.ts';
import { wrongCredentials } from './failures.ts';
import { noteSessionUse } from './sessions.ts';
import { requireWayBesideSso } from './sso-only.ts';
import { verifyAccessToken } from './tokens.ts';

export { completeSignIn, type PendingSecondFactor, type SignedIn, type SignInResult } from './complete.ts';
export { CODE_MINUTES, prepareCode, prepareTry } from './emailed-codes.ts';
export { wrongEmailedCode } from './failures.ts';
export { mailCode } from './passwordless.ts';
export { purgeSignIns } from './purge.ts';
export { newSession, prepareRotation, type RefreshToken } from './rotation.ts';
export { renewSecondFactors } from './second-factor.ts';
export { mailSecurityChange, prepareSecurityMail } from './security-mails.ts';
export { logOut, refreshSession, type TokenPair } from './sessions.ts';
export { requireWayBesideSso } from './sso-only.ts';
export { lasting, publicKeySet, secondsUntil, signToken, verifyToken } from './tokens.ts';

/**
 * Signs in with a password. Unknown email and wrong password cost the same and say the same, and are counted alike.
 * @throws Failure `company.not_found`, `sign_in.sso_required`, `sign_in.wrong_credentials`, `sign_in.user_not_active`,
 * `sign_in.too_many_attempts`
 */
export async function logIn(
  ctx: Context,
  input: { companySlug: string; email: string; password: string },
): Promise<SignInResult> {
  const company = await companyBySlug(ctx, input.companySlug);
  const [[user], known] = await ctx.db.batch([
    selectUserByEmail(ctx.db, company.id, input.email),
    selectKnownHere(ctx, company.id, input.email),
  ]);
  requireWayBesideSso(company, user);
  const tried = { companyId: company.id, email: input.email, isKnownHere: known.length > 0 };
  return attemptPassword(ctx, tried, async () => {
    const passed = await verifyPassword(input.password, user?.passwordHash ?? null);
    if (!passed || !user) throw wrongCredentials();
    const upgrade = isOutdated(user.passwordHash as string)
      ? [upgradePasswordHash(ctx.db, user, await hashPassword(input.password))]
      : [];
    return completeSignIn(ctx, user, upgrade);
  });
}

/** Who a session token belongs to, and what they may do: one batch. */
export const authenticateBearer: Authenticate = async (ctx, request) => {
  const token = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1];
  if (token === undefined) throw invalidToken();
  const claims = await verifyAccessToken(ctx, token);
  const key = { companyId: claims.company_id, userId: claims.user_id, sessionId: claims.sid };
  const [[live], ...access] = await ctx.db.batch([
    selectLiveSession(ctx.db, key, ctx.now()),
    ...accessReads(ctx.db, { companyId: key.companyId, principalType: 'user', principalId: key.userId }),
  ]);
  if (!live) throw invalidToken();
  const { user, companySlug } = live;
  noteSessionUse(ctx, key, live.lastUsedAt);
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
      access: compileAccess(accessSources(user.companyId, user.isOwner, access)),
    },
  };
};
