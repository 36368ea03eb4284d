import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, deletedAt, flag, id, json, type Metadata, moment, timestamps } from '../../db/columns.ts';

export const serviceAccounts = sqliteTable(
  'service_accounts',
  {
    id: id(),
    companyId: companyId(),
    accountId: text('account_id').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    isActive: flag('is_active').notNull().default(true),
    metadata: json<Metadata>('metadata').notNull(),
    lastUsedAt: moment('last_used_at'),
    ...timestamps(),
    deletedAt: deletedAt(),
  },
  (table) => [
    index('service_accounts_by_creation').on(table.companyId, table.createdAt, table.id, table.deletedAt),
    index('service_accounts_living_of_account').on(table.accountId).where(sql`deleted_at is null`),
  ],
);

/** Signing keys. The secret itself is nowhere: it is derived from access key and salt under a versioned master secret. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: id(),
    companyId: companyId(),
    serviceAccountId: text('service_account_id').notNull(),
    accessKey: text('access_key').notNull(),
    salt: text('salt').notNull(),
    derivationVersion: integer('derivation_version').notNull(),
    /** Hex SHA-256 of the secret, checked on every derivation. */
    secretDigest: text('secret_digest').notNull(),
    description: text('description').notNull().default(''),
    expiresAt: moment('expires_at').notNull(),
    isActive: flag('is_active').notNull().default(true),
    lastUsedAt: moment('last_used_at'),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('api_keys_access_key').on(table.accessKey),
    index('api_keys_of_service_account').on(table.serviceAccountId, table.createdAt, table.id),
  ],
);
