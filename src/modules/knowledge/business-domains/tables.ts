import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { json, moment } from '../../../db/columns.ts';
import type { BusinessDomain } from './domain.ts';

/** All business domains of a company; they are written together. */
export const businessDomains = sqliteTable('knowledge_business_domains', {
  companyId: text('company_id').primaryKey(),
  domains: json<BusinessDomain[]>('domains').notNull(),
  updatedAt: moment('updated_at').notNull(),
});
