import type { Denials } from '../../permissions/denials.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { type RowOf, toRecord } from '../../tenant-sql/records.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { toDatetimeJson } from '../../tenant-sql/values.ts';
import type { ManagedTable } from './table.ts';

/** The id of a table and of its company. Every statement on the catalogue filters by both. */
export interface TableKey {
  id: string;
  companyId: string;
}

/** A table's row in the catalogue, selected by {@link CATALOGUE_COLUMNS_SQL}. */
export type CatalogueRow = RowOf<Omit<ManagedTable, 'rowCount'>> & { row_count: string };

/** SQL that selects the changes of a table's row count and time of last change that are stored beside its row. */
const ROW_COUNT_CHANGES_SQL = 'FROM console.row_count_changes AS beside WHERE beside.table_id = managed_tables.id';

/** SQL for the columns of a {@link CatalogueRow}, of `console.managed_tables` under its own name. */
export const CATALOGUE_COLUMNS_SQL = `
  id, company_id, display_name, columns, source, status,
  row_count + coalesce((SELECT sum(beside.change) ${ROW_COUNT_CHANGES_SQL}), 0)::bigint AS row_count,
  schema_version, created_by_user_id, created_at,
  greatest(updated_at, (SELECT max(beside.changed_at) ${ROW_COUNT_CHANGES_SQL})) AS updated_at`;

/** The SQL condition for the table of a {@link TableKey}, as the first two values, unless it is deleted. */
export const CURRENT_TABLE_CONDITION = 'id = $1 AND company_id = $2 AND deleted_at IS NULL';

const HAS_ACTIVE_UPLOAD_SQL = `EXISTS (
  SELECT FROM console.upload_jobs AS job
  WHERE job.user_table_id = $1 AND job.status IN ('queued', 'analisando', 'waiting_confirm', 'inserting'))`;

export const toTable = ({ row_count: rowCount, ...row }: CatalogueRow): ManagedTable => ({
  ...toRecord<Omit<ManagedTable, 'rowCount'>>(row),
  rowCount: Number(rowCount),
  createdAt: toDatetimeJson(row.created_at),
  updatedAt: toDatetimeJson(row.updated_at),
});

/** Selects a table unless it is deleted; `toTable` converts the row. */
export const makeTableQuery = ({ id, companyId }: TableKey): Statement => ({
  text: `SELECT ${CATALOGUE_COLUMNS_SQL} FROM console.managed_tables WHERE ${CURRENT_TABLE_CONDITION}`,
  values: [id, companyId],
});

export async function readTable(tx: TenantTx, key: TableKey): Promise<ManagedTable | undefined> {
  const { text, values } = makeTableQuery(key);
  const [row] = await tx.query<CatalogueRow>(text, values);
  return row && toTable(row);
}

/** Reads the company's table with the smallest id greater than `id`, skipping deleted tables. */
export async function readTableAfter(tx: TenantTx, companyId: string, id: string): Promise<ManagedTable | undefined> {
  const [row] = await tx.query<CatalogueRow>(
    `SELECT ${CATALOGUE_COLUMNS_SQL} FROM console.managed_tables
     WHERE id > $1 AND company_id = $2 AND deleted_at IS NULL ORDER BY id LIMIT 1`,
    [id, companyId],
  );
  return row && toTable(row);
}

/**
 * The kind of a lock on a table, the strongest first: `shape` to change the table's name or columns or to delete the
 * table; `rows` to load into the table, to undo a load, or to empty the table; `row` to write single rows or to add an
 * upload job, which conflicts with `shape` only.
 */
export type TableLock = 'shape' | 'rows' | 'row';

const LOCK_CLAUSES: Record<TableLock, string> = {
  shape: 'FOR UPDATE',
  rows: 'FOR NO KEY UPDATE',
  row: 'FOR KEY SHARE',
};

/**
 * Locks a table, unless it is deleted, until the transaction ends. Every change of a table acquires this lock before any lock on
 * the table itself, so that changes wait for each other instead of deadlocking. @returns the table as it is under the lock; rows
 * may be added and deleted unless the lock is `shape`
 */
export async function lockTable(tx: TenantTx, key: TableKey, lock: TableLock): Promise<ManagedTable | undefined> {
  const values = [key.id, key.companyId];
  // What the statement that waits for the lock reads besides is as it was before.
  const [, [row]] = await tx.queryAll<[unknown, CatalogueRow]>([
    { text: `SELECT FROM console.managed_tables WHERE ${CURRENT_TABLE_CONDITION} ${LOCK_CLAUSES[lock]}`, values },
    makeTableQuery(key),
  ]);
  return row && toTable(row);
}

export async function isNameInUse(tx: TenantTx, companyId: string, displayName: string): Promise<boolean> {
  const rows = await tx.query(
    'SELECT FROM console.managed_tables WHERE company_id = $1 AND display_name = $2 AND deleted_at IS NULL',
    [companyId, displayName],
  );
  return rows.length > 0;
}

const DUPLICATE_TABLE_SQLSTATE = '42P07';

/** Tells whether a change failed because a current table, or a relation that is not in the catalogue, has the name. */
export const isNameTaken = (error: unknown): boolean =>
  isPostgresError(error) &&
  (error.constraint === 'managed_tables_display_name' || error.code === DUPLICATE_TABLE_SQLSTATE);

