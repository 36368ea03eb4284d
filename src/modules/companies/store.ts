import { eq } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from './tables.ts';

export type Company = typeof companies.$inferSelect;

export const insertCompany = (db: ControlDb, record: Company) => db.insert(companies).values(record);

export const selectCompanyBySlug = (db: ControlDb, slug: string) =>
  db.select().from(companies).where(eq(companies.slug, slug));

export const selectCompany = (db: ControlDb, id: string) => db.select().from(companies).where(eq(companies.id, id));
