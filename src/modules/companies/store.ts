import { and, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { readPage, type SearchRequest } from '../../db/page.ts';
import { companies, companyErasures, type Logo, type Quotas } from '../../db/schema/companies.ts';
import { makeContainsSql } from '../../db/search.ts';
import { existsSql } from '../../db/statements.ts';
import type { Branding } from '../../presentation/branding.ts';

export type Company = typeof companies.$inferSelect;

export const insertCompany = (db: ControlDb, record: Company) => db.insert(companies).values(record);

export type SettingsChanges = Partial<Pick<Company, 'require2fa' | 'ssoOnly' | 'locale'>>;

/** Changes the given settings. @param mustKeepSignInRules changes nothing if the sign-in rules would change */
export const updateSettings = (
  db: ControlDb,
  id: string,
  changes: SettingsChanges,
  { mustKeepSignInRules, now }: { mustKeepSignInRules: boolean; now: number },
) =>
  db
    .update(companies)
    .set({ ...changes, updatedAt: now })
    .where(and(eq(companies.id, id), mustKeepSignInRules ? hasSignInRules(changes) : undefined))
    .returning();

const hasSignInRules = ({ require2fa, ssoOnly }: SettingsChanges) =>
  and(
    require2fa === undefined ? undefined : eq(companies.require2fa, require2fa),
    ssoOnly === undefined ? undefined : eq(companies.ssoOnly, ssoOnly),
  );

/** Changes a company's brand, unless the brand in the database differs from `storedBranding` by now. */
export const updateBranding = (db: ControlDb, id: string, storedBranding: Branding, branding: Branding, now: number) =>
  db
    .update(companies)
    .set({ branding, updatedAt: now })
    .where(and(eq(companies.id, id), eq(companies.branding, storedBranding)))
    .returning();

export const updateLogo = (db: ControlDb, id: string, logo: Logo | null, now: number) =>
  db.update(companies).set({ logo, updatedAt: now }).where(eq(companies.id, id)).returning();

const ORDER_COLUMNS = { created_at: companies.createdAt, updated_at: companies.updatedAt, name: companies.name };
export type CompanyOrder = keyof typeof ORDER_COLUMNS;

/** The status that decides whether users and API clients of a company may authenticate. */
export type CompanyStatus = 'active' | 'suspended';

/** The status of a company: active, suspended, or (suspended and) scheduled for deletion. */
const STATUS_CONDITIONS_SQL = {
  active: isNull(companies.suspendedAt),
  suspended: and(isNotNull(companies.suspendedAt), isNull(companies.deletesAt)) as SQL,
  deleting: isNotNull(companies.deletesAt),
};

/** Reads a page of all companies. `search` is a part of name or slug. */
export const readCompanies = (
  db: ControlDb,
  status: keyof typeof STATUS_CONDITIONS_SQL | undefined,
  { search, by, ...page }: SearchRequest<CompanyOrder>,
) =>
  readPage(
    db,
    {
      table: companies,
      filter: and(
        status && STATUS_CONDITIONS_SQL[status],
        makeContainsSql([companies.name, companies.slug], search),
        sql`true`,
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[by] },
  );

/**
 * Renames, suspends or reactivates a company; the time of the first suspension is kept. One that is to be deleted can only be
 * renamed.
 */
export const updateCompany = (
  db: ControlDb,
  id: string,
  { name, status }: { name?: string | undefined; status?: CompanyStatus | undefined },
  now: number,
) =>
  db
    .update(companies)
    .set({
      ...(name !== undefined && { name }),
      ...(status === 'active' && { suspendedAt: null }),
      ...(status === 'suspended' && { suspendedAt: sql`coalesce(${companies.suspendedAt}, ${now})` }),
      updatedAt: now,
    })
    .where(and(eq(companies.id, id), status && isNull(companies.deletesAt)))
    .returning();

/** Replaces all quotas of a company. */
export const updateQuotas = (db: ControlDb, id: string, quotas: Quotas, now: number) =>
  db.update(companies).set({ quotas, updatedAt: now }).where(eq(companies.id, id)).returning();

export const selectCompanyBySlug = (db: ControlDb, slug: string) =>
  db.select().from(companies).where(eq(companies.slug, slug));

export const selectCompany = (db: ControlDb, id: string) => db.select().from(companies).where(eq(companies.id, id));

/** Selects whether the company is suspended or erased: then no jobs run for it. */
export const selectSuspensionAndErasure = (db: ControlDb, id: string) =>
  db
    .select({
      suspendedAt: companies.suspendedAt,
      isErased: sql<number>`${existsSql(companyErasures, eq(companyErasures.id, companies.id))}`.as('is_erased'),
    })
    .from(companies)
    .where(eq(companies.id, id));
