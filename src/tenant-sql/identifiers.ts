export const IDENTIFIER_PATTERN = /^[a-z_][a-z0-9_]*$/;

/** The maximum length of a name. Postgres silently cuts longer names. Names are ASCII, so characters are bytes. */
export const MAX_IDENTIFIER_LENGTH = 63;

/** Column names that every table already has: the row id and Postgres's system columns. */
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
 * The schemas of a company's database: `console` for internal tables, `public` for managed tables by their display names, `trash`
 * for deleted tables by their ids, `kept` for rows that loads have replaced.
 */
export type TenantSchema = 'console' | 'public' | 'trash' | 'kept';

/** Quotes an identifier for SQL, whatever its characters or keywords. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Quotes a table's name with its schema. */
export const quoteQualified = (schema: TenantSchema, table: string): string =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;

/** Quotes a text for SQL that takes no bound values. Never use it for users' text where values can be bound. */
export const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;
