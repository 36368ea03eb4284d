import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { LegacyPermission } from '../../kernel/legacy.ts';
import { companyId, id, json, timestamps } from '../columns.ts';

/** Permissions of the former model, kept for compatibility. */
export const permissions = sqliteTable(
  'permissions',
  {
    id: id(),
    companyId: companyId(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    target: json<LegacyPermission['target']>('target').notNull(),
    actions: json<LegacyPermission['actions']>('actions').notNull(),
    ...timestamps(),
  },
  (table) => [index('permissions_by_creation').on(table.companyId, table.createdAt, table.id)],
);
