import { and, eq, inArray, not, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { type ListRequest, readNewest } from '../../db/page.ts';
import { visualizations } from '../../db/schema/visualizations.ts';
import { vizApiEndpoints } from '../../db/schema/viz-api-endpoints.ts';
import { existsSql, insertWhen, matchesId } from '../../db/statements.ts';

export type VizApiEndpoint = typeof vizApiEndpoints.$inferSelect;

/** Returns the condition that the visualization exists and has no parameter `format`, a name that the query itself uses. */
const isPublishable = ({ companyId, visualizationId }: VizApiEndpoint): SQL =>
  existsSql(visualizations, matchesId(visualizations, companyId, visualizationId), not(hasFormatParameter));

const hasFormatParameter = sql`exists (select 1 from json_each(${visualizations.parameters}) as parameter
  where json_extract(parameter.value, '$.slug') = 'format')`;

/** Stores an endpoint while its visualization can be published. */
export const insertEndpoint = (db: ControlDb, record: VizApiEndpoint) =>
  insertWhen(db, vizApiEndpoints, record, isPublishable(record)).returning();

/** Changes an endpoint while its version is the one the change was made for, and its visualization can be published. */
export const updateEndpoint = (db: ControlDb, changedEndpoint: VizApiEndpoint) => {
  const { id, companyId, version, ...rest } = changedEndpoint;
  return db
    .update(vizApiEndpoints)
    .set({ ...rest, version: version + 1 })
    .where(
      and(
        matchesId(vizApiEndpoints, companyId, id),
        eq(vizApiEndpoints.version, version),
        isPublishable(changedEndpoint),
      ),
    )
    .returning();
};

export const deleteEndpoint = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(vizApiEndpoints)
    .where(matchesId(vizApiEndpoints, companyId, id))
    .returning({ id: vizApiEndpoints.id });

export const selectEndpoint = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(vizApiEndpoints)
    .where(matchesId(vizApiEndpoints, companyId, id));

/** Reads a page of the company's endpoints, newest first. `search` is a lower-case part of the name. */
export const readEndpoints = (db: ControlDb, companyId: string, listRequest: ListRequest) =>
  readNewest(db, vizApiEndpoints, companyId, listRequest);

const hasSlug = (companyId: string, slug: string) =>
  and(eq(vizApiEndpoints.companyId, companyId), eq(vizApiEndpoints.slug, slug));

/** Selects the endpoint of a slug, active or not, and its visualization. */
export const selectEndpointBySlug = (db: ControlDb, companyId: string, slug: string) => ({
  endpoint: db.select().from(vizApiEndpoints).where(hasSlug(companyId, slug)),
  visualization: db
    .select()
    .from(visualizations)
    .where(
      and(
        eq(visualizations.companyId, companyId),
        inArray(
          visualizations.id,
          db.select({ id: vizApiEndpoints.visualizationId }).from(vizApiEndpoints).where(hasSlug(companyId, slug)),
        ),
      ),
    ),
});
