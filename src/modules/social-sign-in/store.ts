import { and, eq, lte } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { socialConfigurations, spentSocialTokens, userIdentities } from '../../db/schema/social-sign-in.ts';

export type { SocialProvider } from '../../db/schema/social-sign-in.ts';
export type Identity = typeof userIdentities.$inferSelect;

export const selectSocialConfiguration = (db: ControlDb, companyId: string) =>
  db.select().from(socialConfigurations).where(eq(socialConfigurations.companyId, companyId));

/** Stores the providers of a company, in place of those before. */
export const putSocialConfiguration = (db: ControlDb, record: typeof socialConfigurations.$inferInsert) =>
  db
    .insert(socialConfigurations)
    .values(record)
    .onConflictDoUpdate({ target: socialConfigurations.companyId, set: record });

/** Who a user of the company is to their provider, once that is pinned. */
export const selectIdentity = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select()
    .from(userIdentities)
    .where(and(eq(userIdentities.companyId, companyId), eq(userIdentities.userId, userId)));

/** Pins who a user is, unless that is done. */
export const pinIdentity = (db: ControlDb, record: Identity) =>
  db.insert(userIdentities).values(record).onConflictDoNothing();

/** Forgets who a user is: the next sign-in pins it anew. */
export const deleteIdentity = (db: ControlDb, companyId: string, userId: string) =>
  db.delete(userIdentities).where(and(eq(userIdentities.companyId, companyId), eq(userIdentities.userId, userId)));

/** Notes that a token was accepted: for a second time it fails on its key. */
export const spendToken = (db: ControlDb, digest: string, expiresAt: number) =>
  db.insert(spentSocialTokens).values({ digest, expiresAt });

/** Forgets tokens that are too old by now to be accepted. */
export const deleteSpentTokens = (db: ControlDb, now: number) =>
  db.delete(spentSocialTokens).where(lte(spentSocialTokens.expiresAt, now));
