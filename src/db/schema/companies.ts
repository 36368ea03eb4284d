import { sql } from 'drizzle-orm';
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Branding } from '../../presentation/branding.ts';
import { LOCALES } from '../../texts/locales.ts';
import { flag, id, json, timestamp, timestamps } from '../columns.ts';

/** A company's logo; the picture itself is in R2. */
export interface Logo {
  /** The logo's id, another one with each upload. */
  id: string;
  type: 'image/png' | 'image/jpeg' | 'image/webp';
  width: number;
  height: number;
}

/** The quotas of a company, by name; a quota that is not set has no limit. */
export const QUOTAS = ['users', 'table_bytes', 'file_bytes', 'mails_per_day', 'model_calls_per_day'] as const;
export type Quota = (typeof QUOTAS)[number];
export type Quotas = Partial<Record<Quota, number>>;

/** The tenants. Organization (documents 1) and company (documents 2 and 3) are both this. */
export const companies = sqliteTable(
  'companies',
  {
    id: id(),
    slug: text('slug').notNull(),
    name: text('name').notNull(),
    /** Whether nobody signs in without a second factor. */
    require2fa: flag('require_2fa').notNull().default(false),
    /** Everybody but the owner comes by the company's identity provider. */
    ssoOnly: flag('sso_only').notNull().default(false),
    locale: text('locale', { enum: LOCALES }).notNull().default('en'),
    branding: json<Branding>('branding').notNull().default({}),
    logo: json<Logo>('logo'),
    /** When the company was suspended: its requests are rejected and no background work runs. Null while active. */
    suspendedAt: timestamp('suspended_at'),
    /** When the operator had the company ended, and when its erasure begins; null unless it is to end. It is suspended then. */
    endRequestedAt: timestamp('end_requested_at'),
    deletesAt: timestamp('deletes_at'),
    /** Triggers on `user_counts` and `mail_requests` read it. */
    quotas: json<Quotas>('quotas').notNull().default({}),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('companies_slug').on(table.slug),
    index('companies_to_end').on(table.deletesAt).where(sql`deletes_at is not null`),
  ],
);

/** The progress of erasing one store. */
export interface ErasedStore {
  /** Rows, objects or projects that are gone. */
  removed: number;
  /** When nothing was left in the store, in milliseconds; null before. */
  at: number | null;
  /** The position at which the next step goes on; null for the beginning. */
  cursor: string | null;
}

/** The erasures of companies, from the start of each erasure. After an erasure, its row is all that remains of the company. */
export const companyErasures = sqliteTable(
  'company_ends',
  {
    /** The company's. */
    id: id(),
    requestedAt: timestamp('requested_at').notNull(),
    completedAt: timestamp('completed_at'),
    /** The progress of each store, by the store's name. */
    stores: json<Record<string, ErasedStore>>('stores').notNull(),
    /** When a scheduled run looks after it next: while it is erased, and after that for late data; null never. */
    dueAt: timestamp('due_at'),
  },
  (table) => [index('company_ends_due').on(table.dueAt).where(sql`due_at is not null`)],
);
