import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { LOCALES } from '../../kernel/locales.ts';
import { flag, id, timestamps } from '../columns.ts';

/** The tenants. Organization (documents 1) and company (documents 2 and 3) are both this. */
export const companies = sqliteTable(
  'companies',
  {
    id: id(),
    slug: text('slug').notNull(),
    name: text('name').notNull(),
    /** Nobody signs in without a second factor. */
    require2fa: flag('require_2fa').notNull().default(false),
    /** Everybody but the owner comes by the company's identity provider. */
    ssoOnly: flag('sso_only').notNull().default(false),
    locale: text('locale', { enum: LOCALES }).notNull().default('en'),
    ...timestamps(),
  },
  (table) => [uniqueIndex('companies_slug').on(table.slug)],
);
