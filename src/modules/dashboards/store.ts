import { and, eq, inArray, not, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { type ListRequest, readNewest } from '../../db/page.ts';
import { dashboards, dashboardVisualizations } from '../../db/schema/dashboards.ts';
import { visualizations } from '../../db/schema/visualizations.ts';
import { insertWhen, makeIdListSql, makeUniqueSlugSql, matchesId } from '../../db/statements.ts';
import { isSeenByOthers } from '../visualizations/queries.ts';
import { listWidgetIds } from './definition.ts';

export type Dashboard = typeof dashboards.$inferSelect;

/** An id, or the subquery that finds it. */
export type Id = string | SQL;

/** Returns the SQL condition that everything on the layout is a visualization of the company. */
function doWidgetsExist({ companyId, layout }: Dashboard): SQL {
  const ids = listWidgetIds(layout);
  return sql`(select count(*) from ${visualizations} where company_id = ${companyId} and id in ${makeIdListSql(ids)}) = ${ids.length}`;
}

/** Stores a dashboard while its widgets exist. A taken slug gets a suffix if `canChangeSlug`. */
export const insertDashboard = (db: ControlDb, record: Dashboard, { canChangeSlug }: { canChangeSlug: boolean }) => {
  const slug = canChangeSlug ? makeUniqueSlugSql(dashboards, record) : record.slug;
  return insertWhen(db, dashboards, { ...record, slug }, doWidgetsExist(record)).returning();
};

/** Dashboards in the versions that were read. */
export type DashboardVersions = readonly Pick<Dashboard, 'id' | 'version'>[];

/** Returns the SQL condition that dashboards still have the versions that the caller was allowed to share. */
export const areDashboardsUnchanged = (companyId: string, versions: DashboardVersions): SQL =>
  sql`(select count(*) from json_each(${JSON.stringify(versions.map(({ id, version }) => ({ id, version })))}) as seen cross join ${dashboards}
    on dashboards.id = seen.value ->> 'id' and dashboards.version = seen.value ->> 'version' and dashboards.company_id = ${companyId}) = ${versions.length}`;

/**
 * Changes the dashboard if its version is the one that the change was made for and its widgets exist. @param unsharedCheckTime the
 * current time (ms), if the change may only be made while nobody else sees the dashboard; else undefined
 */
export const updateDashboard = (db: ControlDb, record: Dashboard, unsharedCheckTime: number | undefined) => {
  const { id, companyId, version, embeddedUntil: _kept, ...rest } = record;
  const unsharedCondition =
    unsharedCheckTime === undefined
      ? undefined
      : not(isSeenByOthers(companyId, { type: 'dashboard', id }, unsharedCheckTime));
  return db
    .update(dashboards)
    .set({ ...rest, version: version + 1 })
    .where(
      and(
        matchesId(dashboards, companyId, id),
        eq(dashboards.version, version),
        doWidgetsExist(record),
        unsharedCondition,
      ),
    )
    .returning();
};

/**
 * Makes statements that store which visualizations the stored layout of a dashboard contains. They belong in the batch of every
 * write of a dashboard.
 */
export const replaceLinks = (db: ControlDb, companyId: string, id: string) =>
  [
    deleteLinks(db, companyId, id),
    db
      .insert(dashboardVisualizations)
      .select(
        sql`select distinct dashboards.company_id, dashboards.id, json_extract(widget.value, '$.visualization_id') from ${dashboards}, json_each(dashboards.layout) as widget where dashboards.id = ${id} and dashboards.company_id = ${companyId}`,
      ),
  ] as const;

export const deleteLinks = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(dashboardVisualizations)
    .where(and(eq(dashboardVisualizations.companyId, companyId), eq(dashboardVisualizations.dashboardId, id)));

export const selectDashboard = (db: ControlDb, companyId: Id, id: Id) =>
  db
    .select()
    .from(dashboards)
    .where(matchesId(dashboards, companyId, id));

export const selectDashboardVisualizations = (db: ControlDb, companyId: Id, id: Id) =>
  db
    .select()
    .from(visualizations)
    .where(
      and(
        eq(visualizations.companyId, companyId),
        inArray(
          visualizations.id,
          db
            .select({ id: dashboardVisualizations.visualizationId })
            .from(dashboardVisualizations)
            .where(and(eq(dashboardVisualizations.companyId, companyId), eq(dashboardVisualizations.dashboardId, id))),
        ),
      ),
    );

/** Reads a page of the company's dashboards, newest first. `search` is a lower-case part of the name. */
export const readDashboards = (db: ControlDb, companyId: string, listRequest: ListRequest) =>
  readNewest(db, dashboards, companyId, listRequest);

export const deleteDashboard = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(dashboards)
    .where(matchesId(dashboards, companyId, id))
    .returning({ id: dashboards.id });
