import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';
import { companyId } from '../columns.ts';

/** How often a company has rotated its key. One that never did has no row. */
export const embedKeys = sqliteTable('embed_keys', {
  companyId: companyId().primaryKey(),
  rotations: integer('rotations').notNull(),
});
