import { and, eq, inArray, not, or, type SQL } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { dashboards } from '../../db/schema/dashboards.ts';
import { shareGrants } from '../../db/schema/share-contexts.ts';
import { dashboardShares } from '../../db/schema/shares.ts';
import { idList } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';
import type { TargetType } from '../../sharing/share-event.ts';

/** The types of the targets that the company's contexts grant. */
export const selectGrantTypes = (db: ControlDb, companyId: string, contextId: string) =>
  db
    .selectDistinct({ type: shareGrants.targetType })
    .from(shareGrants)
    .where(and(eq(shareGrants.companyId, companyId), eq(shareGrants.contextId, contextId)));

/** The contexts of a company that grant something that is denied. */
export function selectDeniedContexts(db: ControlDb, companyId: string, denied: Record<TargetType, Denials>) {
  const isDenied = (Object.keys(denied) as TargetType[]).flatMap((type) => {
    const isGrantable = isNotDenied(shareGrants.targetId, denied[type]);
    return isGrantable ? [and(eq(shareGrants.targetType, type), not(isGrantable)) as SQL] : [];
  });
  return db
    .selectDistinct({ id: shareGrants.contextId })
    .from(shareGrants)
    .where(and(eq(shareGrants.companyId, companyId), or(...isDenied)));
}

/** Names of shares and dashboards. */
export const selectNames = (db: ControlDb, companyId: string, ids: { shares: string[]; dashboards: string[] }) => ({
  shares: db
    .select({ id: dashboardShares.id, name: dashboardShares.name })
    .from(dashboardShares)
    .where(and(eq(dashboardShares.companyId, companyId), inArray(dashboardShares.id, idList(ids.shares)))),
  dashboards: db
    .select({ id: dashboards.id, name: dashboards.name })
    .from(dashboards)
    .where(and(eq(dashboards.companyId, companyId), inArray(dashboards.id, idList(ids.dashboards)))),
});
