import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { readPage } from '../../db/page.ts';
import { visualizations } from '../visualizations/tables.ts';
import { widgetIds } from './definition.ts';
import { dashboards, dashboardVisualizations } from './tables.ts';

export type Dashboard = typeof dashboards.$inferSelect;

/** An id, or the subquery that finds it. */
export type Id = string | SQL;

const one = (companyId: Id, id: Id): SQL => and(eq(dashboards.companyId, companyId), eq(dashboards.id, id)) as SQL;

/** Holds while everything on the layout is a visualization of the company. */
function widgetsExist({ companyId, layout }: Dashboard): SQL {
  const ids = widgetIds(layout);
  return sql`(select count(*) from visualizations where company_id = ${companyId} and id in (select value from json_each(${JSON.stringify(ids)}))) = ${ids.length}`;
}

/** Stores a dashboard while its widgets exist; where `suffix` is given, its slug gets that when it is taken. */
export const insertDashboard = (db: ControlDb, record: Dashboard, suffix: string | undefined) => {
  const { companyId, slug } = record;
  const taken = sql`exists (select 1 from dashboards where company_id = ${companyId} and slug = ${slug})`;
  const free = suffix === undefined ? slug : sql`iif(${taken}, ${slug + suffix}, ${slug})`;
  return insertWhen(db, dashboards, { ...record, slug: free }, widgetsExist(record)).returning();
};

/** Changes the dashboard, if it still is the version that the change was made for and its widgets exist. */
export const updateDashboard = (db: ControlDb, record: Dashboard) => {
  const { id, companyId, version, ...rest } = record;
  return db
    .update(dashboards)
    .set({ ...rest, version: version + 1 })
    .where(and(one(companyId, id), eq(dashboards.version, version), widgetsExist(record)))
    .returning();
};

/** What goes with every write of a dashboard: its links follow the layout that is stored, whoever stored it. */
export const relink = (db: ControlDb, companyId: string, id: string) =>
  [
    unlink(db, companyId, id),
    db
      .insert(dashboardVisualizations)
      .select(
        sql`select distinct dashboards.company_id, dashboards.id, json_extract(widget.value, '$.visualization_id') from dashboards, json_each(dashboards.layout) as widget where dashboards.id = ${id} and dashboards.company_id = ${companyId}`,
      ),
  ] as const;

/** Takes everything off a dashboard. */
export const unlink = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(dashboardVisualizations)
    .where(and(eq(dashboardVisualizations.companyId, companyId), eq(dashboardVisualizations.dashboardId, id)));

/** The dashboard of an id. */
export const selectDashboard = (db: ControlDb, companyId: Id, id: Id) =>
  db.select().from(dashboards).where(one(companyId, id));

/** What stands on the dashboard of an id. */
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

/** A page of the company's dashboards, newest first. `search` is a lower-case part of the name. */
export const readDashboards = (
  db: ControlDb,
  companyId: string,
  { page, perPage, search }: { page: number; perPage: number; search: string },
) => {
  const mine = eq(dashboards.companyId, companyId);
  const filter = search === '' ? mine : (and(mine, sql`instr(lower(${dashboards.name}), ${search}) > 0`) as SQL);
  return readPage(db, { table: dashboards, filter }, { by: dashboards.createdAt, descending: true, page, perPage });
};

export const deleteDashboard = (db: ControlDb, companyId: string, id: string) =>
  db.delete(dashboards).where(one(companyId, id)).returning({ id: dashboards.id });
