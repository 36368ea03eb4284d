import type { Context, UserActor } from '../../context.ts';
import { changes, commit, type Statement } from '../../db/client.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { noteSignIn, type User } from '../users/service.ts';
import { invalidToken, overtaken } from './failures.ts';
import { endSession, insertSession, rotateStatements, selectLiveSession } from './store.ts';
import { ACCESS_SECONDS, REFRESH_SECONDS, signAccessToken, signRefreshToken, verifyRefreshToken } from './tokens.ts';

/** How long a refresh token may be used again when the answer to its first use got lost. */
export const RETRY_MS = 10_000;

/** Seconds in `expiresIn`s. */
export interface TokenPair {
  token: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

/** A session of `user` that `statement` stores, and the tokens to hand out once it is stored. */
export async function prepareSession(ctx: Context, user: User, { afterChange = false } = {}) {
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  const now = ctx.now();
  const sessionId = ctx.newId();
  const jti = crypto.randomUUID();
  const record = {
    id: sessionId,
    companyId: user.companyId,
    userId: user.id,
    refreshDigest: await sha256Hex(jti),
    previousDigest: null,
    previousUntil: null,
    createdAt: now,
    expiresAt: now + REFRESH_SECONDS * 1000,
    endedAt: null,
  };
  return {
    statement: insertSession(ctx.db, record, { sessionEpoch: user.sessionEpoch, afterChange }),
    tokens: () => tokenPair(ctx, user, sessionId, jti),
  };
}

/**
 * Begins a session of `user`. `alongside` is stored in the same unit.
 * @throws Failure `sign_in.overtaken` when the user was deactivated, or all sessions were ended, since `user` was read
 */
export async function beginSession(ctx: Context, user: User, alongside: Statement[] = []): Promise<TokenPair> {
  const session = await prepareSession(ctx, user);
  const [stored] = await commit(ctx.db, [session.statement, noteSignIn(ctx.db, user, ctx.now()), ...alongside]);
  if (changes(stored) === 0) throw overtaken();
  return session.tokens();
}

/**
 * Exchanges a refresh token for a new pair (RFC 9700 §4.14). A token that was used before, and is not a retry of a lost
 * answer, ends the whole session: somebody has a copy.
 * @throws Failure `token.invalid`
 */
export async function refreshSession(ctx: Context, refreshToken: string): Promise<TokenPair> {
  const claims = await verifyRefreshToken(ctx, refreshToken);
  ctx.belongsTo(claims.company_id, { type: 'user', id: claims.sub });
  const now = ctx.now();
  const key = { companyId: claims.company_id, sessionId: claims.sid, userId: claims.sub };
  const jti = crypto.randomUUID();
  const digests = { presented: await sha256Hex(claims.jti), next: await sha256Hex(jti) };
  const [rotate, retry, end] = rotateStatements(ctx.db, key, digests, {
    now,
    retryUntil: now + RETRY_MS,
    expiresAt: now + REFRESH_SECONDS * 1000,
  });
  const [rotated, retried, , [live]] = await commit(ctx.db, [rotate, retry, end, selectLiveSession(ctx.db, key, now)]);
  if (!live || changes(rotated) + changes(retried) === 0) throw invalidToken();
  return tokenPair(ctx, live.user, key.sessionId, jti);
}

/** Ends the caller's session: neither of its tokens works from now on. */
export async function logOut(ctx: Context<UserActor>): Promise<void> {
  await endSession(ctx.db, ctx.actor.companyId, ctx.actor.sessionId, ctx.now());
}

async function tokenPair(ctx: Context, user: User, sessionId: string, jti: string): Promise<TokenPair> {
  const [token, refreshToken] = await Promise.all([
    signAccessToken(ctx, {
      user_id: user.id,
      company_id: user.companyId,
      team_id: user.teams[0] ?? null,
      email: user.email,
      is_owner: user.isOwner,
      sid: sessionId,
    }),
    signRefreshToken(ctx, { sub: user.id, company_id: user.companyId, sid: sessionId, jti }),
  ]);
  return { token, expiresIn: ACCESS_SECONDS, refreshToken, refreshExpiresIn: REFRESH_SECONDS };
}
