import { findDeniedInLists } from '../../access/denials.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { createTable as createTableSql, moveToTrash, truncateTable as truncateSql } from '../../tenant-sql/ddl.ts';
import { openDatabaseIfAny, openDatabaseToRead, requireDatabase, scheduleSweep } from '../managed-database/service.ts';
import { type AnnounceTables, changeInTime, notifyChange, runChange, runShapeChange } from './changes.ts';
import { tableLocked, tableNameTaken, tableNotFound, truncateLocked } from './failures.ts';
import * as indexes from './index-store.ts';
import * as store from './store.ts';
import type { ManagedTable, NewTable, TableSource } from './table.ts';
import { TRASH_RETENTION_MS } from './trash.ts';
import { markDeleted } from './trash-store.ts';
import { endUndo } from './undo-store.ts';
import { requireTableVersion } from './views.ts';

export { type AnnounceTables, inTransaction, notifyChange, runChange, runShapeChange } from './changes.ts';
export { type AppliedEvolution, evolveTable, revertEvolution } from './evolution.ts';
export { tableNameTaken } from './failures.ts';
export { createIndex, listIndexes, requireUniqueIndex, sweepIndexes } from './indexes.ts';
export { readTableSizes, requireTableRoom } from './room.ts';
export { mayReadRows } from './rows.ts';
export { isNameTaken, listDeniedValues, notDeniedCondition } from './store.ts';
export { column, columnList, type ManagedTable, type TableSource, tableName } from './table.ts';
export { purgeTrash, TRASH_RETENTION_MS } from './trash.ts';
export { selectUndoLimit, toUndoLimit, type UndoEnd, type UndoLimit, type UndoLimitRow } from './undo-store.ts';
export { sweepExports } from './waiting-export.ts';
export { TableChanged, tableAfter, type WrittenPosition, writeParquetFile } from './whole-table.ts';

export interface TablePage {
  total: number;
  records: ManagedTable[];
}

/** The key of a table of the caller's company. A string that cannot be an id is treated as an unknown table's. */
export function toTableKey(ctx: CompanyContext, id: string): store.TableKey {
  if (!ID_PATTERN.test(id)) throw tableNotFound();
  return { id, companyId: ctx.actor.companyId };
}

/** The company's Postgres, for work on an existing table. @throws tableNotFound before provisioning, as no table exists then */
export async function requireTablesDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) throw tableNotFound();
  return database;
}

/** As `requireTablesDatabase`, for statements that only read. */
export async function requireTablesDatabaseToRead(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseToRead(ctx);
  if (!database) throw tableNotFound();
  return database;
}

/**
 * A page of the company's tables that the caller is not denied, newest first; empty before provisioning. `search` is a literal
 * part of the name, in any case.
 */
export async function listTables(
  ctx: CompanyContext,
  { page, perPage, search }: { page: number; perPage: number; search: string },
): Promise<TablePage> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return { total: 0, records: [] };
  return store.readTables(database, ctx.actor.companyId, {
    search: search.toLowerCase(),
    limit: perPage,
    offset: (page - 1) * perPage,
    denied: findDeniedInLists(ctx.actor, 'table'),
  });
}

/** The company's living tables with one of these ids or names; none before provisioning. */
export async function findTables(ctx: CompanyContext, idsOrNames: string[]): Promise<ManagedTable[]> {
  const database = await openDatabaseToRead(ctx);
  return database && idsOrNames.length > 0 ? store.findTables(database, ctx.actor.companyId, idsOrNames) : [];
}

/** A table and its unique columns, besides `id`. */
export interface KeyedTable {
  table: ManagedTable;
  unique: string[];
}

/** As `findTables`, with the columns that identify rows. */
export async function findKeyedTables(ctx: CompanyContext, idsOrNames: string[]): Promise<KeyedTable[]> {
  const database = await openDatabaseToRead(ctx);
  if (!database || idsOrNames.length === 0) return [];
  return indexes.findKeyedTables(database, ctx.actor.companyId, idsOrNames);
}

export async function getTable(ctx: CompanyContext, id: string): Promise<ManagedTable> {
  const table = await store.readTable(await requireTablesDatabaseToRead(ctx), toTableKey(ctx, id));
  if (!table) throw tableNotFound();
  return table;
}

