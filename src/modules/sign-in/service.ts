import type { Context } from '../../context.ts';
import type { Authenticate } from '../../http/guard.ts';
import { compileAccess } from '../../kernel/policy.ts';
import { hashPassword, isOutdated, verifyPassword } from '../../platform/passwords.ts';
import { companyBySlug } from '../companies/service.ts';
import { accessReads, accessSources } from '../policies/service.ts';
import { selectUserByEmail, type User, updateAtLogin } from '../users/service.ts';
import { tooManyAttempts, userNotActive, wrongCredentials } from './failures.ts';
import { beginSession, type TokenPair } from './sessions.ts';
import { selectLiveSession } from './store.ts';
import { invalidToken, verifyAccessToken } from './tokens.ts';

export { logOut, refreshSession, type TokenPair } from './sessions.ts';
export { publicKeySet } from './tokens.ts';

const FAILURES = 10;
const FAILURE_WINDOW_MS = 15 * 60 * 1000;

/** A session begun, and whose it is. */
export interface SignedIn extends TokenPair {
  user: User;
}

/**
 * Signs in with a password. Unknown email and wrong password cost the same and say the same; failures are counted by
 * email whether or not it exists.
 * @throws Failure `company.not_found`, `sign_in.wrong_credentials`, `sign_in.user_not_active`, `sign_in.too_many_attempts`
 */
export async function logIn(
  ctx: Context,
  input: { companySlug: string; email: string; password: string },
): Promise<SignedIn> {
  const company = await companyBySlug(ctx, input.companySlug);
  const limiter = ctx.bindings.ATTEMPT_LIMITER.getByName(`password:${company.id}:${input.email}`);
  const attempt = await limiter.begin(FAILURES, FAILURE_WINDOW_MS);
  if (!attempt.allowed) throw tooManyAttempts(Math.ceil(attempt.retryAfterMs / 1000));

  let passed = false;
  try {
    const [user] = await selectUserByEmail(ctx.db, company.id, input.email);
    passed = await verifyPassword(input.password, user?.passwordHash ?? null);
    if (!passed || !user) throw wrongCredentials();
    if (!user.isActive) throw userNotActive();
    const upgraded = isOutdated(user.passwordHash as string) ? await hashPassword(input.password) : null;
    const pair = await beginSession(ctx, user, [updateAtLogin(ctx.db, user, ctx.now(), upgraded)]);
    return { ...pair, user };
  } finally {
    await limiter.settle(attempt.attemptId, !passed, FAILURE_WINDOW_MS);
  }
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
