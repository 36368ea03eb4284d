import type { Column, ColumnType } from '../../tenant-sql/columns.ts';
import { qualified } from '../../tenant-sql/identifiers.ts';
import {
  type Bind,
  bindings,
  makeConditions,
  ofSource,
  type RowSelection,
  typeName,
  where,
} from '../../tenant-sql/row-filters.ts';
import { rowBytes, type Statement, selectedColumns } from '../../tenant-sql/rows.ts';

/** The order of rows: by a column, or by insertion if there is none. */
export interface RowOrder {
  column: string;
  type: ColumnType | 'uuid';
  descending: boolean;
}

/** The rows of a page, counted from the nearer end of the table. */
export interface Window {
  limit: number;
  offset: number;
  /** Whether they are counted from the end, in reverse order. */
  fromEnd: boolean;
}

/** The position of a row: its id, and its value in the column of the order, in Postgres's format. */
export interface Position {
  id: string;
  key: string | null;
}

/** The rows after a position, or the first ones. */
export interface FollowingRows {
  limit: number;
  after: Position | null;
}

/** The table, rows, columns and order of a page. */
export interface PageSource {
  table: string;
  /** The columns to show, besides `id`. */
  shown: Column[];
  rows: RowSelection;
  order: RowOrder | null;
  /** The maximum number of bytes of the page's values: a larger page is not sent. */
  maxBytes: number;
}

/**
 * The maximum number of bytes of a value in a cursor: a longer one of the order's column does not fit. No index holds longer
 * ones.
 */
export const MAX_KEY_BYTES = 4000;

/** A result row of a page: values of the page, and one row of the table, whose columns are null if there is none. */
export type PageRow = { id: string | null } & Record<string, string | boolean | null> & {
    /** The length of the page's values as text. */
    bytes: string;
    /** For an empty page: whether the table has any row. */
    has_rows: boolean | null;
    /** Whether rows come after the page. */
    has_more: boolean;
    /** For the last row: its value in the order's column, and its length. Null if it is longer than `MAX_KEY_BYTES`. */
    key: string | null;
    key_bytes: string | null;
  };

/**
 * Counts rows `offset` to `offset + limit` of `total` from the nearer end, so that pages near the end cost no more than others.
 */
export function chooseNearerWindow(total: number, offset: number, limit: number): Window {
  const after = total - offset - limit;
  if (offset <= after || offset >= total) return { limit, offset, fromEnd: false };
  return { limit: Math.min(limit, total - offset), offset: Math.max(0, after), fromEnd: true };
}

/** Selects the rows of a window, as rows of `PageRow`. */
export function selectWindow(page: PageSource, { limit, offset, fromEnd }: Window): Statement {
  const { values, bind } = bindings();
  const ids = `ARRAY(
    SELECT source."id" FROM ${fromSql(page.table)} ${where(makeConditions(page.rows, bind))}
    ORDER BY ${orderBySql(page.order, fromEnd)} LIMIT ${bind(limit)}::bigint OFFSET ${bind(offset)}::bigint
  )`;
  return { text: selectPageOfIds(page, ids, limit, fromEnd, bind), values };
}

/**
 * Selects the rows after a position in the order, as rows of `PageRow`. Each part of the order is one walk along an
 * index, if there is one: rows with a value, then rows without.
 */
export function selectFollowing(page: PageSource, { limit, after }: FollowingRows): Statement {
  const { values, bind } = bindings();
  const ids = selectIdsAfter(page, limit + 1, after, bind);
  return { text: selectPageOfIds(page, ids, limit, false, bind), values };
}

/** Counts the selected rows, as `total`. */
export function countRows(table: string, rows: RowSelection): Statement {
  const { values, bind } = bindings();
  return { text: `SELECT count(*) AS total FROM ${fromSql(table)} ${where(makeConditions(rows, bind))}`, values };
}

/** The table to select from, under its alias. */
export const fromSql = (table: string): string => `${qualified('public', table)} AS source`;

/**
 * Selects a page by its ids, which are found first: along the index, or in a sort that holds no whole rows.
 * `ids` is an array, which keeps its order; it may hold one more than the page, to tell whether others follow.
 */
