import { and, eq, inArray, isNull, not, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { dashboards } from '../../db/schema/dashboards.ts';
import { outbox } from '../../db/schema/outbox.ts';
import { shareGrants } from '../../db/schema/share-contexts.ts';
import { dashboardShares } from '../../db/schema/shares.ts';
import { type Condition, existsSql, makeIdListSql, matchesId } from '../../db/statements.ts';
import { formatIdPrefix } from '../../kernel/ids.ts';
import type { Denials } from '../../permissions/denials.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import type { TargetType } from '../../sharing/share-event.ts';

/** Selects the types of the targets that a context of the company grants. */
export const selectGrantTypes = (db: ControlDb, companyId: string, contextId: string) =>
  db
    .selectDistinct({ type: shareGrants.targetType })
    .from(shareGrants)
    .where(and(eq(shareGrants.companyId, companyId), eq(shareGrants.contextId, contextId)));

/** Selects the contexts of a company that grant a denied target, or did when they were deleted. */
export function selectDeniedContexts(db: ControlDb, companyId: string, denialsByType: Record<TargetType, Denials>) {
  const isDenied = (Object.keys(denialsByType) as TargetType[]).flatMap((type) => {
    const isGrantable = isNotDenied(shareGrants.targetId, denialsByType[type]);
    return isGrantable ? [and(eq(shareGrants.targetType, type), not(isGrantable)) as SQL] : [];
  });
  return db
    .selectDistinct({ id: shareGrants.contextId })
    .from(shareGrants)
    .where(and(eq(shareGrants.companyId, companyId), or(...isDenied)));
}

/** Selects the names of shares and dashboards. */
export const selectNames = (db: ControlDb, companyId: string, ids: { shareIds: string[]; dashboardIds: string[] }) => ({
  shares: db
    .select({ id: dashboardShares.id, name: dashboardShares.name })
    .from(dashboardShares)
    .where(and(eq(dashboardShares.companyId, companyId), inArray(dashboardShares.id, makeIdListSql(ids.shareIds)))),
  dashboards: db
    .select({ id: dashboards.id, name: dashboards.name })
    .from(dashboards)
    .where(and(eq(dashboards.companyId, companyId), inArray(dashboards.id, makeIdListSql(ids.dashboardIds)))),
});

/** The shares that are revoked together: those of a dashboard, or those of a context. */
export type ShareGroup = { dashboardId: string } | { shareContextId: string };

/**
 * Stores the message of an event for each share of a group that has not ended, if a condition holds at that moment. @param
 * message the event's content, which is the same for every share
 */
export const insertShareMessages = (
  db: ControlDb,
  group: ShareGroup,
  { message, now, dueAt }: { message: JobMessage; now: number; dueAt: number },
  condition: Condition = sql`true`,
) => {
  const newId = sql`${formatIdPrefix(now)} || lower(hex(randomblob(8)))`;
  const { companyId } = message;
  return db
    .insert(outbox)
    .select(
      sql`select ${newId}, ${companyId}, json_set(${JSON.stringify(message)}, '$.event.id', ${newId},
          '$.event.shareId', ${dashboardShares.id}, '$.event.targetId', ${dashboardShares.dashboardId},
          '$.event.shareContextId', ${dashboardShares.shareContextId}, '$.event.details', json_object('name', ${dashboardShares.name})),
          ${dueAt}
        from ${dashboardShares} where ${and(
          eq(dashboardShares.companyId, companyId),
          'dashboardId' in group
            ? eq(dashboardShares.dashboardId, group.dashboardId)
            : eq(dashboardShares.shareContextId, group.shareContextId),
          isNull(dashboardShares.revokedAt),
          existsSql(dashboards, matchesId(dashboards, companyId, sql`${dashboardShares.dashboardId}`)),
          condition,
        )}`,
    )
    .returning();
};
