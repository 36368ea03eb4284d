import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { getCreatedAt, ID_PATTERN } from '../../kernel/ids.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { databaseUnavailable, resultUnknown } from '../../tenant-sql/failures.ts';
import * as sql from '../../tenant-sql/indexes.ts';
import { openDatabaseIfAny, scheduleSweep } from '../managed-database/service.ts';
import { changeTableShape, MAX_CHANGE_WAIT_MS, toTableBusyFailure, toTableInUseFailure } from './changes.ts';
import { isSchemaError, runWithCurrentTable, StaleTableError } from './current-table.ts';
import {
  indexNotFound,
  makeDuplicatesForIndexFailure,
  makeTooLongForIndexFailure,
  makeUnknownColumnsFailure,
  tableBusy,
  tableInUse,
  tableNotFound,
  tooManyIndexes,
} from './failures.ts';
import * as store from './index-store.ts';
import { mayReadRows } from './rows.ts';
import { requireTablesDatabase, requireTablesDatabaseToRead, toTableKey } from './service.ts';
import type { TableKey } from './store.ts';
import type { ManagedTable } from './table.ts';
import { requireTableQuota, requireWithinTableQuota, type TableQuota } from './table-quota.ts';

export const MAX_INDEXES = 10;

/** An index that users created. */
export interface TableIndex {
  id: string;
  columns: string[];
  unique: boolean;
  /** The time of creation: ISO 8601 UTC, to the second. */
  createdAt: string;
}

/** The time to wait for running transactions, such as a load, before an index is begun, and the interval of checks. */
const TRANSACTION_WAIT_LIMITS = { waitMs: 8_000, everyMs: 100 };
/** The time reserved for dropping an index: the last part of a request whose index is not built in time. */
const DROP_TIMEOUT_MS = 5_000;
/** The time after which the sweep looks for an index whose building was interrupted. */
const SWEEP_DELAY_MS = 60_000;
/** The time to wait while other requests change the table's indexes, and the interval of attempts. */
const INDEX_LOCK_LIMITS = { waitMs: 5_000, everyMs: 100 };

const toIndex = ({ id, columns, unique }: store.StoredIndex): TableIndex => ({
  id,
  columns,
  unique,
  createdAt: formatIsoTimestamp(getCreatedAt(id)),
});

/** Lists the indexes of a table, the oldest first. */
export async function listIndexes(ctx: CompanyContext, tableId: string): Promise<TableIndex[]> {
  const { indexes } = await readTableIndexes(await requireTablesDatabaseToRead(ctx), toTableKey(ctx, tableId));
  return indexes.filter(({ valid }) => valid).map(toIndex);
}

/**
 * Builds an index while other requests write to the table. Uses a direct connection, as the lock on the table's indexes
 * does not work through the pooler. Drops the index if it exceeds the quota. @throws tooManyIndexes, quotaExceeded,
 * makeDuplicatesForIndexFailure, makeTooLongForIndexFailure; `tableInUse` while another index is built for long, or if this
 * one is not built in time
 */
export async function createIndex(
  ctx: PrincipalContext,
  tableId: string,
  input: { columns: string[]; unique: boolean },
): Promise<TableIndex> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabase(ctx);
  const quota = await requireTableQuota(ctx, database).catch((error: unknown) => {
    throw toTableInUseFailure(toTableBusyFailure(error));
  });
  // Should all that follows break off, rows are held against an index that nobody sees.
  await scheduleSweep(ctx, ctx.now() + SWEEP_DELAY_MS);
  const deadline = Date.now() + MAX_CHANGE_WAIT_MS;
  return runWithIndexLock(database, tableId, () =>
    runWithCurrentTable(database, key, async (_, reportTable) => {
      const { table, indexes } = await readTableIndexes(database, key);
      reportTable(table);
      const unknownNames = input.columns.filter((name) => !table.columns.some((column) => column.name === name));
      if (unknownNames.length > 0) throw makeUnknownColumnsFailure(unknownNames);
      await dropInvalidIndexes(database, key, DROP_TIMEOUT_MS);
      if (indexes.filter(({ valid }) => valid).length >= MAX_INDEXES) throw tooManyIndexes(MAX_INDEXES);
      await waitForTransactions(database, table.displayName, deadline, false);
      const build = () => buildIndex(ctx, database, key, table, { id: ctx.newId(), ...input }, quota, deadline);
      return input.unique ? changeUniqueColumns(ctx, tableId, build) : build();
    }),
  );
}

