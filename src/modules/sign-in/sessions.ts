import { invalidToken } from '../../access/failures.ts';
import type { Context, UserContext } from '../../context.ts';
import { changes, commit, type Statement } from '../../db/client.ts';
import { logError } from '../../platform/log.ts';
import {
  endSession,
  endSessionOf,
  endSessionsOf,
  insertSession,
  type Session,
  selectLiveSession,
  selectSessions,
  touchSession,
} from '../sessions/queries.ts';
import { endSignInsUnderWay, noteSignIn, selectUser, type User, userNotFound } from '../users/service.ts';
import { networkHere } from './attempts.ts';
import { overtaken, sessionNotFound } from './failures.ts';
import { noteNetwork } from './network-store.ts';
import { newSession, prepareRotation, type RefreshToken } from './rotation.ts';
import { ACCESS_SECONDS, secondsUntil, signAccessToken, signRefreshToken, verifyRefreshToken } from './tokens.ts';

/** Seconds in `expiresIn`s. */
export interface TokenPair {
  token: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

/**
 * A session of `user` that `statements` store, the first of them itself, and the tokens to hand out once it is stored.
 * @param afterChange only if the statement before them in the batch changed a row
 */
export async function prepareSession(ctx: Context, user: User, { afterChange = false } = {}) {
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  const { companyId, id: userId } = user;
  const { record, token } = await newSession(ctx, { companyId, userId });
  const now = record.createdAt;
  return {
    sessionId: record.id,
    statements: [
      insertSession(ctx.db, record, { sessionEpoch: user.sessionEpoch, afterChange }),
      noteNetwork(ctx.db, { companyId, userId, network: networkHere(ctx), signedInAt: now }),
      noteSignIn(ctx.db, user, now),
    ] as const,
    tokens: () => tokenPair(ctx, user, token),
  };
}

/**
 * Begins a session of `user`. `alongside` is stored in the same unit.
 * @throws Failure `sign_in.overtaken` when the user was deactivated, or all sessions were ended, since `user` was read
 */
export async function beginSession(ctx: Context, user: User, alongside: Statement[] = []): Promise<TokenPair> {
  const session = await prepareSession(ctx, user);
  const [stored] = await commit(ctx.db, [...session.statements, ...alongside]);
  if (changes(stored) === 0) throw overtaken();
  return session.tokens();
}

/**
 * Exchanges a refresh token for a new pair. A token that was used before, and is not presented again in time, ends the
 * whole session: somebody has a copy.
 * @throws Failure `token.invalid`
 */
export async function refreshSession(ctx: Context, refreshToken: string): Promise<TokenPair> {
  const claims = await verifyRefreshToken(ctx, refreshToken);
  ctx.belongsTo(claims.company_id, { type: 'user', id: claims.sub });
  const key = { companyId: claims.company_id, sessionId: claims.sid, userId: claims.sub };
  const rotation = await prepareRotation(ctx, claims);
  const [, , [live]] = await commit(ctx.db, [...rotation.statements, selectLiveSession(ctx.db, key, ctx.now())]);
  if (!live) throw invalidToken();
  return tokenPair(ctx, live.user, rotation.tokenOf(live));
}

/** Ends the caller's session: neither of its tokens works from now on. */
export async function logOut(ctx: UserContext): Promise<void> {
  await endSession(ctx.db, ctx.actor.companyId, ctx.actor.sessionId, ctx.now());
}

/** The caller's live sessions, the newest first. */
export async function ownSessions(ctx: UserContext): Promise<Session[]> {
  return selectSessions(ctx.db, holderOf(ctx), ctx.now());
}

/** Ends one of the caller's sessions. @throws Failure `session.not_found` */
export async function endOwnSession(ctx: UserContext, id: string): Promise<void> {
  const ended = await endSessionOf(ctx.db, holderOf(ctx), id, ctx.now());
  if (ended.length === 0) throw sessionNotFound();
}

/** Ends all of the caller's sessions but this one, and every sign-in under way. */
export async function endOtherSessions(ctx: UserContext): Promise<void> {
  const holder = holderOf(ctx);
  await commit(ctx.db, [
    endSignInsUnderWay(ctx.db, holder),
    endSessionsOf(ctx.db, holder, ctx.now(), { except: ctx.actor.sessionId }),
  ]);
}

/** Ends all sessions of somebody of the company, and every sign-in under way. @throws Failure `user.not_found` */
export async function endSessionsOfUser(ctx: UserContext, userId: string): Promise<void> {
  const holder = { companyId: ctx.actor.companyId, userId };
  const [[user]] = await commit(ctx.db, [
    selectUser(ctx.db, holder.companyId, userId),
    endSignInsUnderWay(ctx.db, holder),
    endSessionsOf(ctx.db, holder, ctx.now()),
  ]);
  if (!user) throw userNotFound();
}

/** How fine `last_used_at` is: a busy session costs one write in this time. */
const GRAIN_MS = 60_000;

/** Notes, off the request's path, that a session was used, unless that was noted within the last minute. */
export function noteSessionUse(
  ctx: Context,
  key: { companyId: string; sessionId: string },
  lastUsedAt: number | null,
): void {
  const now = ctx.now();
  const before = now - GRAIN_MS;
  if (lastUsedAt !== null && lastUsedAt > before) return;
  const noted = touchSession(ctx.db, key, { now, before }).catch((error) => logError('session_use_not_noted', error));
  ctx.defer(noted);
}

const holderOf = ({ actor }: UserContext) => ({ companyId: actor.companyId, userId: actor.id });

async function tokenPair(ctx: Context, user: User, refresh: RefreshToken): Promise<TokenPair> {
  const { sessionId: sid, jti } = refresh;
  const [token, refreshToken] = await Promise.all([
    signAccessToken(ctx, {
      user_id: user.id,
      company_id: user.companyId,
      team_id: user.teams[0] ?? null,
      email: user.email,
      is_owner: user.isOwner,
      sid,
    }),
    signRefreshToken(ctx, { sub: user.id, company_id: user.companyId, sid, jti }, refresh),
  ]);
  return {
    token,
    expiresIn: ACCESS_SECONDS,
    refreshToken,
    refreshExpiresIn: secondsUntil(ctx, refresh.expiresAt),
  };
}
