import { findListDenials } from '../../access/denials.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import {
  buildMoveToTrash,
  buildCreateTable as createTableSql,
  buildTruncateTable as truncateSql,
} from '../../tenant-sql/ddl.ts';
import { openDatabaseIfAny, openDatabaseToRead, requireDatabase, scheduleSweep } from '../managed-database/service.ts';
import { type AnnounceTables, changeWithinTime, notifyChange, runChange, runShapeChange } from './changes.ts';
import { tableLocked, tableNameTaken, tableNotFound, truncateLocked } from './failures.ts';
import * as indexes from './index-store.ts';
import * as store from './store.ts';
import type { ManagedTable, NewTable, TableSource } from './table.ts';
import { TRASH_RETENTION_MS } from './trash.ts';
import { markDeleted } from './trash-store.ts';
import { endUndo } from './undo-store.ts';
import { requireTableVersion } from './views.ts';

export { type AnnounceTables, notifyChange, runChange, runShapeChange, runTableTransaction } from './changes.ts';
export { type AppliedEvolution, evolveTable, revertEvolution } from './evolution.ts';
export { tableNameTaken } from './failures.ts';
export { createIndex, listIndexes, requireUniqueIndex, sweepIndexes } from './indexes.ts';
export { mayReadRows } from './rows.ts';
export { isNameTaken, listDeniedValues, makeNotDeniedCondition } from './store.ts';
export { column, type ManagedTable, makeColumnListSchema, type TableSource, tableName } from './table.ts';
export { readNextTable, TableChangedError, type WrittenPosition, writeParquetFile } from './table-export.ts';
export { readTableSizes, requireTableQuota } from './table-quota.ts';
export { purgeTrash, TRASH_RETENTION_MS } from './trash.ts';
export { selectUndoLimit, toUndoLimit, type UndoEndReason, type UndoLimit, type UndoLimitRow } from './undo-store.ts';
export { sweepExports } from './waiting-export.ts';

/** Makes the key of a table of the caller's company. A string that cannot be an id is treated as an unknown table's id. */
export function toTableKey(ctx: CompanyContext, id: string): store.TableKey {
  if (!ID_PATTERN.test(id)) throw tableNotFound();
  return { id, companyId: ctx.actor.companyId };
}

/** Opens the company's Postgres, to use an existing table. @throws tableNotFound before provisioning, as no table exists then */
export async function requireTablesDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) throw tableNotFound();
  return database;
}

/** Opens the database like `requireTablesDatabase`, for statements that only read. */
export async function requireTablesDatabaseToRead(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseToRead(ctx);
  if (!database) throw tableNotFound();
  return database;
}

/**
 * Returns a page of the company's tables that the caller is not denied, newest first; empty before provisioning. `search` is a
 * literal part of the name, in any case.
 */
export async function listTables(
  ctx: CompanyContext,
  { page, perPage, search }: { page: number; perPage: number; search: string },
): Promise<{ total: number; records: ManagedTable[] }> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return { total: 0, records: [] };
  return store.readTables(database, ctx.actor.companyId, {
    search: search.toLowerCase(),
    limit: perPage,
    offset: (page - 1) * perPage,
    denials: findListDenials(ctx.actor, 'table'),
  });
}

/** Finds the company's tables with one of these ids or names, without deleted ones; none before provisioning. */
export async function findTables(ctx: CompanyContext, idsOrNames: string[]): Promise<ManagedTable[]> {
  const database = await openDatabaseToRead(ctx);
  return database && idsOrNames.length > 0 ? store.findTables(database, ctx.actor.companyId, idsOrNames) : [];
}

/** Finds tables like `findTables`, with the columns that identify rows besides `id`. */
export async function findTablesWithUniqueColumns(ctx: CompanyContext, idsOrNames: string[]) {
  const database = await openDatabaseToRead(ctx);
  if (!database || idsOrNames.length === 0) return [];
  return indexes.findTablesWithUniqueColumns(database, ctx.actor.companyId, idsOrNames);
}

export async function getTable(ctx: CompanyContext, id: string): Promise<ManagedTable> {
  const table = await store.readTable(await requireTablesDatabaseToRead(ctx), toTableKey(ctx, id));
  if (!table) throw tableNotFound();
  return table;
}

