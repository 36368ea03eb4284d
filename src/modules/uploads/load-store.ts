import type { TenantTx } from '../../tenant-sql/client.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { toDatetimeJson } from '../../tenant-sql/values.ts';
import type { AppliedEvolution } from '../managed-tables/service.ts';
import type { JobProgress, JobStatus, UploadMode } from './job.ts';
import type { StoredFile } from './receive.ts';
import { JOB_KEY_CONDITION, type JobKey } from './store.ts';

/** A load: the changes that a job made to its table, with the data that an undo needs. Timestamps are ISO 8601 in UTC. */
export interface Load {
  jobId: string;
  tableId: string | null;
  mode: UploadMode;
  status: JobStatus;
  fileNames: string[];
  /** The number of rows of the files. */
  rowCount: number;
  /** The number of inserted rows. */
  inserted: number;
  /** The number of updated rows. */
  updated: number;
  /** The load's place in the order of the table's loads; 0 or null for a load of an earlier version of the program. */
  loadNumber: number | null;
  loadedAt: string;
  loadedBy: string;
  /** The first characters of the ids of the added rows, where the load added them to existing rows. */
  addedRows: string | null;
  /** The changes to the table's columns; null where the load made none. */
  evolved: AppliedEvolution | null;
  undoneAt: string | null;
}

/** The database row of a load. */
export interface LoadRow {
  id: string;
  user_table_id: string | null;
  mode: UploadMode;
  status: JobStatus;
  files: StoredFile[];
  progress: JobProgress;
  result: { inserted: number; updated: number } | null;
  load_number: string | null;
  loaded: string;
  created_by_user_id: string;
  added_rows: string | null;
  evolved: AppliedEvolution | null;
  undone_at: string | null;
}

const LOAD_COLUMNS =
  'id, user_table_id, mode, status, files, progress, result, load_number, coalesce(loaded_at, updated_at) AS loaded, created_by_user_id, evolved, added_rows, undone_at';

export const toLoad = (row: LoadRow): Load => ({
  jobId: row.id,
  tableId: row.user_table_id,
  mode: row.mode,
  status: row.status,
  fileNames: row.files.map(({ original_name }) => original_name),
  rowCount: row.progress.rows_processed,
  inserted: row.result?.inserted ?? row.progress.rows_processed,
  updated: row.result?.updated ?? 0,
  loadNumber: row.load_number === null ? null : Number(row.load_number),
  loadedAt: toDatetimeJson(row.loaded),
  loadedBy: row.created_by_user_id,
  addedRows: row.added_rows,
  evolved: row.evolved,
  undoneAt: row.undone_at && toDatetimeJson(row.undone_at),
});

/** Locks a job until the transaction ends, and reads its load. */
export async function lockLoad(tx: TenantTx, key: JobKey): Promise<Load | undefined> {
  const [row] = await tx.query<LoadRow>(
    `SELECT ${LOAD_COLUMNS} FROM console.upload_jobs WHERE ${JOB_KEY_CONDITION} FOR UPDATE`,
    [key.id, key.companyId],
  );
  return row && toLoad(row);
}

const LOADS_OF_TABLE_CONDITION = `company_id = $1 AND user_table_id = $2 AND status = 'done'`;

/** Selects the last load of a table that was not undone; a load without a number counts as the last. */
export const selectLastLoad = (companyId: string, tableId: string): Statement => ({
  text: `SELECT id FROM console.upload_jobs WHERE ${LOADS_OF_TABLE_CONDITION} AND undone_at IS NULL
    ORDER BY load_number DESC NULLS FIRST LIMIT 1`,
  values: [companyId, tableId],
});

/** Selects a page of a table's loads after `loadedSince` (ISO 8601), the last first, and their exact number as `total`. */
export const selectLoads = (
  companyId: string,
  tableId: string,
  loadedSince: string,
  { limit, offset }: { limit: number; offset: number },
): { countStatement: Statement; pageStatement: Statement } => {
  const condition = `${LOADS_OF_TABLE_CONDITION} AND coalesce(loaded_at, updated_at) > $3`;
  const values = [companyId, tableId, loadedSince];
  return {
    countStatement: { text: `SELECT count(*) AS total FROM console.upload_jobs WHERE ${condition}`, values },
    pageStatement: {
      text: `SELECT ${LOAD_COLUMNS} FROM console.upload_jobs WHERE ${condition}
        ORDER BY load_number DESC NULLS FIRST, loaded DESC, id DESC LIMIT $4 OFFSET $5`,
      values: [...values, limit, offset],
    },
  };
};

/** Marks a load as undone. The caller's transaction has locked it. */
export async function markLoadUndone(tx: TenantTx, key: JobKey, by: string, at: string): Promise<void> {
  await tx.execute(
    `UPDATE console.upload_jobs SET undone_at = $3, undone_by = $4, added_rows = NULL, updated_at = $3 WHERE ${JOB_KEY_CONDITION}`,
    [key.id, key.companyId, at, by],
  );
}

/**
 * Reads the tables of schema `kept`, first those that no load needs, then the oldest. `loadedAt` is the time in milliseconds of the
 * load that needs the table for an undo; null when none does.
 */
export async function readKeptTables(tx: TenantTx, companyId: string, limit: number) {
  const rows = await tx.query<{ name: string; loaded_at: string | null }>(
    `SELECT tablename AS name, (extract(epoch FROM needed.loaded_at) * 1000)::bigint AS loaded_at
     FROM pg_tables LEFT JOIN (
       SELECT job.id, job.loaded_at FROM console.upload_jobs AS job
       JOIN console.managed_tables AS of_job ON of_job.id = job.user_table_id AND of_job.company_id = job.company_id
       WHERE job.company_id = $1 AND job.undone_at IS NULL AND job.load_number > of_job.undoable_after
     ) AS needed ON needed.id = tablename
     WHERE schemaname = 'kept' ORDER BY needed.loaded_at NULLS FIRST LIMIT $2`,
    [companyId, limit],
  );
  return rows.map(({ name, loaded_at }) => ({ jobId: name, loadedAt: loaded_at === null ? null : Number(loaded_at) }));
}
