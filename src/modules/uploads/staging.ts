import { literal, qualified, quoted } from '../../tenant-sql/identifiers.ts';

/** The table of schema `console` that holds the rows of a load until all are there, named by the id of its table. */
export const formatStagingTable = (tableId: string): string => qualified('console', tableId);

/** Draws the first characters of the ids of rows that are added together: the rest of each is its counter (see `countRowIds`). */
export const DRAW_BEGINNING = 'SELECT left(uuidv7()::text, 24) AS beginning';

/**
 * Appends the rows of a table that was loaded in `console` to a table of schema `public`, in their order. They get new
 * ids, so they come after all existing rows, however long ago they were staged.
 * @param columns names that both tables have
 * @param beginning the first characters of the new ids, drawn while the table is locked
 */
export function appendRows(table: string, stagingId: string, columns: string[], beginning: string): string {
  const names = columns.map((name) => quoted(name)).join(', ');
  const values = columns.map((name) => `staged.${quoted(name)}`).join(', ');
  return `INSERT INTO ${qualified('public', table)} ("id", ${names})
    SELECT (${literal(beginning)} || right(staged."id"::text, 12))::uuid, ${values}
    FROM ${formatStagingTable(stagingId)} AS staged ORDER BY staged."id"`;
}

/**
 * Selects the staged row with the longest value of these columns, as it is stored: its number in the load, from 1, and the
 * position of the column with the beginning of the value.
 */
export function selectLongest(stagingId: string, columns: string[]): string {
  const values = columns.map(
    (name, at) => `(${at}, pg_column_size(staged.${quoted(name)}), staged.${quoted(name)}::text)`,
  );
  const earlier = `SELECT count(*) FROM ${formatStagingTable(stagingId)} AS earlier WHERE earlier."id" <= staged."id"`;
  return `SELECT (${earlier}) AS row, longest.at, left(longest.value, 300) AS value
    FROM ${formatStagingTable(stagingId)} AS staged CROSS JOIN LATERAL (VALUES ${values.join(', ')}) AS longest(at, size, value)
    ORDER BY longest.size DESC NULLS LAST, staged."id" LIMIT 1`;
}

/** Frees the space of deleted rows, unless the table is locked. Must not be in a transaction. */
export function buildVacuum(table: string): string {
  return `VACUUM (ANALYZE, SKIP_LOCKED) ${qualified('public', table)}`;
}
