import { and, asc, eq, gt, ne, or, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type ResourceType, resources } from '../../../db/schema/knowledge-resources.ts';
import { idListSql } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

/**
 * The active resources of a company with an id after this one, by their ids, without those that are denied.
 * @param denied by type
 */
export const selectActive = (
  db: ControlDb,
  companyId: string,
  { after, denied }: { after: string; denied: Record<ResourceType, Denials> },
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
        gt(resources.id, after),
        ...(Object.keys(denied) as ResourceType[]).map((type) => {
          const isNamed = isNotDenied(resources.id, denied[type]);
          return isNamed && or(ne(resources.resourceType, type), isNamed);
        }),
      ),
    )
    .orderBy(asc(resources.id))
    .limit(limit);

/** The living resources that have one of these unique keys. */
export const selectByKeys = (db: ControlDb, companyId: string, keys: readonly string[]) =>
  db
    .select({ id: resources.id, resourceType: resources.resourceType, uniqueKey: resources.uniqueKey })
    .from(resources)
    .where(
      and(
        eq(resources.companyId, companyId),
        ne(resources.status, 'archived'),
        sql`${resources.uniqueKey} in ${idListSql(keys)}`,
      ),
    );
