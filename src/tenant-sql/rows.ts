import { type Column, POSTGRES_TYPES } from './columns.ts';
import { qualified, quoted } from './identifiers.ts';
import { ofSource } from './row-filters.ts';

/** A statement with its bound values. */
export interface Statement {
  text: string;
  values: unknown[];
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
    text: `UPDATE ${qualified('public', table)} AS source SET ${sets.join(', ')} WHERE source."id" = $1::uuid RETURNING ${selectedColumns(columns)}`,
    values: [rowId, ...changes.map(({ text }) => text)],
  };
}

export function deleteRow(table: string, rowId: string): Statement {
  return { text: `DELETE FROM ${qualified('public', table)} WHERE "id" = $1::uuid`, values: [rowId] };
}

/** Selects one row with the columns of `selectedColumns`. */
export function selectRow(table: string, columns: Column[], rowId: string): Statement {
  return {
    text: `SELECT ${selectedColumns(columns)} FROM ${qualified('public', table)} AS source WHERE source."id" = $1::uuid`,
    values: [rowId],
  };
}

/** The same, and nobody else changes the row until the transaction ends. */
export function lockRow(table: string, columns: Column[], rowId: string): Statement {
  const { text, values } = selectRow(table, columns, rowId);
  return { text: `${text} FOR UPDATE`, values };
}

/**
 * The select list of rows: `id`, then `c0`, `c1`, … by position, because a column may have a name that JavaScript's objects
 * treat specially (`__proto__`). The table is called `source`, because a user's column may be called `c0`, too.
 */
export function selectedColumns(columns: Column[]): string {
  return ['source."id"', ...columns.map(({ name }, index) => `${ofSource(name)} AS c${index}`)].join(', ');
}
