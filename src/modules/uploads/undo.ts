import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { scheduleSweep } from '../managed-database/service.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import {
  type AppliedEvolution,
  changeRowCount,
  deleteLockedTable,
  lockTable,
  type ManagedTable,
  notifyChange,
  requireTablesDatabaseToRead,
  revertEvolution,
  runShapeChange,
  selectUndoLimit,
  TRASH_RETENTION_MS,
  toTableKey,
  toUndoLimit,
  type UndoLimit,
  type UndoLimitRow,
} from '../managed-tables/service.ts';
import { jobNotFound, notUndoable, type UndoRefusal } from './failures.ts';
import {
  type Load,
  type LoadRow,
  lockLoad,
  markLoadUndone,
  selectLastLoad,
  selectLoads,
  toLoad,
} from './load-store.ts';
import { vacuumTable } from './publish.ts';
import { requireJob, requireJobsDatabase } from './service.ts';
import { buildDeleteAddedRows, buildDropKeptRows, buildLockKeptRows, buildRestoreKeptRows } from './undo-rows.ts';

/** The time after a load in which the load can be undone, and its replaced rows are kept. Milliseconds. */
export const UNDO_WINDOW_MS = 30 * DAY_MS;
/** The longest time for an undo, enough to remove and restore the rows of the largest load. Milliseconds. */
const UNDO_TIMEOUT_MS = 120_000;

/** The numbers of rows that an undo removed and restored. */
export interface UndoResult {
  removed: number;
  restored: number;
}

const computeUndoStart = (ctx: CompanyContext): string => formatIsoTimestamp(ctx.now() - UNDO_WINDOW_MS);

/** Finds the reason why a load cannot be undone; undefined when it can, unless a unique index forbids it. */
function findRefusal(
  load: Load,
  lastLoadId: string | undefined,
  limit: UndoLimit,
  since: string,
): UndoRefusal | undefined {
  if (load.status !== 'done') return 'not_done';
  if (load.undoneAt !== null) return 'already_undone';
  if (load.mode === 'upsert') return 'upsert';
  if (load.loadNumber === null || load.loadNumber === 0) return 'earlier_version';
  if (load.loadedAt <= since) return 'too_old';
  if (load.jobId !== lastLoadId) return 'later_load';
  return load.loadNumber > limit.loadNumber ? undefined : (limit.endedBy ?? 'columns_changed');
}

/** Lists a page of a table's loads of the last 30 days, the last first, each with whether it can be undone. */
export async function listLoads(
  ctx: CompanyContext,
  tableId: string,
  { page, perPage }: { page: number; perPage: number },
): Promise<{ total: number; records: (Load & { undoable: boolean })[] }> {
  const database = await requireTablesDatabaseToRead(ctx);
  const from = computeUndoStart(ctx);
  const pageWindow = { limit: perPage, offset: (page - 1) * perPage };
  const loads = selectLoads(ctx.actor.companyId, tableId, from, pageWindow);
  const [limits, lasts, [count], rows] = await database.queryAll<[UndoLimitRow, IdRow, { total: string }, LoadRow]>([
    ...selectUndoState(ctx, tableId),
    loads.countStatement,
    loads.pageStatement,
  ]);
  const { lastLoadId, limit } = toUndoState(limits, lasts);
  const isUndoable = (load: Load) => findRefusal(load, lastLoadId, limit, from) === undefined;
  return {
    total: Number(count?.total ?? 0),
    records: rows.map(toLoad).map((load) => ({ ...load, undoable: isUndoable(load) })),
  };
}

interface IdRow {
  id: string;
}

/** Makes the statements that read the table's last load and the limit of its undos. */
const selectUndoState = (ctx: CompanyContext, tableId: string): [limit: Statement, last: Statement] => {
  const key = toTableKey(ctx, tableId);
  return [selectUndoLimit(key), selectLastLoad(key.companyId, tableId)];
};

function toUndoState(
  [limit]: UndoLimitRow[],
  [lastLoad]: IdRow[],
): { limit: UndoLimit; lastLoadId: string | undefined } {
  if (!limit) throw tableNotFound();
  return { limit: toUndoLimit(limit), lastLoadId: lastLoad?.id };
}

