import type { Column, ColumnType } from '../../tenant-sql/columns.ts';
import { qualified } from '../../tenant-sql/identifiers.ts';
import {
  type Bind,
  bindings,
  makeConditions,
  ofSource,
  type RowSelection,
  where,
} from '../../tenant-sql/row-filters.ts';
import { rowBytes, type Statement, selectedColumns } from '../../tenant-sql/rows.ts';
import { fromSql, orderBySql, type RowOrder } from './row-pages.ts';

/** The maximum number of rows of a batch. */
export const BATCH_ROWS = 20_000;
/** The bytes of values that end a batch: with the row that exceeds them. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** The number of rows that `selectBatch` takes, where texts and decimals have some 16 bytes on average. */
export const computeUsualBatchRows = (shown: Column[]): number =>
  Math.min(BATCH_ROWS, Math.ceil(BATCH_BYTES / (36 + (32 + 16) * shown.length)));

/** A walk through rows of a table. */
export interface RowWalk {
  table: string;
  /** The columns to show, besides `id`. */
  shown: Column[];
  rows: RowSelection;
}

/** The next rows: up to `rows` after an id, in insertion order, or those with these ids. */
export type NextRows = { after: string | null; rows: number } | { ids: string[] };

/**
 * Selects the next rows of a walk in its order.
 * @param list the select list: expressions over the table, called `source`
 */
export function selectRows({ table, rows }: RowWalk, next: NextRows, list: string, bind: Bind): string {
  if ('ids' in next)
    return `
      SELECT ${list}
      FROM unnest(${bind(next.ids)}::uuid[]) WITH ORDINALITY AS listed(row_id, place)
      JOIN ${fromSql(table)} ON source."id" = listed.row_id
      ORDER BY listed.place`;
  const id = ofSource('id');
  const conditions = makeConditions(rows, bind);
  if (next.after !== null) conditions.push(`${id} > ${bind(next.after)}::uuid`);
  return `SELECT ${list} FROM ${fromSql(table)} ${where(conditions)} ORDER BY ${id} LIMIT ${next.rows}`;
}

/**
 * Selects the next rows of a walk as far as they fit into memory, which may be fewer than asked for. Measuring them
 * costs Postgres as much as to read them.
 * @param list the select list: expressions over the columns of `selectedColumns`, in `batch`
 */
export function selectBatch(walk: RowWalk, next: NextRows, list: string, bind: Bind): string {
  const place = 'ids' in next ? 'listed.place' : ofSource('id');
  const part = selectRows(walk, next, `${place} AS place, ${selectedColumns(walk.shown)}`, bind);
  return `
    SELECT ${list} FROM (
      SELECT part.*, sum((${rowBytes(walk.shown)})::float8)
        OVER (ORDER BY part.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM (${part}) AS part
    ) AS batch
    WHERE batch.before IS NULL OR batch.before < ${BATCH_BYTES}
    ORDER BY batch.place`;
}

/** Opens a cursor over the ids of the selected rows in this order; `FETCH_IDS` reads from it. */
export function declareIds({ table, rows }: RowWalk, order: RowOrder): Statement {
  const { values, bind } = bindings();
  const ids = `SELECT source."id" FROM ${fromSql(table)} ${where(makeConditions(rows, bind))} ORDER BY ${orderBySql(order, false)}`;
  return { text: `DECLARE walked NO SCROLL CURSOR FOR ${ids}`, values };
}

/** Fetches the next ids of the cursor of `declareIds`. */
export const FETCH_IDS = `FETCH ${BATCH_ROWS} FROM walked`;

/** Prevents that a table is changed, emptied or deleted until the transaction ends. Rows may be inserted and deleted. */
export const lockShape = (table: string): Statement => ({
  text: `LOCK TABLE ${qualified('public', table)} IN ACCESS SHARE MODE`,
  values: [],
});

/** The select list of a batch with unchanged values. */
export const rowsSelectList = (columns: Column[]): string =>
  ['batch."id"', ...columns.map((_, index) => `batch.c${index}`)].join(', ');

/**
 * The select list for CSV, in forms that only one type has: decimals with a point, datetimes with a time.
 * @param safe whether texts must be written so that a spreadsheet takes none for a formula
 * @param from the source of the values: the table itself, or a batch of it
 */
export const csvSelectList = (columns: Column[], safe: boolean, from: 'source' | 'batch'): string =>
  [
    `${from}."id"`,
    ...columns.map(({ name, type }, index) => {
      const value = from === 'source' ? ofSource(name) : `batch.c${index}`;
      return (safe && type === 'text' ? withoutFormulaSql : CSV_VALUES[type])(value);
    }),
  ].join(', ');

const keepValue = (value: string): string => value;

/** The SQL of a text that a spreadsheet takes for no formula: a quote goes before these first characters. */
export const withoutFormulaSql = (value: string): string =>
  `CASE WHEN left(${value}, 1) IN ('=', '+', '-', '@', E'\\t', E'\\r') THEN '''' || ${value} ELSE ${value} END`;

const CSV_VALUES: Record<ColumnType, (value: string) => string> = {
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
