import type { Denials } from '../../permissions/denials.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import { type RowOf, toRecord } from '../../tenant-sql/records.ts';
import { toDatetimeJson } from '../../tenant-sql/values.ts';
import { listDeniedValues, makeNotDeniedCondition } from '../managed-tables/service.ts';
import type { ConfirmedSchema, EvolveMode, JobError, JobProgress, JobStatus, Reading, UploadJob } from './job.ts';
import type { ReadingOptions } from './reading-options.ts';

/** The key of a job: its id and company. Every statement on jobs filters by both. */
export interface JobKey {
  id: string;
  companyId: string;
}

/** The members of a job that its row holds under the names of the columns. */
type StoredJob = Omit<UploadJob, 'key' | 'progress'>;

/** A row of `console.upload_jobs`, selected by {@link JOB_COLUMNS}. */
export type JobRow = RowOf<StoredJob> & { key_columns: UploadJob['key']; progress: JobProgress };

export const JOB_COLUMNS =
  'id, company_id, user_table_id, created_by_user_id, files, mode, evolve, status, inferred_schema, confirmed_schema, progress, error, key_columns, result, undone_at, undone_by, source_url, created_at, updated_at';

/** The SQL condition for the job of a {@link JobKey}, whose members are the first two parameters. */
export const JOB_KEY_CONDITION = 'id = $1 AND company_id = $2';

/** The SQL condition for jobs that have not ended. */
export const ACTIVE_JOB_CONDITION = `status IN ('queued', 'analisando', 'waiting_confirm', 'inserting')`;

/** The maximum number of jobs in a list; expiry keeps the number of waiting jobs low. */
const MAX_LISTED_JOBS = 500;

export const toJob = ({ key_columns: key, progress, ...row }: JobRow): UploadJob => ({
  ...toRecord<StoredJob>(row),
  key,
  progress: row.status === 'queued' ? null : { ...progress, phase: row.status },
  undoneAt: row.undone_at && toDatetimeJson(row.undone_at),
  createdAt: toDatetimeJson(row.created_at),
  updatedAt: toDatetimeJson(row.updated_at),
});

/** A new job, whose files are stored, or are to be fetched according to its `state`. */
export type NewJob = Pick<UploadJob, 'id' | 'companyId' | 'createdByUserId' | 'files' | 'createdAt'> & {
  progress: JobProgress;
  preparedFetch?: { sourceUrl: string; state: object };
};

/** Inserts a job that is `queued`. Its progress is shown once work begins. */
export async function insertJob(
  tx: TenantTx,
  job: NewJob & Pick<UploadJob, 'mode' | 'userTableId' | 'key'> & { evolve?: EvolveMode },
): Promise<void> {
  await tx.execute(
    `INSERT INTO console.upload_jobs
       (id, company_id, user_table_id, created_by_user_id, files, mode, evolve, key_columns, status, progress, source_url,
        state, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5::json, $6, $12, $9::json, 'queued', $7::json, $10, $11::json, $8, $8)`,
    [
      job.id,
      job.companyId,
      job.userTableId,
      job.createdByUserId,
      JSON.stringify(job.files),
      job.mode,
      JSON.stringify(job.progress),
      job.createdAt,
      job.key && JSON.stringify(job.key),
      job.preparedFetch?.sourceUrl ?? null,
      job.preparedFetch ? JSON.stringify(job.preparedFetch.state) : null,
      job.evolve ?? 'none',
    ],
  );
}

export async function readJob(tx: TenantTx, key: JobKey): Promise<UploadJob | undefined> {
  const [row] = await tx.query<JobRow>(`SELECT ${JOB_COLUMNS} FROM console.upload_jobs WHERE ${JOB_KEY_CONDITION}`, [
    key.id,
    key.companyId,
  ]);
  return row && toJob(row);
}

/** Reads the transaction that last changed each of these jobs, by the job's id. */
export async function readLastChanges(tx: TenantTx, companyId: string, ids: readonly string[]) {
  const rows = await tx.query<{ id: string; changed_by: string }>(
    'SELECT id, xmin::text AS changed_by FROM console.upload_jobs WHERE company_id = $1 AND id = ANY($2::text[])',
    [companyId, ids],
  );
  return new Map(rows.map(({ id, changed_by: changedBy }) => [id, changedBy]));
}

/** Reads jobs that have not ended, newest first, without jobs of tables that are denied. */
export async function readActiveJobs(tx: TenantTx, companyId: string, denials: Denials): Promise<UploadJob[]> {
  const rows = await tx.query<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE_JOB_CONDITION}
       AND (user_table_id IS NULL OR ${makeNotDeniedCondition('user_table_id', 3)})
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    [companyId, MAX_LISTED_JOBS, ...listDeniedValues(denials)],
  );
  return rows.map(toJob);
}

/**
 * Moves a waiting job to its load. @returns false when it no longer waits, or was analyzed again since it was read
 * @throws PostgresError of the constraint `upload_jobs_name` when another job loads a table of that name
 */
export async function confirmJob(
  tx: TenantTx,
  job: JobKey & Pick<UploadJob, 'updatedAt'>,
  confirmed: { schema: ConfirmedSchema; progress: JobProgress },
  at: string,
): Promise<boolean> {
  const changedRows = await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'inserting', confirmed_schema = $3::json, progress = $4::json, step = step + 1, attempts = 0, updated_at = $5
     WHERE ${JOB_KEY_CONDITION} AND status = 'waiting_confirm' AND updated_at = $6`,
    [job.id, job.companyId, JSON.stringify(confirmed.schema), JSON.stringify(confirmed.progress), at, job.updatedAt],
  );
  return changedRows === 1;
}

/** Moves a waiting job to another analysis, with a person's options; its schema stays. @returns false when it no longer waits */
export async function startReanalysis(
  tx: TenantTx,
  key: JobKey,
  readingOptions: ReadingOptions,
  at: string,
): Promise<boolean> {
  const changedRows = await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'queued', step = step + 1, attempts = 0, updated_at = $4,
       state = json_build_object('analysis', 0, 'look', json_build_object('number', step + 1, 'said', $3::json))
     WHERE ${JOB_KEY_CONDITION} AND status = 'waiting_confirm'`,
    [key.id, key.companyId, JSON.stringify(readingOptions), at],
  );
  return changedRows === 1;
}

/** Reads the results of inference that the load of a job needs; undefined before inference has finished. */
export async function readReading(tx: TenantTx, key: JobKey): Promise<Reading | undefined> {
  const [row] = await tx.query<{ reading: Reading | null }>(
    `SELECT reading FROM console.upload_jobs WHERE ${JOB_KEY_CONDITION}`,
    [key.id, key.companyId],
  );
  return row?.reading ?? undefined;
}

/** Locks the job until the transaction ends. */
export async function lockJob(tx: TenantTx, key: JobKey) {
  const [row] = await tx.query<{ status: JobStatus; step: number; state: unknown }>(
    `SELECT status, step, state FROM console.upload_jobs WHERE ${JOB_KEY_CONDITION} FOR UPDATE`,
    [key.id, key.companyId],
  );
  return row;
}

/** Ends a job as failed. The caller's transaction has locked it. */
export async function failJob(tx: TenantTx, key: JobKey, error: JobError, at: string): Promise<void> {
  await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'failed', error = $3::json, step = step + 1, state = NULL, updated_at = $4
     WHERE ${JOB_KEY_CONDITION}`,
    [key.id, key.companyId, JSON.stringify(error), at],
  );
}
