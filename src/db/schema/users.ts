import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import {
  booleanColumn,
  companyId,
  deletedAtColumn,
  jsonColumn,
  type Metadata,
  ownedColumns,
  timestampColumn,
  timestampColumns,
} from '../columns.ts';

export const users = sqliteTable(
  'users',
  {
    ...ownedColumns(),
    /** Email address in lower case. */
    email: text('email').notNull(),
    name: text('name').notNull(),
    /** The attribute of the external directory that the name was taken from; null where no directory has set it. */
    nameSource: text('name_source', { enum: ['displayName', 'formatted', 'parts'] }),
    /** Id of the user in the external directory that manages the user. */
    externalId: text('external_id'),
    /** Argon2id hash in PHC form; null for people who sign in by other means, or have no password yet. */
    passwordHash: text('password_hash'),
    isOwner: booleanColumn('is_owner').notNull().default(false),
    isActive: booleanColumn('is_active').notNull(),
    isVerified: booleanColumn('is_verified').notNull().default(false),
    mfaEnabled: booleanColumn('mfa_enabled').notNull().default(false),
    /** Time from which the user could sign in: distinguishes an invited user from a deactivated one. */
    activatedAt: timestampColumn('activated_at'),
    teams: jsonColumn<string[]>('teams').notNull(),
    metadata: jsonColumn<Metadata>('metadata').notNull(),
    lastLoginAt: timestampColumn('last_login_at'),
    /** Number of times that all sessions were ended at once: a sign-in begun before such a moment gets no session. */
    sessionEpoch: integer('session_epoch').notNull().default(0),
    ...timestampColumns(),
    deletedAt: deletedAtColumn(),
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

/** Number of users of each company, kept by triggers on `users`, so that a long list's total costs one row. */
export const userCounts = sqliteTable('user_counts', {
  companyId: companyId().primaryKey(),
  living: integer('living').notNull(),
  /** Number of users, deleted ones included. */
  total: integer('total').notNull(),
});

/**
 * A row for each account and each user with a binding in it, kept by triggers, with the columns by which lists are sorted: a page
 * of an account's users costs as little as a page of all users.
 */
export const accountUsers = sqliteTable(
  'account_users',
  {
    companyId: companyId(),
    accountId: text('account_id').notNull(),
    userId: text('user_id').notNull(),
    /** Number of the user's bindings in the account. */
    bindings: integer('bindings').notNull(),
    email: text('email').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
    updatedAt: timestampColumn('updated_at').notNull(),
    lastLoginAt: timestampColumn('last_login_at'),
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

/** Number of users in each account, counted by triggers on `account_users`. */
export const accountUserCounts = sqliteTable('account_user_counts', {
  accountId: text('account_id').primaryKey(),
  companyId: companyId(),
  users: integer('users').notNull(),
});

/** Pending invitations: one for each invited user. */
export const invitations = sqliteTable(
  'invitations',
  {
    userId: text('user_id').primaryKey(),
    companyId: companyId(),
    /** SHA-256 of the token; null until the mail with it is sent. */
    digest: text('digest').unique(),
    /** Name of the inviter, as in the mail. */
    inviter: text('inviter').notNull(),
    expiresAt: timestampColumn('expires_at').notNull(),
  },
  (table) => [index('invitations_by_expiry').on(table.expiresAt)],
);
