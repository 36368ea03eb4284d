import { and, asc, desc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Denials } from '../permissions/denials.ts';
import type { ControlDb } from './client.ts';
import { isNotDenied } from './denials.ts';
import { makeContainsSql } from './search.ts';

/** Table whose rows are listed. */
type ListedTable = SQLiteTable & { id: SQLiteColumn };

/** Records of a list. Each ordering of a long list needs an index with the columns of the filter. */
export interface ListSource<T extends ListedTable, Extra extends ExtraFields> {
  table: T;
  filter: SQL;
  /** Exact number of rows that `filter` accepts, if known more cheaply than by counting the rows. */
  total?: SQL;
  /** Another table in which the ids are found, ordered by a column of its own; `filter` is then on that table. */
  indexTable?: { table: SQLiteTable; id: SQLiteColumn; by: SQLiteColumn };
  /** Fields to read besides the table's own columns: subqueries about the row. */
  extra?: Extra;
}

/** Requested page of a list, from 1. Rows that tie in `by` are ordered by id, so pages are stable. */
export interface PageRequest<By = SQLiteColumn | SQL> {
  by: By;
  descending: boolean;
  page: number;
  perPage: number;
  /** Number of rows before the page, if pages differ in size. */
  skippedCount?: number;
}

/** Requested page of the records that contain a text; an empty text accepts all. */
export interface SearchRequest<By> extends PageRequest<By> {
  search: string;
}

type ExtraFields = Record<string, SQL.Aliased>;
type SelectedExtras<Extra extends ExtraFields> = {
  [K in keyof Extra]: Extra[K] extends SQL.Aliased<infer V> ? V : never;
};

/**
 * Reads one page of a list with the exact number of all its rows, in one statement, so that both are of the same moment. The ids
 * of a page are found in the ordering's index alone, counted from the nearer end of the list; only then are the page's rows read.
 */
export async function readPage<T extends ListedTable, Extra extends ExtraFields = Record<never, SQL.Aliased>>(
  db: ControlDb,
  { table, filter, total, indexTable, extra }: ListSource<T, Extra>,
  { by, descending, page, perPage, skippedCount = (page - 1) * perPage }: PageRequest,
): Promise<{ total: number; page: number; perPage: number; records: (T['$inferSelect'] & SelectedExtras<Extra>)[] }> {
  const source = indexTable ?? { table, id: table.id, by };
  const countSql = total ?? sql`select count(*) from ${source.table} where ${filter}`;
  const size = db
    .$with('size')
    .as(db.select({ total: sql<number>`coalesce((${countSql}), 0)`.as('total') }).from(sql`(select 1)`));
  const makeOrderSql = (column: SQLiteColumn | SQL, isDescending: boolean): SQL =>
    isDescending ? desc(column) : asc(column);
  const makeIdsSql = (isDescending: boolean, limit: SQL, offset: SQL): SQL =>
    sql`select id from (select ${source.id} as id from ${source.table} where ${filter} order by ${makeOrderSql(source.by, isDescending)}, ${makeOrderSql(source.id, isDescending)} limit ${limit} offset ${offset})`;

  const remainingSql = sql`(select total - ${skippedCount} from size)`;
  const isNearStart = sql`${remainingSql} >= ${skippedCount + perPage}`;
  const idsFromStart = makeIdsSql(descending, sql`${perPage}`, sql`${skippedCount}`);
  const idsFromNearerEnd = sql`${makeIdsSql(descending, sql`iif(${isNearStart}, ${perPage}, 0)`, sql`${skippedCount}`)} union all ${makeIdsSql(
    !descending,
    sql`iif(${isNearStart}, 0, max(0, min(${perPage}, ${remainingSql})))`,
    sql`max(0, ${remainingSql} - ${perPage})`,
  )}`;

  const rows = await db
    .with(size)
    .select({ total: size.total, record: { ...getTableColumns(table), ...extra } as unknown as { id: SQLiteColumn } })
    .from(size)
    .leftJoin(table, sql`${table.id} in (${skippedCount === 0 ? idsFromStart : idsFromNearerEnd})`)
    .orderBy(makeOrderSql(by, descending), makeOrderSql(table.id, descending));
  return {
    total: rows[0]?.total ?? 0,
    page,
    perPage,
    records: rows.flatMap(({ record }) => (record === null ? [] : [record])) as never,
  };
}

/** Requested page of a list of named records, without denied ones. `search` is a part of the name; empty for all. */
export interface ListRequest {
  page: number;
  perPage: number;
  search: string;
  denials: Denials;
}

/** Reads a page of a company's records of a table, newest first. */
export function readNewest<T extends ListedTable & Record<'companyId' | 'name' | 'createdAt', SQLiteColumn>>(
  db: ControlDb,
  table: T,
  companyId: string,
  { page, perPage, search, denials }: ListRequest,
) {
  const filter = and(
    eq(table.companyId, companyId),
    makeContainsSql([table.name], search),
    isNotDenied(table.id, denials),
  ) as SQL;
  return readPage(db, { table, filter }, { by: table.createdAt, descending: true, page, perPage });
}

/** Page of records with the exact number of all matching records. */
export interface Page<T> {
  total: number;
  page: number;
  perPage: number;
  records: T[];
}
