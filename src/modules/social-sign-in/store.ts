import { eq } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { socialConfigurations } from './tables.ts';

export type { SocialProvider } from './tables.ts';

export const selectSocialConfiguration = (db: ControlDb, companyId: string) =>
  db.select().from(socialConfigurations).where(eq(socialConfigurations.companyId, companyId));

/** Stores the providers of a company, in place of those before. */
export const putSocialConfiguration = (db: ControlDb, record: typeof socialConfigurations.$inferInsert) =>
  db
    .insert(socialConfigurations)
    .values(record)
    .onConflictDoUpdate({ target: socialConfigurations.companyId, set: record });
