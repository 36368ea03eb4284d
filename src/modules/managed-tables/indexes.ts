import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { getCreatedAt, ID_PATTERN } from '../../kernel/ids.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { databaseUnavailable, resultUnknown } from '../../tenant-sql/failures.ts';
import * as sql from '../../tenant-sql/indexes.ts';
import { openDatabaseIfAny, scheduleSweep } from '../managed-database/service.ts';
import { changeShape, MAX_CHANGE_WAIT_MS, toTableBusy, toTableInUse } from './changes.ts';
import { StaleTable, withCurrentTable } from './current-table.ts';
import {
  duplicatesForIndex,
  indexNotFound,
  tableBusy,
  tableInUse,
  tableNotFound,
  tooLongForIndex,
  tooManyIndexes,
  unknownColumns,
} from './failures.ts';
import * as store from './index-store.ts';
import { requireTableRoom } from './room.ts';
import { mayReadRows } from './rows.ts';
import { requireTablesDatabase, requireTablesDatabaseToRead, toTableKey } from './service.ts';
import type { TableKey } from './store.ts';
import type { ManagedTable } from './table.ts';

export const MAX_INDEXES = 10;

/** An index that people made. */
export interface TableIndex {
  id: string;
  columns: string[];
  unique: boolean;
  /** The time of creation: ISO 8601 UTC, to the second. */
  createdAt: string;
}

/** The time to wait for running transactions, such as a load, before an index is begun, and the interval of checks. */
const TRANSACTION_WAIT = { waitMs: 8_000, everyMs: 100 };
/** The time reserved for dropping an index: the last part of a request whose index is not built in time. */
const DROP_TIMEOUT_MS = 5_000;
/** The time after which the sweep looks for an index whose building broke off. */
const SWEEP_MS = 60_000;
/** The time to wait while other requests change the table's indexes, and the interval of tries. */
const INDEX_LOCK = { waitMs: 5_000, everyMs: 100 };

const toIndex = ({ id, columns, unique }: store.StoredIndex): TableIndex => ({
  id,
  columns,
  unique,
  createdAt: isoTimestamp(getCreatedAt(id)),
});

/** The indexes of a table, the oldest first. */
export async function listIndexes(ctx: CompanyContext, tableId: string): Promise<TableIndex[]> {
  const { indexes } = await readTableIndexes(await requireTablesDatabaseToRead(ctx), toTableKey(ctx, tableId));
  return indexes.filter(({ valid }) => valid).map(toIndex);
}

/**
 * Builds an index while other requests write to the table. The caller's connection must be its own: it takes no pooled one.
 * @throws tooManyIndexes, duplicatesForIndex, tooLongForIndex; `tableInUse` while another index is built for long, or if this
 *   is not built in time
 */
export async function createIndex(
  ctx: PrincipalContext,
  tableId: string,
  wanted: { columns: string[]; unique: boolean },
): Promise<TableIndex> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabase(ctx);
  await requireTableRoom(ctx, database).catch((error: unknown) => {
    throw toTableInUse(toTableBusy(error));
  });
  // Should all that follows break off, rows are held against an index that nobody sees.
  await scheduleSweep(ctx, ctx.now() + SWEEP_MS);
  const until = Date.now() + MAX_CHANGE_WAIT_MS;
  return withIndexLock(database, tableId, () =>
    withCurrentTable(database, key, async (_, onTable) => {
      const { table, indexes } = await readTableIndexes(database, key);
      onTable(table);
      const unknown = wanted.columns.filter((name) => !table.columns.some((column) => column.name === name));
      if (unknown.length > 0) throw unknownColumns(unknown);
      await dropInvalidIndexes(database, key, DROP_TIMEOUT_MS);
      if (indexes.filter(({ valid }) => valid).length >= MAX_INDEXES) throw tooManyIndexes(MAX_INDEXES);
      await waitForTransactions(database, table.displayName, until, false);
      const building = () => buildIndex(ctx, database, key, table, { id: ctx.newId(), ...wanted }, until);
      return wanted.unique ? changeUniqueColumns(ctx, tableId, building) : building();
    }),
  );
}

/**
 * Builds a unique index on these columns of a table that the transaction has locked against writes, unless there is one,
 * in whatever order.
 * @throws tooManyIndexes; `tableBusy` while others change the table's indexes; Postgres's error for values that it refuses
 */
export async function requireUniqueIndex(
  tx: TenantTx,
  ctx: CompanyContext,
  tableId: string,
  columns: string[],
): Promise<void> {
  const found = await store.readIndexes(tx, toTableKey(ctx, tableId));
  if (!found) throw tableNotFound();
  const wanted = columns.toSorted().join();
  const isOnThem = (index: store.StoredIndex) => index.columns.toSorted().join() === wanted;
  if (found.indexes.some((index) => index.unique && index.valid && isOnThem(index))) return;
  if (!(await store.tryLockForTransaction(tx, tableId))) throw tableBusy();
  if (found.indexes.length >= MAX_INDEXES) throw tooManyIndexes(MAX_INDEXES);
  await tx.execute(sql.createUniqueIndexAtOnce(found.table.displayName, ctx.newId(), columns));
}

/** Drops an index without stopping writers. */
export async function deleteIndex(ctx: CompanyContext, tableId: string, indexId: string): Promise<void> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabase(ctx);
  await readTableIndexes(database, key);
  if (!ID_PATTERN.test(indexId)) throw indexNotFound();
  await scheduleSweep(ctx, ctx.now() + SWEEP_MS);
  const until = Date.now() + MAX_CHANGE_WAIT_MS;
  await withIndexLock(database, tableId, async () => {
    const { table, indexes } = await readTableIndexes(database, key);
    const index = indexes.find(({ id, valid }) => valid && id === indexId);
    if (!index) throw indexNotFound();
    await waitForTransactions(database, table.displayName, until, true);
    const dropping = () => drop(database, indexId, until - Date.now());
    await (index.unique ? changeUniqueColumns(ctx, tableId, dropping) : dropping());
  });
}

