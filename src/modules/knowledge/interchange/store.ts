import { and, asc, eq, gt, ne, or, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type ResourceType, resources } from '../../../db/schema/knowledge-resources.ts';
import { makeIdListSql } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

/**
 * Selects the active resources of a company with an id after this one, ordered by id, without denied ones.
 * @param denialsByType what the caller is denied, by type of resource
 */
export const selectActiveResources = (
  db: ControlDb,
  companyId: string,
  { afterId, denialsByType }: { afterId: string; denialsByType: Record<ResourceType, Denials> },
  limit: number,
) =>
  db
    .select({
      id: resources.id,
      resourceType: resources.resourceType,
      content: resources.content,
      validationErrors: resources.validationErrors,
    })
    .from(resources)
    .where(
      and(
        eq(resources.companyId, companyId),
        eq(resources.status, 'active'),
        gt(resources.id, afterId),
        ...(Object.keys(denialsByType) as ResourceType[]).map((type) => {
          const isResourceNotDenied = isNotDenied(resources.id, denialsByType[type]);
          return isResourceNotDenied && or(ne(resources.resourceType, type), isResourceNotDenied);
        }),
      ),
    )
    .orderBy(asc(resources.id))
    .limit(limit);

/** Selects the resources that have one of these unique keys, without deleted ones. */
export const selectResourcesByKeys = (db: ControlDb, companyId: string, keys: readonly string[]) =>
  db
    .select({ id: resources.id, resourceType: resources.resourceType, uniqueKey: resources.uniqueKey })
    .from(resources)
    .where(
      and(
        eq(resources.companyId, companyId),
        ne(resources.status, 'archived'),
        sql`${resources.uniqueKey} in ${makeIdListSql(keys)}`,
      ),
    );