/**
 * Builds a unique index on these columns of a table that the transaction has locked against writes, unless there is one, in
 * whatever order. @throws tooManyIndexes; `tableBusy` while other requests change the table's indexes; Postgres's error for
 * values that it refuses
 */
export async function requireUniqueIndex(
  tx: TenantTx,
  ctx: CompanyContext,
  tableId: string,
  columns: string[],
): Promise<void> {
  const tableIndexes = await store.readIndexes(tx, toTableKey(ctx, tableId));
  if (!tableIndexes) throw tableNotFound();
  const columnSet = columns.toSorted().join();
  const isOnColumns = (index: store.StoredIndex) => index.columns.toSorted().join() === columnSet;
  if (tableIndexes.indexes.some((index) => index.unique && index.valid && isOnColumns(index))) return;
  if (!(await store.tryLockForTransaction(tx, tableId))) throw tableBusy();
  if (tableIndexes.indexes.length >= MAX_INDEXES) throw tooManyIndexes(MAX_INDEXES);
  await tx.execute(sql.buildCreateUniqueIndex(tableIndexes.table.displayName, ctx.newId(), columns));
}

/** Drops an index without blocking writers. */
export async function deleteIndex(ctx: CompanyContext, tableId: string, indexId: string): Promise<void> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabase(ctx);
  await readTableIndexes(database, key);
  if (!ID_PATTERN.test(indexId)) throw indexNotFound();
  await scheduleSweep(ctx, ctx.now() + SWEEP_DELAY_MS);
  const deadline = Date.now() + MAX_CHANGE_WAIT_MS;
  await runWithIndexLock(database, tableId, async () => {
    const { table, indexes } = await readTableIndexes(database, key);
    // Also an invalid one: a deletion that did not end in time is repeated.
    const index = indexes.find(({ id }) => id === indexId);
    if (!index) throw indexNotFound();
    await waitForTransactions(database, table.displayName, deadline, true);
    const dropIndexInTime = () => dropIndexById(database, indexId, deadline - Date.now());
    await (index.unique ? changeUniqueColumns(ctx, tableId, dropIndexInTime) : dropIndexInTime());
  });
}

/** Runs a change of the columns that identify rows, as relations of domain knowledge may lead only to such columns. */
const changeUniqueColumns = <T>(ctx: CompanyContext, tableId: string, change: () => Promise<T>): Promise<T> =>
  changeTableShape(
    ctx,
    () => [tableId],
    async (announcement) => {
      await announcement;
      return change();
    },
  );

/**
 * Drops the company's indexes whose building was interrupted: they restrict rows, though no list shows them. @returns when the
 * next check is due, in milliseconds, where an index is being built; infinity where none is
 */
export async function sweepIndexes(ctx: CompanyContext): Promise<number> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) return Number.POSITIVE_INFINITY;
  let nextDueAt = Number.POSITIVE_INFINITY;
  for (const tableId of await store.findTablesWithInvalidIndex(database, ctx.actor.companyId)) {
    try {
      await runWithIndexLock(
        database,
        tableId,
        () => dropInvalidIndexes(database, toTableKey(ctx, tableId), SWEEP_DELAY_MS / 2),
        0,
      );
    } catch (error) {
      if (!tableInUse.matches(error)) throw error;
      nextDueAt = ctx.now() + SWEEP_DELAY_MS;
    }
  }
  return nextDueAt;
}

/** Drops invalid indexes. Under the lock of the table's indexes none is being built, so invalid ones are left over. */
async function dropInvalidIndexes(database: TenantSql, key: TableKey, milliseconds: number): Promise<void> {
  const tableIndexes = await store.readIndexes(database, key);
  for (const { id, valid } of tableIndexes?.indexes ?? []) if (!valid) await dropIndexById(database, id, milliseconds);
}

/**
 * Waits for the transactions that building or dropping an index would wait for: a statement that does not end in time leaves a
 * broken index behind, as long as they run.
 */
async function waitForTransactions(
  database: TenantSql,
  table: string,
  deadline: number,
  includesReaders: boolean,
): Promise<void> {
  const waitDeadline = Math.min(deadline, Date.now() + TRANSACTION_WAIT_LIMITS.waitMs);
  let { since, found } = await store.checkBlockingTransactions(database, table, null, includesReaders);
  while (found) {
    if (Date.now() >= waitDeadline) throw tableInUse();
    await new Promise((resolve) => setTimeout(resolve, TRANSACTION_WAIT_LIMITS.everyMs));
    ({ found } = await store.checkBlockingTransactions(database, table, since, includesReaders));
  }
}

