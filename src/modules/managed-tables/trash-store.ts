import type { TenantTx } from '../../tenant-sql/client.ts';
import { toDatetimeJson } from '../../tenant-sql/values.ts';
import {
  CATALOGUE_COLUMNS_SQL,
  type CatalogueRow,
  CURRENT_TABLE_CONDITION,
  type Nullable,
  type TableKey,
  toTable,
} from './store.ts';
import type { DeletedTable, ManagedTable } from './table.ts';

/** Marks a table as deleted. The table must be locked. */
export async function markDeleted(tx: TenantTx, key: TableKey, at: string): Promise<void> {
  await tx.execute(
    `UPDATE console.managed_tables SET deleted_at = $3, updated_at = $3 WHERE ${CURRENT_TABLE_CONDITION}`,
    [key.id, key.companyId, at],
  );
}

const DELETED_SINCE_CONDITION = 'company_id = $1 AND deleted_at > $2';

/** Reads a page of the tables deleted after `deletedSince` (ISO 8601), the latest deleted first, with the exact total. */
export async function readTablesDeletedSince(
  tx: TenantTx,
  companyId: string,
  deletedSince: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ total: number; records: DeletedTable[] }> {
  const rows = await tx.query<{ total: string } & Nullable<CatalogueRow & { deleted_at: string }>>(
    `SELECT found.total, page.*
     FROM (SELECT count(*) AS total FROM console.managed_tables WHERE ${DELETED_SINCE_CONDITION}) AS found
     LEFT JOIN (
       SELECT ${CATALOGUE_COLUMNS_SQL}, deleted_at FROM console.managed_tables WHERE ${DELETED_SINCE_CONDITION}
       ORDER BY deleted_at DESC, id DESC LIMIT $3 OFFSET $4
     ) AS page ON true
     ORDER BY page.deleted_at DESC, page.id DESC`,
    [companyId, deletedSince, limit, offset],
  );
  return {
    total: Number(rows[0]?.total ?? 0),
    records: rows.flatMap(({ total: _, deleted_at: deletedAt, ...row }) =>
      row.id === null ? [] : [{ ...toTable(row as CatalogueRow), deletedAt: toDatetimeJson(deletedAt as string) }],
    ),
  };
}

/**
 * Restores a table that was deleted after `deletedSince` (ISO 8601) in the catalogue, and locks it. A taken name violates
 * `managed_tables_display_name`. @returns undefined when there is no such table
 */
export async function restoreDeletedTable(
  tx: TenantTx,
  key: TableKey,
  deletedSince: string,
  at: string,
): Promise<ManagedTable | undefined> {
  const [row] = await tx.query<CatalogueRow>(
    `UPDATE console.managed_tables SET deleted_at = NULL, updated_at = $4
     WHERE id = $1 AND company_id = $2 AND deleted_at > $3 RETURNING ${CATALOGUE_COLUMNS_SQL}`,
    [key.id, key.companyId, deletedSince, at],
  );
  return row && toTable(row);
}

/** Reads at most `limit` deleted tables, the earliest deleted first. `deletedAt` in milliseconds. */
export async function readDeletedTables(
  tx: TenantTx,
  companyId: string,
  limit: number,
): Promise<{ id: string; deletedAt: number }[]> {
  const rows = await tx.query<{ id: string; deleted_at: string }>(
    `SELECT id, (extract(epoch FROM deleted_at) * 1000)::bigint AS deleted_at FROM console.managed_tables
     WHERE company_id = $1 AND deleted_at IS NOT NULL ORDER BY managed_tables.deleted_at, id LIMIT $2`,
    [companyId, limit],
  );
  return rows.map((row) => ({ id: row.id, deletedAt: Number(row.deleted_at) }));
}

/**
 * Removes a table deleted at or before `deletedUntil` (ISO 8601) from the catalogue. @returns false if it is not there any
 * more, as after a restore
 */
export async function removeDeletedTable(tx: TenantTx, key: TableKey, deletedUntil: string): Promise<boolean> {
  const removedCount = await tx.execute(
    'DELETE FROM console.managed_tables WHERE id = $1 AND company_id = $2 AND deleted_at <= $3',
    [key.id, key.companyId, deletedUntil],
  );
  return removedCount === 1;
}
