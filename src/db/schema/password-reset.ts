import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, timestamp } from '../columns.ts';

/** Links that set a new password. */
export const passwordResets = sqliteTable(
  'password_resets',
  {
    /** SHA-256 of the token. */
    digest: text('digest').primaryKey(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
    usedAt: timestamp('used_at'),
  },
  (table) => [
    index('password_resets_of_user').on(table.userId, table.usedAt),
    index('password_resets_by_expiry').on(table.expiresAt),
  ],
);
