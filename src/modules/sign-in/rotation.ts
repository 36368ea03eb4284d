import type { Context } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { computeHmacSha256, computeSha256Hex, toHex } from '../../platform/secrets.ts';
import { endSession, rotateSession, type Session } from '../sessions/queries.ts';
import type { RefreshClaims, Validity } from './tokens.ts';

/** The lifetime of a session's refresh token. */
const REFRESH_TOKEN_LIFETIME_MS = 7 * DAY_MS;
/** The longest life of a session, however often it is refreshed. */
const MAX_SESSION_MS = 30 * DAY_MS;
/** The time after a refresh token's first use in which a retry gets the same answer, unless its successor was used. */
const RETRY_WINDOW_MS = 10_000;

/** A refresh token, before it is signed. Times in milliseconds. */
export interface RefreshToken extends Validity {
  sessionId: string;
  jti: string;
}

/** The stored state of a session's newest refresh tokens. */
export type RotationState = Pick<Session, 'previousDigest' | 'previousUntil' | 'expiresAt'>;

/**
 * Exchanges a refresh token for its successor (RFC 9700 §4.14). After `rotate`, `isDone` tells from the live session whether the
 * token was the newest, or the one before while its successor was unused. Any other token was copied: `endCopied` ends the
 * session. The successor's id is derived from the presented token's, so that a retry gets the same token though it is not stored.
 * @returns `makeToken` makes the successor from what the live session stores
 */
export const prepareRotation = (ctx: Context, claims: RotationClaims) =>
  prepareClaimedRotation(ctx, claims, {
    rotate: (key, digests, { now, retryUntil }) =>
      rotateSession(ctx.db, key, digests, {
        now,
        retryUntil,
        refreshMs: REFRESH_TOKEN_LIFETIME_MS,
        sessionMs: MAX_SESSION_MS,
      }),
    end: (companyId, id, now) => endSession(ctx.db, companyId, id, now),
  });

/** Prepares the rotation of any refresh token: `rotate` and `end` make the statements for the table that stores its session. */
export async function prepareClaimedRotation<Rotate, End>(
  ctx: Context,
  { company_id, sid, jti }: RotationClaims,
  store: {
    rotate(
      key: { companyId: string; sessionId: string },
      digests: { presentedDigest: string; nextDigest: string },
      times: { now: number; retryUntil: number },
    ): Rotate;
    end(companyId: string, id: string, now: number): End;
  },
) {
  const nextTokenId = toHex(await computeHmacSha256(jti, `successor in session ${sid}`));
  const now = ctx.now();
  const key = { companyId: company_id, sessionId: sid };
  const digests = { presentedDigest: await computeSha256Hex(jti), nextDigest: await computeSha256Hex(nextTokenId) };
  return {
    rotate: store.rotate(key, digests, { now, retryUntil: now + RETRY_WINDOW_MS }),
    isDone: ({ previousDigest, previousUntil }: RotationState): boolean =>
      previousDigest === digests.presentedDigest && (previousUntil ?? 0) >= now,
    endCopied: store.end(company_id, sid, now),
    makeToken: ({ previousUntil, expiresAt }: RotationState): RefreshToken => ({
      sessionId: sid,
      jti: nextTokenId,
      issuedAt: (previousUntil ?? now + RETRY_WINDOW_MS) - RETRY_WINDOW_MS,
      expiresAt,
    }),
  };
}

type RotationClaims = Omit<RefreshClaims, 'sub'>;

/** Makes a new session and its first refresh token. */
export async function createSession(ctx: Context, { companyId, userId }: { companyId: string; userId: string }) {
  const now = ctx.now();
  const token: RefreshToken = {
    sessionId: ctx.newId(),
    jti: crypto.randomUUID(),
    issuedAt: now,
    expiresAt: now + REFRESH_TOKEN_LIFETIME_MS,
  };
  const record: Session = {
    id: token.sessionId,
    companyId,
    userId,
    refreshDigest: await computeSha256Hex(token.jti),
    previousDigest: null,
    previousUntil: null,
    ip: ctx.ip,
    userAgent: ctx.caller().userAgent,
    lastUsedAt: now,
    createdAt: now,
    expiresAt: token.expiresAt,
    endedAt: null,
  };
  return { token, record };
}
