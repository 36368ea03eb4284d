import { sql } from 'drizzle-orm';
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, deletedAt, flag, id, json, type Metadata, moment, timestamps } from '../../db/columns.ts';

export const users = sqliteTable(
  'users',
  {
    id: id(),
    companyId: companyId(),
    /** Lower-case. */
    email: text('email').notNull(),
    name: text('name').notNull(),
    /** Argon2id in PHC form; null for people who sign in another way, or not yet. */
    passwordHash: text('password_hash'),
    isOwner: flag('is_owner').notNull().default(false),
    isActive: flag('is_active').notNull(),
    isVerified: flag('is_verified').notNull().default(false),
    mfaEnabled: flag('mfa_enabled').notNull().default(false),
    /** When the user first could sign in: tells an invited user from a deactivated one. */
    activatedAt: moment('activated_at'),
    teams: json<string[]>('teams').notNull(),
    metadata: json<Metadata>('metadata').notNull(),
    lastLoginAt: moment('last_login_at'),
    ...timestamps(),
    deletedAt: deletedAt(),
  },
  (table) => [
    uniqueIndex('users_living_email').on(table.companyId, table.email).where(sql`deleted_at is null`),
    index('users_by_creation').on(table.companyId, table.createdAt, table.id, table.deletedAt),
    index('users_living_of_email').on(table.email).where(sql`deleted_at is null`),
  ],
);
