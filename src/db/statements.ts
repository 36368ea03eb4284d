import { and, eq, getTableColumns, type InferSelectModel, is, isNotNull, isNull, SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { splitIntoParts } from '../kernel/parts.ts';
import type { ControlDb } from './client.ts';

type Owned = { companyId: SQLiteColumn; id: SQLiteColumn };

/** A value, or the subquery that finds it. */
type ValueOrSubquery = string | SQL;

/** A condition that must hold at the moment of a write. */
export type Condition = SQL;

/** The row of an id, if it is the company's. */
export const byId = (table: Owned, companyId: ValueOrSubquery, id: ValueOrSubquery): SQL =>
  and(eq(table.companyId, companyId), eq(table.id, id)) as SQL;

/** The same, unless it is deleted. */
export const livingById = (table: Owned & { deletedAt: SQLiteColumn }, companyId: string, id: string): SQL =>
  and(byId(table, companyId, id), isNull(table.deletedAt)) as SQL;

/** The records of a table that a list shows. */
export type DeletionFilter = 'living' | 'deleted' | 'all';

/** The condition of those records; none for all. */
export const matchesDeletion = ({ deletedAt }: { deletedAt: SQLiteColumn }, which: DeletionFilter): SQL | undefined =>
  which === 'all' ? undefined : which === 'living' ? isNull(deletedAt) : isNotNull(deletedAt);

/** SQL condition, true while the table has a row that meets the conditions: for the WHERE of a write that depends on it. */
export const exists = (table: SQLiteTable, ...conditions: (SQL | undefined)[]): SQL =>
  sql`exists (select 1 from ${table} where ${and(...conditions)})`;

/** SQL condition, true if the statement before it in the batch changed a row. */
export const afterChange = sql`changes() > 0`;

/** Ids as a subquery for `in`: one bound parameter, however many (D1 takes 100 in a statement). */
export const idListSql = (ids: readonly string[]) => sql`(select value from json_each(${JSON.stringify(ids)}))`;

/** The slug of a new row; with a suffix where a row of the company has it at the moment of the write. */
export const slugOrSuffixedSql = (
  table: SQLiteTable & { companyId: SQLiteColumn; slug: SQLiteColumn; deletedAt?: SQLiteColumn },
  { companyId, slug, id }: { companyId: string; slug: string; id: string },
): SQL => {
  const isLiving = table.deletedAt && isNull(table.deletedAt);
  const isTaken = exists(table, eq(table.companyId, companyId), eq(table.slug, slug), isLiving);
  return sql`iif(${isTaken}, ${`${slug}-${id.slice(-8)}`}, ${slug})`;
};

/** The maximum number of characters of values in one bound parameter: D1 takes two million bytes. */
const MAX_PARAMETER = 500_000;

/** Values in as few parts as possible, each of which fits into one bound parameter as JSON. */
export const splitIntoParameters = <T>(values: readonly T[]): T[][] =>
  splitIntoParts(values, MAX_PARAMETER, (value) => JSON.stringify(value).length + 1);

/** A record of which some fields are found by the database itself, at the moment of the write. */
type Insertable<T extends SQLiteTable> = { [K in keyof InferSelectModel<T>]: InferSelectModel<T>[K] | SQL };

/** An insert that happens only if `condition` holds at that moment. Append `.returning()` to see whether it did. */
export function insertWhen<T extends SQLiteTable>(db: ControlDb, table: T, record: Insertable<T>, condition: SQL) {
  const values = Object.entries(getTableColumns(table)).map(([field, column]) => {
    const value = record[field as keyof Insertable<T>];
    return is(value, SQL) ? value : sql`${sql.param(value, column)}`;
  });
  return db.insert(table).select(sql`select ${sql.join(values, sql`, `)} where ${condition}`);
}
