import { and, asc, desc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Denials } from '../permissions/denials.ts';
import type { ControlDb } from './client.ts';
import { isNotDenied } from './denials.ts';
import { containsSql } from './search.ts';

/** A table whose rows are listed. */
type Listed = SQLiteTable & { id: SQLiteColumn };

/** The records of a list. Each ordering of a long list needs an index that begins with the filter's columns, or holds them. */
export interface Listing<T extends Listed, Extra extends Extras> {
  table: T;
  filter: SQL;
  /** The exact number of rows that `filter` lets through, where that is known more cheaply than by counting them. */
  total?: SQL;
  /** A further table in which the ids are found, ordered by a column of its own; then `filter` is about that one. */
  via?: { table: SQLiteTable; id: SQLiteColumn; by: SQLiteColumn };
  /** Fields to read besides the table's own columns: subqueries about the row. */
  extra?: Extra;
}

/** The page of a list that is asked for, from 1. Rows that tie in `by` are ordered by id, so pages are stable. */
export interface PageRequest<By = SQLiteColumn | SQL> {
  by: By;
  descending: boolean;
  page: number;
  perPage: number;
  /** The number of rows before the page, where pages are not all of one size. */
  skipped?: number;
}

/** The page that is asked for of the records that contain a text; empty for all. */
export interface SearchRequest<By> extends PageRequest<By> {
  search: string;
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
  { table, filter, total, via, extra }: Listing<T, Extra>,
  { by, descending, page, perPage, skipped = (page - 1) * perPage }: PageRequest,
): Promise<{ total: number; page: number; perPage: number; records: (T['$inferSelect'] & Selected<Extra>)[] }> {
  const source = via ?? { table, id: table.id, by };
  const counted = total ?? sql`select count(*) from ${source.table} where ${filter}`;
  const size = db
    .$with('size')
    .as(db.select({ total: sql<number>`coalesce((${counted}), 0)`.as('total') }).from(sql`(select 1)`));
  const order = (column: SQLiteColumn | SQL, down: boolean): SQL => (down ? desc(column) : asc(column));
  const ids = (down: boolean, limit: SQL, offset: SQL): SQL =>
    sql`select id from (select ${source.id} as id from ${source.table} where ${filter} order by ${order(source.by, down)}, ${order(source.id, down)} limit ${limit} offset ${offset})`;

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
    .leftJoin(table, sql`${table.id} in (${skipped === 0 ? fromStart : fromNearerEnd})`)
    .orderBy(order(by, descending), order(table.id, descending));
  return {
    total: rows[0]?.total ?? 0,
    page,
    perPage,
    records: rows.flatMap(({ record }) => (record === null ? [] : [record])) as never,
  };
}

/** The page of a list of named records, without those denied. `search` is a part of the name; empty for all. */
export interface ListRequest {
  page: number;
  perPage: number;
  search: string;
  denied: Denials;
}

/** A page of a company's records of a table, newest first. */
export function readNewest<T extends Listed & Record<'companyId' | 'name' | 'createdAt', SQLiteColumn>>(
  db: ControlDb,
  table: T,
  companyId: string,
  { page, perPage, search, denied }: ListRequest,
) {
  const filter = and(
    eq(table.companyId, companyId),
    containsSql([table.name], search),
    isNotDenied(table.id, denied),
  ) as SQL;
  return readPage(db, { table, filter }, { by: table.createdAt, descending: true, page, perPage });
}

/** A page of records with the exact number of all that match. */
export interface Page<T> {
  total: number;
  page: number;
  perPage: number;
  records: T[];
}
