import type { CompanyContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { logError } from '../../platform/log.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { type Column, MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import { addPrimaryKey, moveIntoPlace } from '../../tenant-sql/ddl.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import { tenantNames } from '../../tenant-sql/roles.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import {
  type AnnounceTables,
  type AppliedEvolution,
  countRows,
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
import { keepRows } from './kept-rows.ts';
import {
  duplicateValue,
  JobProblem,
  nameTaken,
  rowsDiffer,
  Superseded,
  tableChanged,
  tableGone,
  tooLongForIndex,
  tooManyColumnsOverTime,
} from './problems.ts';
import { locateRefusedRow, locateRow, RowRefused } from './refused-row.ts';
import { appendRows, buildVacuum, DRAW_BEGINNING, formatStagingTable, selectLongest } from './staging.ts';
import { lockJob } from './store.ts';
import { upsertRows } from './upsert.ts';
import type { Work } from './work.ts';
import { finishLoad, type PublishedLoad } from './work-store.ts';

/** The longest time for indexing or moving the rows of an upload, which takes seconds for the largest one. Milliseconds. */
const PUBLISH_TIMEOUT_MS = 10 * 60_000;
const VACUUM_TIMEOUT_MS = 2 * 60_000;

/**
 * Moves the rows of a complete load into their table, and ends the job, in one transaction. Readers see all rows or none,
 * and never wait: rows that are replaced are deleted, not truncated, and kept for an undo. Only a load that changes columns
 * makes them wait, as such a change by hand does.
 * @throws JobProblem when the name is taken, or the table has changed; Superseded
 */
export async function publishRows(work: Work<LoadState>, state: LoadState, progress: JobProgress): Promise<void> {
  const { ctx, database, job } = work;
  const expected = job.inferredSchema?.total_row_count_estimate ?? 0;
  if (state.rows !== expected) throw new JobProblem(rowsDiffer(state.rows, expected));
  const move = async (tx: TenantTx, changing: AnnounceTables) => {
    const locked = await lockJob(tx, job);
    if (locked?.step !== job.step) throw new Superseded();
    const place = job.mode === 'create' ? createTable : moveRows;
    const placed = await place(tx, work, state, changing);
    await finishLoad(tx, job, { ...placed, progress }, isoTimestamp(ctx.now()));
  };
  const tables = [job.userTableId ?? state.table_id, requireConfirmed(job).display_name];
  const isOfRows = job.mode === 'append' && !requireConfirmed(job).evolution;
  const changed = () => (isOfRows ? [] : tables);
  const options = { statementTimeoutMs: PUBLISH_TIMEOUT_MS, room: 'adds' } as const;
  await runShapeChange(ctx, database, move, changed, options).catch(async (error: unknown) => {
    if (error instanceof RowRefused) throw await locateRefusedRow(ctx, job, state, error);
    throw (await explainIndexRefusal(work, state, error)) ?? error;
  });
  if (job.mode === 'append' || job.mode === 'create') return;
  await vacuumTable(ctx, database, requireConfirmed(job).display_name);
}

/** Frees the space of rows that were replaced; without this, Postgres does it later. */
export async function vacuumTable({ actor }: CompanyContext, database: TenantSql, name: string): Promise<void> {
  await database.executeAlone(buildVacuum(name), VACUUM_TIMEOUT_MS).catch((error: unknown) => {
    logError('vacuum_failed', error, { company_id: actor.companyId });
  });
}

/** The problem of rows that violate an index of the table; undefined for other errors. */
async function explainIndexRefusal(
  { ctx, database, job }: Work<LoadState>,
  state: LoadState,
  error: unknown,
): Promise<JobProblem | undefined> {
  const refusal = toIndexRefusal(error);
  if (!refusal) return undefined;
  if (refusal.why === 'duplicate') {
    const value = formatDuplicate(refusal, requireConfirmed(job).columns);
    return new JobProblem(duplicateValue(refusal.columns.join(', '), value));
  }
  const indexes = await listIndexes(ctx, job.userTableId ?? '');
  const refusing = indexes.find(({ id }) => id === refusal.id);
  // The index that an upsert makes for its key is gone with its transaction.
  const indexed = refusing?.columns ?? [...indexes.flatMap(({ columns }) => columns), ...(job.key ?? [])];
  const names = listLoadedColumns(job).map(({ name }) => name);
  const known = names.filter((name) => indexed.includes(name));
  // An index that is being built is not listed yet.
  const columns = known.length > 0 ? known : names;
  const [longest] = await database.transaction(
    (tx) => tx.query<{ row: string; at: number; value: string }>(selectLongest(state.table_id, columns)),
    { statementTimeoutMs: PUBLISH_TIMEOUT_MS },
  );
  if (!longest) return undefined;
  const place = await locateRow(ctx, job, state, Number(longest.row));
  return new JobProblem(tooLongForIndex(columns[longest.at] ?? '', { ...place, value: cutValue(longest.value) }));
}

/** Makes the staging table the table of the job. */
async function createTable(
  tx: TenantTx,
  { ctx, job }: Work<LoadState>,
  state: LoadState,
  changing: AnnounceTables,
): Promise<PublishedLoad> {
  const { display_name: name, columns } = requireConfirmed(job);
  changing(name);
  const id = state.table_id;
  try {
    await tx.execute(addPrimaryKey({ schema: 'console', name: id, id }));
    await registerTable(tx, ctx, {
      id,
      displayName: name,
      columns: columns.map(({ source_index: _, ...column }) => column),
      source: 'upload',
      rowCount: state.rows,
      createdByUserId: job.createdByUserId,
    });
    for (const statement of moveIntoPlace({ name, id })) await tx.execute(statement);
  } catch (error) {
    throw isNameTaken(error) ? new JobProblem(nameTaken(name)) : error;
  }
  return { userTableId: id, addedRows: null };
}

/** Moves the rows of the staging table into the existing table. */
async function moveRows(
  tx: TenantTx,
  work: Work<LoadState>,
  state: LoadState,
  changing: AnnounceTables,
): Promise<PublishedLoad> {
  const { ctx, job } = work;
  const { table: present, evolving } = await lockUnchangedTable(tx, work);
  changing(present.displayName);
  const { reader } = tenantNames(job.companyId);
  // They are kept as they were, in columns of the types of before.
  const removed = job.mode === 'replace' ? await tx.execute(keepRows(present.displayName, job.id, reader)) : 0;
  const { table, evolved } = await evolveColumns(tx, ctx, present, evolving);
  if (job.mode === 'upsert') {
    const result = await upsertRows(tx, work, state, table);
    await tx.execute(`DROP TABLE ${formatStagingTable(state.table_id)}`);
    await countRows(tx, ctx, table.id, result.inserted);
    return { userTableId: table.id, addedRows: null, result, ...evolved };
  }
  const names = listLoadedColumns(job).map(({ name }) => name);
  const [drawn] = await tx.query<{ beginning: string }>(DRAW_BEGINNING);
  const addedRows = drawn?.beginning as string;
  await tx.execute(appendRows(table.displayName, state.table_id, names, addedRows));
  await tx.execute(`DROP TABLE ${formatStagingTable(state.table_id)}`);
  await countRows(tx, ctx, table.id, state.rows - removed);
  return { userTableId: table.id, addedRows, ...evolved };
}

/** The changes to the columns of a table that are still needed before the rows fit: another load may have made some. */
interface MissingEvolution {
  added: Column[];
  widened: AppliedEvolution['widened'];
}

/** Changes the columns of a locked table. @returns the table after that, and the changes of the load */
async function evolveColumns(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  { added, widened }: MissingEvolution,
): Promise<{ table: ManagedTable; evolved?: { evolved: AppliedEvolution } }> {
  if (added.length + widened.length === 0) return { table };
  if (table.columns.length + added.length > MAX_COLUMNS) throw new JobProblem(tooManyColumnsOverTime);
  try {
    const evolved = { added: added.map(({ name }) => name), widened };
    return { table: await evolveTable(tx, ctx, table, added, widened), evolved: { evolved } };
  } catch (error) {
    throw isPostgresError(error) && error.code === '54011' ? new JobProblem(tooManyColumnsOverTime) : error;
  }
}

/**
 * Locks the table against all changes that the load does not allow: also of its columns, where it changes any itself.
 * @throws JobProblem when the table has other columns than were confirmed, or is gone
 */
async function lockUnchangedTable(
  tx: TenantTx,
  { ctx, job }: Work<LoadState>,
): Promise<{ table: ManagedTable; evolving: MissingEvolution }> {
  const { columns, evolution } = requireConfirmed(job);
  const table = await lockTable(tx, ctx, job.userTableId ?? '', evolution ? 'shape' : 'rows').catch(
    (error: unknown) => {
      throw tableNotFound.matches(error) ? new JobProblem(tableGone) : error;
    },
  );
  const present = new Map(table.columns.map((column) => [column.name, column]));
  const isNew = new Set(evolution?.added);
  const narrow = new Map(evolution?.widened.map(({ name, from }) => [name, from]));
  const evolving: MissingEvolution = { added: [], widened: [] };
  const same = columns.every(({ source_index: _, ...wanted }) => {
    const { name, type, nullable } = wanted;
    const column = present.get(name);
    if (!column && isNew.has(name)) return evolving.added.push(wanted) > 0;
    if (column && column.type !== type && narrow.get(name) === column.type)
      evolving.widened.push({ name, from: column.type, to: type });
    else if (column?.type !== type) return false;
    return column.nullable === nullable;
  });
  if (!same) throw new JobProblem(tableChanged);
  return { table, evolving };
}
