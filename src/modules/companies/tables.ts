import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { id, timestamps } from '../../db/columns.ts';

/** The tenants. Organization (documents 1) and company (documents 2 and 3) are both this. */
export const companies = sqliteTable(
  'companies',
  { id: id(), slug: text('slug').notNull(), name: text('name').notNull(), ...timestamps() },
  (table) => [uniqueIndex('companies_slug').on(table.slug)],
);
