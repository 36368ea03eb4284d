import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { makeIdListSql } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

/**
 * Selects the semantic items that are denied or come from denied concepts alone, and items that build on other items: their
 * formula if it names metrics, and the ids of the items that they depend on, as JSON.
 */
export const selectDeniedItems = (db: ControlDb, companyId: string, denials: { items: Denials; concepts: Denials }) => {
  const sources = sql`json_each(${resources.content}, '$.source_concept_ids') as source`;
  const isSourceNotDenied = isNotDenied(sql`source.value`, denials.concepts) ?? sql`true`;
  const isDenied = sql<number>`(not ${isNotDenied(resources.id, denials.items) ?? sql`true`}
    or exists (select 1 from ${sources}) and not exists (select 1 from ${sources} where ${isSourceNotDenied}))`;
  const metrics = sql`${resources.content} -> '$.depends_on_metrics'`;
  const entities = sql`${resources.content} -> '$.depends_on_entities'`;
  const formula = sql<string | null>`${resources.content} ->> '$.formula'`;
  return db
    .select({
      id: sql<string>`${resources.id}`.as('id'),
      uniqueKey: sql<string>`${resources.uniqueKey}`.as('unique_key'),
      status: sql<string>`${resources.status}`.as('status'),
      isDenied: isDenied.as('is_denied'),
      formula: sql<string | null>`iif(instr(${formula}, '{{') > 0, ${formula}, null)`.as('formula'),
      dependsOn:
        sql<string>`(select json_group_array(value) from (select value from json_each(${metrics}) union all select value from json_each(${entities})))`.as(
          'depends_on',
        ),
    })
    .from(resources)
    .where(
      and(
        eq(resources.companyId, companyId),
        eq(resources.resourceType, 'semantic'),
        or(
          isDenied,
          sql`instr(${formula}, '{{') > 0`,
          sql`json_array_length(${metrics}) > 0`,
          sql`json_array_length(${entities}) > 0`,
        ),
      ),
    );
};

/**
 * Returns the SQL condition for active semantic items without validation errors. @param hiddenIds the ids of items that count as
 * absent
 */
export const isQueryable = (companyId: string, hiddenIds: ReadonlySet<string>): SQL =>
  and(
    eq(resources.companyId, companyId),
    eq(resources.resourceType, 'semantic'),
    eq(resources.status, 'active'),
    eq(resources.validationErrors, []),
    hiddenIds.size === 0 ? undefined : sql`${resources.id} not in ${makeIdListSql([...hiddenIds])}`,
  ) as SQL;

/** Selects the queryable metrics and dimensions that have one of the ids or keys (`joinUniqueKey` of kind and name). */
export const selectItems = (
  db: ControlDb,
  companyId: string,
  { ids, keys, hiddenIds }: { ids: readonly string[]; keys: readonly string[]; hiddenIds: ReadonlySet<string> },
) =>
  db
    .select({ id: resources.id, uniqueKey: resources.uniqueKey, content: resources.content })
    .from(resources)
    .where(
      and(
        isQueryable(companyId, hiddenIds),
        inArray(resources.facet, ['metric', 'dimension']),
        or(sql`${resources.id} in ${makeIdListSql(ids)}`, sql`${resources.uniqueKey} in ${makeIdListSql(keys)}`),
      ),
    );

/** Selects the `mapped_relations` of the queryable items, each text once. */
export const selectRelations = (db: ControlDb, companyId: string, hiddenIds: ReadonlySet<string>, limit: number) =>
  db
    .selectDistinct({ text: sql<string>`relation.value` })
    .from(resources)
    .innerJoin(sql`json_each(${resources.content}, '$.mapped_relations') as relation`, sql`true`)
    .where(isQueryable(companyId, hiddenIds))
    .limit(limit);
