import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Branding } from '../../presentation/branding.ts';
import { LOCALES } from '../../texts/locales.ts';
import { flag, id, json, timestamp, timestamps } from '../columns.ts';

/** A company's logo; the picture itself is in R2. */
export interface Logo {
  /** Another one with each upload. */
  id: string;
  type: 'image/png' | 'image/jpeg' | 'image/webp';
  width: number;
  height: number;
}

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
    branding: json<Branding>('branding').notNull().default({}),
    logo: json<Logo>('logo'),
    /** Since when nobody of it, or for it, is let in, and nothing runs for it; null while it is active. */
    suspendedAt: timestamp('suspended_at'),
    ...timestamps(),
  },
  (table) => [uniqueIndex('companies_slug').on(table.slug)],
);
