import { and, eq, getTableColumns, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { readPage, type SearchRequest } from '../../db/page.ts';
import { companies } from '../../db/schema/companies.ts';
import { dashboards } from '../../db/schema/dashboards.ts';
import { shareContexts } from '../../db/schema/share-contexts.ts';
import { dashboardShares } from '../../db/schema/shares.ts';
import { makeContainsSql, makeNocaseSql } from '../../db/search.ts';
import { existsSql, insertWhen, matchesId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';
import { areDashboardsUnchanged, type DashboardVersions } from '../dashboards/service.ts';

type ShareRow = typeof dashboardShares.$inferSelect;

/** A share's row, and whether its dashboard exists. */
export type DashboardShare = ShareRow & { dashboardExists: boolean };

const EXTRA_COLUMNS = {
  dashboardExists:
    sql<boolean>`exists (select 1 from ${dashboards} where dashboards.id = dashboard_shares.dashboard_id and dashboards.company_id = dashboard_shares.company_id)`
      .mapWith(Boolean)
      .as('dashboard_exists'),
};

/** Makes the SQL condition that the dashboard of a share exists. */
export const hasDashboard = ({ companyId, dashboardId }: Pick<ShareRow, 'companyId' | 'dashboardId'>) =>
  existsSql(dashboards, matchesId(dashboards, companyId, dashboardId));

const ORDER_COLUMNS = { name: makeNocaseSql(dashboardShares.name), created_at: dashboardShares.createdAt };

export type ShareSearch = SearchRequest<keyof typeof ORDER_COLUMNS>;

/** Reads a page of a company's shares, or of one dashboard's shares, without shares of dashboards that are denied. */
export const readShares = (
  db: ControlDb,
  companyId: string,
  { search, dashboardId, denials, ...page }: ShareSearch & { dashboardId?: string; denials: Denials },
) => {
  const filter = and(
    eq(dashboardShares.companyId, companyId),
    dashboardId === undefined ? undefined : eq(dashboardShares.dashboardId, dashboardId),
    makeContainsSql([dashboardShares.name], search),
    isNotDenied(dashboardShares.dashboardId, denials),
  ) as SQL;
  return readPage(
    db,
    { table: dashboardShares, filter, extra: EXTRA_COLUMNS },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );
};

/** Reads a share; undefined if there is none. */
export async function readShare(db: ControlDb, companyId: string, id: string): Promise<DashboardShare | undefined> {
  const [share] = await db
    .select({ ...getTableColumns(dashboardShares), ...EXTRA_COLUMNS })
    .from(dashboardShares)
    .where(matchesId(dashboardShares, companyId, id));
  return share;
}

/** Inserts a share while its dashboard is the version that was read, and its context, if it has one, exists. */
export const insertShare = (db: ControlDb, record: ShareRow, version: number) =>
  insertWhen(
    db,
    dashboardShares,
    record,
    and(
      areDashboardsUnchanged(record.companyId, [{ id: record.dashboardId, version }]),
      record.shareContextId === null ? undefined : contextExists(record.companyId, record.shareContextId),
    ) as SQL,
  ).returning({ id: dashboardShares.id });

/**
 * Updates fields of a share that is not revoked, while these dashboards are the versions that were read and its new context, if
 * any, exists. Options are written as a whole, and only if they still equal those of `storedShare`.
 */
export const updateShare = (
  db: ControlDb,
  storedShare: Pick<ShareRow, 'companyId' | 'id' | 'embedOptions'>,
  newValues: Partial<Omit<ShareRow, 'id' | 'companyId'>>,
  dashboards: DashboardVersions,
) =>
  db
    .update(dashboardShares)
    .set(newValues)
    .where(
      and(
        matchesId(dashboardShares, storedShare.companyId, storedShare.id),
        isNull(dashboardShares.revokedAt),
        newValues.embedOptions === undefined ? undefined : eq(dashboardShares.embedOptions, storedShare.embedOptions),
        newValues.shareContextId == null ? undefined : contextExists(storedShare.companyId, newValues.shareContextId),
        areDashboardsUnchanged(storedShare.companyId, dashboards),
      ),
    )
    .returning();

const contextExists = (companyId: string, id: string): SQL =>
  existsSql(shareContexts, matchesId(shareContexts, companyId, id));

/** Revokes a share that is not revoked yet. */
export const markShareRevoked = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(dashboardShares)
    .set({ revokedAt: now, updatedAt: now })
    .where(and(matchesId(dashboardShares, companyId, id), isNull(dashboardShares.revokedAt)))
    .returning({ id: dashboardShares.id });

/** Selects the share of a token, whatever the share's state, with the state of its company. */
export const selectShareOfToken = (db: ControlDb, tokenDigest: string) =>
  db
    .select({
      share: getTableColumns(dashboardShares),
      companySlug: companies.slug,
      suspendedAt: companies.suspendedAt,
      name: sql<string>`${companies.name}`.as('company_name'),
      branding: companies.branding,
      logo: companies.logo,
    })
    .from(dashboardShares)
    .innerJoin(companies, eq(companies.id, dashboardShares.companyId))
    .where(eq(dashboardShares.tokenDigest, tokenDigest));

/** Makes a subquery for the company of a token's share, for reads in the same batch. */
export const selectCompanyIdOfToken = (tokenDigest: string): SQL =>
  sql`(select company_id from ${dashboardShares} where token_digest = ${tokenDigest})`;
/** Makes a subquery for the dashboard of a token's share, for reads in the same batch. */
export const selectDashboardIdOfToken = (tokenDigest: string): SQL =>
  sql`(select dashboard_id from ${dashboardShares} where token_digest = ${tokenDigest})`;

/** Selects the shares that narrow the data of a dashboard for members of a context. The dashboard's id may be a subquery. */
export const selectActiveShares = (
  db: ControlDb,
  { companyId, contextId, dashboardId }: { companyId: string; contextId: string; dashboardId: string | SQL },
  now: number,
) =>
  db
    .select({
      id: dashboardShares.id,
      filterPolicies: dashboardShares.filterPolicies,
      embedOptions: dashboardShares.embedOptions,
    })
    .from(dashboardShares)
    .where(
      and(
        eq(dashboardShares.companyId, companyId),
        eq(dashboardShares.shareContextId, contextId),
        eq(dashboardShares.dashboardId, dashboardId),
        isNull(dashboardShares.revokedAt),
        or(isNull(dashboardShares.expiresAt), gt(dashboardShares.expiresAt, now)),
      ),
    );
