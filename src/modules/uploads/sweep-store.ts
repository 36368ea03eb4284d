import type { TenantTx } from '../../tenant-sql/client.ts';
import type { JobStatus } from './job.ts';
import { ACTIVE_JOB_CONDITION } from './store.ts';

/** The fields of a job that a sweep needs. */
export interface SweptJob {
  id: string;
  status: JobStatus;
  stepNumber: number;
  /** The time of the last change, in milliseconds. */
  updatedAt: number;
}

const SWEPT_JOB_COLUMNS = `id, status, step, (extract(epoch FROM updated_at) * 1000)::bigint AS updated_at`;

type SweptRow = Pick<SweptJob, 'id' | 'status'> & { step: number; updated_at: string };

const toSweptJob = ({ step: stepNumber, updated_at: updatedAt, ...row }: SweptRow): SweptJob => ({
  ...row,
  stepNumber,
  updatedAt: Number(updatedAt),
});

/** SQL for the day (UTC) on which a finished job was loaded. */
const LOADED_DAY_SQL = "(coalesce(loaded_at, updated_at) AT TIME ZONE 'UTC')::date";
/** SQL for the number of rows that a finished job has loaded. */
const LOADED_ROWS_SQL = "(progress ->> 'rows_processed')::bigint";

/** Reads the rows that jobs have loaded on each day (`2026-01-31`) of a range, both ends included; days without any are left out. */
export async function readLoadedDays(tx: TenantTx, companyId: string, from: string, to: string) {
  const rows = await tx.query<{ day: string; rows: string }>(
    `SELECT day::text, sum(rows) AS rows FROM (
       SELECT day, rows FROM console.loaded_days
       UNION ALL SELECT ${LOADED_DAY_SQL}, ${LOADED_ROWS_SQL} FROM console.upload_jobs WHERE company_id = $1 AND status = 'done'
     ) AS loaded WHERE day BETWEEN $2::date AND $3::date GROUP BY day`,
    [companyId, from, to],
  );
  return new Map(rows.map(({ day, rows: count }) => [day, Number(count)]));
}

/** The times (ISO 8601) since which a silent job has not changed. */
export interface SilenceCutoffs {
  /** The time for jobs that wait for their confirmation. */
  waitingCutoff: string;
  /** The time for all other jobs. */
  workingCutoff: string;
}

const SILENCE_CUTOFF_SQL = `CASE status WHEN 'waiting_confirm' THEN $2::timestamptz ELSE $3::timestamptz END`;

/** Reads active jobs that are silent (unchanged for too long), the longest silent first. */
export async function readSilentJobs(
  tx: TenantTx,
  companyId: string,
  cutoffs: SilenceCutoffs,
  limit: number,
): Promise<SweptJob[]> {
  const rows = await tx.query<SweptRow>(
    `SELECT ${SWEPT_JOB_COLUMNS} FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE_JOB_CONDITION} AND updated_at <= ${SILENCE_CUTOFF_SQL}
     ORDER BY updated_at LIMIT $4`,
    [companyId, cutoffs.waitingCutoff, cutoffs.workingCutoff, limit],
  );
  return rows.map(toSweptJob);
}

/** Computes the milliseconds after the cutoffs until the next active job is silent; null if no job is active. */
export async function measureTimeUntilSilent(
  tx: TenantTx,
  companyId: string,
  cutoffs: SilenceCutoffs,
): Promise<number | null> {
  const [row] = await tx.query<{ left: string | null }>(
    `SELECT (extract(epoch FROM min(updated_at - ${SILENCE_CUTOFF_SQL})) * 1000)::bigint AS left
     FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE_JOB_CONDITION}`,
    [companyId, cutoffs.waitingCutoff, cutoffs.workingCutoff],
  );
  return row?.left ? Number(row.left) : null;
}

export async function readJobs(tx: TenantTx, companyId: string, ids: string[]): Promise<SweptJob[]> {
  const rows = await tx.query<SweptRow>(
    `SELECT ${SWEPT_JOB_COLUMNS} FROM console.upload_jobs WHERE company_id = $1 AND id = ANY($2::text[])`,
    [companyId, ids],
  );
  return rows.map(toSweptJob);
}

/**
 * Deletes up to `limit` jobs that ended at or before `endedUntil` (ISO 8601). @returns the number of deleted jobs, and when the oldest
 * remaining job ended, in milliseconds
 */
export async function deleteEndedJobs(
  tx: TenantTx,
  companyId: string,
  endedUntil: string,
  limit: number,
): Promise<{ deletedCount: number; oldest: number | null }> {
  const isEndedSql = `company_id = $1 AND NOT (${ACTIVE_JOB_CONDITION})`;
  const [{ count: deletedCount = 0 } = {}] = await tx.query<{ count: number }>(
    `WITH deleted AS (
       DELETE FROM console.upload_jobs WHERE id IN (
         SELECT id FROM console.upload_jobs WHERE ${isEndedSql} AND updated_at <= $2 ORDER BY updated_at LIMIT $3) RETURNING *
     ), counted AS (
       INSERT INTO console.loaded_days AS of_day (day, rows)
       SELECT ${LOADED_DAY_SQL}, sum(${LOADED_ROWS_SQL}) FROM deleted WHERE status = 'done' GROUP BY 1
       ON CONFLICT (day) DO UPDATE SET rows = of_day.rows + excluded.rows
     )
     SELECT count(*)::int AS count FROM deleted`,
    [companyId, endedUntil, limit],
  );
  const [row] = await tx.query<{ oldest: string | null }>(
    `SELECT (extract(epoch FROM min(updated_at)) * 1000)::bigint AS oldest FROM console.upload_jobs WHERE ${isEndedSql}`,
    [companyId],
  );
  return { deletedCount, oldest: row?.oldest ? Number(row.oldest) : null };
}

/**
 * Lists the names of staging tables that no active job uses. The state is searched as text: it may hold half a character of a
 * file, and Postgres would refuse that as JSON.
 */
export async function listOrphanedStagingTables(tx: TenantTx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'
       AND NOT EXISTS (SELECT FROM console.upload_jobs AS job WHERE ${ACTIVE_JOB_CONDITION} AND position('"table_id":"' || tablename || '"' IN job.state::text) > 0)`,
  );
  return rows.map(({ name }) => name);
}
