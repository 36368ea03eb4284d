import { qualified, quoted } from './identifiers.ts';

/** Removes all rows of a table of schema `public`. Not TRUNCATE: whoever began to read before still sees them. */
export function deleteRows(table: string): string {
  return `DELETE FROM ${qualified('public', table)}`;
}

/**
 * Adds the rows of a table that was loaded in `console` to a table of schema `public`, in their order, with ids of now:
 * they stand after all rows that are there, however long ago they were staged.
 * @param columns names that both tables have
 */
export function appendRows(table: string, stagingId: string, columns: string[]): string {
  const names = columns.map((name) => quoted(name)).join(', ');
  const values = columns.map((name) => `staged.${quoted(name)}`).join(', ');
  // The counter that is the end of a staged id (see countRowIds), within a UUID that is drawn now.
  return `WITH drawn AS MATERIALIZED (SELECT left(uuidv7()::text, 24) AS beginning)
    INSERT INTO ${qualified('public', table)} ("id", ${names})
    SELECT (drawn.beginning || right(staged."id"::text, 12))::uuid, ${values}
    FROM ${qualified('console', stagingId)} AS staged CROSS JOIN drawn ORDER BY staged."id"`;
}

/** Frees what deleted rows took, so that reading need not step over them, unless somebody holds the table. Not within a transaction. */
export function vacuum(table: string): string {
  return `VACUUM (ANALYZE, SKIP_LOCKED) ${qualified('public', table)}`;
}
