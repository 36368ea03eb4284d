import { and, eq } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies, type Logo } from '../../db/schema/companies.ts';
import type { Branding } from '../../presentation/branding.ts';

export type Company = typeof companies.$inferSelect;

export const insertCompany = (db: ControlDb, record: Company) => db.insert(companies).values(record);

/** Changes what is given of a company's settings. */
export const updateSettings = (
  db: ControlDb,
  id: string,
  changes: Partial<Pick<Company, 'require2fa' | 'ssoOnly' | 'locale'>>,
  now: number,
) =>
  db
    .update(companies)
    .set({ ...changes, updatedAt: now })
    .where(eq(companies.id, id))
    .returning();

/** Changes a company's brand, unless that is another than `before` by now. */
export const updateBranding = (db: ControlDb, id: string, before: Branding, branding: Branding, now: number) =>
  db
    .update(companies)
    .set({ branding, updatedAt: now })
    .where(and(eq(companies.id, id), eq(companies.branding, before)))
    .returning();

export const updateLogo = (db: ControlDb, id: string, logo: Logo | null, now: number) =>
  db.update(companies).set({ logo, updatedAt: now }).where(eq(companies.id, id)).returning();

export const selectCompanyBySlug = (db: ControlDb, slug: string) =>
  db.select().from(companies).where(eq(companies.slug, slug));

export const selectCompany = (db: ControlDb, id: string) => db.select().from(companies).where(eq(companies.id, id));