/** Undoes a load in one transaction: removes the rows that it added, restores those it replaced, deletes the table it created. */
export async function undoUpload(ctx: PrincipalContext, id: string): Promise<UndoResult> {
  const database = await requireJobsDatabase(ctx);
  const job = await requireJob(ctx, 'managed-tables:upload', id);
  const { mode, userTableId: tableId } = job;
  requireAction(ctx.actor, mode === 'create' ? 'managed-tables:delete' : 'managed-tables:data-write', tableId ?? '*');
  if (job.status !== 'done' || tableId === null) throw notUndoable('not_done');
  if (mode === 'create') await scheduleSweep(ctx, ctx.now() + TRASH_RETENTION_MS);
  const key = { id, companyId: ctx.actor.companyId };
  const {
    name,
    isOfRows: _,
    ...undone
  } = await notifyChange(ctx, (announcement) =>
    runShapeChange(
      ctx,
      database,
      async (tx, announceTables) => {
        const load = await lockLoad(tx, key);
        if (!load) throw jobNotFound();
        if (load.evolved) requireAction(ctx.actor, 'managed-tables:update', tableId);
        const table = await lockLoadedTable(tx, ctx, load, tableId);
        announceTables(table.displayName);
        const { limit, lastLoadId } = toUndoState(
          ...(await tx.queryAll<[UndoLimitRow, IdRow]>(selectUndoState(ctx, tableId))),
        );
        const refusal = findRefusal(load, lastLoadId, limit, computeUndoStart(ctx));
        if (refusal) throw notUndoable(refusal);
        const outcome = await (mode === 'create'
          ? deleteCreatedTable(tx, ctx, table)
          : revertLoad(tx, ctx, table, load));
        await markLoadUndone(tx, key, ctx.actor.id, formatIsoTimestamp(ctx.now()));
        await announcement;
        return { ...outcome, name: table.displayName, isOfRows: mode === 'append' && !load.evolved };
      },
      (undoResult) => (undoResult.isOfRows ? [] : [tableId, undoResult.name]),
      { statementTimeoutMs: UNDO_TIMEOUT_MS },
    ),
  );
  if (mode !== 'create') await vacuumTable(ctx, database, name);
  return undone;
}

/** Locks the table of a load. @throws notUndoable for a deleted table, with the load's own reason where there is one */
async function lockLoadedTable(
  tx: TenantTx,
  ctx: PrincipalContext,
  load: Load,
  tableId: string,
): Promise<ManagedTable> {
  try {
    return await lockTable(tx, ctx, tableId, load.mode === 'create' || load.evolved ? 'shape' : 'rows');
  } catch (error) {
    if (!tableNotFound.matches(error)) throw error;
    const ownRefusal = findRefusal(load, load.jobId, { loadNumber: 0, endedBy: null }, computeUndoStart(ctx));
    throw notUndoable(ownRefusal ?? 'table_deleted');
  }
}

async function deleteCreatedTable(tx: TenantTx, ctx: PrincipalContext, table: ManagedTable): Promise<UndoResult> {
  await deleteLockedTable(tx, ctx, table);
  return { removed: table.rowCount, restored: 0 };
}

async function revertLoad(tx: TenantTx, ctx: PrincipalContext, table: ManagedTable, load: Load): Promise<UndoResult> {
  const { displayName: name, columns } = table;
  if (load.addedRows === null) throw new Error('a load that can be undone knows its rows');
  const isReplace = load.mode === 'replace';
  if (isReplace) await tx.execute(buildLockKeptRows(load.jobId)).catch(makeRefusalHandler('42P01', 'too_old'));
  const removedRowCount = await tx.execute(buildDeleteAddedRows(name, load.addedRows));
  if (load.evolved) await revertColumns(tx, ctx, table, load.evolved);
  let restoredRowCount = 0;
  if (isReplace) {
    // A unique index has the value of a row twice, or cannot hold it.
    const restoreResult = tx.execute(
      buildRestoreKeptRows(
        name,
        load.jobId,
        columns.filter((column) => !load.evolved?.added.includes(column.name)),
      ),
    );
    restoredRowCount = await restoreResult
      .catch(makeRefusalHandler('23505', 'unique_index'))
      .catch(makeRefusalHandler('54000', 'unique_index'));
    await tx.execute(buildDropKeptRows(load.jobId));
  }
  await changeRowCount(tx, ctx, table.id, restoredRowCount - removedRowCount);
  return { removed: removedRowCount, restored: restoredRowCount };
}

/** Reverts the load's changes to columns. @throws notUndoable where something else needs a changed column */
async function revertColumns(
  tx: TenantTx,
  ctx: PrincipalContext,
  table: ManagedTable,
  appliedEvolution: AppliedEvolution,
) {
  const neededColumn = await revertEvolution(tx, ctx, table, appliedEvolution).catch(
    makeRefusalHandler('23505', 'unique_index'),
  );
  if (neededColumn) throw notUndoable(neededColumn.reason, neededColumn.column);
}

const makeRefusalHandler =
  (code: string, refusal: UndoRefusal) =>
  (error: unknown): never => {
    throw isPostgresError(error) && error.code === code ? notUndoable(refusal) : error;
  };
