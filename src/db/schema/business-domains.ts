import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { json, timestamp } from '../columns.ts';

/** One part of what a company does, as its people name it. */
export interface BusinessDomain {
  /** A slug, once in the company. */
  key: string;
  name: string;
  description: string;
}

/** All business domains of a company; they are written together. */
export const businessDomains = sqliteTable('knowledge_business_domains', {
  companyId: text('company_id').primaryKey(),
  domains: json<BusinessDomain[]>('domains').notNull(),
  updatedAt: timestamp('updated_at').notNull(),
});
