import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, deletedAt, flag, id, json, type Metadata, timestamp, timestamps } from '../columns.ts';

export const users = sqliteTable(
  'users',
  {
    id: id(),
    companyId: companyId(),
    /** Lower-case. */
    email: text('email').notNull(),
    name: text('name').notNull(),
    /** The id of the user in the directory that keeps them. */
    externalId: text('external_id'),
    /** Argon2id in PHC form; null for people who sign in another way, or not yet. */
    passwordHash: text('password_hash'),
    isOwner: flag('is_owner').notNull().default(false),
    isActive: flag('is_active').notNull(),
    isVerified: flag('is_verified').notNull().default(false),
    mfaEnabled: flag('mfa_enabled').notNull().default(false),
    /** When the user first could sign in: tells an invited user from a deactivated one. */
    activatedAt: timestamp('activated_at'),
    teams: json<string[]>('teams').notNull(),
    metadata: json<Metadata>('metadata').notNull(),
    lastLoginAt: timestamp('last_login_at'),
    /** Counts how often all sessions were ended at once: a sign-in begun before such a moment gets no session. */
    sessionEpoch: integer('session_epoch').notNull().default(0),
    ...timestamps(),
    deletedAt: deletedAt(),
  },
  (table) => [
    uniqueIndex('users_living_email').on(table.companyId, table.email).where(sql`deleted_at is null`),
    uniqueIndex('users_living_external_id')
      .on(table.companyId, table.externalId)
      .where(sql`external_id is not null and deleted_at is null`),
    index('users_by_creation').on(table.companyId, table.createdAt, table.id, table.deletedAt),
    index('users_by_update').on(table.companyId, table.updatedAt, table.id, table.deletedAt),
    index('users_by_email').on(table.companyId, table.email, table.id, table.deletedAt),
    index('users_by_name').on(table.companyId, sql`name collate nocase`, table.id, table.deletedAt),
    index('users_by_last_login').on(table.companyId, table.lastLoginAt, table.id, table.deletedAt),
    index('users_living_of_email').on(table.email).where(sql`deleted_at is null`),
  ],
);

/** The number of users of each company. Triggers on `users` keep it, so that the exact total of a long list costs one row. */
export const userCounts = sqliteTable('user_counts', {
  companyId: companyId().primaryKey(),
  living: integer('living').notNull(),
  /** Deleted ones included. */
  total: integer('total').notNull(),
});

/** Users with a binding in each account, kept by triggers, with the columns of lists: paged as cheaply as all. */
export const accountUsers = sqliteTable(
  'account_users',
  {
    companyId: companyId(),
    accountId: text('account_id').notNull(),
    userId: text('user_id').notNull(),
    /** The number of bindings that the user has in the account. */
    bindings: integer('bindings').notNull(),
    email: text('email').notNull(),
    createdAt: timestamp('created_at').notNull(),
    updatedAt: timestamp('updated_at').notNull(),
    lastLoginAt: timestamp('last_login_at'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.userId] }),
    index('account_users_of_user').on(table.userId),
    index('account_users_by_creation').on(table.companyId, table.accountId, table.createdAt, table.userId),
    index('account_users_by_update').on(table.companyId, table.accountId, table.updatedAt, table.userId),
    index('account_users_by_email').on(table.companyId, table.accountId, table.email, table.userId),
    index('account_users_by_last_login').on(table.companyId, table.accountId, table.lastLoginAt, table.userId),
  ],
);

/** The number of users that are attached to each account. Triggers on `account_users` keep it. */
export const accountUserCounts = sqliteTable('account_user_counts', {
  accountId: text('account_id').primaryKey(),
  companyId: companyId(),
  users: integer('users').notNull(),
});

/** Invitations that are not accepted yet: one for each invited user. */
export const invitations = sqliteTable(
  'invitations',
  {
    userId: text('user_id').primaryKey(),
    companyId: companyId(),
    /** SHA-256 of the token; null until the mail with it is sent. */
    digest: text('digest').unique(),
    /** The name of the inviter, as in the mail. */
    inviter: text('inviter').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('invitations_by_expiry').on(table.expiresAt)],
);
