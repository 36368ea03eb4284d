import { Failure } from '../../kernel/failure.ts';
import { logError } from '../../platform/log.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import { addPrimaryKey, moveIntoPlace } from '../../tenant-sql/ddl.ts';
import { appendRows, deleteRows, vacuum } from '../../tenant-sql/staging.ts';
import { announceChange, lockTable, type ManagedTable, registerTable, setRowCount } from '../managed-tables/service.ts';
import { confirmedOf, type LoadState, loadedColumns } from './chunks.ts';
import { stagingTable } from './ending.ts';
import type { JobProgress } from './job.ts';
import { JobProblem, nameTaken, rowsDiffer, Superseded, tableChanged, tableGone } from './problems.ts';
import * as store from './store.ts';
import { nowOf, type Turn } from './work.ts';

/** Building the key of the largest table that an upload makes, or moving its rows into another, takes seconds. */
const PUBLISH_TIMEOUT_MS = 10 * 60_000;
const VACUUM_TIMEOUT_MS = 2 * 60_000;

/**
 * Brings the rows of a complete load to where people see them, and ends the job, in one transaction. Readers see all of
 * it or nothing, and wait for nothing: rows that are replaced are deleted, not truncated.
 * @throws JobProblem when the name is taken, or the table is not as it was; Superseded
 */
export async function publish(turn: Turn<LoadState>, state: LoadState, progress: JobProgress): Promise<void> {
  const { ctx, database, job } = turn;
  const expected = job.inferredSchema?.total_row_count_estimate ?? 0;
  if (state.rows !== expected) throw new JobProblem(rowsDiffer(state.rows, expected));
  await database.transaction(
    async (tx) => {
      const held = await store.hold(tx, keyOf(turn));
      if (held?.step !== job.step) throw new Superseded();
      const userTableId = job.mode === 'create' ? await makeTable(tx, turn, state) : await moveRows(tx, turn, state);
      await store.finishLoad(tx, keyOf(turn), { userTableId, progress }, nowOf(ctx));
    },
    { statementTimeoutMs: PUBLISH_TIMEOUT_MS },
  );
  if (job.mode === 'append') return;
  await announceChange(ctx, [job.userTableId ?? state.table_id, confirmedOf(job).display_name]);
  if (job.mode === 'create') return;
  // What is left undone here, Postgres does by itself later.
  await database.executeAlone(vacuum(confirmedOf(job).display_name), VACUUM_TIMEOUT_MS).catch((error: unknown) => {
    logError('vacuum_failed', error, { company_id: job.companyId });
  });
}

const keyOf = ({ job }: Turn<LoadState>): store.JobKey => ({ id: job.id, companyId: job.companyId });

/** The staging table becomes the table. */
async function makeTable(tx: TenantTx, { ctx, job }: Turn<LoadState>, state: LoadState): Promise<string> {
  const { display_name: name, columns } = confirmedOf(job);
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
  return id;
}

/** The rows of the staging table go into the table that is there. */
async function moveRows(tx: TenantTx, turn: Turn<LoadState>, state: LoadState): Promise<string> {
  const { ctx, job } = turn;
  const table = await heldTable(tx, turn);
  const names = loadedColumns(job).map(({ name }) => name);
  const replace = job.mode === 'replace';
  if (replace) await tx.execute(deleteRows(table.displayName));
  await tx.execute(appendRows(table.displayName, state.table_id, names));
  await tx.execute(`DROP TABLE ${stagingTable(state.table_id)}`);
  await setRowCount(tx, ctx, table.id, replace ? state.rows : table.rowCount + state.rows);
  return table.id;
}

/** The table, held against every other change, if it still has the columns that the rows were made for. */
async function heldTable(tx: TenantTx, { ctx, job }: Turn<LoadState>): Promise<ManagedTable> {
  const table = await lockTable(tx, ctx, job.userTableId ?? '').catch((error: unknown) => {
    throw error instanceof Failure && error.kind === 'missing' ? new JobProblem(tableGone) : error;
  });
  const { columns } = confirmedOf(job);
  const present = new Map(table.columns.map((column) => [column.name, column]));
  const same = columns.every(({ name, type, nullable }) => {
    const column = present.get(name);
    return column?.type === type && column.nullable === nullable;
  });
  if (!same) throw new JobProblem(tableChanged);
  return table;
}

/** The catalogue has the name, or schema `public` does. */
const isNameTaken = (error: unknown): boolean =>
  (error instanceof Failure && error.reason === 'managed_table.duplicate_name') ||
  (isPostgresError(error) && error.code === '42P07');
