import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { LegacyPermission } from '../../permissions/legacy.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';
import { jsonColumn, ownedColumns, timestampColumns } from '../columns.ts';

/** A company's own policies. Managed policies are defined in the code. */
export const policies = sqliteTable(
  'policies',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    document: jsonColumn<PolicyDocument>('document').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('policies_name').on(table.companyId, table.name),
    index('policies_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);

/** Permissions of the former model, kept for compatibility. */
export const permissions = sqliteTable(
  'permissions',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    target: jsonColumn<LegacyPermission['target']>('target').notNull(),
    actions: jsonColumn<LegacyPermission['actions']>('actions').notNull(),
    ...timestampColumns(),
  },
  (table) => [index('permissions_by_creation').on(table.companyId, table.createdAt, table.id)],
);
