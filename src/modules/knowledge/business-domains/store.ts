import { eq } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { type BusinessDomain, businessDomains } from '../../../db/schema/knowledge-resources.ts';

export const selectDomains = (db: ControlDb, companyId: string) =>
  db.select().from(businessDomains).where(eq(businessDomains.companyId, companyId));

export const replaceDomains = (db: ControlDb, companyId: string, domains: BusinessDomain[], now: number) =>
  db
    .insert(businessDomains)
    .values({ companyId, domains, updatedAt: now })
    .onConflictDoUpdate({ target: businessDomains.companyId, set: { domains, updatedAt: now } });
