import { sql } from 'drizzle-orm';
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Branding } from '../../presentation/branding.ts';
import { LOCALES } from '../../texts/locales.ts';
import { booleanColumn, id, jsonColumn, timestampColumn, timestampColumns } from '../columns.ts';

/** A company's logo; the picture itself is in R2. */
export interface Logo {
  /** The logo's id; each upload makes a new one. */
  id: string;
  type: 'image/png' | 'image/jpeg' | 'image/webp';
  width: number;
  height: number;
}

/** The quotas of a company, by name; a quota that is not set has no limit. */
export const QUOTAS = ['users', 'table_bytes', 'file_bytes', 'mails_per_day', 'model_calls_per_day'] as const;
export type Quota = (typeof QUOTAS)[number];
export type Quotas = Partial<Record<Quota, number>>;

/** The tenants. Some surfaces of the API call a tenant an organization, others a company. */
export const companies = sqliteTable(
  'companies',
  {
    id: id(),
    slug: text('slug').notNull(),
    name: text('name').notNull(),
    /** True if all users of the company must sign in with a second factor. */
    require2fa: booleanColumn('require_2fa').notNull().default(false),
    /** True if everybody except the owner must sign in through the company's identity provider. */
    ssoOnly: booleanColumn('sso_only').notNull().default(false),
    locale: text('locale', { enum: LOCALES }).notNull().default('en'),
    branding: jsonColumn<Branding>('branding').notNull().default({}),
    logo: jsonColumn<Logo>('logo'),
    /** Time of the company's suspension: its requests are rejected and no background work runs. Null while active. */
    suspendedAt: timestampColumn('suspended_at'),
    /** Time at which the operator ended the company, which suspends the company; null unless it was ended. */
    endRequestedAt: timestampColumn('end_requested_at'),
    /** Time at which the erasure of an ended company begins; null unless it was ended. */
    deletesAt: timestampColumn('deletes_at'),
    /** Quotas of the company; triggers on `user_counts` and `mail_requests` read them. */
    quotas: jsonColumn<Quotas>('quotas').notNull().default({}),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('companies_slug').on(table.slug),
    index('companies_to_end').on(table.deletesAt).where(sql`deletes_at is not null`),
  ],
);

/** Progress of erasing one store. */
export interface ErasedStore {
  /** Number of erased rows, objects or projects. */
  removed: number;
  /** Time at which nothing was left in the store, in milliseconds; null before. */
  at: number | null;
  /** Position at which the next step continues; null for the beginning. */
  cursor: string | null;
}

/** The erasures of companies, from the start of each erasure. After an erasure, its row is all that remains of the company. */
export const companyErasures = sqliteTable(
  'company_ends',
  {
    /** Id of the erased company. */
    id: id(),
    requestedAt: timestampColumn('requested_at').notNull(),
    completedAt: timestampColumn('completed_at'),
    /** Progress of each store, by the store's name. */
    stores: jsonColumn<Record<string, ErasedStore>>('stores').notNull(),
    /** Time of the erasure's next scheduled run, also for data that arrives late; null if none is due. */
    dueAt: timestampColumn('due_at'),
  },
  (table) => [index('company_ends_due').on(table.dueAt).where(sql`due_at is not null`)],
);
