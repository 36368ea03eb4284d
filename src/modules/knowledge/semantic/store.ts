import { and, asc, eq, gt, ne, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { resources } from '../resources/tables.ts';

/**
 * Living items that name one of the tables (ids or names) anywhere, or all living ones where no table is given, in the
 * order of their ids, after `after`.
 */
export const selectDependents = (
  db: ControlDb,
  of: { companyId: string; tables: readonly string[]; after: string },
  limit: number,
) => {
  const named = sql`(select value from json_each(${JSON.stringify(of.tables)}))`;
  const isDependent = sql`(
    exists (select 1 from json_each(${resources.content}, '$.mapped_tables') as t where t.value in ${named})
    or exists (select 1 from json_each(${resources.content}, '$.mapped_columns') as c
      where substr(c.value, 1, instr(c.value, '.') - 1) in ${named})
    or exists (select 1 from json_each(${resources.content}, '$.mapped_relations') as r, json_each(${JSON.stringify(of.tables)}) as n
      where instr(r.value, n.value || '.') > 0))`;
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
