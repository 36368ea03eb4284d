import { isPostgresError } from './client.ts';
import type { ColumnType, TableColumnDefinition } from './columns.ts';
import { quoteIdentifier, quoteQualified } from './identifiers.ts';
import { toJsonValue } from './values.ts';

/** The prefix of the names of indexes that users made, followed by the index's id; no table's name can begin with it. */
export const INDEX_PREFIX = 'idx$';

const formatIndexName = (id: string): string => `${INDEX_PREFIX}${id}`;

/**
 * Builds the statement that creates an index on a table of schema `public` without blocking writes. It must not run in a
 * transaction. A failed build leaves an invalid index that no query uses, but whose constraint is still enforced on writes: see
 * `buildDropIndex`. A non-unique index ends with the id, so that rows of equal value are in a fixed order and a page of them
 * takes one index scan.
 */
export function buildCreateIndex(table: string, id: string, columns: string[], isUnique: boolean): string {
  const keys = [...columns, ...(isUnique ? [] : ['id'])].map(quoteIdentifier).join(', ');
  const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX';
  return `CREATE ${kind} CONCURRENTLY ${quoteIdentifier(formatIndexName(id))} ON ${quoteQualified('public', table)} (${keys})`;
}

/** Builds the statement that creates a unique index within a transaction, until whose end no other changes rows of the table. */
export function buildCreateUniqueIndex(table: string, id: string, columns: string[]): string {
  return `CREATE UNIQUE INDEX ${quoteIdentifier(formatIndexName(id))} ON ${quoteQualified('public', table)} (${columns.map(quoteIdentifier).join(', ')})`;
}

/** Builds the statement that drops an index, if it exists, without blocking writes. It must not run in a transaction. */
export const buildDropIndex = (id: string): string =>
  `DROP INDEX CONCURRENTLY IF EXISTS ${quoteQualified('public', formatIndexName(id))}`;

/** The reason why an index rejects a row. */
export type IndexRefusal =
  | { reason: 'duplicate'; columns: string[]; value: string }
  /** `id` of the index, where Postgres names it; `place` of the row, if it is stored and Postgres names it. */
  | { reason: 'too_long'; id: string | undefined; place: string | undefined };

const KEY_DETAIL_PATTERN = /^Key \(([^)]*)\)=\((.*)\) (?:already exists|is duplicated)\.$/s;
const ROW_PLACE_PATTERN = /^Index row references tuple (\(\d+,\d+\)) /;

/** The message for an entry that fits into no index, beyond 8,191 bytes when compressed: Postgres then names no index. */
const TOO_LONG_FOR_ANY_PATTERN = /^index row requires \d+ bytes, maximum size is \d+$/;

/** Reads why an index that users made rejects a row; undefined for any other error. */
export function toIndexRefusal(error: unknown): IndexRefusal | undefined {
  if (!isPostgresError(error)) return undefined;
  if (error.code === '54000' && TOO_LONG_FOR_ANY_PATTERN.test(error.message)) {
    return { reason: 'too_long', id: undefined, place: undefined };
  }
  if (!error.constraint?.startsWith(INDEX_PREFIX)) return undefined;
  if (error.code === '54000') {
    const id = error.constraint.slice(INDEX_PREFIX.length);
    return { reason: 'too_long', id, place: ROW_PLACE_PATTERN.exec(error.detail ?? '')?.[1] };
  }
  if (error.code !== '23505') return undefined;
  const [, columns = '', value = ''] = KEY_DETAIL_PATTERN.exec(error.detail ?? '') ?? [];
  // Columns whose names are words of SQL stand in quotes.
  return { reason: 'duplicate', columns: columns.split(', ').map((name) => name.replaceAll('"', '')), value };
}

/**
 * Formats a duplicate value as rows show it, where Postgres writes `t` and `2030-01-01 00:00:00+00`. @param
 * knownColumns the columns of the table, as they are or are to be
 */
export function formatDuplicate(
  { columns, value }: IndexRefusal & { reason: 'duplicate' },
  knownColumns: readonly Pick<TableColumnDefinition, 'name' | 'type'>[],
): string {
  const types = columns.map((name) => knownColumns.find((column) => column.name === name)?.type ?? 'text');
  // A text may hold what stands between the values.
  const parts = new RegExp(`^${types.map((type) => VALUE_PATTERNS[type]).join(', ')}$`, 's').exec(value);
  if (!parts) return value;
  const shownValues = types.map((type, index) => {
    const part = parts[index + 1] as string;
    return String(toJsonValue(type, type === 'boolean' ? part === 't' : part));
  });
  return shownValues.join(', ');
}

/** The pattern of a value of each type in Postgres's message about a duplicate. */
const VALUE_PATTERNS: Record<ColumnType, string> = {
  text: '(.*)',
  integer: '([^,]*)',
  decimal: '([^,]*)',
  boolean: '([tf])',
  date: '([^,]*)',
  datetime: '([^,]*)',
};