function selectPageOfIds(page: PageSource, ids: string, limit: number, fromEnd: boolean, bind: Bind): string {
  const most = `${bind(limit)}::int`;
  const { table, shown, order, maxBytes } = page;
  const key = order && order.column !== 'id' ? `${ofSource(order.column)}::text` : 'NULL::text';
  const isLast = `listed.place = ${most}`;
  return `
    WITH found AS MATERIALIZED (
      SELECT ${ids} AS ids
    ), page AS MATERIALIZED (
      SELECT listed.place, ${selectedColumns(shown)},
        CASE WHEN ${isLast} AND octet_length(${key}) <= ${MAX_KEY_BYTES} THEN ${key} END AS key,
        CASE WHEN ${isLast} THEN octet_length(${key}) END AS key_bytes
      FROM found CROSS JOIN unnest(found.ids[1:${most}]) WITH ORDINALITY AS listed(row_id, place)
      JOIN ${fromSql(table)} ON source."id" = listed.row_id
    ), size AS (
      SELECT coalesce(sum(${rowBytes(shown)}), 0) AS bytes FROM page
    )
    SELECT size.bytes, page.*,
      cardinality(found.ids) > ${most} AS has_more,
      CASE WHEN cardinality(found.ids) = 0 THEN EXISTS (SELECT FROM ${fromSql(table)}) END AS has_rows
    FROM size CROSS JOIN found LEFT JOIN page ON size.bytes <= ${bind(maxBytes)}::bigint
    ORDER BY page.place ${fromEnd ? 'DESC' : 'ASC'}`;
}

/** The ids of the first rows after a position, in order. */
function selectIdsAfter({ table, rows, order }: PageSource, limit: number, after: Position | null, bind: Bind): string {
  const conditions = makeConditions(rows, bind);
  const most = `${bind(limit)}::bigint`;
  const id = ofSource('id');
  const ids = (found: string[], ordered: string, count: string) =>
    `ARRAY(SELECT ${id} FROM ${fromSql(table)} ${where([...conditions, ...found])} ORDER BY ${ordered} LIMIT ${count})`;
  if (!order || order.column === 'id') {
    const [sign, direction] = order?.descending ? ['<', 'DESC'] : ['>', 'ASC'];
    return ids(after ? [`${id} ${sign} ${bind(after.id)}::uuid`] : [], `${id} ${direction}`, most);
  }
  const column = ofSource(order.column);
  const lastId = after && `${bind(after.id)}::uuid`;
  // Ordered by both, though one is null, because an index of both is.
  const without = (past: string[], count: string) => ids([`${column} IS NULL`, ...past], `${column}, ${id}`, count);
  if (after && after.key === null) return without([`${id} > ${lastId}`], most);
  const key = after && `${bind(after.key)}::${typeName(order)}`;
  const valued = order.descending
    ? // Nulls first is how an index is read backwards; there are none among these.
      ids(
        [`${column} IS NOT NULL`, ...(key ? [`${column} <= ${key}`, `(${column} < ${key} OR ${id} > ${lastId})`] : [])],
        `${column} DESC NULLS FIRST, ${id}`,
        most,
      )
    : ids(
        [`${column} IS NOT NULL`, ...(key ? [`(${column}, ${id}) > (${key}, ${lastId})`] : [])],
        `${column}, ${id}`,
        most,
      );
  // Where the rows with a value suffice, none of the others is looked for.
  return `(SELECT valued.ids || ${without([], `(${most} - cardinality(valued.ids))`)} FROM (SELECT ${valued} AS ids OFFSET 0) AS valued)`;
}

/** The `ORDER BY` list. Nulls come last in both directions; ties are ordered by id, which is insertion order. */
export function orderBySql(order: RowOrder | null, reversed: boolean): string {
  const direction = (descending: boolean) => (descending === reversed ? 'ASC' : 'DESC');
  const id = ofSource('id');
  if (!order || order.column === 'id') return `${id} ${direction(order?.descending ?? false)}`;
  const nulls = reversed ? 'FIRST' : 'LAST';
  return `${ofSource(order.column)} ${direction(order.descending)} NULLS ${nulls}, ${id} ${direction(false)}`;
}
