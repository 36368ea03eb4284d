import { and, asc, eq, gt, ne, not, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { existsSql, makeIdListSql } from '../../../db/statements.ts';

/**
 * Selects items with an id after `after` that name one of the tables (ids or names) in any field, or all items when no table is
 * given; no archived items. An item that only seems to name a table is checked unnecessarily.
 */
export const selectDependentItems = (
  db: ControlDb,
  scope: { companyId: string; tables: readonly string[]; after: string },
  limit: number,
) => {
  const tables = sql`json_each(${JSON.stringify(scope.tables)})`;
  const tableNames = sql`(select value from ${tables})`;
  const isDependent = sql`(
    exists (select 1 from json_each(${resources.content}, '$.mapped_tables') as t where t.value in ${tableNames})
    or exists (select 1 from json_each(${resources.content}, '$.mapped_columns') as c
      where substr(c.value, 1, instr(c.value, '.') - 1) in ${tableNames})
    or exists (select 1 from ${tables} as n where instr(${resources.content} ->> '$.mapped_relations', n.value || '.') > 0
      or instr(lower(${resources.content} ->> '$.formula'), n.value) > 0
      or instr(lower(${resources.content} ->> '$.filters'), n.value) > 0))`;
  return db
    .select()
    .from(resources)
    .where(
      and(
        eq(resources.companyId, scope.companyId),
        eq(resources.resourceType, 'semantic'),
        ne(resources.status, 'archived'),
        gt(resources.id, scope.after),
        scope.tables.length > 0 ? isDependent : undefined,
      ),
    )
    .orderBy(asc(resources.id))
    .limit(limit);
};

/** Returns the condition for items that may refer to an item: by its id, or because they build on metrics by name. */
const mayReferTo = (companyId: string, id: string): SQL =>
  and(
    eq(resources.companyId, companyId),
    eq(resources.resourceType, 'semantic'),
    ne(resources.status, 'archived'),
    ne(resources.id, id),
    sql`(${refersToId(id)} or instr(${resources.content} ->> '$.formula', '{{') > 0)`,
  ) as SQL;

const refersToId = (id: string): SQL =>
  sql`exists (select 1 from json_each(json_array('$.depends_on_metrics', '$.depends_on_entities')) as field,
    json_each(${resources.content}, field.value) as named where named.value = ${id})`;

export const selectPossibleReferrers = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({
      id: resources.id,
      version: resources.version,
      kind: resources.facet,
      name: sql<string>`${resources.content} ->> '$.name'`.as('name'),
      formula: sql<string | null>`${resources.content} ->> '$.formula'`.as('formula'),
      refers: sql<number>`${refersToId(id)}`.as('refers'),
    })
    .from(resources)
    .where(mayReferTo(companyId, id))
    .orderBy(asc(resources.id));

/** Returns the SQL condition that exactly these items may still refer to this one, in these versions. */
export const hasNoNewReferrers = (
  companyId: string,
  id: string,
  referrers: readonly { id: string; version: number }[],
): SQL =>
  not(
    existsSql(
      resources,
      mayReferTo(companyId, id),
      sql`${resources.id} || ' ' || ${resources.version} not in ${makeIdListSql(referrers.map((row) => `${row.id} ${row.version}`))}`,
    ),
  );
