import type { Column, ColumnType } from './columns.ts';
import { qualified } from './identifiers.ts';
import { type Bind, bindings, conditionsOf, ofSource, type RowSelection, where } from './row-filters.ts';
import { orderBy, type RowOrder, rowBytes, sourceOf } from './row-pages.ts';
import { type Statement, selectedColumns } from './rows.ts';

/** The most rows of a batch. */
const BATCH_ROWS = 20_000;
/** A batch ends with the row that passes this many bytes of values. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** The rows that are walked through. */
export interface Walk {
  table: string;
  /** The columns to show, besides `id`. */
  shown: Column[];
  rows: RowSelection;
}

/** Which rows come next: those after an id, in insertion order, or the first of these. */
export type Next = { after: string | null } | { ids: string[] };

/**
 * Selects the next rows of a walk in its order: no more than fit into memory.
 * @param list what is selected of each: expressions over the columns of `selectedColumns`
 */
export function selectBatch(walk: Walk, next: Next, list: string, bind: Bind): string {
  return `
    SELECT ${list} FROM (
      SELECT part.*, sum((${rowBytes(walk.shown)})::float8)
        OVER (ORDER BY part.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM (${partOf(walk, next, bind)}) AS part
    ) AS batch
    WHERE batch.before IS NULL OR batch.before < ${BATCH_BYTES}
    ORDER BY batch.place`;
}

function partOf({ table, shown, rows }: Walk, next: Next, bind: Bind): string {
  if ('ids' in next)
    return `
      SELECT listed.place, ${selectedColumns(shown)}
      FROM unnest(${bind(next.ids)}::uuid[]) WITH ORDINALITY AS listed(row_id, place)
      JOIN ${sourceOf(table)} ON source."id" = listed.row_id
      ORDER BY listed.place`;
  const id = ofSource('id');
  const conditions = conditionsOf(rows, bind);
  if (next.after !== null) conditions.push(`${id} > ${bind(next.after)}::uuid`);
  return `
    SELECT ${id} AS place, ${selectedColumns(shown)} FROM ${sourceOf(table)}
    ${where(conditions)} ORDER BY ${id} LIMIT ${BATCH_ROWS}`;
}

/** Opens a cursor of the ids of the selected rows in this order; `FETCH_IDS` reads on. */
export function declareIds({ table, rows }: Walk, order: RowOrder): Statement {
  const { values, bind } = bindings();
  const ids = `SELECT source."id" FROM ${sourceOf(table)} ${where(conditionsOf(rows, bind))} ORDER BY ${orderBy(order, false)}`;
  return { text: `DECLARE walked NO SCROLL CURSOR FOR ${ids}`, values };
}

/** The next ids of the cursor of `declareIds`. */
export const FETCH_IDS = `FETCH ${BATCH_ROWS} FROM walked`;

/** Keeps a table from being changed, emptied or deleted until the transaction ends. Rows may come and go. */
export const lockShape = (table: string): Statement => ({
  text: `LOCK TABLE ${qualified('public', table)} IN ACCESS SHARE MODE`,
  values: [],
});

/** The select list of a batch as it is. */
export const asRows = (columns: Column[]): string =>
  ['batch."id"', ...columns.map((_, index) => `batch.c${index}`)].join(', ');

/**
 * The select list of a batch for CSV, in words that only one type has: decimals with a point, datetimes with a time.
 * @param safe whether a spreadsheet must take no text for a formula
 */
export const asCsv = (columns: Column[], safe: boolean): string =>
  [
    'batch."id"',
    ...columns.map(({ type }, index) => (safe && type === 'text' ? noFormula : CSV[type])(`batch.c${index}`)),
  ].join(', ');

const asItIs = (value: string): string => value;

/** A spreadsheet that reads one of these first takes the rest for a formula. */
const noFormula = (value: string): string =>
  `CASE WHEN left(${value}, 1) IN ('=', '+', '-', '@', E'\\t', E'\\r') THEN '''' || ${value} ELSE ${value} END`;

const CSV: Record<ColumnType, (value: string) => string> = {
  text: asItIs,
  integer: asItIs,
  // Three digits after a point could be thousands.
  decimal: (value) =>
    `CASE scale(${value}) WHEN 0 THEN ${value}::text || '.0' WHEN 3 THEN ${value}::text || '0' ELSE ${value}::text END`,
  boolean: (value) => `${value}::text`,
  date: asItIs,
  // Of a session in UTC.
  datetime: (value) => `replace(replace(${value}::text, ' ', 'T'), '+00', 'Z')`,
};
