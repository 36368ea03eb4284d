import { asc, desc, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from './client.ts';

/** A table whose rows are listed. */
type Listed = SQLiteTable & { id: SQLiteColumn };

/** What is listed. Its orderings need an index that begins with the filter's columns and holds the rest of them. */
export interface Listing<T extends Listed, Extra extends Extras> {
  table: T;
  filter: SQL;
  /** The exact number of rows that `filter` lets through, where that is known more cheaply than by counting them. */
  total?: SQL;
  /** Members to read besides the table's own: subqueries about the row. */
  extra?: Extra;
}

/** Which part of it. Pages count from 1. Rows that tie in `by` are ordered by id, so pages are stable. */
export interface Part {
  by: SQLiteColumn;
  descending: boolean;
  page: number;
  perPage: number;
}

type Extras = Record<string, SQL.Aliased>;
type Selected<Extra extends Extras> = { [K in keyof Extra]: Extra[K] extends SQL.Aliased<infer V> ? V : never };

/**
 * One page of a list with the exact number of all its rows, in one statement, so that both are of the same moment.
 * The ids of a page are found in the ordering's index alone, counted from the nearer end of the list; only then are the
 * page's rows read.
 */
export async function readPage<T extends Listed, Extra extends Extras = Record<never, SQL.Aliased>>(
  db: ControlDb,
  { table, filter, total, extra }: Listing<T, Extra>,
  { by, descending, page, perPage }: Part,
): Promise<{ total: number; page: number; perPage: number; records: (T['$inferSelect'] & Selected<Extra>)[] }> {
  const counted = total ?? sql`select count(*) from ${table} where ${filter}`;
  const size = db.$with('size').as(db.select({ total: sql<number>`(${counted})`.as('total') }).from(sql`(select 1)`));
  const order = (column: SQLiteColumn, down: boolean): SQL => (down ? desc(column) : asc(column));
  const ids = (down: boolean, limit: SQL, offset: SQL): SQL =>
    sql`select id from (select ${table.id} as id from ${table} where ${filter} order by ${order(by, down)}, ${order(table.id, down)} limit ${limit} offset ${offset})`;

  const skipped = (page - 1) * perPage;
  const left = sql`(select total - ${skipped} from size)`;
  const isNearStart = sql`${left} >= ${skipped + perPage}`;
  const fromStart = ids(descending, sql`${perPage}`, sql`${skipped}`);
  const fromNearerEnd = sql`${ids(descending, sql`iif(${isNearStart}, ${perPage}, 0)`, sql`${skipped}`)} union all ${ids(
    !descending,
    sql`iif(${isNearStart}, 0, max(0, min(${perPage}, ${left})))`,
    sql`max(0, ${left} - ${perPage})`,
  )}`;

  const rows = await db
    .with(size)
    .select({ total: size.total, record: { ...getTableColumns(table), ...extra } as unknown as { id: SQLiteColumn } })
    .from(size)
    .leftJoin(table, sql`${table.id} in (${page === 1 ? fromStart : fromNearerEnd})`)
    .orderBy(order(by, descending), order(table.id, descending));
  return {
    total: rows[0]?.total ?? 0,
    page,
    perPage,
    records: rows.flatMap(({ record }) => (record === null ? [] : [record])) as never,
  };
}