export async function createTable(ctx: PrincipalContext, { display_name, columns }: NewTable): Promise<ManagedTable> {
  const database = await requireDatabase(ctx);
  const id = ctx.newId();
  const createInTransaction = async (tx: TenantTx, announceTables: AnnounceTables): Promise<ManagedTable> => {
    announceTables(display_name);
    try {
      const registeredTable = await registerTable(tx, ctx, {
        id,
        displayName: display_name,
        columns,
        source: 'manual',
        rowCount: 0,
        createdByUserId: ctx.actor.id,
      });
      await tx.execute(createTableSql({ schema: 'public', name: display_name, id }, columns));
      return registeredTable;
    } catch (error) {
      throw store.isNameTaken(error) ? tableNameTaken(display_name) : error;
    }
  };
  return runShapeChange(ctx, database, createInTransaction, () => [id, display_name], { spaceEffect: 'adds' });
}

/** Inserts a table into the catalogue, in the transaction that creates it. This reserves its name: see `isNameTaken`. */
export async function registerTable(
  tx: TenantTx,
  ctx: CompanyContext,
  table: {
    id: string;
    displayName: string;
    columns: TableColumnDefinition[];
    source: TableSource;
    rowCount: number;
    createdByUserId: string;
  },
): Promise<ManagedTable> {
  const at = formatIsoTimestamp(ctx.now());
  return store.insertTable(tx, { ...table, companyId: ctx.actor.companyId, createdAt: at, updatedAt: at });
}

/** Tells whether a current table has this name, for an early response. Only `registerTable` reserves a name. */
export async function isNameInUse(ctx: CompanyContext, displayName: string): Promise<boolean> {
  const database = await openDatabaseToRead(ctx);
  return database !== undefined && (await store.isNameInUse(database, ctx.actor.companyId, displayName));
}

/** Locks a table, unless it is deleted, until the transaction ends. Call it before any lock on the table's rows. */
export async function lockTable(
  tx: TenantTx,
  ctx: CompanyContext,
  id: string,
  lock: store.TableLock = 'rows',
): Promise<ManagedTable> {
  const table = await store.lockTable(tx, toTableKey(ctx, id), lock);
  if (!table) throw tableNotFound();
  return table;
}

/** Adds `delta`, which may be negative, to the row count of a locked table, in the transaction that writes the rows. */
export async function changeRowCount(tx: TenantTx, ctx: CompanyContext, id: string, delta: number): Promise<void> {
  await tx.queryAll([store.makeRowCountChange(toTableKey(ctx, id), delta, formatIsoTimestamp(ctx.now()))]);
}

/** Deletes a table; its rows are kept in schema `trash` for 30 days. */
export async function deleteTable(ctx: CompanyContext, id: string): Promise<void> {
  await scheduleSweep(ctx, ctx.now() + TRASH_RETENTION_MS);
  const deleteInTransaction = async (tx: TenantTx, announceTables: AnnounceTables): Promise<string> => {
    const table = await lockTable(tx, ctx, id, 'shape');
    announceTables(table.displayName);
    await requireTableVersion(ctx, table);
    await deleteLockedTable(tx, ctx, table);
    return table.displayName;
  };
  const database = await requireTablesDatabase(ctx);
  await changeWithinTime(database, (options) =>
    runShapeChange(ctx, database, deleteInTransaction, (name) => [id, name], { ...options, spaceEffect: 'frees' }),
  );
}

/** Deletes a table whose `shape` is locked. @throws tableLocked while files are loaded into it */
export async function deleteLockedTable(tx: TenantTx, ctx: CompanyContext, table: ManagedTable): Promise<void> {
  const { id, displayName: name } = table;
  if (await store.hasActiveUpload(tx, id)) throw tableLocked();
  await markDeleted(tx, toTableKey(ctx, id), formatIsoTimestamp(ctx.now()));
  for (const statement of buildMoveToTrash({ name, id })) await tx.execute(statement);
}

/** Removes all rows of a table; columns, indexes and metadata stay. @returns the number of rows left */
export async function truncateTable(ctx: CompanyContext, id: string): Promise<0> {
  const database = await requireTablesDatabase(ctx);
  const makeTruncation = (announcement: Promise<unknown>) => async (tx: TenantTx, announceTables: AnnounceTables) => {
    const table = await lockTable(tx, ctx, id);
    announceTables(table.displayName);
    if (await store.hasActiveUpload(tx, id)) throw truncateLocked();
    await tx.execute(truncateSql(table.displayName));
    await store.resetRowCount(tx, toTableKey(ctx, id), formatIsoTimestamp(ctx.now()));
    await endUndo(tx, toTableKey(ctx, id), 'truncated');
    await store.notifyTruncation(tx, toTableKey(ctx, id));
    await announcement;
    return 0 as const;
  };
  return notifyChange(ctx, (announcement) =>
    changeWithinTime(database, (options) =>
      runChange(ctx, database, makeTruncation(announcement), { ...options, spaceEffect: 'frees' }),
    ),
  );
}
