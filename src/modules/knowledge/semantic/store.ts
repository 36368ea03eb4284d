import { and, asc, eq, gt, ne, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';

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
