import { and, eq, lte } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { socialConfigurations, spentSocialTokens, userIdentities } from '../../db/schema/social-sign-in.ts';

export type { SocialProvider } from '../../db/schema/social-sign-in.ts';
export type UserIdentity = typeof userIdentities.$inferSelect;

export const selectSocialConfiguration = (db: ControlDb, companyId: string) =>
  db.select().from(socialConfigurations).where(eq(socialConfigurations.companyId, companyId));

export const putSocialConfiguration = (db: ControlDb, record: typeof socialConfigurations.$inferInsert) =>
  db
    .insert(socialConfigurations)
    .values(record)
    .onConflictDoUpdate({ target: socialConfigurations.companyId, set: record });

export const selectIdentity = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select()
    .from(userIdentities)
    .where(and(eq(userIdentities.companyId, companyId), eq(userIdentities.userId, userId)));

/** Pins a user's identity, unless one is pinned. */
export const pinIdentity = (db: ControlDb, record: UserIdentity) =>
  db.insert(userIdentities).values(record).onConflictDoNothing();

export const deleteIdentity = (db: ControlDb, companyId: string, userId: string) =>
  db.delete(userIdentities).where(and(eq(userIdentities.companyId, companyId), eq(userIdentities.userId, userId)));

/** Records that a token was used: a second use violates the primary key. */
export const insertUsedToken = (db: ControlDb, digest: string, expiresAt: number) =>
  db.insert(spentSocialTokens).values({ digest, expiresAt });

export const deleteOldUsedTokens = (db: ControlDb, now: number) =>
  db.delete(spentSocialTokens).where(lte(spentSocialTokens.expiresAt, now));
