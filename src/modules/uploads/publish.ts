import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { logError } from '../../platform/log.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { MAX_COLUMNS, type TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { buildAddPrimaryKey, buildMoveIntoPublic } from '../../tenant-sql/ddl.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import { makeTenantNames } from '../../tenant-sql/roles.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import {
  type AnnounceTables,
  type AppliedEvolution,
  changeRowCount,
  evolveTable,
  isNameTaken,
  listIndexes,
  lockTable,
  type ManagedTable,
  registerTable,
  runShapeChange,
} from '../managed-tables/service.ts';
import { type LoadState, listLoadedColumns, requireConfirmed } from './chunks.ts';
import { cutValue } from './inference/index.ts';
import type { JobProgress } from './job.ts';
import { finishLoad, type PublishedLoad } from './job-store.ts';
import {
  duplicateValue,
  JobProblem,
  nameTaken,
  rowsDiffer,
  SupersededError,
  tableChanged,
  tableDeleted,
  tooLongForIndex,
  tooManyColumnsOverTime,
} from './problems.ts';
import { locateRow, RowRefusedError, toLocatedProblem } from './refused-row.ts';
import {
  buildAppendRows,
  buildSelectLongest,
  buildVacuum,
  formatStagingTable,
  SELECT_ID_PREFIX_SQL,
} from './staging.ts';
import { lockJob } from './store.ts';
import { buildKeepRows } from './undo-rows.ts';
import { upsertRows } from './upsert.ts';
import type { JobWork } from './work.ts';

/** The longest time for indexing or moving the rows of an upload, which takes seconds for the largest upload. Milliseconds. */
const PUBLISH_TIMEOUT_MS = 10 * 60_000;
const VACUUM_TIMEOUT_MS = 2 * 60_000;

/**
 * Moves the rows of a complete load into their table, and ends the job, in one transaction. Readers see all rows or none, and
 * never wait: rows that are replaced are deleted, not truncated, and kept for an undo. Only a load that changes columns makes
 * readers wait, like any change of columns. @throws JobProblem when the name is taken, or the table has changed; SupersededError
 */
export async function publishRows(work: JobWork<LoadState>, state: LoadState, progress: JobProgress): Promise<void> {
  const { ctx, database, job } = work;
  const expectedRowCount = job.inferredSchema?.total_row_count_estimate ?? 0;
  if (state.rows !== expectedRowCount) throw new JobProblem(rowsDiffer(state.rows, expectedRowCount));
  const moveRowsAndFinish = async (tx: TenantTx, announceTables: AnnounceTables) => {
    const lockedJob = await lockJob(tx, job);
    if (lockedJob?.step !== job.stepNumber) throw new SupersededError();
    const fillTable = job.mode === 'create' ? createTable : moveRows;
    const publishedLoad = await fillTable(tx, work, state, announceTables);
    await finishLoad(tx, job, { ...publishedLoad, progress }, formatIsoTimestamp(ctx.now()));
  };
  const tables = [job.userTableId ?? state.table_id, requireConfirmed(job).display_name];
  const changesOnlyRows = job.mode === 'append' && !requireConfirmed(job).evolution;
  const listChangedTables = () => (changesOnlyRows ? [] : tables);
  const options = { statementTimeoutMs: PUBLISH_TIMEOUT_MS, spaceEffect: 'adds' } as const;
  await runShapeChange(ctx, database, moveRowsAndFinish, listChangedTables, options).catch(async (error: unknown) => {
    if (error instanceof RowRefusedError) throw await toLocatedProblem(ctx, job, state, error);
    throw (await findIndexProblem(work, state, error)) ?? error;
  });
  if (job.mode === 'append' || job.mode === 'create') return;
  await vacuumTable(ctx, database, requireConfirmed(job).display_name);
}

/** Frees the disk space of rows that were replaced; without this, Postgres frees it later. */
export async function vacuumTable({ actor }: CompanyContext, database: TenantSql, name: string): Promise<void> {
  await database.executeOutsideTransaction(buildVacuum(name), VACUUM_TIMEOUT_MS).catch((error: unknown) => {
    logError('vacuum_failed', error, { company_id: actor.companyId });
  });
}

/** Finds the problem of rows that violate an index of the table; undefined for other errors. */
async function findIndexProblem(
  { ctx, database, job }: JobWork<LoadState>,
  state: LoadState,
  error: unknown,
): Promise<JobProblem | undefined> {
  const refusal = toIndexRefusal(error);
  if (!refusal) return undefined;
  if (refusal.reason === 'duplicate') {
    const value = cutValue(formatDuplicate(refusal, requireConfirmed(job).columns));
    return new JobProblem(duplicateValue(refusal.columns.join(', '), value));
  }
  const indexes = await listIndexes(ctx, job.userTableId ?? '');
  const refusingIndex = indexes.find(({ id }) => id === refusal.id);
  // The index that an upsert makes for its key is gone with its transaction.
  const indexedNames = refusingIndex?.columns ?? [...indexes.flatMap(({ columns }) => columns), ...(job.key ?? [])];
  const names = listLoadedColumns(job).map(({ name }) => name);
  const knownNames = names.filter((name) => indexedNames.includes(name));
  // An index that is being built is not listed yet.
  const columns = knownNames.length > 0 ? knownNames : names;
  const [longest] = await database.runInTransaction(
    (tx) => tx.query<{ row: string; at: number; value: string }>(buildSelectLongest(state.table_id, columns)),
    { statementTimeoutMs: PUBLISH_TIMEOUT_MS },
  );
  if (!longest) return undefined;
  const rowPlace = await locateRow(ctx, job, state, Number(longest.row));
  return new JobProblem(tooLongForIndex(columns[longest.at] ?? '', { ...rowPlace, value: cutValue(longest.value) }));
}

