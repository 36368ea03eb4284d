import { sql } from 'drizzle-orm';
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import {
  booleanColumn,
  deletedAtColumn,
  jsonColumn,
  type Metadata,
  ownedColumns,
  timestampColumns,
} from '../columns.ts';

export const accounts = sqliteTable(
  'accounts',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    isDefault: booleanColumn('is_default').notNull().default(false),
    isActive: booleanColumn('is_active').notNull().default(true),
    metadata: jsonColumn<Metadata>('metadata').notNull(),
    ...timestampColumns(),
    deletedAt: deletedAtColumn(),
  },
  (table) => [
    uniqueIndex('accounts_living_name').on(table.companyId, table.name).where(sql`deleted_at is null`),
    uniqueIndex('accounts_one_default').on(table.companyId).where(sql`is_default = 1 and deleted_at is null`),
    index('accounts_by_creation').on(table.companyId, table.createdAt, table.id, table.deletedAt),
    index('accounts_by_update').on(table.companyId, table.updatedAt, table.id, table.deletedAt),
    index('accounts_by_name').on(table.companyId, table.name, table.id, table.deletedAt),
  ],
);
