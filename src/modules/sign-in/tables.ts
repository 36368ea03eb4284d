import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, id, moment } from '../../db/columns.ts';

/** A person's sign-in, from login to logout. Refresh tokens are kept only as SHA-256 of their `jti`. */
export const sessions = sqliteTable(
  'sessions',
  {
    id: id(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** Digest of the newest refresh token. */
    refreshDigest: text('refresh_digest').notNull(),
    /** Digest of the one before, which may be used again until `previousUntil`, if its answer got lost. */
    previousDigest: text('previous_digest'),
    previousUntil: moment('previous_until'),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    endedAt: moment('ended_at'),
  },
  (table) => [index('sessions_of_user').on(table.userId, table.endedAt)],
);
