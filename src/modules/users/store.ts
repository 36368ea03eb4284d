import { and, eq, isNull } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { groupBindings } from '../groups/tables.ts';
import { users } from './tables.ts';

export type User = typeof users.$inferSelect;

export const insertUser = (db: ControlDb, record: User) => db.insert(users).values(record);

/** The living user of an id, for a batch. */
export const selectUser = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(users)
    .where(and(eq(users.companyId, companyId), eq(users.id, id), isNull(users.deletedAt)));

/** The living user of an email, which is lower-case already. */
export const selectUserByEmail = (db: ControlDb, companyId: string, email: string) =>
  db
    .select()
    .from(users)
    .where(and(eq(users.companyId, companyId), eq(users.email, email), isNull(users.deletedAt)));

/** The groups a user is in, whatever the account. */
export const selectGroupIds = (db: ControlDb, companyId: string, userId: string) =>
  db
    .selectDistinct({ groupId: groupBindings.groupId })
    .from(groupBindings)
    .where(
      and(
        eq(groupBindings.companyId, companyId),
        eq(groupBindings.principalType, 'user'),
        eq(groupBindings.principalId, userId),
      ),
    );

/** Notes a sign-in, and keeps a hash that was made anew. */
export const updateAtLogin = (db: ControlDb, user: User, now: number, passwordHash: string | null) =>
  db
    .update(users)
    .set({ lastLoginAt: now, ...(passwordHash !== null && { passwordHash }) })
    .where(and(eq(users.companyId, user.companyId), eq(users.id, user.id)));
