import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, json, timestamp } from '../columns.ts';

/** A provider whose ID tokens are accepted: who issues them, and to which client. */
export interface SocialProvider {
  issuer: string;
  audience: string;
  /** The address of the provider's keys; found by discovery when null. */
  jwksUri: string | null;
  /** Whether to treat an email as verified if the provider does not say whether it is. */
  trustEmail?: boolean;
}

/** The providers of a company's social sign-in. */
export const socialConfigurations = sqliteTable('social_configurations', {
  companyId: companyId().primaryKey(),
  providers: json<SocialProvider[]>('providers').notNull(),
  updatedAt: timestamp('updated_at').notNull(),
});

/** The identity of a user at the provider they first signed in by: nobody else signs in as them with the same address. */
export const userIdentities = sqliteTable('user_identities', {
  userId: text('user_id').primaryKey(),
  companyId: companyId(),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  createdAt: timestamp('created_at').notNull(),
});

/** ID tokens that were accepted, until they would be refused for their age: none is accepted twice. */
export const spentSocialTokens = sqliteTable(
  'spent_social_tokens',
  {
    /** SHA-256 of the signed part of the token. */
    digest: text('digest').primaryKey(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('spent_social_tokens_by_expiry').on(table.expiresAt)],
);
