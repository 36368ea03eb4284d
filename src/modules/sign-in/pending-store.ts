import { and, eq, gt, isNotNull, isNull, lt, not, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { pendingSecondFactors, secondFactors } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type PendingSignIn = typeof pendingSecondFactors.$inferSelect;

/** The number of codes that may be tried with one pending token. */
const MAX_PENDING_TRIES = 5;

export const insertPending = (db: ControlDb, record: PendingSignIn) => db.insert(pendingSecondFactors).values(record);

const isLivePending = (digest: string, now: number, purpose: PendingSignIn['purpose']) =>
  and(
    eq(pendingSecondFactors.digest, digest),
    eq(pendingSecondFactors.purpose, purpose),
    isNull(pendingSecondFactors.endedAt),
    gt(pendingSecondFactors.expiresAt, now),
    lt(pendingSecondFactors.tries, MAX_PENDING_TRIES),
  );

const COMPANY_STATE_COLUMNS = { suspendedAt: companies.suspendedAt, ssoOnly: companies.ssoOnly };

/** Selects the user of a pending token, their company and authenticator; no row when the token or the user has ended. */
export const selectPending = (db: ControlDb, digest: string, now: number) =>
  db
    .select({
      user: users,
      company: COMPANY_STATE_COLUMNS,
      factorId: sql<string>`${secondFactors.id}`.as('factor_id'),
      secret: secondFactors.secret,
    })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .innerJoin(companies, eq(companies.id, pendingSecondFactors.companyId))
    .innerJoin(
      secondFactors,
      and(eq(secondFactors.userId, users.id), eq(secondFactors.companyId, users.companyId), isConfirmed),
    )
    .where(and(isLivePending(digest, now, 'login'), isActive));

/** Selects the user and company of a pending token whose sign-in waits for a second factor to be set up. */
export const selectPendingSetup = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users, company: COMPANY_STATE_COLUMNS })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .innerJoin(companies, eq(companies.id, pendingSecondFactors.companyId))
    .where(and(isLivePending(digest, now, 'setup'), isActive));

/** The SQL condition that a user is that of the pending token, unless all their sessions were ended since. */
const isWaiting = and(
  eq(users.id, pendingSecondFactors.userId),
  eq(users.companyId, pendingSecondFactors.companyId),
  eq(users.sessionEpoch, pendingSecondFactors.sessionEpoch),
);
const isActive = and(eq(users.isActive, true), isNull(users.deletedAt));
const isConfirmed = isNotNull(secondFactors.confirmedAt);

const requiresSso = existsSql(companies, eq(companies.id, pendingSecondFactors.companyId), eq(companies.ssoOnly, true));

/**
 * Counts a try with a live pending token, unless its company is suspended, or requires single sign-on and `needsNoSso` is false.
 */
export const countTry = (
  db: ControlDb,
  digest: string,
  now: number,
  { purpose, needsNoSso }: { purpose: PendingSignIn['purpose']; needsNoSso: boolean },
) =>
  db
    .update(pendingSecondFactors)
    .set({ tries: sql`${pendingSecondFactors.tries} + 1` })
    .where(
      and(
        isLivePending(digest, now, purpose),
        isCompanyActive(pendingSecondFactors.companyId),
        needsNoSso ? undefined : not(requiresSso),
      ),
    );

/** Ends a pending token, if the statement before it changed a row. */
export const endPending = (db: ControlDb, digest: string, now: number) =>
  db
    .update(pendingSecondFactors)
    .set({ endedAt: now })
    .where(and(eq(pendingSecondFactors.digest, digest), HAS_CHANGED_ROWS));
