import type { TenantTx } from '../../tenant-sql/client.ts';
import { quoteIdentifier, quoteQualified } from '../../tenant-sql/identifiers.ts';
import { INDEX_PREFIX } from '../../tenant-sql/indexes.ts';
import { CATALOGUE_COLUMNS_SQL, type CatalogueRow, makeTableQuery, type TableKey, toTable } from './store.ts';
import type { ManagedTable } from './table.ts';

/** An index as Postgres stores it. */
export interface StoredIndex {
  id: string;
  /** The names of the columns, in the order of the index. */
  columns: string[];
  unique: boolean;
  /** Whether the index was built completely, and is not being dropped. */
  valid: boolean;
}

/** SQL that selects the indexes from Postgres's catalogue, the only record: so every existing index is listed, and no other. */
const SELECT_INDEXES_SQL = `
  SELECT substr(named.relname::text, ${INDEX_PREFIX.length + 1}) AS id, listed.indisunique AS "unique",
    listed.indisvalid AS valid,
    ARRAY(
      SELECT attribute.attname::text FROM unnest(listed.indkey::smallint[]) WITH ORDINALITY AS key(attnum, place)
      JOIN pg_catalog.pg_attribute AS attribute
        ON attribute.attrelid = listed.indrelid AND attribute.attnum = key.attnum AND attribute.attname <> 'id'
      ORDER BY key.place
    ) AS columns
  FROM pg_catalog.pg_index AS listed JOIN pg_catalog.pg_class AS named ON named.oid = listed.indexrelid
  WHERE starts_with(named.relname::text, '${INDEX_PREFIX}') AND listed.indrelid = (
    SELECT to_regclass(format('public.%I', display_name)) FROM console.managed_tables
    WHERE id = $1 AND company_id = $2 AND deleted_at IS NULL
  )
  ORDER BY named.relname`;

/** Reads a table and its indexes, the oldest first; undefined when there is no such table or it is deleted. */
export async function readIndexes(
  tx: TenantTx,
  key: TableKey,
): Promise<{ table: ManagedTable; indexes: StoredIndex[] } | undefined> {
  const [[row], indexes] = await tx.queryAll<[CatalogueRow, StoredIndex]>([
    makeTableQuery(key),
    { text: SELECT_INDEXES_SQL, values: [key.id, key.companyId] },
  ]);
  return row && { table: toTable(row), indexes };
}

/** SQL for the columns that have a complete unique index of their own: no two rows have the same value there. */
const UNIQUE_COLUMNS_SQL = `ARRAY(
  SELECT attribute.attname::text FROM pg_catalog.pg_index AS listed
  JOIN pg_catalog.pg_attribute AS attribute
    ON attribute.attrelid = listed.indrelid AND attribute.attnum = (listed.indkey::smallint[])[0]
  WHERE listed.indrelid = to_regclass(format('public.%I', display_name))
    AND listed.indisunique AND listed.indisvalid AND listed.indnkeyatts = 1 AND listed.indpred IS NULL
)`;

/** Finds the company's tables with one of these ids or names, without deleted ones, and their unique columns. */
export async function findTablesWithUniqueColumns(
  tx: TenantTx,
  companyId: string,
  idsOrNames: string[],
): Promise<{ table: ManagedTable; uniqueColumns: string[] }[]> {
  const rows = await tx.query<CatalogueRow & { unique_columns: string[] }>(
    `SELECT ${CATALOGUE_COLUMNS_SQL}, ${UNIQUE_COLUMNS_SQL} AS unique_columns FROM console.managed_tables
     WHERE company_id = $1 AND deleted_at IS NULL AND (id = ANY($2) OR display_name = ANY($2)) ORDER BY display_name`,
    [companyId, idsOrNames],
  );
  return rows.map(({ unique_columns: uniqueColumns, ...row }) => ({ table: toTable(row), uniqueColumns }));
}

