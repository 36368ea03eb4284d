import type { ColumnType, TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { quoteQualified } from '../../tenant-sql/identifiers.ts';
import {
  type BindValue,
  createBindings,
  getTypeName,
  makeConditions,
  makeSourceColumn,
  makeWhereClause,
  type RowSelection,
} from '../../tenant-sql/row-filters.ts';
import { makeRowBytesSql, makeSelectList, type Statement } from '../../tenant-sql/rows.ts';

/** The order of rows: by a column, or by insertion if there is none. */
export interface RowOrder {
  column: string;
  type: ColumnType | 'uuid';
  descending: boolean;
}

/** The rows of a page, counted from the nearer end of the table. */
export interface RowWindow {
  limit: number;
  offset: number;
  /** Whether the rows are counted from the end, in reverse order. */
  isFromEnd: boolean;
}

/** The position of a row: its id, and its value in the ordering column, in Postgres's format. */
export interface RowPosition {
  id: string;
  key: string | null;
}

/** The rows of a table to read. */
export interface RowScan {
  table: string;
  /** The columns to show, in addition to `id`. */
  shownColumns: TableColumnDefinition[];
  rowSelection: RowSelection;
}

/** The table, rows, columns and order of a page. */
export interface PageSource extends RowScan {
  order: RowOrder | null;
  /** The maximum number of bytes of the page's values: a larger page is not sent. */
  maxBytes: number;
}

/** The maximum number of bytes of the ordering column's value in a cursor: a longer one fails. No index holds longer values. */
export const MAX_KEY_BYTES = 4000;

/** A result row of a page: values of the page, and one row of the table, whose columns are null if there is none. */
export type PageRow = { id: string | null } & Record<string, string | boolean | null> & {
    /** The length of the page's values as text. */
    bytes: string;
    /** For an empty page: whether the table has any row. */
    has_rows: boolean | null;
    /** Whether rows follow the page. */
    has_more: boolean;
    /** The last row's value in the ordering column; null for other rows, and if it is longer than `MAX_KEY_BYTES`. */
    key: string | null;
    /** The length of the last row's value in the ordering column; null for other rows. */
    key_bytes: string | null;
  };

/** Chooses the window of `limit` rows from `offset` on, counted from the nearer end: pages near the end cost no more than others. */
export function chooseNearerWindow(total: number, offset: number, limit: number): RowWindow {
  const rowCountAfter = total - offset - limit;
  if (offset <= rowCountAfter || offset >= total) return { limit, offset, isFromEnd: false };
  return { limit: Math.min(limit, total - offset), offset: Math.max(0, rowCountAfter), isFromEnd: true };
}

/** Selects the rows of a window, as rows of `PageRow`. */
export function selectRowWindow(page: PageSource, { limit, offset, isFromEnd }: RowWindow): Statement {
  const { values, bindValue } = createBindings();
  const ids = `ARRAY(
    SELECT source."id" FROM ${makeFromSql(page.table)} ${makeWhereClause(makeConditions(page.rowSelection, bindValue))}
    ORDER BY ${makeOrderBySql(page.order, isFromEnd)} LIMIT ${bindValue(limit)}::bigint OFFSET ${bindValue(offset)}::bigint
  )`;
  return { text: selectPageOfIds(page, ids, limit, isFromEnd, bindValue), values };
}

/**
 * Selects the rows after a position in the order, or the first rows, as rows of `PageRow`. Each part of the order is one scan along an index, if
 * there is one: rows with a value, then rows without.
 */
export function selectFollowingRows(page: PageSource, limit: number, afterPosition: RowPosition | null): Statement {
  const { values, bindValue } = createBindings();
  const ids = selectIdsAfter(page, limit + 1, afterPosition, bindValue);
  return { text: selectPageOfIds(page, ids, limit, false, bindValue), values };
}

/** Counts the selected rows, as `total`. */
export function countRows(table: string, rows: RowSelection): Statement {
  const { values, bindValue } = createBindings();
  return {
    text: `SELECT count(*) AS total FROM ${makeFromSql(table)} ${makeWhereClause(makeConditions(rows, bindValue))}`,
    values,
  };
}

/** Returns the table to select from, under its alias. */
export const makeFromSql = (table: string): string => `${quoteQualified('public', table)} AS source`;

/**
 * Selects a page by its ids, which are found first: along the index, or in a sort that holds no complete rows. `ids` is an array,
 * which keeps its order; it may hold one more than the page, to tell whether more rows follow.
 */
function selectPageOfIds(
  page: PageSource,
  ids: string,
  limit: number,
  isFromEnd: boolean,
  bindValue: BindValue,
): string {
  const limitSql = `${bindValue(limit)}::int`;
  const { table, shownColumns, order, maxBytes } = page;
  const key = order && order.column !== 'id' ? `${makeSourceColumn(order.column)}::text` : 'NULL::text';
  const isLastRow = `listed.place = ${limitSql}`;
  return `
    WITH found AS MATERIALIZED (
      SELECT ${ids} AS ids
    ), page AS MATERIALIZED (
      SELECT listed.place, ${makeSelectList(shownColumns)},
        CASE WHEN ${isLastRow} AND octet_length(${key}) <= ${MAX_KEY_BYTES} THEN ${key} END AS key,
        CASE WHEN ${isLastRow} THEN octet_length(${key}) END AS key_bytes
      FROM found CROSS JOIN unnest(found.ids[1:${limitSql}]) WITH ORDINALITY AS listed(row_id, place)
      JOIN ${makeFromSql(table)} ON source."id" = listed.row_id
    ), size AS (
      SELECT coalesce(sum(${makeRowBytesSql(shownColumns)}), 0) AS bytes FROM page
    )
    SELECT size.bytes, page.*,
      cardinality(found.ids) > ${limitSql} AS has_more,
      CASE WHEN cardinality(found.ids) = 0 THEN EXISTS (SELECT FROM ${makeFromSql(table)}) END AS has_rows
    FROM size CROSS JOIN found LEFT JOIN page ON size.bytes <= ${bindValue(maxBytes)}::bigint
    ORDER BY page.place ${isFromEnd ? 'DESC' : 'ASC'}`;
}

/** Returns SQL for the ids of the first rows after a position, in order. */
function selectIdsAfter(
  { table, rowSelection, order }: PageSource,
  limit: number,
  afterPosition: RowPosition | null,
  bindValue: BindValue,
): string {
  const conditions = makeConditions(rowSelection, bindValue);
  const limitSql = `${bindValue(limit)}::bigint`;
  const id = makeSourceColumn('id');
  const makeIdsSql = (extraConditions: string[], orderBySql: string, count: string) =>
    `ARRAY(SELECT ${id} FROM ${makeFromSql(table)} ${makeWhereClause([...conditions, ...extraConditions])} ORDER BY ${orderBySql} LIMIT ${count})`;
  if (!order || order.column === 'id') {
    const [sign, direction] = order?.descending ? ['<', 'DESC'] : ['>', 'ASC'];
    return makeIdsSql(
      afterPosition ? [`${id} ${sign} ${bindValue(afterPosition.id)}::uuid`] : [],
      `${id} ${direction}`,
      limitSql,
    );
  }
  const column = makeSourceColumn(order.column);
  const lastIdSql = afterPosition && `${bindValue(afterPosition.id)}::uuid`;
  // Ordered by both, though one is null, because an index of both is.
  const selectIdsWithoutValue = (positionConditions: string[], count: string) =>
    makeIdsSql([`${column} IS NULL`, ...positionConditions], `${column}, ${id}`, count);
  if (afterPosition && afterPosition.key === null) return selectIdsWithoutValue([`${id} > ${lastIdSql}`], limitSql);
  const key = afterPosition && `${bindValue(afterPosition.key)}::${getTypeName(order)}`;
  const idsWithValue = order.descending
    ? // Nulls first is how an index is read backwards; there are none among these.
      makeIdsSql(
        [
          `${column} IS NOT NULL`,
          ...(key ? [`${column} <= ${key}`, `(${column} < ${key} OR ${id} > ${lastIdSql})`] : []),
        ],
        `${column} DESC NULLS FIRST, ${id}`,
        limitSql,
      )
    : makeIdsSql(
        [`${column} IS NOT NULL`, ...(key ? [`(${column}, ${id}) > (${key}, ${lastIdSql})`] : [])],
        `${column}, ${id}`,
        limitSql,
      );
  // Where the rows with a value suffice, none of the others is looked for.
  return `(SELECT valued.ids || ${selectIdsWithoutValue([], `(${limitSql} - cardinality(valued.ids))`)} FROM (SELECT ${idsWithValue} AS ids OFFSET 0) AS valued)`;
}

/** Returns the `ORDER BY` list. Nulls come last in both directions; ties are ordered by id, which is insertion order. */
export function makeOrderBySql(order: RowOrder | null, isReversed: boolean): string {
  const getDirection = (descending: boolean) => (descending === isReversed ? 'ASC' : 'DESC');
  const id = makeSourceColumn('id');
  if (!order || order.column === 'id') return `${id} ${getDirection(order?.descending ?? false)}`;
  const nullsPlacement = isReversed ? 'FIRST' : 'LAST';
  return `${makeSourceColumn(order.column)} ${getDirection(order.descending)} NULLS ${nullsPlacement}, ${id} ${getDirection(false)}`;
}
