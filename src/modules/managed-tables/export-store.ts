import type { TenantTx } from '../../tenant-sql/client.ts';
import { quoteQualified } from '../../tenant-sql/identifiers.ts';
import { lockShape } from './row-batches.ts';
import { type CatalogueRow, makeTableQuery, type TableKey } from './store.ts';

/** The maximum number of concurrent exports of a company: each takes a connection, and prevents changes of its table. */
export const MAX_CONCURRENT_EXPORTS = 4;
/** The first key of the advisory locks of exports, an arbitrary number; the second key is the slot. */
const EXPORT_LOCK_KEY = 728_346_192;

/** SQL that locks one of the company's `MAX_CONCURRENT_EXPORTS` slots until the transaction ends; no row if none is free. */
const LOCK_EXPORT_SLOT_SQL = `
  SELECT place FROM generate_series(1, ${MAX_CONCURRENT_EXPORTS}) AS place WHERE pg_try_advisory_xact_lock(${EXPORT_LOCK_KEY}, place) LIMIT 1`;

/** SQL that sets how dates and times are written as text, and makes Postgres plan cursors for reading all rows. */
const EXPORT_SETTINGS_SQL = `
  SELECT set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true),
    set_config('cursor_tuple_fraction', '1', true)`;

/** SQL that tells whether a table has long values: Postgres stores values that are long after compression in another table. */
const HAS_LONG_VALUES_SQL = `
  SELECT coalesce(pg_relation_size(reltoastrelid), 0) > 0 AS found FROM pg_class WHERE oid = $1::regclass`;

/**
 * Begins a transaction that exports a table. The lock comes before the snapshot, which the first SELECT takes: a transaction that
 * saw a table before it was emptied or rewritten would see no rows in it.
 */
export async function beginExport(tx: TenantTx, key: TableKey, table: string) {
  const [, , [row], places, [long]] = await tx.queryAll<[unknown, unknown, CatalogueRow, unknown, { found: boolean }]>([
    lockShape(table),
    { text: EXPORT_SETTINGS_SQL, values: [] },
    makeTableQuery(key),
    { text: LOCK_EXPORT_SLOT_SQL, values: [] },
    { text: HAS_LONG_VALUES_SQL, values: [quoteQualified('public', table)] },
  ]);
  return {
    hasSlot: places.length > 0,
    /** The current version of the table's schema; undefined where the table was deleted. */
    schemaVersion: row?.schema_version,
    rowCount: Number(row?.row_count),
    hasLongValues: long?.found ?? true,
  };
}
