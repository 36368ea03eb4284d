import { qualified, quoted } from './identifiers.ts';

/**
 * Removes all rows of a table of schema `public`. Unlike TRUNCATE, DELETE keeps them visible to transactions that began
 * before.
 */
export function deleteRows(table: string): string {
  return `DELETE FROM ${qualified('public', table)}`;
}

/**
 * Appends the rows of a table that was loaded in `console` to a table of schema `public`, in their order. They get new
 * ids, so they come after all existing rows, however long ago they were staged.
 * @param columns names that both tables have
 */
export function appendRows(table: string, stagingId: string, columns: string[]): string {
  const names = columns.map((name) => quoted(name)).join(', ');
  const values = columns.map((name) => `staged.${quoted(name)}`).join(', ');
  // The last digits of a staged id are its counter (see countRowIds); they go into one new UUID.
  return `WITH drawn AS MATERIALIZED (SELECT left(uuidv7()::text, 24) AS beginning)
    INSERT INTO ${qualified('public', table)} ("id", ${names})
    SELECT (drawn.beginning || right(staged."id"::text, 12))::uuid, ${values}
    FROM ${qualified('console', stagingId)} AS staged CROSS JOIN drawn ORDER BY staged."id"`;
}

/** Frees the space of deleted rows, unless the table is locked. Must not be in a transaction. */
export function vacuum(table: string): string {
  return `VACUUM (ANALYZE, SKIP_LOCKED) ${qualified('public', table)}`;
}
