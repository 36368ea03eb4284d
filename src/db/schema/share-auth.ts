import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, id, timestamp } from '../columns.ts';

/** People from outside who have signed in to the portal. Their sessions stand beside those of users. */
export const outsiders = sqliteTable(
  'outsiders',
  {
    id: id(),
    companyId: companyId(),
    /** Lower-case. */
    email: text('email').notNull(),
    status: text('status', { enum: ['active'] }).notNull(),
    createdAt: timestamp('created_at').notNull(),
    lastLoginAt: timestamp('last_login_at').notNull(),
  },
  (table) => [
    uniqueIndex('outsiders_email').on(table.companyId, table.email),
    index('outsiders_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);
