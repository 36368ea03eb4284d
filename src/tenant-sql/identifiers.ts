/** Names of managed tables and of their columns. */
export const IDENTIFIER_PATTERN = /^[a-z_][a-z0-9_]*$/;

/** Postgres cuts longer names silently; they are ASCII, so characters are bytes. */
export const MAX_IDENTIFIER_LENGTH = 63;

/** Column names that every table has already: the row id and Postgres's system columns. */
export const RESERVED_COLUMN_NAMES: ReadonlySet<string> = new Set([
  'id',
  'ctid',
  'xmin',
  'xmax',
  'cmin',
  'cmax',
  'tableoid',
]);

/**
 * Schemas of a company's database: `console` is the service's own, `public` holds the tables under their display names,
 * `trash` the deleted ones under their ids.
 */
export type TenantSchema = 'console' | 'public' | 'trash';

/** An identifier as it may stand in SQL, whatever characters or keywords it is made of. The only place that quotes. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A table with its schema as it may stand in SQL. */
export function qualified(schema: TenantSchema, table: string): string {
  return `${quoted(schema)}.${quoted(table)}`;
}

/**
 * A text as it may stand in SQL, for statements that take no bound values. Never for text of other people where those
 * are to be had.
 */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
