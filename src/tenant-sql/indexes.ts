import { isPostgresError } from './client.ts';
import type { Column, ColumnType } from './columns.ts';
import { qualified, quoted } from './identifiers.ts';
import { toJsonValue } from './values.ts';

/** The beginning of the names of indexes that people made; no table's name can begin so. The index's id follows. */
export const INDEX_PREFIX = 'idx$';

const formatIndexName = (id: string): string => `${INDEX_PREFIX}${id}`;

/**
 * Returns the SQL that builds an index on a table of schema `public` without blocking writes. It must not run in a transaction.
 * A failed build leaves an invalid index that no query uses, but whose constraint is still enforced on writes: see `dropIndex`.
 * A non-unique index ends with the id, so that rows of equal value are in a fixed order and a page of them takes one index
 * scan.
 */
export function createIndex(table: string, id: string, columns: string[], unique: boolean): string {
  const keys = [...columns, ...(unique ? [] : ['id'])].map(quoted).join(', ');
  const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
  return `CREATE ${kind} CONCURRENTLY ${quoted(formatIndexName(id))} ON ${qualified('public', table)} (${keys})`;
}

/** Builds a unique index within a transaction. Until that ends, nobody else changes rows of the table. */
export function createUniqueIndexAtOnce(table: string, id: string, columns: string[]): string {
  return `CREATE UNIQUE INDEX ${quoted(formatIndexName(id))} ON ${qualified('public', table)} (${columns.map(quoted).join(', ')})`;
}

/** Drops an index of schema `public`, if it is there, without stopping writers. Must not be in a transaction. */
export const dropIndex = (id: string): string =>
  `DROP INDEX CONCURRENTLY IF EXISTS ${qualified('public', formatIndexName(id))}`;

/** The reason why an index refuses a row. */
export type IndexRefusal =
  | { why: 'duplicate'; columns: string[]; value: string }
  /** `id` of the index, where Postgres names it; `place` of the row, if it is stored and Postgres names it. */
  | { why: 'too_long'; id: string | undefined; place: string | undefined };

const KEY = /^Key \(([^)]*)\)=\((.*)\) (?:already exists|is duplicated)\.$/s;
const PLACE = /^Index row references tuple (\(\d+,\d+\)) /;

/** Beyond 8,191 bytes, compressed, an entry fits into no index: then Postgres names none. */
const TOO_LONG_FOR_ANY = /^index row requires \d+ bytes, maximum size is \d+$/;

/** Reads why an index that people made refuses a row; undefined for any other error. */
export function toIndexRefusal(error: unknown): IndexRefusal | undefined {
  if (!isPostgresError(error)) return undefined;
  if (error.code === '54000' && TOO_LONG_FOR_ANY.test(error.message)) {
    return { why: 'too_long', id: undefined, place: undefined };
  }
  if (!error.constraint?.startsWith(INDEX_PREFIX)) return undefined;
  if (error.code === '54000') {
    const id = error.constraint.slice(INDEX_PREFIX.length);
    return { why: 'too_long', id, place: PLACE.exec(error.detail ?? '')?.[1] };
  }
  if (error.code !== '23505') return undefined;
  const [, columns = '', value = ''] = KEY.exec(error.detail ?? '') ?? [];
  // Columns whose names are words of SQL stand in quotes.
  return { why: 'duplicate', columns: columns.split(', ').map((name) => name.replaceAll('"', '')), value };
}

/**
 * Words a duplicate value as rows show it: Postgres writes `t` and `2030-01-01 00:00:00+00`.
 * @param known the columns of the table, as they are or are to be
 */
export function formatDuplicate(
  { columns, value }: IndexRefusal & { why: 'duplicate' },
  known: readonly Pick<Column, 'name' | 'type'>[],
): string {
  const types = columns.map((name) => known.find((column) => column.name === name)?.type ?? 'text');
  // A text may hold what stands between the values.
  const parts = new RegExp(`^${types.map((type) => VALUES[type]).join(', ')}$`, 's').exec(value);
  if (!parts) return value;
  const shown = types.map((type, index) => {
    const part = parts[index + 1] as string;
    return String(toJsonValue(type, type === 'boolean' ? part === 't' : part));
  });
  return shown.join(', ');
}

/** What the values of each type look like in Postgres's words. */
const VALUES: Record<ColumnType, string> = {
  text: '(.*)',
  integer: '([^,]*)',
  decimal: '([^,]*)',
  boolean: '([tf])',
  date: '([^,]*)',
  datetime: '([^,]*)',
};
