import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { dashboards, dashboardVisualizations } from '../../db/schema/dashboards.ts';
import { schedules } from '../../db/schema/schedules.ts';
import { shareContexts, shareGrants } from '../../db/schema/share-contexts.ts';
import { dashboardShares, embedSigningKeys } from '../../db/schema/shares.ts';
import { visualizations } from '../../db/schema/visualizations.ts';
import { vizApiEndpoints } from '../../db/schema/viz-api-endpoints.ts';
import { existsSql, matchesId } from '../../db/statements.ts';
import type { TargetType } from '../../sharing/share-event.ts';

/** A dashboard or a single visualization, by type and id. */
export interface Target {
  type: TargetType;
  id: string;
}

const TARGET_TABLES = { dashboard: dashboards, visualization: visualizations } as const;

/**
 * Makes the SQL condition that others can see the target: by a share, a context's grant, a schedule, the Data API, an embed
 * token, or, for a visualization, a dashboard that contains it. Also true if the company has a signing key, whose holder can make
 * an embed token for anything at any time.
 */
export function isSeenByOthers(companyId: string, { type, id }: Target, now: number): SQL {
  const hasSigningKey = sql`exists (select 1 from ${embedSigningKeys} where company_id = ${companyId})`;
  if (type === 'dashboard') return sql`(${hasSigningKey} or ${isDashboardSeen(companyId, sql`(${id})`, now)})`;
  const containingDashboardIds = sql`(select dashboard_id from ${dashboardVisualizations} where visualization_id = ${id} and company_id = ${companyId})`;
  const isPublished = sql`exists (select 1 from ${vizApiEndpoints} where visualization_id = ${id} and company_id = ${companyId} and status = 'active')`;
  return sql`(${hasSigningKey} or ${isPublished} or ${isShownAlone(companyId, type, sql`(${id})`, now)} or ${isDashboardSeen(companyId, containingDashboardIds, now)})`;
}

const isDashboardSeen = (companyId: string, ids: SQL, now: number): SQL =>
  sql`exists (select 1 from ${dashboardShares} where dashboard_id in ${ids} and company_id = ${companyId}
    and revoked_at is null and (expires_at is null or expires_at > ${now}))
  or ${isShownAlone(companyId, 'dashboard', ids, now)}`;

/**
 * Makes the SQL condition that one of these targets is itself granted by a context, sent by a schedule, or shown by an embed
 * token.
 */
const isShownAlone = (companyId: string, type: TargetType, ids: SQL, now: number): SQL =>
  sql`exists (select 1 from ${shareGrants} where target_type = ${type} and target_id in ${ids} and company_id = ${companyId}
    and ${existsSql(shareContexts, matchesId(shareContexts, companyId, sql`share_grants.context_id`))})
  or exists (select 1 from ${schedules} where company_id = ${companyId} and target_type = ${type} and target_id in ${ids})
  or exists (select 1 from ${TARGET_TABLES[type]} as embedded where embedded.id in ${ids} and embedded.company_id = ${companyId} and embedded.embedded_until > ${now})`;

export const selectIsSeenByOthers = (db: ControlDb, companyId: string, target: Target, now: number) =>
  db.all<{ seen: number }>(sql`select ${isSeenByOthers(companyId, target, now)} as seen`);

/** Records until when an embed token shows a dashboard or visualization, if the item still has this version. */
export const recordEmbedding = (
  db: ControlDb,
  type: TargetType,
  { companyId, id, version }: { companyId: string; id: string; version: number },
  embeddedUntil: number,
) => {
  const table = TARGET_TABLES[type];
  return db
    .update(table)
    .set({ embeddedUntil: sql`max(coalesce(${table.embeddedUntil}, 0), ${embeddedUntil})` })
    .where(and(matchesId(table, companyId, id), eq(table.version, version)))
    .returning({ id: table.id });
};
