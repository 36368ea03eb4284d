import { and, eq, gt, isNotNull, isNull, lt, not, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { pendingSecondFactors, secondFactors } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { afterChange, exists } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

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

const COMPANY_STATE = { suspendedAt: companies.suspendedAt, ssoOnly: companies.ssoOnly };

/** The user of a pending token, their company and authenticator; nothing when one of them has ended. */
export const selectPending = (db: ControlDb, digest: string, now: number) =>
  db
    .select({
      user: users,
      company: COMPANY_STATE,
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
    .where(and(livePending(digest, now, 'login'), isActive));

/** The user and company of a pending token whose sign-in waits for a second factor to be set up. */
export const selectPendingSetup = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users, company: COMPANY_STATE })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .innerJoin(companies, eq(companies.id, pendingSecondFactors.companyId))
    .where(and(livePending(digest, now, 'setup'), isActive));

/** The user of a pending token, unless all their sessions were ended since. */
const isWaiting = and(
  eq(users.id, pendingSecondFactors.userId),
  eq(users.companyId, pendingSecondFactors.companyId),
  eq(users.sessionEpoch, pendingSecondFactors.sessionEpoch),
);
const isActive = and(eq(users.isActive, true), isNull(users.deletedAt));
const isConfirmed = isNotNull(secondFactors.confirmedAt);

const requiresSso = exists(companies, eq(companies.id, pendingSecondFactors.companyId), eq(companies.ssoOnly, true));

/** Counts a try with a live pending token, unless its company is suspended, or requires a single sign-on that this is not. */
export const countTry = (
  db: ControlDb,
  digest: string,
  now: number,
  { purpose, needsNoSso }: { purpose: Pending['purpose']; needsNoSso: boolean },
) =>
  db
    .update(pendingSecondFactors)
    .set({ tries: sql`${pendingSecondFactors.tries} + 1` })
    .where(
      and(
        livePending(digest, now, purpose),
        isCompanyActive(pendingSecondFactors.companyId),
        needsNoSso ? undefined : not(requiresSso),
      ),
    );

/** Ends a pending token, if the statement before it changed a row. */
export const endPending = (db: ControlDb, digest: string, now: number) =>
  db
    .update(pendingSecondFactors)
    .set({ endedAt: now })
    .where(and(eq(pendingSecondFactors.digest, digest), afterChange));
