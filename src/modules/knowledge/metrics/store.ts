import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { idList } from '../../../db/statements.ts';

/** Items that count: active ones without errors. */
export const counting = (companyId: string): SQL =>
  and(
    eq(resources.companyId, companyId),
    eq(resources.resourceType, 'semantic'),
    eq(resources.status, 'active'),
    eq(resources.validationErrors, []),
  ) as SQL;

/** The metrics and dimensions that count and have one of the ids, or one of the keys (`uniqueKeyFrom` kind and name). */
export const selectAsked = (db: ControlDb, companyId: string, ids: readonly string[], keys: readonly string[]) =>
  db
    .select({ id: resources.id, uniqueKey: resources.uniqueKey, content: resources.content })
    .from(resources)
    .where(
      and(
        counting(companyId),
        inArray(resources.facet, ['metric', 'dimension']),
        or(sql`${resources.id} in ${idList(ids)}`, sql`${resources.uniqueKey} in ${idList(keys)}`),
      ),
    );

/** What the `mapped_relations` of the items that count say, each text once. */
export const selectRelations = (db: ControlDb, companyId: string, limit: number) =>
  db
    .selectDistinct({ text: sql<string>`relation.value` })
    .from(resources)
    .innerJoin(sql`json_each(${resources.content}, '$.mapped_relations') as relation`, sql`true`)
    .where(counting(companyId))
    .limit(limit);
