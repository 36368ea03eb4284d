import { type Column, POSTGRES_TYPES } from './columns.ts';
import { qualified, quoted } from './identifiers.ts';
import { ofSource } from './row-filters.ts';

/** A statement with its bound values. */
export interface Statement {
  text: string;
  values: unknown[];
}

/** The texts of a row by the place of their columns (see `toPostgresText`); one left out is null. */
export type RowTexts = Record<number, string>;

/** A statement ends with the row that passes so many characters of texts. */
const STATEMENT_LENGTH = 1024 * 1024;

/**
 * Inserts rows in their order, by statements of which each is to be run before the next is made: all of them together
 * take several times the memory of the rows. Rows are sent as one JSON value, so that columns which a row leaves out take
 * no space.
 * @param columns those that any of the rows has; others become null
 */
export function* insertRows(
  table: string,
  columns: Column[],
  count: number,
  rows: Iterable<RowTexts>,
): Generator<Statement> {
  const target = qualified('public', table);
  if (columns.length === 0) {
    yield { text: `INSERT INTO ${target} ("id") SELECT uuidv7() FROM generate_series(1, $1::int)`, values: [count] };
    return;
  }
  const names = columns.map(({ name }) => quoted(name)).join(', ');
  const fields = columns.map((_, index) => quoted(String(index))).join(', ');
  const typed = columns.map(({ type }, index) => `${quoted(String(index))} ${POSTGRES_TYPES[type]}`).join(', ');
  const text = `INSERT INTO ${target} (${names}) SELECT ${fields} FROM json_to_recordset($1::json) AS sent(${typed})`;
  const rest = Iterator.from(rows);
  for (let json = nextList(rest); json !== ''; json = nextList(rest)) yield { text, values: [json] };
}

/**
 * Takes rows as one JSON list, of about as many characters as a statement has, or of one row; empty at the end. A function:
 * while its statement runs, a generator would hold the last row and what the list was put together from.
 */
function nextList(rows: Iterator<RowTexts>): string {
  let list = '';
  while (list.length < STATEMENT_LENGTH) {
    const { done, value } = rows.next();
    if (done) break;
    list += `${list === '' ? '[' : ','}${JSON.stringify(value)}`;
  }
  return list && `${list}]`;
}

/** The result of reading a row: nothing, its size alone where that is more than was asked for, or all of it. */
export type FoundRow = { id: string | null; bytes: string | null } & Record<string, string | boolean | null>;

/** The row that a statement gives, as a `FoundRow`. */
const limitedTo = (maxBytes: number, columns: Column[], statement: string): string => `
  WITH found AS (${statement}), size AS (SELECT sum(${rowBytes(columns)}) AS bytes FROM found)
  SELECT size.bytes, found.* FROM size LEFT JOIN found ON size.bytes <= ${maxBytes}`;

/** Changes one row and selects it with the columns of `selectedColumns`. */
export function updateRow(
  table: string,
  columns: Column[],
  rowId: string,
  changes: { column: Column; text: string | null }[],
  maxBytes: number,
): Statement {
  const sets = changes.map(
    ({ column }, index) => `${quoted(column.name)} = $${index + 2}::${POSTGRES_TYPES[column.type]}`,
  );
  const update = `UPDATE ${qualified('public', table)} AS source SET ${sets.join(', ')} WHERE source."id" = $1::uuid RETURNING ${selectedColumns(columns)}`;
  return { text: limitedTo(maxBytes, columns, update), values: [rowId, ...changes.map(({ text }) => text)] };
}

/** Deletes one row and selects its id. */
export const deleteRow = (table: string, rowId: string): Statement => ({
  text: `DELETE FROM ${qualified('public', table)} WHERE "id" = $1::uuid RETURNING "id"`,
  values: [rowId],
});

const rowOfId = (table: string, columns: Column[]): string =>
  `SELECT ${selectedColumns(columns)} FROM ${qualified('public', table)} AS source WHERE source."id" = $1::uuid`;

/** Selects one row with the columns of `selectedColumns`. */
export const selectRow = (table: string, columns: Column[], rowId: string, maxBytes: number): Statement => ({
  text: limitedTo(maxBytes, columns, rowOfId(table, columns)),
  values: [rowId],
});

/**
 * Selects one row like `selectRow`, and locks it until the transaction ends. The table is locked first, in the mode of the
 * later write: otherwise this and a transaction that locks the table against writes and changes the row would deadlock.
 */
export function lockRow(
  table: string,
  columns: Column[],
  rowId: string,
  maxBytes: number,
): [lock: Statement, select: Statement] {
  const lock = `LOCK TABLE ${qualified('public', table)} IN ROW EXCLUSIVE MODE`;
  return [
    { text: lock, values: [] },
    { text: limitedTo(maxBytes, columns, `${rowOfId(table, columns)} FOR UPDATE`), values: [rowId] },
  ];
}

/**
 * The select list of rows: `id`, then `c0`, `c1`, … by position, because a column may have a name that JavaScript's objects
 * treat specially (`__proto__`). The table is called `source`, because a user's column may be called `c0`, too.
 */
export const selectedColumns = (columns: Column[]): string =>
  ['source."id"', ...columns.map(({ name }, index) => `${ofSource(name)} AS c${index}`)].join(', ');

/** The length of a row of `selectedColumns` as text, read from the header of long texts without fetching them. */
export function rowBytes(columns: Column[]): string {
  const sizes = columns.flatMap(({ type }, index) => {
    if (type === 'text') return [`coalesce(octet_length(c${index}), 0)`];
    return type === 'decimal' ? [`coalesce(octet_length(c${index}::text), 0)`] : [];
  });
  return [`${36 + 32 * columns.length}::bigint`, ...sizes].join(' + ');
}