/** Tells whether an unfinished upload job loads into this table. */
export async function hasActiveUpload(tx: TenantTx, tableId: string): Promise<boolean> {
  const [row] = await tx.query<{ active: boolean }>(`SELECT ${HAS_ACTIVE_UPLOAD_SQL} AS active`, [tableId]);
  return row?.active === true;
}

/** Returns the condition for ids that are not denied, with two values from a number on: ids, and patterns for LIKE. */
export const makeNotDeniedCondition = (column: string, firstParameterNumber: number): string =>
  `${column} <> ALL($${firstParameterNumber}::text[]) AND ${column} NOT LIKE ALL($${firstParameterNumber + 1}::text[])`;

/** Returns the two values of `makeNotDeniedCondition`. */
export const listDeniedValues = ({ everything, ids, patterns }: Denials): [string[], string[]] => [
  [...ids],
  everything ? ['%'] : patterns.map((pattern) => pattern.replaceAll('*', '%')),
];

/** Reads a page of tables, none of them denied, whose name contains `search` (lower-case), newest first, and their exact total. */
export async function readTables(
  tx: TenantTx,
  companyId: string,
  { search, limit, offset, denials }: { search: string; limit: number; offset: number; denials: Denials },
): Promise<{ total: number; records: ManagedTable[] }> {
  const condition = `company_id = $1 AND deleted_at IS NULL AND position($2 IN display_name) > 0 AND ${makeNotDeniedCondition('id', 5)}`;
  const rows = await tx.query<{ total: string } & Nullable<CatalogueRow>>(
    `SELECT found.total, page.*
     FROM (SELECT count(*) AS total FROM console.managed_tables WHERE ${condition}) AS found
     LEFT JOIN (
       SELECT ${CATALOGUE_COLUMNS_SQL} FROM console.managed_tables WHERE ${condition} ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4
     ) AS page ON true
     ORDER BY page.created_at DESC, page.id DESC`,
    [companyId, search, limit, offset, ...listDeniedValues(denials)],
  );
  return {
    total: Number(rows[0]?.total ?? 0),
    records: rows.flatMap(({ total: _, ...row }) => (row.id === null ? [] : [toTable(row as CatalogueRow)])),
  };
}

export async function findTables(tx: TenantTx, companyId: string, idsOrNames: string[]): Promise<ManagedTable[]> {
  const rows = await tx.query<CatalogueRow>(
    `SELECT ${CATALOGUE_COLUMNS_SQL} FROM console.managed_tables
     WHERE company_id = $1 AND deleted_at IS NULL AND (id = ANY($2) OR display_name = ANY($2)) ORDER BY display_name`,
    [companyId, idsOrNames],
  );
  return rows.map(toTable);
}

export type Nullable<T> = { [K in keyof T]: T[K] | null };

/** Inserts a table into the catalogue. A taken name violates `managed_tables_display_name`. */
export async function insertTable(
  tx: TenantTx,
  table: Omit<ManagedTable, 'status' | 'schemaVersion'>,
): Promise<ManagedTable> {
  const [row] = await tx.query<CatalogueRow>(
    `INSERT INTO console.managed_tables
       (id, company_id, display_name, columns, source, row_count, created_by_user_id, created_at, updated_at)
     VALUES ($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9) RETURNING ${CATALOGUE_COLUMNS_SQL}`,
    [
      table.id,
      table.companyId,
      table.displayName,
      JSON.stringify(table.columns),
      table.source,
      table.rowCount,
      table.createdByUserId,
      table.createdAt,
      table.updatedAt,
    ],
  );
  return toTable(row as CatalogueRow);
}

/** Sets name and columns and increments `schema_version`. The table must be locked. */
export async function changeTable(
  tx: TenantTx,
  key: TableKey,
  change: { displayName: string; columns: TableColumnDefinition[]; at: string },
): Promise<ManagedTable> {
  const [row] = await tx.query<CatalogueRow>(
    `UPDATE console.managed_tables
     SET display_name = $3, columns = $4::jsonb, schema_version = schema_version + 1, updated_at = $5
     WHERE ${CURRENT_TABLE_CONDITION} RETURNING ${CATALOGUE_COLUMNS_SQL}`,
    [key.id, key.companyId, change.displayName, JSON.stringify(change.columns), change.at],
  );
  return toTable(row as CatalogueRow);
}

/**
 * Makes the statement that adds to a table's row count, or subtracts with a negative number, without waiting for other
 * transactions. The table must be locked, and the rows written: a truncation in between would subtract them, too.
 */
export const makeRowCountChange = ({ id, companyId }: TableKey, delta: number, at: string): Statement => ({
  text: 'SELECT console.count_rows($1, $2, $3::bigint, $4::timestamptz)',
  values: [id, companyId, delta, at],
});

/** Sets the row count to zero, in a transaction that has emptied the table. */
export async function resetRowCount(tx: TenantTx, { id, companyId }: TableKey, at: string): Promise<void> {
  await tx.execute(
    `WITH beside AS (DELETE FROM console.row_count_changes WHERE table_id = $1)
     UPDATE console.managed_tables SET row_count = 0, count_version = count_version + 1, updated_at = $3 WHERE ${CURRENT_TABLE_CONDITION}`,
    [id, companyId, at],
  );
}

/** Notifies webhook endpoints that the transaction has emptied the table. */
export async function notifyTruncation(tx: TenantTx, { id, companyId }: TableKey): Promise<void> {
  await tx.execute(
    `SELECT console.tell_table('table.truncated', managed_tables) FROM console.managed_tables WHERE ${CURRENT_TABLE_CONDITION}`,
    [id, companyId],
  );
}
