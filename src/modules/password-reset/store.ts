import { and, eq, gt, isNull, lt, or, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { passwordResets } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import { COMPANY_MAIL_COLUMNS } from '../companies/queries.ts';
import { endUserGrants, endUserSessions } from '../sessions/queries.ts';

export type PasswordReset = typeof passwordResets.$inferSelect;

/** Selects active users of an email who may have a password, in one company or all; the latest to sign in first. */
export const selectActiveAccounts = (db: ControlDb, email: string, companyId: string | null, limit: number) =>
  db
    .select({
      userId: users.id,
      companyId: users.companyId,
      name: users.name,
      company: COMPANY_MAIL_COLUMNS,
    })
    .from(users)
    .innerJoin(companies, eq(companies.id, users.companyId))
    .where(
      and(
        eq(users.email, email),
        companyId === null ? undefined : eq(users.companyId, companyId),
        eq(users.isActive, true),
        isNull(users.deletedAt),
        isNull(companies.suspendedAt),
        or(eq(companies.ssoOnly, false), eq(users.isOwner, true)),
      ),
    )
    .orderBy(sql`${users.lastLoginAt} desc`, users.id)
    .limit(limit);

export const insertReset = (db: ControlDb, record: PasswordReset) => db.insert(passwordResets).values(record);

const isOpenReset = (digest: string, now: number) =>
  and(eq(passwordResets.digest, digest), isNull(passwordResets.usedAt), gt(passwordResets.expiresAt, now));

/** Selects the user whose password a link sets, while the link works. */
export const selectOpenReset = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users })
    .from(passwordResets)
    .innerJoin(users, and(eq(users.id, passwordResets.userId), eq(users.companyId, passwordResets.companyId)))
    .where(and(isOpenReset(digest, now), eq(users.isActive, true), isNull(users.deletedAt)));

/**
 * Makes statements that use a link, set the password of its user if still active, end all their sessions and grants and every
 * pending sign-in, and end their other links. Order matters: `setPassword` changes a row only if `use`, right before it, did.
 */
export function prepareResetStatements(
  db: ControlDb,
  { digest, companyId, userId }: Pick<PasswordReset, 'digest' | 'companyId' | 'userId'>,
  passwordHash: string,
  now: number,
) {
  // The new hash has its own salt, so only the user changed by `setPassword` can have it.
  const wasReset = existsSql(users, matchesId(users, companyId, userId), eq(users.passwordHash, passwordHash));
  return {
    use: db.update(passwordResets).set({ usedAt: now }).where(isOpenReset(digest, now)),
    setPassword: db
      .update(users)
      .set({ passwordHash, isVerified: true, updatedAt: now, sessionEpoch: sql`${users.sessionEpoch} + 1` })
      .where(and(matchesUndeletedId(users, companyId, userId), eq(users.isActive, true), HAS_CHANGED_ROWS))
      .returning({ id: users.id }),
    sessions: endUserSessions(db, { companyId, userId }, now, { condition: wasReset }),
    grants: endUserGrants(db, { companyId, userId }, { passwordHash, now }),
    otherResets: db
      .update(passwordResets)
      .set({ usedAt: now })
      .where(
        and(
          eq(passwordResets.companyId, companyId),
          eq(passwordResets.userId, userId),
          isNull(passwordResets.usedAt),
          wasReset,
        ),
      ),
  };
}

export const deleteExpiredResets = (db: ControlDb, now: number) =>
  db.delete(passwordResets).where(lt(passwordResets.expiresAt, now));
