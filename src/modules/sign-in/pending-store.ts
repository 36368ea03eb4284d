import { and, eq, gt, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { pendingSecondFactors, secondFactors } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { afterChange } from '../../db/statements.ts';

export type Pending = typeof pendingSecondFactors.$inferSelect;

/** Codes that may be tried with one pending token. */
const MAX_PENDING_TRIES = 5;

export const insertPending = (db: ControlDb, record: Pending) => db.insert(pendingSecondFactors).values(record);

const livePending = (digest: string, now: number, purpose: Pending['purpose']) =>
  and(
    eq(pendingSecondFactors.digest, digest),
    eq(pendingSecondFactors.purpose, purpose),
    isNull(pendingSecondFactors.endedAt),
    gt(pendingSecondFactors.expiresAt, now),
    lt(pendingSecondFactors.tries, MAX_PENDING_TRIES),
  );

/** The user of a pending token and their authenticator; nothing when one of them has ended. */
export const selectPending = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users, factorId: sql<string>`${secondFactors.id}`.as('factor_id'), secret: secondFactors.secret })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .innerJoin(
      secondFactors,
      and(eq(secondFactors.userId, users.id), eq(secondFactors.companyId, users.companyId), isConfirmed),
    )
    .where(and(livePending(digest, now, 'login'), isActive));

/** The user of a pending token whose sign-in waits for a second factor to be set up. */
export const selectPendingSetup = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .where(and(livePending(digest, now, 'setup'), isActive));

/** The user of a pending token, unless all their sessions were ended since. */
const isWaiting = and(
  eq(users.id, pendingSecondFactors.userId),
  eq(users.companyId, pendingSecondFactors.companyId),
  eq(users.sessionEpoch, pendingSecondFactors.sessionEpoch),
);
const isActive = and(eq(users.isActive, true), isNull(users.deletedAt));
const isConfirmed = isNotNull(secondFactors.confirmedAt);

/** Counts a try with a live pending token. */
export const countTry = (db: ControlDb, digest: string, now: number, purpose: Pending['purpose']) =>
  db
    .update(pendingSecondFactors)
    .set({ tries: sql`${pendingSecondFactors.tries} + 1` })
    .where(livePending(digest, now, purpose));

/** Ends a pending token, if the statement before it changed a row. */
export const endPending = (db: ControlDb, digest: string, now: number) =>
  db
    .update(pendingSecondFactors)
    .set({ endedAt: now })
    .where(and(eq(pendingSecondFactors.digest, digest), afterChange));
