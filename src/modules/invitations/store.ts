import { and, eq, gt, isNull, lt, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { invitations, users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS, insertWhen, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import { COMPANY_MAIL_COLUMNS } from '../companies/queries.ts';

export type Invitation = typeof invitations.$inferSelect;
type User = typeof users.$inferSelect;

/** Builds the condition that a user has neither accepted an invitation nor been deleted. */
export const isStillInvited = (companyId: string, userId: string): SQL =>
  existsSql(users, matchesUndeletedId(users, companyId, userId), isNull(users.activatedAt));

/**
 * Stores the invitation of a user who is still invited, in place of an earlier one, whose link stops working where `isMailed`
 * holds.
 */
export const replaceInvitation = (db: ControlDb, record: Invitation, isMailed: SQL) =>
  insertWhen(db, invitations, record, isStillInvited(record.companyId, record.userId)).onConflictDoUpdate({
    target: invitations.userId,
    set: { ...record, digest: sql`case when ${isMailed} then ${record.digest} else ${invitations.digest} end` },
  });

/** Sets the teams of a new invitation on a user who is still invited. */
export const updateInvitedUser = (db: ControlDb, { companyId, id, teams, updatedAt }: User) =>
  db
    .update(users)
    .set({ teams, updatedAt })
    .where(and(matchesUndeletedId(users, companyId, id), isNull(users.activatedAt)));

/** Selects the data for the mail of an invitation, while the invitation is open. */
export const selectInvitationForMail = (db: ControlDb, companyId: string, email: string, now: number) =>
  db
    .select({
      userId: users.id,
      name: users.name,
      company: COMPANY_MAIL_COLUMNS,
      inviter: invitations.inviter,
    })
    .from(invitations)
    .innerJoin(users, and(eq(users.id, invitations.userId), eq(users.companyId, invitations.companyId)))
    .innerJoin(companies, eq(companies.id, invitations.companyId))
    .where(
      and(
        eq(invitations.companyId, companyId),
        gt(invitations.expiresAt, now),
        eq(users.email, email),
        isNull(users.activatedAt),
        isNull(users.deletedAt),
      ),
    );

/** Stores the digest of the link that is about to be mailed. */
export const setInvitationDigest = (db: ControlDb, companyId: string, userId: string, digest: string) =>
  db
    .update(invitations)
    .set({ digest })
    .where(and(eq(invitations.companyId, companyId), eq(invitations.userId, userId)));

/** Selects the user of a working link, and until when it works. */
export const selectInvitedUser = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users, expiresAt: sql<number>`${invitations.expiresAt}`.as('invitation_expires_at') })
    .from(invitations)
    .innerJoin(users, and(eq(users.id, invitations.userId), eq(users.companyId, invitations.companyId)))
    .where(
      and(
        eq(invitations.digest, digest),
        gt(invitations.expiresAt, now),
        isNull(users.activatedAt),
        isNull(users.deletedAt),
      ),
    );

/** Deletes an invitation and activates its user: both or, if another request accepted it first, neither. */
export const prepareAcceptance = (
  db: ControlDb,
  { id, companyId }: Pick<User, 'id' | 'companyId'>,
  digest: string,
  newValues: Pick<User, 'passwordHash' | 'name'>,
  now: number,
) => ({
  invitation: db.delete(invitations).where(eq(invitations.digest, digest)),
  accepted: db
    .update(users)
    .set({ ...newValues, isActive: true, isVerified: true, activatedAt: now, updatedAt: now })
    .where(and(matchesId(users, companyId, id), isNull(users.activatedAt), isNull(users.deletedAt), HAS_CHANGED_ROWS))
    .returning(),
});

/** Deletes expired invitations; their users stay invited and can be invited again. */
export const deleteExpiredInvitations = (db: ControlDb, now: number) =>
  db.delete(invitations).where(lt(invitations.expiresAt, now));
