import { and, eq, gt, inArray, isNotNull, isNull, lt, not, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { passwordlessCodes } from '../../db/schema/sign-in.ts';
import { existsSql, insertWhen } from '../../db/statements.ts';

export type PasswordlessCode = typeof passwordlessCodes.$inferSelect;

const MAX_CODE_TRIES = 5;

/**
 * Stores a code in place of the address's previous code, unless the company is suspended: no code is mailed then, and the previous
 * one must work afterwards.
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
    .returning({ usedAt: passwordlessCodes.usedAt });

export const deleteExpiredCodes = (db: ControlDb, now: number) =>
  db.delete(passwordlessCodes).where(lt(passwordlessCodes.expiresAt, now));
