import { POSTGRES_TYPES, type TableColumnDefinition } from './columns.ts';
import { quoteIdentifier, quoteQualified } from './identifiers.ts';
import { makeSourceColumn } from './row-filters.ts';

/** An SQL statement with its bound values. */
export interface Statement {
  text: string;
  values: unknown[];
}

/** The texts of a row by the index of their columns (see `toPostgresText`); a missing one is null. */
export type RowTexts = Record<number, string>;

/** The number of characters of texts after which a statement ends with the current row. */
const MAX_STATEMENT_LENGTH = 1024 * 1024;

/**
 * Makes statements that insert rows in their order; each must be run before the next is made, as all of them together take
 * several times the memory of the rows. Rows are sent as one JSON value, so that columns which a row leaves out take no space.
 * @param columns the columns that any of the rows has; others become null
 */
export function* makeInsertStatements(
  table: string,
  columns: TableColumnDefinition[],
  count: number,
  rows: Iterable<RowTexts>,
): Generator<Statement> {
  const target = quoteQualified('public', table);
  if (columns.length === 0) {
    yield { text: `INSERT INTO ${target} ("id") SELECT uuidv7() FROM generate_series(1, $1::int)`, values: [count] };
    return;
  }
  const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ');
  const fields = columns.map((_, index) => quoteIdentifier(String(index))).join(', ');
  const typedFields = columns
    .map(({ type }, index) => `${quoteIdentifier(String(index))} ${POSTGRES_TYPES[type]}`)
    .join(', ');
  const text = `INSERT INTO ${target} (${names}) SELECT ${fields} FROM json_to_recordset($1::json) AS sent(${typedFields})`;
  const remainingRows = Iterator.from(rows);
  for (let json = takeNextList(remainingRows); json !== ''; json = takeNextList(remainingRows))
    yield { text, values: [json] };
}

/**
 * Takes the next rows as one JSON list, which ends with the row that reaches `MAX_STATEMENT_LENGTH` characters; an empty text
 * if no row is left. A generator would, while its statement runs, keep the last row and the parts of the list in memory.
 */
function takeNextList(rows: Iterator<RowTexts>): string {
  let jsonList = '';
  while (jsonList.length < MAX_STATEMENT_LENGTH) {
    const { done, value } = rows.next();
    if (done) break;
    jsonList += `${jsonList === '' ? '[' : ','}${JSON.stringify(value)}`;
  }
  return jsonList && `${jsonList}]`;
}

/** The result of reading a row: nothing, only its size where it is larger than the limit, or the whole row. */
export type FoundRow = { id: string | null; bytes: string | null } & Record<string, string | boolean | null>;

/** Builds a statement that returns the row of another statement as a `FoundRow`. */
const buildLimited = (maxBytes: number, columns: TableColumnDefinition[], statement: string): string => `
  WITH found AS (${statement}), size AS (SELECT sum(${makeRowBytesSql(columns)}) AS bytes FROM found)
  SELECT size.bytes, found.* FROM size LEFT JOIN found ON size.bytes <= ${maxBytes}`;

/** Builds the statement that changes one row and selects it with the columns of `makeSelectList`. */
export function buildUpdateRow(
  table: string,
  columns: TableColumnDefinition[],
  rowId: string,
  changes: { column: TableColumnDefinition; text: string | null }[],
  maxBytes: number,
): Statement {
  const assignments = changes.map(
    ({ column }, index) => `${quoteIdentifier(column.name)} = $${index + 2}::${POSTGRES_TYPES[column.type]}`,
  );
  const updateSql = `UPDATE ${quoteQualified('public', table)} AS source SET ${assignments.join(', ')} WHERE source."id" = $1::uuid RETURNING ${makeSelectList(columns)}`;
  return { text: buildLimited(maxBytes, columns, updateSql), values: [rowId, ...changes.map(({ text }) => text)] };
}

/** Builds the statement that deletes one row and selects its id. */
export const buildDeleteRow = (table: string, rowId: string): Statement => ({
  text: `DELETE FROM ${quoteQualified('public', table)} WHERE "id" = $1::uuid RETURNING "id"`,
  values: [rowId],
});

const buildSelectById = (table: string, columns: TableColumnDefinition[]): string =>
  `SELECT ${makeSelectList(columns)} FROM ${quoteQualified('public', table)} AS source WHERE source."id" = $1::uuid`;

/** Builds the statement that selects one row with the columns of `makeSelectList`. */
export const buildSelectRow = (
  table: string,
  columns: TableColumnDefinition[],
  rowId: string,
  maxBytes: number,
): Statement => ({
  text: buildLimited(maxBytes, columns, buildSelectById(table, columns)),
  values: [rowId],
});

/**
 * Builds the statements that select one row like `buildSelectRow`, and lock it until the transaction ends. The table is locked
 * first, in the mode of the later write: otherwise this and a transaction that locks the table against writes and changes the row
 * would deadlock.
 */
export function buildLockRow(
  table: string,
  columns: TableColumnDefinition[],
  rowId: string,
  maxBytes: number,
): [lock: Statement, select: Statement] {
  const lockSql = `LOCK TABLE ${quoteQualified('public', table)} IN ROW EXCLUSIVE MODE`;
  return [
    { text: lockSql, values: [] },
    { text: buildLimited(maxBytes, columns, `${buildSelectById(table, columns)} FOR UPDATE`), values: [rowId] },
  ];
}

/**
 * Makes the select list of rows: `id`, then `c0`, `c1`, … by position, because a column may have a name that JavaScript's objects
 * treat specially (`__proto__`). The table is called `source`, because a user's column may be called `c0`, too.
 */
export const makeSelectList = (columns: TableColumnDefinition[]): string =>
  ['source."id"', ...columns.map(({ name }, index) => `${makeSourceColumn(name)} AS c${index}`)].join(', ');

/** Makes the SQL of the length of a row of `makeSelectList` as text, read from the header of long texts without fetching them. */
export function makeRowBytesSql(columns: TableColumnDefinition[]): string {
  const sizes = columns.flatMap(({ type }, index) => {
    if (type === 'text') return [`coalesce(octet_length(c${index}), 0)`];
    return type === 'decimal' ? [`coalesce(octet_length(c${index}::text), 0)`] : [];
  });
  return [`${36 + 32 * columns.length}::bigint`, ...sizes].join(' + ');
}
