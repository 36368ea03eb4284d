import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../tenant-sql/identifiers.ts';

/** Formats the name of a staging table by its id: a table of `console` that holds the rows of a load until all are loaded. */
export const formatStagingTable = (tableId: string): string => quoteQualified('console', tableId);

/** The SQL that draws the beginning of the ids of rows added together; the rest of each is its counter (see `countRowIds`). */
export const SELECT_ID_PREFIX_SQL = 'SELECT left(uuidv7()::text, 24) AS beginning';

/**
 * Builds the statement that appends the rows of a staging table in `console` to a table of schema `public`, in their order. The
 * rows get new ids, so they come after all existing rows, however long ago they were staged. @param columns names that both
 * tables have @param idPrefix the first characters of the new ids, drawn while the table is locked
 */
export function buildAppendRows(table: string, stagingId: string, columns: string[], idPrefix: string): string {
  const names = columns.map((name) => quoteIdentifier(name)).join(', ');
  const values = columns.map((name) => `staged.${quoteIdentifier(name)}`).join(', ');
  return `INSERT INTO ${quoteQualified('public', table)} ("id", ${names})
    SELECT (${quoteLiteral(idPrefix)} || right(staged."id"::text, 12))::uuid, ${values}
    FROM ${formatStagingTable(stagingId)} AS staged ORDER BY staged."id"`;
}

/**
 * Builds the statement that selects, for the staged row with the longest stored value in these columns: the row's number in the
 * load, from 1, the position of the value's column, and the beginning of the value.
 */
export function buildSelectLongest(stagingId: string, columns: string[]): string {
  const values = columns.map(
    (name, at) => `(${at}, pg_column_size(staged.${quoteIdentifier(name)}), staged.${quoteIdentifier(name)}::text)`,
  );
  const countEarlierSql = `SELECT count(*) FROM ${formatStagingTable(stagingId)} AS earlier WHERE earlier."id" <= staged."id"`;
  return `SELECT (${countEarlierSql}) AS row, longest.at, left(longest.value, 300) AS value
    FROM ${formatStagingTable(stagingId)} AS staged CROSS JOIN LATERAL (VALUES ${values.join(', ')}) AS longest(at, size, value)
    ORDER BY longest.size DESC NULLS LAST, staged."id" LIMIT 1`;
}

/** Builds the statement that frees the space of deleted rows, unless the table is locked. It must not run in a transaction. */
export function buildVacuum(table: string): string {
  return `VACUUM (ANALYZE, SKIP_LOCKED) ${quoteQualified('public', table)}`;
}
