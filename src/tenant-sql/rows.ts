import { type Column, POSTGRES_TYPES } from './columns.ts';
import { qualified, quoted } from './identifiers.ts';

/** A statement with its bound values. */
export interface Statement {
  text: string;
  values: unknown[];
}

/** The order of rows: by a column, or by insertion if there is none. */
export interface RowOrder {
  column: string;
  descending: boolean;
}

/**
 * Inserts rows in their order. They are sent as one JSON value, so that columns which a row leaves out take no space.
 * @param columns those that any of the rows has; others become null
 * @param rows per row, the texts by the column's position in `columns` (see `toPostgresText`); a text left out is null
 */
export function insertRows(table: string, columns: Column[], rows: Record<number, string>[]): Statement {
  const target = qualified('public', table);
  if (columns.length === 0) {
    return {
      text: `INSERT INTO ${target} ("id") SELECT uuidv7() FROM generate_series(1, $1::int)`,
      values: [rows.length],
    };
  }
  const names = columns.map(({ name }) => quoted(name)).join(', ');
  const fields = columns.map((_, index) => quoted(String(index))).join(', ');
  const typed = columns.map(({ type }, index) => `${quoted(String(index))} ${POSTGRES_TYPES[type]}`).join(', ');
  return {
    text: `INSERT INTO ${target} (${names}) SELECT ${fields} FROM json_to_recordset($1::json) AS sent(${typed})`,
    values: [JSON.stringify(rows)],
  };
}

/** Changes one row and returns it with the columns of `selectedColumns`. */
export function updateRow(
  table: string,
  columns: Column[],
  rowId: string,
  changes: { column: Column; text: string | null }[],
): Statement {
  const sets = changes.map(
    ({ column }, index) => `${quoted(column.name)} = $${index + 2}::${POSTGRES_TYPES[column.type]}`,
  );
  return {
    text: `UPDATE ${qualified('public', table)} SET ${sets.join(', ')} WHERE "id" = $1::uuid RETURNING ${selectedColumns(columns)}`,
    values: [rowId, ...changes.map(({ text }) => text)],
  };
}

export function deleteRow(table: string, rowId: string): Statement {
  return { text: `DELETE FROM ${qualified('public', table)} WHERE "id" = $1::uuid`, values: [rowId] };
}

/**
 * The select list of whole rows: `id`, then `c0`, `c1`, … by position, because a column may have a name that
 * JavaScript's objects treat specially (`__proto__`).
 */
function selectedColumns(columns: Column[]): string {
  return ['"id"', ...columns.map(({ name }, index) => `${quoted(name)} AS c${index}`)].join(', ');
}

/** The rows of a page, counted from the nearer end of the table. */
export interface Window {
  limit: number;
  offset: number;
  /** Whether they are counted from the end, in reverse order. */
  fromEnd: boolean;
}

/**
 * The window of rows `offset` to `offset + limit` among `total`. Pages near the end cost no more than the first ones.
 */
export function nearerWindow(total: number, offset: number, limit: number): Window {
  const after = total - offset - limit;
  if (offset <= after || offset >= total) return { limit, offset, fromEnd: false };
  return { limit: Math.min(limit, total - offset), offset: Math.max(0, after), fromEnd: true };
}

/**
 * Selects a page of rows. Every result row has `bytes` (the length of the page's values as text, a string of digits)
 * and one row of the table, whose columns are null if the page is empty or larger than `maxBytes`.
 */
export function selectRows(
  table: string,
  columns: Column[],
  order: RowOrder | null,
  window: Window,
  maxBytes: number,
): Statement {
  // The ids are selected first, with the columns of the order only: along the index, or in a sort that holds no whole
  // rows. Names are qualified, because a user's column may be called `c0` too.
  const inner = orderBy(order, window.fromEnd, (name) => `source.${quoted(name)}`);
  const outer = orderBy(order, false, (name) =>
    name === 'id' ? 'page."id"' : `page.c${columns.findIndex((column) => column.name === name)}`,
  );
  return {
    text: `
      WITH page AS MATERIALIZED (
        SELECT ${selectedColumns(columns)} FROM ${qualified('public', table)} WHERE "id" = ANY (ARRAY(
          SELECT source."id" FROM ${qualified('public', table)} AS source
          ORDER BY ${inner} LIMIT $1::bigint OFFSET $2::bigint
        ))
      ), size AS (
        SELECT coalesce(sum(${rowBytes(columns)}), 0) AS bytes FROM page
      )
      SELECT size.bytes, page.* FROM size LEFT JOIN page ON size.bytes <= $3::bigint ORDER BY ${outer}`,
    values: [window.limit, window.offset, maxBytes],
  };
}

/**
 * Nulls come last in both directions; ties are ordered by id, which is insertion order. `write` names a column in SQL.
 */
function orderBy(order: RowOrder | null, reversed: boolean, write: (column: string) => string): string {
  const direction = (descending: boolean) => (descending === reversed ? 'ASC' : 'DESC');
  if (!order || order.column === 'id') return `${write('id')} ${direction(order?.descending ?? false)}`;
  const nulls = reversed ? 'FIRST' : 'LAST';
  return `${write(order.column)} ${direction(order.descending)} NULLS ${nulls}, ${write('id')} ${direction(false)}`;
}

/** The length of a row as text, read from the header of long texts without fetching them. */
function rowBytes(columns: Column[]): string {
  const sizes = columns.flatMap(({ type }, index) => {
    if (type === 'text') return [`coalesce(octet_length(c${index}), 0)`];
    return type === 'decimal' ? [`coalesce(octet_length(c${index}::text), 0)`] : [];
  });
  return [`${36 + 32 * columns.length}`, ...sizes].join(' + ');
}
