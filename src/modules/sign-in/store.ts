import { and, eq, gt, gte, isNull, lt, ne, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { companies } from '../companies/tables.ts';
import { users } from '../users/tables.ts';
import { sessions } from './tables.ts';

export type Session = typeof sessions.$inferSelect;

/**
 * Begins a session, unless its user was deactivated, or all its sessions were ended, since `sessionEpoch` was read.
 * @param afterChange only if the statement before it in the batch changed a row
 */
export const insertSession = (
  db: ControlDb,
  record: Session,
  { sessionEpoch, afterChange }: { sessionEpoch: number; afterChange: boolean },
) => {
  const unchanged = db
    .select({ id: users.id })
    .from(users)
    .where(
      and(
        eq(users.companyId, record.companyId),
        eq(users.id, record.userId),
        eq(users.sessionEpoch, sessionEpoch),
        eq(users.isActive, true),
        isNull(users.deletedAt),
      ),
    );
  return insertWhen(
    db,
    sessions,
    record,
    afterChange ? sql`changes() > 0 and exists ${unchanged}` : sql`exists ${unchanged}`,
  );
};

/** The live session of a token with its user and company: nothing when any of them has ended. */
export const selectLiveSession = (
  db: ControlDb,
  key: { companyId: string; userId: string; sessionId: string },
  now: number,
) =>
  db
    .select({ user: users, companySlug: companies.slug })
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
 * The statements that exchange the refresh token of `presented` for `next`, to be run in one batch: the newest token
 * rotates; the one before may retry until `previousUntil`, replacing its successor; any other ends the session.
 */
export function rotateStatements(
  db: ControlDb,
  key: { companyId: string; sessionId: string },
  digests: { presented: string; next: string },
  times: { now: number; retryUntil: number; expiresAt: number },
) {
  const live = and(
    eq(sessions.id, key.sessionId),
    eq(sessions.companyId, key.companyId),
    isNull(sessions.endedAt),
    gt(sessions.expiresAt, times.now),
    ne(sessions.refreshDigest, digests.next),
  );
  return [
    db
      .update(sessions)
      .set({
        refreshDigest: digests.next,
        previousDigest: digests.presented,
        previousUntil: times.retryUntil,
        expiresAt: times.expiresAt,
      })
      .where(and(live, eq(sessions.refreshDigest, digests.presented))),
    db
      .update(sessions)
      .set({ refreshDigest: digests.next })
      .where(and(live, eq(sessions.previousDigest, digests.presented), gte(sessions.previousUntil, times.now))),
    db.update(sessions).set({ endedAt: times.now }).where(live),
  ] as const;
}

export const endSession = (db: ControlDb, companyId: string, sessionId: string, now: number) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(and(eq(sessions.id, sessionId), eq(sessions.companyId, companyId), isNull(sessions.endedAt)));

/** Ends every session of a user who is not active any more, or deleted; goes into the batch that makes the user so. */
export const endSessionsOfInactive = (db: ControlDb, companyId: string, userId: string, now: number) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(
      and(
        eq(sessions.userId, userId),
        eq(sessions.companyId, companyId),
        isNull(sessions.endedAt),
        sql`exists (select 1 from ${users} where id = ${userId} and (is_active = 0 or deleted_at is not null))`,
      ),
    );

/** Forgets sessions whose refresh token has expired. */
export const deleteExpiredSessions = (db: ControlDb, now: number) =>
  db.delete(sessions).where(lt(sessions.expiresAt, now));
