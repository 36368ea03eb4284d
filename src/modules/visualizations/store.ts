import { and, eq, inArray, not, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { type ListRequest, readNewest } from '../../db/page.ts';
import { dashboardVisualizations } from '../../db/schema/dashboards.ts';
import { visualizations } from '../../db/schema/visualizations.ts';
import { vizApiEndpoints } from '../../db/schema/viz-api-endpoints.ts';
import { existsSql, insertWhen, makeIdListSql, makeUniqueSlugSql, matchesId } from '../../db/statements.ts';
import { isSeenByOthers } from './queries.ts';

export type Visualization = typeof visualizations.$inferSelect;

/** Inserts a visualization. A taken slug gets a suffix if `canChangeSlug`. */
export const insertVisualization = (
  db: ControlDb,
  record: Visualization,
  { canChangeSlug }: { canChangeSlug: boolean },
) => {
  const slug = canChangeSlug ? makeUniqueSlugSql(visualizations, record) : record.slug;
  return insertWhen(db, visualizations, { ...record, slug }, sql`true`).returning();
};

export const selectVisualization = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(visualizations)
    .where(matchesId(visualizations, companyId, id));

/** Reads the company's visualizations with these ids. */
export const selectVisualizations = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select()
    .from(visualizations)
    .where(and(eq(visualizations.companyId, companyId), inArray(visualizations.id, makeIdListSql(ids))));

/**
 * Selects the greatest total length of the other visualizations on a dashboard, over all dashboards with this
 * visualization.
 */
export const selectMaxOtherLength = (db: ControlDb, companyId: string, id: string) =>
  db.all<{ length: number | null }>(sql`
    select max(total) as length from (
      select sum(length(visualizations.sql) + length(visualizations.parameters)) as total
      from ${dashboardVisualizations} as own
        join ${dashboardVisualizations} as other on other.dashboard_id = own.dashboard_id and other.visualization_id <> ${id}
        join ${visualizations} on visualizations.id = other.visualization_id and visualizations.company_id = ${companyId}
      where own.visualization_id = ${id} and own.company_id = ${companyId}
      group by own.dashboard_id)`);

/** Reads a page of the company's visualizations, newest first. `search` is a lower-case part of the name. */
export const readVisualizations = (db: ControlDb, companyId: string, listRequest: ListRequest) =>
  readNewest(db, visualizations, companyId, listRequest);

/**
 * Updates the visualization while it is still the version that was read.
 * @param options.onlyUnpublished whether to update only while no endpoint of the Data API publishes the visualization
 * @param options.unseenAt the time (ms), if any, at which nobody else may see the visualization
 */
export const updateVisualization = (
  db: ControlDb,
  { id, companyId, version, embeddedUntil: _embeddedUntil, ...rest }: Visualization,
  { onlyUnpublished, unseenAt }: { onlyUnpublished: boolean; unseenAt: number | undefined },
) =>
  db
    .update(visualizations)
    .set({ ...rest, version: version + 1 })
    .where(
      and(
        matchesId(visualizations, companyId, id),
        eq(visualizations.version, version),
        onlyUnpublished ? not(existsSql(vizApiEndpoints, isPublicationOf(companyId, id))) : undefined,
        unseenAt === undefined ? undefined : not(isSeenByOthers(companyId, { type: 'visualization', id }, unseenAt)),
      ),
    )
    .returning();

const isPublicationOf = (companyId: string, id: string) =>
  and(eq(vizApiEndpoints.companyId, companyId), eq(vizApiEndpoints.visualizationId, id)) as SQL;

/** Selects an endpoint of the Data API that publishes the visualization, if there is one. */
export const selectPublication = (db: ControlDb, companyId: string, id: string) =>
  db.select({ id: vizApiEndpoints.id }).from(vizApiEndpoints).where(isPublicationOf(companyId, id)).limit(1);

/** Deletes the visualization; foreign keys prevent this while it is on a dashboard or published. */
export const deleteVisualization = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(visualizations)
    .where(matchesId(visualizations, companyId, id))
    .returning({ id: visualizations.id });
