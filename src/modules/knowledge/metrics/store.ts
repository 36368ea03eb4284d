import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { idList } from '../../../db/statements.ts';

/** Active semantic items without validation errors. */
export const isQueryable = (companyId: string): SQL =>
  and(
    eq(resources.companyId, companyId),
    eq(resources.resourceType, 'semantic'),
    eq(resources.status, 'active'),
    eq(resources.validationErrors, []),
  ) as SQL;

/** The queryable metrics and dimensions that have one of the ids, or one of the keys (`uniqueKeyFrom` kind and name). */
export const selectItems = (db: ControlDb, companyId: string, ids: readonly string[], keys: readonly string[]) =>
  db
    .select({ id: resources.id, uniqueKey: resources.uniqueKey, content: resources.content })
    .from(resources)
    .where(
      and(
        isQueryable(companyId),
        inArray(resources.facet, ['metric', 'dimension']),
        or(sql`${resources.id} in ${idList(ids)}`, sql`${resources.uniqueKey} in ${idList(keys)}`),
      ),
    );

/** The `mapped_relations` of the queryable items, each text once. */
export const selectRelations = (db: ControlDb, companyId: string, limit: number) =>
  db
    .selectDistinct({ text: sql<string>`relation.value` })
    .from(resources)
    .innerJoin(sql`json_each(${resources.content}, '$.mapped_relations') as relation`, sql`true`)
    .where(isQueryable(companyId))
    .limit(limit);
