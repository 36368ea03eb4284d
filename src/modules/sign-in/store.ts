import { and, eq, gt, gte, inArray, isNotNull, isNull, lt, not, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { passwordlessCodes, pendingSecondFactors, secondFactors, signInNetworks } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS, insertWhen } from '../../db/statements.ts';
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
 * Counts a try with a live pending token, unless its company is suspended, or takes single sign-on only and `needsNoSso` is
 * false.
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

/** Selects a row if the user of an email has signed in from a network since a time. */
export const selectKnownNetwork = (
  db: ControlDb,
  { companyId, email, network, since }: { companyId: string; email: string; network: string; since: number },
) =>
  db
    .select({ network: signInNetworks.network })
    .from(signInNetworks)
    .innerJoin(users, and(eq(users.id, signInNetworks.userId), eq(users.companyId, signInNetworks.companyId)))
    .where(
      and(
        eq(signInNetworks.companyId, companyId),
        eq(signInNetworks.network, network),
        gte(signInNetworks.signedInAt, since),
        eq(users.email, email),
        isNull(users.deletedAt),
      ),
    );

/** Records the network of a sign-in, if the statement before it in the batch changed a row. */
export const recordNetwork = (db: ControlDb, record: typeof signInNetworks.$inferSelect) =>
  insertWhen(db, signInNetworks, record, HAS_CHANGED_ROWS).onConflictDoUpdate({
    target: [signInNetworks.userId, signInNetworks.network],
    set: { signedInAt: record.signedInAt },
  });

export const deleteOldNetworks = (db: ControlDb, cutoff: number) =>
  db.delete(signInNetworks).where(lt(signInNetworks.signedInAt, cutoff));

export type PasswordlessCode = typeof passwordlessCodes.$inferSelect;

const MAX_CODE_TRIES = 5;

/**
 * Stores a code in place of the address's previous one, unless the company is suspended: no code is mailed then, and the
 * previous one must work afterwards.
 */
export const replaceCode = (db: ControlDb, record: PasswordlessCode) =>
  insertWhen(
    db,
    passwordlessCodes,
    record,
    not(existsSql(companies, eq(companies.id, record.companyId), isNotNull(companies.suspendedAt))),
  ).onConflictDoUpdate({
    target: [passwordlessCodes.companyId, passwordlessCodes.purpose, passwordlessCodes.email],
    set: record,
  });

/**
 * Counts a try, and uses the code if its digest is among `digests`, in one statement, so that concurrent tries cannot exceed the
 * limit. Returns a row with `usedAt` if the code was right.
 */
export const checkCode = (
  db: ControlDb,
  { companyId, purpose, email }: Pick<PasswordlessCode, 'companyId' | 'purpose' | 'email'>,
  digests: string[],
  now: number,
) =>
  db
    .update(passwordlessCodes)
    .set({
      tries: sql`${passwordlessCodes.tries} + 1`,
      usedAt: sql`case when ${inArray(passwordlessCodes.digest, digests)} then ${now} end`,
    })
    .where(
      and(
        eq(passwordlessCodes.companyId, companyId),
        eq(passwordlessCodes.purpose, purpose),
        eq(passwordlessCodes.email, email),
        isNull(passwordlessCodes.usedAt),
        gt(passwordlessCodes.expiresAt, now),
        lt(passwordlessCodes.tries, MAX_CODE_TRIES),
      ),
    )
    .returning({ usedAt: passwordlessCodes.usedAt, sessionEpoch: passwordlessCodes.sessionEpoch });

export const deleteExpiredCodes = (db: ControlDb, now: number) =>
  db.delete(passwordlessCodes).where(lt(passwordlessCodes.expiresAt, now));