export async function createTable(ctx: PrincipalContext, { display_name, columns }: NewTable): Promise<ManagedTable> {
  const database = await requireDatabase(ctx);
  const id = ctx.newId();
  const work = async (tx: TenantTx, changing: AnnounceTables): Promise<ManagedTable> => {
    changing(display_name);
    try {
      const registered = await registerTable(tx, ctx, {
        id,
        displayName: display_name,
        columns,
        source: 'manual',
        rowCount: 0,
        createdByUserId: ctx.actor.id,
      });
      await tx.execute(createTableSql({ schema: 'public', name: display_name, id }, columns));
      return registered;
    } catch (error) {
      throw store.isNameTaken(error) ? tableNameTaken(display_name) : error;
    }
  };
  return runShapeChange(ctx, database, work, () => [id, display_name], { room: 'adds' });
}

/** Inserts a table into the catalogue, in the transaction that creates it. This reserves its name: see `isNameTaken`. */
export async function registerTable(
  tx: TenantTx,
  ctx: CompanyContext,
  table: {
    id: string;
    displayName: string;
    columns: Column[];
    source: TableSource;
    rowCount: number;
    createdByUserId: string;
  },
): Promise<ManagedTable> {
  const at = isoTimestamp(ctx.now());
  return store.insertTable(tx, { ...table, companyId: ctx.actor.companyId, createdAt: at, updatedAt: at });
}

/** Whether a living table has this name, for an early answer. Only `registerTable` reserves a name. */
export async function isNameInUse(ctx: CompanyContext, displayName: string): Promise<boolean> {
  const database = await openDatabaseToRead(ctx);
  return database !== undefined && (await store.isNameInUse(database, ctx.actor.companyId, displayName));
}

/** Locks the living table until the transaction ends. Take it before any lock on the table's rows. */
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

/** Adds `change`, which may be negative, to the row count of a locked table, in the transaction that writes the rows. */
export async function countRows(tx: TenantTx, ctx: CompanyContext, id: string, change: number): Promise<void> {
  await tx.queryAll([store.countRows(toTableKey(ctx, id), change, isoTimestamp(ctx.now()))]);
}

/** Deletes a table; its rows are kept in schema `trash` for 30 days. */
export async function deleteTable(ctx: CompanyContext, id: string): Promise<void> {
  await scheduleSweep(ctx, ctx.now() + TRASH_RETENTION_MS);
  const work = async (tx: TenantTx, changing: AnnounceTables): Promise<string> => {
    const table = await lockTable(tx, ctx, id, 'shape');
    changing(table.displayName);
    await requireTableVersion(ctx, table);
    await deleteLockedTable(tx, ctx, table);
    return table.displayName;
  };
  const database = await requireTablesDatabase(ctx);
  await changeInTime(database, (options) =>
    runShapeChange(ctx, database, work, (name) => [id, name], { ...options, room: 'frees' }),
  );
}

/** Deletes a table whose `shape` is locked. @throws tableLocked while files are loaded into it */
export async function deleteLockedTable(tx: TenantTx, ctx: CompanyContext, table: ManagedTable): Promise<void> {
  const { id, displayName: name } = table;
  if (await store.hasActiveUpload(tx, id)) throw tableLocked();
  await markDeleted(tx, toTableKey(ctx, id), isoTimestamp(ctx.now()));
  for (const statement of moveToTrash({ name, id })) await tx.execute(statement);
}

/**
 * Removes all rows of a table; columns, indexes and metadata stay.
 * @returns the number of rows left
 */
export async function truncateTable(ctx: CompanyContext, id: string): Promise<0> {
  const database = await requireTablesDatabase(ctx);
  const work = (announced: Promise<unknown>) => async (tx: TenantTx, changing: AnnounceTables) => {
    const table = await lockTable(tx, ctx, id);
    changing(table.displayName);
    if (await store.hasActiveUpload(tx, id)) throw truncateLocked();
    await tx.execute(truncateSql(table.displayName));
    await store.resetRowCount(tx, toTableKey(ctx, id), isoTimestamp(ctx.now()));
    await endUndo(tx, toTableKey(ctx, id), 'truncated');
    await store.notifyTruncated(tx, toTableKey(ctx, id));
    await announced;
    return 0 as const;
  };
  return notifyChange(ctx, (announced) =>
    changeInTime(database, (options) => runChange(ctx, database, work(announced), { ...options, room: 'frees' })),
  );
}
