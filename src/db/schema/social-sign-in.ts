import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, jsonColumn, timestampColumn } from '../columns.ts';

/** Provider whose ID tokens are accepted: their issuer, and the client that they are issued to. */
export interface SocialProvider {
  issuer: string;
  audience: string;
  /** Address of the provider's keys; found by discovery when null. */
  jwksUri: string | null;
  /** True if an address counts as verified when the provider does not say so. */
  trustEmail?: boolean;
}

/** Social sign-in providers of companies. */
export const socialConfigurations = sqliteTable('social_configurations', {
  companyId: companyId().primaryKey(),
  providers: jsonColumn<SocialProvider[]>('providers').notNull(),
  updatedAt: timestampColumn('updated_at').notNull(),
});

/**
 * Identity with which each user first signed in through a provider: no other identity with the same address can sign in as the
 * user.
 */
export const userIdentities = sqliteTable('user_identities', {
  userId: text('user_id').primaryKey(),
  companyId: companyId(),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  createdAt: timestampColumn('created_at').notNull(),
});

/** ID tokens that were accepted, kept until they expire: none is accepted twice. */
export const spentSocialTokens = sqliteTable(
  'spent_social_tokens',
  {
    /** SHA-256 of the signed part of the token. */
    digest: text('digest').primaryKey(),
    expiresAt: timestampColumn('expires_at').notNull(),
  },
  (table) => [index('spent_social_tokens_by_expiry').on(table.expiresAt)],
);
