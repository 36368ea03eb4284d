import { and, asc, eq, gt, ne, not, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { exists, idListSql } from '../../../db/statements.ts';

/**
 * Items with an id after `after` that name one of the tables (ids or names) in any field, or all items when no table is
 * given; none that are archived. An item that only seems to name a table is checked in vain.
 */
export const selectDependents = (
  db: ControlDb,
  of: { companyId: string; tables: readonly string[]; after: string },
  limit: number,
) => {
  const tables = sql`json_each(${JSON.stringify(of.tables)})`;
  const named = sql`(select value from ${tables})`;
  const isDependent = sql`(
    exists (select 1 from json_each(${resources.content}, '$.mapped_tables') as t where t.value in ${named})
    or exists (select 1 from json_each(${resources.content}, '$.mapped_columns') as c
      where substr(c.value, 1, instr(c.value, '.') - 1) in ${named})
    or exists (select 1 from ${tables} as n where instr(${resources.content} ->> '$.mapped_relations', n.value || '.') > 0
      or instr(lower(${resources.content} ->> '$.formula'), n.value) > 0
      or instr(lower(${resources.content} ->> '$.filters'), n.value) > 0))`;
  return db
    .select()
    .from(resources)
    .where(
      and(
        eq(resources.companyId, of.companyId),
        eq(resources.resourceType, 'semantic'),
        ne(resources.status, 'archived'),
        gt(resources.id, of.after),
        of.tables.length > 0 ? isDependent : undefined,
      ),
    )
    .orderBy(asc(resources.id))
    .limit(limit);
};

/** Items that may refer to another: those that refer to it by its id, and all that build on metrics by their names. */
const mayRefer = (companyId: string, id: string): SQL =>
  and(
    eq(resources.companyId, companyId),
    eq(resources.resourceType, 'semantic'),
    ne(resources.status, 'archived'),
    ne(resources.id, id),
    sql`(${refersTo(id)} or instr(${resources.content} ->> '$.formula', '{{') > 0)`,
  ) as SQL;

const refersTo = (id: string): SQL =>
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
      refers: sql<number>`${refersTo(id)}`.as('refers'),
    })
    .from(resources)
    .where(mayRefer(companyId, id))
    .orderBy(asc(resources.id));

/** SQL condition, true while the items that may refer to this one are exactly these, in these versions. */
export const noNewReferrers = (
  companyId: string,
  id: string,
  referrers: readonly { id: string; version: number }[],
): SQL =>
  not(
    exists(
      resources,
      mayRefer(companyId, id),
      sql`${resources.id} || ' ' || ${resources.version} not in ${idListSql(referrers.map((row) => `${row.id} ${row.version}`))}`,
    ),
  );