/** Turns the staging table into the new table of the job. */
async function createTable(
  tx: TenantTx,
  { ctx, job }: JobWork<LoadState>,
  state: LoadState,
  announceTables: AnnounceTables,
): Promise<PublishedLoad> {
  const { display_name: name, columns } = requireConfirmed(job);
  announceTables(name);
  const id = state.table_id;
  try {
    await tx.execute(buildAddPrimaryKey({ schema: 'console', name: id, id }));
    await registerTable(tx, ctx, {
      id,
      displayName: name,
      columns: columns.map(({ source_index: _, ...column }) => column),
      source: 'upload',
      rowCount: state.rows,
      createdByUserId: job.createdByUserId,
    });
    for (const statement of buildMoveIntoPublic({ name, id })) await tx.execute(statement);
  } catch (error) {
    throw isNameTaken(error) ? new JobProblem(nameTaken(name)) : error;
  }
  return { userTableId: id, addedRows: null };
}

/** Moves the rows of the staging table into the existing table. */
async function moveRows(
  tx: TenantTx,
  work: JobWork<LoadState>,
  state: LoadState,
  announceTables: AnnounceTables,
): Promise<PublishedLoad> {
  const { ctx, job } = work;
  const { table: currentTable, missingEvolution } = await lockUnchangedTable(tx, work);
  announceTables(currentTable.displayName);
  const { reader } = makeTenantNames(job.companyId);
  // They are kept as they were, in columns of the types of before.
  const removedRowCount =
    job.mode === 'replace' ? await tx.execute(buildKeepRows(currentTable.displayName, job.id, reader)) : 0;
  const { table, evolved } = await evolveColumns(tx, ctx, currentTable, missingEvolution);
  if (job.mode === 'upsert') {
    const result = await upsertRows(tx, work, state, table);
    await tx.execute(`DROP TABLE ${formatStagingTable(state.table_id)}`);
    await changeRowCount(tx, ctx, table.id, result.inserted);
    return { userTableId: table.id, addedRows: null, result, ...evolved };
  }
  const names = listLoadedColumns(job).map(({ name }) => name);
  const [generatedId] = await tx.query<{ beginning: string }>(SELECT_ID_PREFIX_SQL);
  const addedRowsPrefix = generatedId?.beginning as string;
  await tx.execute(buildAppendRows(table.displayName, state.table_id, names, addedRowsPrefix));
  await tx.execute(`DROP TABLE ${formatStagingTable(state.table_id)}`);
  await changeRowCount(tx, ctx, table.id, state.rows - removedRowCount);
  return { userTableId: table.id, addedRows: addedRowsPrefix, ...evolved };
}

/** The changes to the columns of a table that must still be made before the rows fit: another load may have made some. */
interface MissingEvolution {
  addedColumns: TableColumnDefinition[];
  widened: AppliedEvolution['widened'];
}

/** Changes the columns of a locked table. @returns the changed table, and the changes of the load */
async function evolveColumns(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  { addedColumns, widened }: MissingEvolution,
): Promise<{ table: ManagedTable; evolved?: { evolved: AppliedEvolution } }> {
  if (addedColumns.length + widened.length === 0) return { table };
  if (table.columns.length + addedColumns.length > MAX_COLUMNS) throw new JobProblem(tooManyColumnsOverTime);
  try {
    const appliedEvolution = { added: addedColumns.map(({ name }) => name), widened };
    return { table: await evolveTable(tx, ctx, table, addedColumns, widened), evolved: { evolved: appliedEvolution } };
  } catch (error) {
    throw isPostgresError(error) && error.code === '54011' ? new JobProblem(tooManyColumnsOverTime) : error;
  }
}

/**
 * Locks the table against all changes that the load does not allow: also against changes of columns, where the load changes
 * columns itself. @throws JobProblem when the table has other columns than were confirmed, or is deleted
 */
async function lockUnchangedTable(
  tx: TenantTx,
  { ctx, job }: JobWork<LoadState>,
): Promise<{ table: ManagedTable; missingEvolution: MissingEvolution }> {
  const { columns, evolution } = requireConfirmed(job);
  const table = await lockTable(tx, ctx, job.userTableId ?? '', evolution ? 'shape' : 'rows').catch(
    (error: unknown) => {
      throw tableNotFound.matches(error) ? new JobProblem(tableDeleted) : error;
    },
  );
  const currentColumns = new Map(table.columns.map((column) => [column.name, column]));
  const newNames = new Set(evolution?.added);
  const formerTypes = new Map(evolution?.widened.map(({ name, from }) => [name, from]));
  const missingEvolution: MissingEvolution = { addedColumns: [], widened: [] };
  const areColumnsUnchanged = columns.every(({ source_index: _, ...wanted }) => {
    const { name, type, nullable } = wanted;
    const column = currentColumns.get(name);
    if (!column && newNames.has(name)) return missingEvolution.addedColumns.push(wanted) > 0;
    if (column && column.type !== type && formerTypes.get(name) === column.type)
      missingEvolution.widened.push({ name, from: column.type, to: type });
    else if (column?.type !== type) return false;
    return column.nullable === nullable;
  });
  if (!areColumnsUnchanged) throw new JobProblem(tableChanged);
  return { table, missingEvolution };
}