/** Returns the ids of the company's tables with an invalid index: one being built, or left by an interrupted build. */
export async function findTablesWithInvalidIndex(tx: TenantTx, companyId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT DISTINCT managed.id FROM pg_catalog.pg_index AS listed
     JOIN pg_catalog.pg_class AS named ON named.oid = listed.indexrelid
     JOIN console.managed_tables AS managed ON listed.indrelid = to_regclass(format('public.%I', managed.display_name))
     WHERE NOT listed.indisvalid AND starts_with(named.relname::text, '${INDEX_PREFIX}')
       AND managed.company_id = $1 AND managed.deleted_at IS NULL`,
    [companyId],
  );
  return rows.map(({ id }) => id);
}

/**
 * Finds the id of the row at a physical location (`ctid`) of the table, and its column with the longest value. Without a
 * location, of the row with the longest value of all.
 */
export async function findLongestValue(
  tx: TenantTx,
  table: string,
  columns: string[],
  location: string | undefined,
): Promise<{ id: string; column: string } | undefined> {
  const lengths = columns
    .map((name, index) => `(${index}, octet_length(source.${quoteIdentifier(name)}::text))`)
    .join(', ');
  const [row] = await tx.query<{ id: string; longest: number }>(
    `SELECT source."id", longest.at AS longest FROM ${quoteQualified('public', table)} AS source
     CROSS JOIN LATERAL (SELECT * FROM (VALUES ${lengths}) AS each(at, length) ORDER BY length DESC NULLS LAST LIMIT 1) AS longest
     ${location === undefined ? 'ORDER BY longest.length DESC NULLS LAST LIMIT 1' : 'WHERE source.ctid = $1::tid'}`,
    location === undefined ? [] : [location],
  );
  return row && { id: row.id, column: columns[row.longest] as string };
}

/**
 * Tells whether transactions are running that began before `since` (in Postgres's format) and would block building an index on
 * a table: those that write to it, and all that still see older data. With `includesReaders` also those that read it, which
 * block dropping an index. It is polled before the statement runs, as a blocked statement would hold up later transactions.
 * @param since null for the current time
 */
export async function checkBlockingTransactions(
  tx: TenantTx,
  table: string,
  since: string | null,
  includesReaders: boolean,
): Promise<{ since: string; found: boolean }> {
  const heldLockCondition = `held.pid = other.pid AND held.relation = to_regclass($2)`;
  const [row] = await tx.query<{ since: string; found: boolean }>(
    `SELECT begun.since, EXISTS (
       SELECT FROM pg_catalog.pg_stat_activity AS other
       WHERE other.datname = current_database() AND other.backend_type = 'client backend'
         AND other.pid <> pg_backend_pid() AND other.xact_start < begun.since
         AND (other.backend_xmin IS NOT NULL OR EXISTS (
           SELECT FROM pg_catalog.pg_locks AS held
           WHERE ${heldLockCondition} AND ($3::boolean OR held.mode NOT IN ('AccessShareLock', 'RowShareLock'))
         ))
     ) AS found
     FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS since) AS begun`,
    [since, quoteQualified('public', table), includesReaders],
  );
  return row as { since: string; found: boolean };
}

/** The first key of the advisory lock on a table's indexes, an arbitrary number; the second key is a hash of the table's id. */
const INDEX_LOCK_KEY = 728_346_191;

/**
 * Acquires the lock for changing a table's indexes, if it is free; it lasts as long as the connection, or until `unlockIndexes`.
 * Nobody waits for it inside the database: building an index waits for all running statements.
 */
export const tryLockIndexes = (tx: TenantTx, tableId: string): Promise<boolean> =>
  tryLock(tx, 'pg_try_advisory_lock', tableId);

/** Acquires the lock like `tryLockIndexes`, but until the transaction ends. */
export const tryLockForTransaction = (tx: TenantTx, tableId: string): Promise<boolean> =>
  tryLock(tx, 'pg_try_advisory_xact_lock', tableId);

async function tryLock(tx: TenantTx, lockFunction: string, tableId: string): Promise<boolean> {
  const text = `SELECT ${lockFunction}($1, hashtext($2)) AS taken`;
  const [row] = await tx.query<{ taken: boolean }>(text, [INDEX_LOCK_KEY, tableId]);
  return row?.taken === true;
}

export async function unlockIndexes(tx: TenantTx, tableId: string): Promise<void> {
  await tx.query('SELECT pg_advisory_unlock($1, hashtext($2))', [INDEX_LOCK_KEY, tableId]);
}
