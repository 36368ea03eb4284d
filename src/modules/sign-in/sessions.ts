import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, PrincipalContext, UserContext } from '../../context.ts';
import { commit, countChangedRows, type Statement } from '../../db/client.ts';
import type { Condition } from '../../db/statements.ts';
import { selectCompany } from '../companies/service.ts';
import {
  endSession,
  endUserSession,
  endUserSessions,
  insertSession,
  type Session,
  selectLiveSession,
  selectSessions,
} from '../sessions/queries.ts';
import { endSignInsInProgress, recordSignIn, selectUser, type User, userNotFound } from '../users/service.ts';
import { getCallerNetwork } from './attempts.ts';
import { sessionNotFound, sessionsEnded } from './failures.ts';
import { createSession, prepareRotation, type RefreshToken } from './rotation.ts';
import { recordNetwork } from './store.ts';
import {
  ACCESS_TOKEN_SECONDS,
  countSecondsUntil,
  signAccessToken,
  signRefreshToken,
  verifyRefreshToken,
} from './tokens.ts';

/** The tokens of a session; `expiresIn` and `refreshExpiresIn` in seconds. */
export interface TokenPair {
  token: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

/**
 * Prepares a session: the statements that store it, and the tokens to answer once it is stored. @param options.condition a
 * further condition, if any
 */
export async function prepareSession(ctx: Context, user: User, { condition }: { condition?: Condition } = {}) {
  ctx.setOwner(user.companyId, { type: 'user', id: user.id });
  const { companyId, id: userId } = user;
  const { record, token } = await createSession(ctx, { companyId, userId });
  const now = record.createdAt;
  return {
    sessionId: record.id,
    statements: {
      session: insertSession(ctx.db, record, { sessionEpoch: user.sessionEpoch, condition }),
      network: recordNetwork(ctx.db, { companyId, userId, network: getCallerNetwork(ctx), signedInAt: now }),
      signIn: recordSignIn(ctx.db, user, now),
    },
    tokens: () => makeTokenPair(ctx, user, token),
  };
}

/**
 * Begins a session, and commits `extraStatements` with it. Fails if the user was deactivated, or all their sessions were ended,
 * since `user` was read.
 */
export async function beginSession(ctx: Context, user: User, extraStatements: Statement[] = []): Promise<TokenPair> {
  const session = await prepareSession(ctx, user);
  const { company, ...results } = await commit(ctx.db, {
    ...session.statements,
    alongside: extraStatements,
    company: selectCompany(ctx.db, user.companyId),
  });
  for (const companyRow of company) requireActiveCompany(companyRow);
  if (countChangedRows(results.session) === 0) throw sessionsEnded();
  return session.tokens();
}

/** Exchanges a refresh token for a new pair. A token that is used again, and not as a retry, was copied: the session ends. */
export async function refreshSession(ctx: Context, refreshToken: string): Promise<TokenPair> {
  const claims = await verifyRefreshToken(ctx, refreshToken);
  ctx.setOwner(claims.company_id, { type: 'user', id: claims.sub });
  const key = { companyId: claims.company_id, sessionId: claims.sid, userId: claims.sub };
  const rotation = await prepareRotation(ctx, claims);
  const {
    sessions: [live],
  } = await commit(ctx.db, { rotation: rotation.rotate, sessions: selectLiveSession(ctx.db, key, ctx.now()) });
  if (!live) throw invalidToken();
  requireActiveCompany(live);
  if (!rotation.isDone(live)) {
    await commitAccess(ctx, makeAffectedPrincipals(key.companyId, key.userId), { ended: rotation.endCopied });
    throw invalidToken();
  }
  return makeTokenPair(ctx, live.user, rotation.makeToken(live));
}

/** Ends the caller's session: neither of its tokens works from then on. */
export async function logOut(ctx: UserContext): Promise<void> {
  const { companyId, id, sessionId } = ctx.actor;
  await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
    ended: endSession(ctx.db, companyId, sessionId, ctx.now()),
  });
}

export async function listOwnSessions(ctx: UserContext): Promise<Session[]> {
  return selectSessions(ctx.db, toSessionOwner(ctx), ctx.now());
}

export async function endOwnSession(ctx: UserContext, id: string): Promise<void> {
  const owner = toSessionOwner(ctx);
  const { ended } = await commitAccess(ctx, makeAffectedPrincipals(owner.companyId, owner.userId), {
    ended: endUserSession(ctx.db, owner, id, ctx.now()),
  });
  if (ended.length === 0) throw sessionNotFound();
}

/** Ends the caller's sessions except the current one, and every sign-in in progress. */
export async function endOtherSessions(ctx: UserContext): Promise<void> {
  const owner = toSessionOwner(ctx);
  await commitAccess(ctx, makeAffectedPrincipals(owner.companyId, owner.userId), {
    signIns: endSignInsInProgress(ctx.db, owner),
    sessions: endUserSessions(ctx.db, owner, ctx.now(), { exceptSessionId: ctx.actor.sessionId }),
  });
}

/** Ends all sessions of a user, and every sign-in in progress. */
export async function endSessionsOfUser(ctx: PrincipalContext, userId: string): Promise<void> {
  const owner = { companyId: ctx.actor.companyId, userId };
  const {
    users: [user],
  } = await commitAccess(ctx, makeAffectedPrincipals(owner.companyId, userId), {
    users: selectUser(ctx.db, owner.companyId, userId),
    signIns: endSignInsInProgress(ctx.db, owner),
    sessions: endUserSessions(ctx.db, owner, ctx.now()),
  });
  if (!user) throw userNotFound();
}

const toSessionOwner = ({ actor }: UserContext) => ({ companyId: actor.companyId, userId: actor.id });

async function makeTokenPair(ctx: Context, user: User, refreshTokenData: RefreshToken): Promise<TokenPair> {
  const { sessionId: sid, jti } = refreshTokenData;
  const [token, refreshToken] = await Promise.all([
    signAccessToken(ctx, {
      user_id: user.id,
      company_id: user.companyId,
      team_id: user.teams[0] ?? null,
      email: user.email,
      is_owner: user.isOwner,
      sid,
    }),
    signRefreshToken(ctx, { sub: user.id, company_id: user.companyId, sid, jti }, refreshTokenData),
  ]);
  return {
    token,
    expiresIn: ACCESS_TOKEN_SECONDS,
    refreshToken,
    refreshExpiresIn: countSecondsUntil(ctx, refreshTokenData.expiresAt),
  };
}
