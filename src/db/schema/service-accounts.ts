import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import {
  booleanColumn,
  deletedAtColumn,
  jsonColumn,
  type Metadata,
  ownedColumns,
  timestampColumn,
  timestampColumns,
} from '../columns.ts';

export const serviceAccounts = sqliteTable(
  'service_accounts',
  {
    ...ownedColumns(),
    accountId: text('account_id').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    isActive: booleanColumn('is_active').notNull().default(true),
    metadata: jsonColumn<Metadata>('metadata').notNull(),
    lastUsedAt: timestampColumn('last_used_at'),
    ...timestampColumns(),
    deletedAt: deletedAtColumn(),
  },
  (table) => {
    const listedColumns = [table.id, table.deletedAt, table.isActive] as const;
    return [
      index('service_accounts_by_creation').on(table.companyId, table.createdAt, ...listedColumns),
      index('service_accounts_by_update').on(table.companyId, table.updatedAt, ...listedColumns),
      index('service_accounts_by_name').on(table.companyId, table.name, ...listedColumns),
      index('service_accounts_by_use').on(table.companyId, table.lastUsedAt, ...listedColumns),
      index('service_accounts_of_account').on(table.companyId, table.accountId, table.createdAt, ...listedColumns),
    ];
  },
);

/** Signing keys. The secret itself is not stored: it is derived from access key and salt under a versioned master secret. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    ...ownedColumns(),
    serviceAccountId: text('service_account_id').notNull(),
    accessKey: text('access_key').notNull(),
    salt: text('salt').notNull(),
    derivationVersion: integer('derivation_version').notNull(),
    /** Hex SHA-256 of the secret, compared after every derivation. */
    secretDigest: text('secret_digest').notNull(),
    description: text('description').notNull().default(''),
    expiresAt: timestampColumn('expires_at').notNull(),
    isActive: booleanColumn('is_active').notNull().default(true),
    lastUsedAt: timestampColumn('last_used_at'),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('api_keys_access_key').on(table.accessKey),
    index('api_keys_of_service_account').on(table.serviceAccountId, table.createdAt, table.id),
    index('api_keys_by_update').on(table.serviceAccountId, table.updatedAt, table.id),
    index('api_keys_by_use').on(table.serviceAccountId, table.lastUsedAt, table.id),
  ],
);
