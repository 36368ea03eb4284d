import type { TenantTx } from '../../tenant-sql/client.ts';
import { qualified } from '../../tenant-sql/identifiers.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { lockShape } from './row-batches.ts';
import { type CatalogueRow, selectTable, type TableKey } from './store.ts';

/** The maximum number of exports of a company at once: each takes a connection, and keeps its table as it is. */
export const MAX_EXPORTS = 4;
/** The first key of the advisory locks of exports, an arbitrary number; the second is the place. */
const EXPORT_LOCK_KEY = 728_346_192;

/** Locks one of the company's `MAX_EXPORTS` slots for exports until the transaction ends; no row if none is free. */
const TAKE_EXPORT_SLOT = `
  SELECT place FROM generate_series(1, ${MAX_EXPORTS}) AS place WHERE pg_try_advisory_xact_lock(${EXPORT_LOCK_KEY}, place) LIMIT 1`;

/** Settings for the text of values, and for a cursor that is read to its end. */
const EXPORT_SETTINGS = `
  SELECT set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true),
    set_config('cursor_tuple_fraction', '1', true)`;

/** The state in which an export begins. */
export interface ExportStart {
  hasPlace: boolean;
  /** The present version of the table's schema; undefined where the table is gone. */
  schemaVersion: number | undefined;
  rowCount: number;
  /** Whether values of the table are stored apart from its rows. */
  hasLongValues: boolean;
}

/** Selects whether the table has long values: Postgres stores values that are long after compression in another table. */
const selectHasLongValues = (table: string): Statement => ({
  text: `SELECT coalesce(pg_relation_size(reltoastrelid), 0) > 0 AS found FROM pg_class WHERE oid = $1::regclass`,
  values: [qualified('public', table)],
});

/**
 * Begins a transaction that exports a table. The lock comes before the snapshot, which the first SELECT takes: a
 * transaction that saw a table before it was emptied or rewritten would see no rows in it.
 */
export async function enterExport(tx: TenantTx, key: TableKey, table: string): Promise<ExportStart> {
  const [, , [row], places, [long]] = await tx.queryAll<[unknown, unknown, CatalogueRow, unknown, { found: boolean }]>([
    lockShape(table),
    { text: EXPORT_SETTINGS, values: [] },
    selectTable(key),
    { text: TAKE_EXPORT_SLOT, values: [] },
    selectHasLongValues(table),
  ]);
  return {
    hasPlace: places.length > 0,
    schemaVersion: row?.schema_version,
    rowCount: Number(row?.row_count),
    hasLongValues: long?.found ?? true,
  };
}
