import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Denials } from '../permissions/denials.ts';
import { makeIdListSql } from './statements.ts';

/**
 * Builds a WHERE condition that the record named by the column is not denied, or that the column is null; undefined if nothing is
 * denied. It binds two parameters for any number of denials; a pattern has at most 49 of the 50 bytes that D1 takes.
 */
export function isNotDenied(column: SQLWrapper, { everything, ids, patterns }: Denials): SQL | undefined {
  if (everything) return sql`${column} is null`;
  const conditions: SQL[] = [];
  if (ids.length > 0) conditions.push(sql`${column} not in ${makeIdListSql(ids)}`);
  if (patterns.length > 0) {
    const deniedPatterns = sql`json_each(${JSON.stringify(patterns)}) as denied`;
    conditions.push(sql`not exists (select 1 from ${deniedPatterns} where ${column} glob denied.value)`);
  }
  return conditions.length === 0 ? undefined : sql`(${column} is null or (${sql.join(conditions, sql` and `)}))`;
}