async function readTableIndexes(database: TenantSql, key: TableKey) {
  const tableIndexes = await store.readIndexes(database, key);
  if (!tableIndexes) throw tableNotFound();
  return tableIndexes;
}

async function buildIndex(
  ctx: PrincipalContext,
  database: TenantSql,
  key: TableKey,
  table: ManagedTable,
  { id, columns, unique }: Omit<store.StoredIndex, 'valid'>,
  quota: TableQuota | undefined,
  deadline: number,
): Promise<TableIndex> {
  try {
    const milliseconds = Math.max(1, deadline - DROP_TIMEOUT_MS - Date.now());
    await database.executeOutsideTransaction(
      sql.buildCreateIndex(table.displayName, id, columns, unique),
      milliseconds,
    );
    if (quota) await requireWithinTableQuota(ctx, database, quota);
  } catch (error) {
    // What a lost connection leaves behind is dropped by whoever changes the table's indexes next.
    await dropIndexById(database, id, DROP_TIMEOUT_MS).catch((dropError: unknown) =>
      logError('index_not_dropped', dropError, { index_id: id }),
    );
    throw await toIndexFailure(ctx, database, table, columns, error, deadline);
  }
  const now = await store.readIndexes(database, key);
  const builtIndex = now?.indexes.find((index) => index.id === id);
  // Another table had taken the name.
  if (!builtIndex) {
    await dropIndexById(database, id, DROP_TIMEOUT_MS);
    throw new StaleTableError();
  }
  return toIndex(builtIndex);
}

async function toIndexFailure(
  ctx: PrincipalContext,
  database: TenantSql,
  table: ManagedTable,
  columns: string[],
  error: unknown,
  deadline: number,
): Promise<unknown> {
  // Postgres goes on by itself.
  if (databaseUnavailable.matches(error)) return resultUnknown().addCause(error.cause);
  const refusal = sql.toIndexRefusal(error);
  if (refusal?.reason === 'duplicate') {
    return makeDuplicatesForIndexFailure(
      refusal.columns,
      mayReadRows(ctx, table.id) ? sql.formatDuplicate(refusal, table.columns) : null,
    );
  }
  if (refusal) {
    const longestValue = await findLongestValueInTime(database, table, columns, refusal.place, deadline);
    return makeTooLongForIndexFailure({ field: 'columns', column: columns.join('", "'), ...longestValue });
  }
  return toTableInUseFailure(toTableBusyFailure(error));
}

/** Finds the value that is too long; undefined where it is not found in time, as the whole table may have to be read. */
async function findLongestValueInTime(
  database: TenantSql,
  table: ManagedTable,
  columns: string[],
  location: string | undefined,
  deadline: number,
): Promise<{ id: string; column: string } | undefined> {
  try {
    return await database.runInTransaction((tx) => store.findLongestValue(tx, table.displayName, columns, location), {
      readOnly: true,
      statementTimeoutMs: Math.max(1, deadline - Date.now()),
    });
  } catch (error) {
    // Where the table was changed meanwhile, the request is repeated.
    if (isSchemaError(error)) throw error;
    logError('long_value_not_found', error, { table_id: table.id });
    return undefined;
  }
}

async function dropIndexById(database: TenantSql, id: string, milliseconds: number): Promise<void> {
  try {
    await database.executeOutsideTransaction(sql.buildDropIndex(id), Math.max(1, milliseconds));
  } catch (error) {
    throw toTableInUseFailure(toTableBusyFailure(error));
  }
}

/** Runs `work` while no other request changes the table's indexes. */
async function runWithIndexLock<T>(
  database: TenantSql,
  tableId: string,
  work: () => Promise<T>,
  waitMs = INDEX_LOCK_LIMITS.waitMs,
): Promise<T> {
  const deadline = Date.now() + waitMs;
  while (!(await store.tryLockIndexes(database, tableId))) {
    if (Date.now() >= deadline) throw tableInUse();
    await new Promise((resolve) => setTimeout(resolve, INDEX_LOCK_LIMITS.everyMs));
  }
  try {
    return await work();
  } finally {
    // A lost connection has lost its locks.
    if (!database.isClosed) await store.unlockIndexes(database, tableId);
  }
}
