import { and, desc, eq, gt, isNotNull, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { oauthGrants } from '../../db/schema/oauth.ts';
import { sessions } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, insertWhen, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type Session = typeof sessions.$inferSelect;

/**
 * Inserts a session, unless its user was deactivated, or all its sessions were ended, since `sessionEpoch` was read, or the
 * company is suspended. @param options.condition a further condition, if any
 */
export const insertSession = (
  db: ControlDb,
  record: Session,
  { sessionEpoch, condition }: { sessionEpoch: number; condition?: SQL | undefined },
) => {
  const { companyId, userId } = record;
  return insertWhen(
    db,
    sessions,
    record,
    and(
      condition,
      existsSql(
        users,
        matchesUndeletedId(users, companyId, userId),
        eq(users.sessionEpoch, sessionEpoch),
        eq(users.isActive, true),
      ),
      isCompanyActive(sql`${companyId}`),
    ) as SQL,
  );
};

/** Selects the live session of a token, with its user and the state of the company. */
export const selectLiveSession = (
  db: ControlDb,
  key: { companyId: string; userId: string; sessionId: string },
  now: number,
) =>
  db
    .select({
      user: users,
      companySlug: companies.slug,
      suspendedAt: companies.suspendedAt,
      lastUsedAt: sessions.lastUsedAt,
      ...ROTATION_COLUMNS,
    })
    .from(sessions)
    .innerJoin(users, and(eq(users.id, sessions.userId), eq(users.companyId, sessions.companyId)))
    .innerJoin(companies, eq(companies.id, sessions.companyId))
    .where(
      and(
        eq(sessions.id, key.sessionId),
        eq(sessions.companyId, key.companyId),
        eq(sessions.userId, key.userId),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, now),
        eq(users.isActive, true),
        isNull(users.deletedAt),
      ),
    );

/**
 * Exchanges the refresh token that was presented for the next one, if it is the newest. It may be presented again until
 * `retryUntil`, while its successor is the newest. The session ends `sessionMs` after the sign-in at the latest. While the
 * company is suspended nothing is exchanged, so that the token works when it is active again.
 */
export const rotateSession = (
  db: ControlDb,
  key: { companyId: string; sessionId: string },
  digests: { presentedDigest: string; nextDigest: string },
  { now, ...times }: { now: number; retryUntil: number; refreshMs: number; sessionMs: number },
) =>
  db
    .update(sessions)
    .set({
      refreshDigest: digests.nextDigest,
      previousDigest: digests.presentedDigest,
      previousUntil: times.retryUntil,
      lastUsedAt: now,
      expiresAt: sql`min(${now + times.refreshMs}, ${sessions.createdAt} + ${times.sessionMs})`,
    })
    .where(
      and(
        matchesId(sessions, key.companyId, key.sessionId),
        eq(sessions.refreshDigest, digests.presentedDigest),
        isCompanyActive(sessions.companyId),
      ),
    );

/** The columns that hold the newest refresh tokens of a session. */
export const ROTATION_COLUMNS = {
  previousDigest: sessions.previousDigest,
  previousUntil: sessions.previousUntil,
  expiresAt: sessions.expiresAt,
};

export const endSession = (db: ControlDb, companyId: string, sessionId: string, now: number) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(matchesId(sessions, companyId, sessionId));

interface SessionOwner {
  companyId: string;
  userId: string;
}

const isLiveSession = ({ companyId, userId }: SessionOwner, now: number) =>
  and(
    eq(sessions.companyId, companyId),
    eq(sessions.userId, userId),
    isNull(sessions.endedAt),
    gt(sessions.expiresAt, now),
  );

const MAX_LISTED_SESSIONS = 500;

/** Selects a user's live sessions, the newest first. */
export const selectSessions = (db: ControlDb, owner: SessionOwner, now: number) =>
  db
    .select()
    .from(sessions)
    .where(isLiveSession(owner, now))
    .orderBy(desc(sessions.createdAt), desc(sessions.id))
    .limit(MAX_LISTED_SESSIONS);

/** Ends one of a user's sessions; returns a row if it was live. */
export const endUserSession = (db: ControlDb, owner: SessionOwner, sessionId: string, now: number) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(and(isLiveSession(owner, now), eq(sessions.id, sessionId)))
    .returning({ id: sessions.id });

/** Ends a user's sessions, all but `exceptSessionId`. @param options.condition a further condition, if any */
export const endUserSessions = (
  db: ControlDb,
  owner: SessionOwner,
  now: number,
  { exceptSessionId, condition }: { exceptSessionId?: string | undefined; condition?: SQL } = {},
) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(
      and(
        isLiveSession(owner, now),
        exceptSessionId === undefined ? undefined : ne(sessions.id, exceptSessionId),
        condition,
      ),
    );

/**
 * Ends a user's grants to OAuth clients, if `passwordHash` was just set: whoever knew the old password may have
 * authorized a client. Grants whose authorization code was not exchanged yet end, too.
 */
export const endUserGrants = (
  db: ControlDb,
  { companyId, userId }: SessionOwner,
  { passwordHash, now }: { passwordHash: string; now: number },
) =>
  db
    .update(oauthGrants)
    .set({ endedAt: now })
    .where(
      and(
        eq(oauthGrants.companyId, companyId),
        eq(oauthGrants.userId, userId),
        isNull(oauthGrants.endedAt),
        existsSql(users, matchesId(users, companyId, userId), eq(users.passwordHash, passwordHash)),
      ),
    );

const isInactive = or(eq(users.isActive, false), isNotNull(users.deletedAt));

/** Ends every session of a user whom the same batch has deactivated or deleted before. */
export const endSessionsOfInactiveUser = (db: ControlDb, companyId: string, userId: string, now: number) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(
      and(
        eq(sessions.userId, userId),
        eq(sessions.companyId, companyId),
        isNull(sessions.endedAt),
        existsSql(users, matchesId(users, companyId, userId), isInactive),
      ),
    );

export const deleteExpiredSessions = (db: ControlDb, now: number) =>
  db.delete(sessions).where(lt(sessions.expiresAt, now));
