import { and, eq, gt, inArray, isNull, lt, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { passwordlessCodes } from '../../db/schema/sign-in.ts';

export type PasswordlessCode = typeof passwordlessCodes.$inferSelect;

const TRIES = 5;

/** Keeps a new code in the place of the address's old one. */
export const replaceCode = (db: ControlDb, record: PasswordlessCode) =>
  db
    .insert(passwordlessCodes)
    .values(record)
    .onConflictDoUpdate({
      target: [passwordlessCodes.companyId, passwordlessCodes.purpose, passwordlessCodes.email],
      set: record,
    });

/**
 * Counts a try and uses the code up if it is one of `digests`, in one statement, so that of many tries at once only as
 * many count as are allowed. Returns a row with `usedAt` when the code was right.
 */
export const tryCode = (
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
        lt(passwordlessCodes.tries, TRIES),
      ),
    )
    .returning({ usedAt: passwordlessCodes.usedAt });

/** Forgets codes that have expired. */
export const deleteExpiredCodes = (db: ControlDb, now: number) =>
  db.delete(passwordlessCodes).where(lt(passwordlessCodes.expiresAt, now));