/** Runs a change of the columns that identify rows, as relations of domain knowledge may lead only to these. */
const changeUniqueColumns = <T>(ctx: CompanyContext, tableId: string, change: () => Promise<T>): Promise<T> =>
  changeShape(
    ctx,
    () => [tableId],
    async (announced) => {
      await announced;
      return change();
    },
  );

/**
 * Drops the company's indexes whose building broke off: they restrict rows, though no list shows them.
 * @returns when the next check is due, in milliseconds, where one is being built; infinity where none is
 */
export async function sweepIndexes(ctx: CompanyContext): Promise<number> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) return Number.POSITIVE_INFINITY;
  let due = Number.POSITIVE_INFINITY;
  for (const tableId of await store.findTablesWithInvalidIndex(database, ctx.actor.companyId)) {
    try {
      await withIndexLock(
        database,
        tableId,
        () => dropInvalidIndexes(database, toTableKey(ctx, tableId), SWEEP_MS / 2),
        0,
      );
    } catch (error) {
      if (!tableInUse.matches(error)) throw error;
      due = ctx.now() + SWEEP_MS;
    }
  }
  return due;
}

/** Drops invalid indexes. Under the lock of the table's indexes none is being built, so these are left over. */
async function dropInvalidIndexes(database: TenantSql, key: TableKey, milliseconds: number): Promise<void> {
  const found = await store.readIndexes(database, key);
  for (const { id, valid } of found?.indexes ?? []) if (!valid) await drop(database, id, milliseconds);
}

/**
 * Waits for the transactions that building or dropping an index would wait for: a statement that does not end in time leaves a
 * broken index behind, as long as they run.
 */
async function waitForTransactions(database: TenantSql, table: string, until: number, all: boolean): Promise<void> {
  const latest = Math.min(until, Date.now() + TRANSACTION_WAIT.waitMs);
  let { since, found } = await store.checkBlockingTransactions(database, table, null, all);
  while (found) {
    if (Date.now() >= latest) throw tableInUse();
    await new Promise((resolve) => setTimeout(resolve, TRANSACTION_WAIT.everyMs));
    ({ found } = await store.checkBlockingTransactions(database, table, since, all));
  }
}

async function readTableIndexes(database: TenantSql, key: TableKey) {
  const found = await store.readIndexes(database, key);
  if (!found) throw tableNotFound();
  return found;
}

async function buildIndex(
  ctx: PrincipalContext,
  database: TenantSql,
  key: TableKey,
  table: ManagedTable,
  { id, columns, unique }: Omit<store.StoredIndex, 'valid'>,
  until: number,
): Promise<TableIndex> {
  try {
    const milliseconds = Math.max(1, until - DROP_TIMEOUT_MS - Date.now());
    await database.executeAlone(sql.createIndex(table.displayName, id, columns, unique), milliseconds);
  } catch (error) {
    const failure = await explainError(ctx, database, table, columns, error);
    // What a lost connection leaves behind is dropped by whoever changes the table's indexes next.
    await drop(database, id, DROP_TIMEOUT_MS).catch((dropped: unknown) =>
      logError('index_not_dropped', dropped, { index_id: id }),
    );
    throw failure;
  }
  const now = await store.readIndexes(database, key);
  const built = now?.indexes.find((index) => index.id === id);
  // Another table had taken the name.
  if (!built) {
    await drop(database, id, DROP_TIMEOUT_MS);
    throw new StaleTable();
  }
  return toIndex(built);
}

async function explainError(
  ctx: PrincipalContext,
  database: TenantSql,
  table: ManagedTable,
  columns: string[],
  error: unknown,
): Promise<unknown> {
  // Postgres goes on by itself.
  if (databaseUnavailable.matches(error)) return resultUnknown().because(error.cause);
  const refusal = sql.toIndexRefusal(error);
  if (refusal?.why === 'duplicate') {
    return duplicatesForIndex(
      refusal.columns,
      mayReadRows(ctx, table.id) ? sql.formatDuplicate(refusal, table.columns) : null,
    );
  }
  if (refusal) {
    const longest = await store.readLongest(database, table.displayName, columns, refusal.place);
    return tooLongForIndex({ field: 'columns', column: columns.join('", "'), ...longest });
  }
  return toTableInUse(toTableBusy(error));
}

async function drop(database: TenantSql, id: string, milliseconds: number): Promise<void> {
  try {
    await database.executeAlone(sql.dropIndex(id), Math.max(1, milliseconds));
  } catch (error) {
    throw toTableInUse(toTableBusy(error));
  }
}

/** Runs work while no other request changes the table's indexes. */
async function withIndexLock<T>(
  database: TenantSql,
  tableId: string,
  work: () => Promise<T>,
  waitMs = INDEX_LOCK.waitMs,
): Promise<T> {
  const until = Date.now() + waitMs;
  while (!(await store.tryLock(database, tableId))) {
    if (Date.now() >= until) throw tableInUse();
    await new Promise((resolve) => setTimeout(resolve, INDEX_LOCK.everyMs));
  }
  try {
    return await work();
  } finally {
    // A lost connection has lost its locks.
    if (!database.closed) await store.unlock(database, tableId);
  }
}
