import { and, eq, gt, inArray, isNull, lt, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { passwordlessCodes } from '../../db/schema/sign-in.ts';

export type PasswordlessCode = typeof passwordlessCodes.$inferSelect;

const MAX_CODE_TRIES = 5;

export const replaceCode = (db: ControlDb, record: PasswordlessCode) =>
  db
    .insert(passwordlessCodes)
    .values(record)
    .onConflictDoUpdate({
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
