import { and, eq, getTableColumns, type InferSelectModel, is, isNotNull, isNull, SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { splitIntoParts } from '../kernel/parts.ts';
import type { ControlDb } from './client.ts';

type OwnedTable = { companyId: SQLiteColumn; id: SQLiteColumn };

/** Value, or a subquery that finds it. */
type ValueOrSubquery = string | SQL;

/** Condition that must hold at the moment of a write. */
export type Condition = SQL;

/** Builds the condition of a company's row by its id. */
export const matchesId = (table: OwnedTable, companyId: ValueOrSubquery, id: ValueOrSubquery): SQL =>
  and(eq(table.companyId, companyId), eq(table.id, id)) as SQL;

/** Builds the condition of a company's row by its id, unless the row is deleted. */
export const matchesUndeletedId = (
  table: OwnedTable & { deletedAt: SQLiteColumn },
  companyId: string,
  id: string,
): SQL => and(matchesId(table, companyId, id), isNull(table.deletedAt)) as SQL;

/** Choice of a list's records by their deletion. */
export type DeletionFilter = 'living' | 'deleted' | 'all';

/** Builds the condition of a deletion filter; undefined for `all`. */
export const matchesDeletion = ({ deletedAt }: { deletedAt: SQLiteColumn }, filter: DeletionFilter): SQL | undefined =>
  filter === 'all' ? undefined : filter === 'living' ? isNull(deletedAt) : isNotNull(deletedAt);

/** Builds a condition, true while the table has a row that meets the conditions: for the WHERE of a dependent write. */
export const existsSql = (table: SQLiteTable, ...conditions: (SQL | undefined)[]): SQL =>
  sql`exists (select 1 from ${table} where ${and(...conditions)})`;

/** Condition that is true if the preceding statement of the batch changed a row. */
export const HAS_CHANGED_ROWS = sql`changes() > 0`;

/** Builds a subquery of ids for `in`: one bound parameter for any number of ids (D1 takes 100 in a statement). */
export const makeIdListSql = (ids: readonly string[]) => sql`(select value from json_each(${JSON.stringify(ids)}))`;

/** Builds the slug of a new row; it gets a suffix if another row of the company has the slug at the moment of the write. */
export const makeUniqueSlugSql = (
  table: SQLiteTable & { companyId: SQLiteColumn; slug: SQLiteColumn; deletedAt?: SQLiteColumn },
  { companyId, slug, id }: { companyId: string; slug: string; id: string },
): SQL => {
  const isUndeleted = table.deletedAt && isNull(table.deletedAt);
  const isTaken = existsSql(table, eq(table.companyId, companyId), eq(table.slug, slug), isUndeleted);
  return sql`iif(${isTaken}, ${`${slug}-${id.slice(-8)}`}, ${slug})`;
};

/** Maximum number of characters of values in one bound parameter: D1 takes two million bytes. */
const MAX_PARAMETER_CHARACTERS = 500_000;

/** Splits values into as few parts as possible, each of which fits into one bound parameter as JSON. */
export const splitIntoParameters = <T>(values: readonly T[]): T[][] =>
  splitIntoParts(values, MAX_PARAMETER_CHARACTERS, (value) => JSON.stringify(value).length + 1);

/** Record with some fields that the database itself computes at the moment of the write. */
type Insertable<T extends SQLiteTable> = { [K in keyof InferSelectModel<T>]: InferSelectModel<T>[K] | SQL };

/** Inserts a row only if `condition` holds at that moment. Append `.returning()` to see whether it was inserted. */
export function insertWhen<T extends SQLiteTable>(db: ControlDb, table: T, record: Insertable<T>, condition: SQL) {
  const values = Object.entries(getTableColumns(table)).map(([field, column]) => {
    const value = record[field as keyof Insertable<T>];
    return is(value, SQL) ? value : sql`${sql.param(value, column)}`;
  });
  return db.insert(table).select(sql`select ${sql.join(values, sql`, `)} where ${condition}`);
}
