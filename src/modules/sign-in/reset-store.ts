import { and, eq, exists, isNull, ne } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { passwordResets } from '../../db/schema/password-reset.ts';
import { users } from '../../db/schema/users.ts';

/** Ends the links to reset a password, if the password was changed since `user` was read. */
export const endResets = (db: ControlDb, user: typeof users.$inferSelect, now: number) =>
  db
    .update(passwordResets)
    .set({ usedAt: now })
    .where(
      and(
        eq(passwordResets.companyId, user.companyId),
        eq(passwordResets.userId, user.id),
        isNull(passwordResets.usedAt),
        exists(
          db
            .select({ id: users.id })
            .from(users)
            .where(
              and(
                eq(users.companyId, user.companyId),
                eq(users.id, user.id),
                ne(users.passwordHash, user.passwordHash as string),
              ),
            ),
        ),
      ),
    );
