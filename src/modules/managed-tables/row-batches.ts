import type { ColumnType, TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { quoteQualified } from '../../tenant-sql/identifiers.ts';
import {
  type BindValue,
  createBindings,
  makeConditions,
  makeSourceColumn,
  makeWhereClause,
} from '../../tenant-sql/row-filters.ts';
import { makeRowBytesSql, makeSelectList, type Statement } from '../../tenant-sql/rows.ts';
import { makeFromSql, makeOrderBySql, type RowOrder, type RowScan } from './row-pages.ts';

/** The maximum number of rows of a batch. */
export const BATCH_ROWS = 20_000;
/** The bytes of values after which a batch ends, including the row that exceeds them. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Returns the largest number of batches of `selectBatch` that some rows may make. */
export const computeMaxBatchCount = (rowCount: number, byteCount: number): number =>
  Math.min(rowCount, byteCount / MAX_BATCH_BYTES + rowCount / BATCH_ROWS + 1);

/** Returns the number of rows that `selectBatch` takes, where texts and decimals have some 16 bytes on average. */
export const computeUsualBatchRowCount = (shownColumns: TableColumnDefinition[]): number =>
  Math.min(BATCH_ROWS, Math.ceil(MAX_BATCH_BYTES / (36 + (32 + 16) * shownColumns.length)));

/** The next rows: up to `rowCount` after an id, in insertion order, or the rows with these ids. */
export type NextRows = { afterId: string | null; rowCount: number } | { ids: string[] };

/** Selects the next rows of a scan in its order. @param list the select list: expressions over the table, called `source` */
export function selectRows(
  { table, rowSelection }: RowScan,
  nextRows: NextRows,
  list: string,
  bindValue: BindValue,
): string {
  if ('ids' in nextRows)
    return `
      SELECT ${list}
      FROM unnest(${bindValue(nextRows.ids)}::uuid[]) WITH ORDINALITY AS listed(row_id, place)
      JOIN ${makeFromSql(table)} ON source."id" = listed.row_id
      ORDER BY listed.place`;
  const id = makeSourceColumn('id');
  const conditions = makeConditions(rowSelection, bindValue);
  if (nextRows.afterId !== null) conditions.push(`${id} > ${bindValue(nextRows.afterId)}::uuid`);
  return `SELECT ${list} FROM ${makeFromSql(table)} ${makeWhereClause(conditions)} ORDER BY ${id} LIMIT ${nextRows.rowCount}`;
}

/**
 * Selects the next rows of a scan as far as they fit into memory, which may be fewer than requested. Measuring them costs
 * Postgres as much as reading them. @param list the select list: expressions over the columns of `makeSelectList`, in `batch`
 */
export function selectBatch(rowScan: RowScan, nextRows: NextRows, list: string, bindValue: BindValue): string {
  const orderColumn = 'ids' in nextRows ? 'listed.place' : makeSourceColumn('id');
  const rowsSql = selectRows(
    rowScan,
    nextRows,
    `${orderColumn} AS place, ${makeSelectList(rowScan.shownColumns)}`,
    bindValue,
  );
  return `
    SELECT ${list} FROM (
      SELECT part.*, sum((${makeRowBytesSql(rowScan.shownColumns)})::float8)
        OVER (ORDER BY part.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM (${rowsSql}) AS part
    ) AS batch
    WHERE batch.before IS NULL OR batch.before < ${MAX_BATCH_BYTES}
    ORDER BY batch.place`;
}

/** Declares a cursor over the ids of the selected rows in this order; `FETCH_IDS_SQL` reads from it. */
export function declareIdCursor({ table, rowSelection }: RowScan, order: RowOrder): Statement {
  const { values, bindValue } = createBindings();
  const ids = `SELECT source."id" FROM ${makeFromSql(table)} ${makeWhereClause(makeConditions(rowSelection, bindValue))} ORDER BY ${makeOrderBySql(order, false)}`;
  return { text: `DECLARE walked NO SCROLL CURSOR FOR ${ids}`, values };
}

/** SQL that fetches the next ids of the cursor of `declareIdCursor`. */
export const FETCH_IDS_SQL = `FETCH ${BATCH_ROWS} FROM walked`;

/** Prevents changing, emptying or deleting a table until the transaction ends. Rows may be inserted and deleted. */
export const lockShape = (table: string): Statement => ({
  text: `LOCK TABLE ${quoteQualified('public', table)} IN ACCESS SHARE MODE`,
  values: [],
});

/** Returns the select list of a batch with unchanged values. */
export const makeRowSelectList = (columns: TableColumnDefinition[]): string =>
  ['batch."id"', ...columns.map((_, index) => `batch.c${index}`)].join(', ');

/**
 * Returns the select list for CSV, in unambiguous forms for each type: decimals with a point, datetimes with a time. @param escapesFormulas
 * whether texts must be written so that a spreadsheet does not treat them as formulas @param from the source of the values: the
 * table itself, or a batch of it
 */
export const makeCsvSelectList = (
  columns: TableColumnDefinition[],
  escapesFormulas: boolean,
  from: 'source' | 'batch',
): string =>
  [
    `${from}."id"`,
    ...columns.map(({ name, type }, index) => {
      const value = from === 'source' ? makeSourceColumn(name) : `batch.c${index}`;
      return (escapesFormulas && type === 'text' ? makeFormulaSafeSql : CSV_VALUE_FORMATTERS[type])(value);
    }),
  ].join(', ');

const keepValue = (value: string): string => value;

/** Returns SQL for a text that a spreadsheet does not treat as a formula: these first characters get a leading quote. */
export const makeFormulaSafeSql = (value: string): string =>
  `CASE WHEN left(${value}, 1) IN ('=', '+', '-', '@', E'\\t', E'\\r') THEN '''' || ${value} ELSE ${value} END`;

const CSV_VALUE_FORMATTERS: Record<ColumnType, (value: string) => string> = {
  text: keepValue,
  integer: keepValue,
  // Three digits after a point could be thousands.
  decimal: (value) =>
    `CASE scale(${value}) WHEN 0 THEN round(${value}, 1) WHEN 3 THEN round(${value}, 4) ELSE ${value} END`,
  // A cast takes five times as long.
  boolean: (value) => `CASE ${value} WHEN true THEN 'true' WHEN false THEN 'false' END`,
  date: keepValue,
  // Of a session in UTC.
  datetime: (value) => `replace(${value}::timestamp::text, ' ', 'T') || 'Z'`,
};
