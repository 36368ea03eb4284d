import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, timestamp } from '../columns.ts';

/** Invitations that are not accepted yet: one for each invited user. */
export const invitations = sqliteTable(
  'invitations',
  {
    userId: text('user_id').primaryKey(),
    companyId: companyId(),
    /** SHA-256 of the token; null until the mail with it is sent. */
    digest: text('digest').unique(),
    /** Who invited, as the mail names them. */
    inviter: text('inviter').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('invitations_by_expiry').on(table.expiresAt)],
);
