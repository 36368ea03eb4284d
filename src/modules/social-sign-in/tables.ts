import { sqliteTable } from 'drizzle-orm/sqlite-core';
import { companyId, json, moment } from '../../db/columns.ts';

/** A provider whose ID tokens are accepted: who issues them, and to which client. */
export interface SocialProvider {
  issuer: string;
  audience: string;
  /** Where the keys are; found by discovery when null. */
  jwksUri: string | null;
}

/** The providers of a company's social sign-in. */
export const socialConfigurations = sqliteTable('social_configurations', {
  companyId: companyId().primaryKey(),
  providers: json<SocialProvider[]>('providers').notNull(),
  updatedAt: moment('updated_at').notNull(),
});
