import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import { literal } from '../../tenant-sql/identifiers.ts';
import { datetimeJson } from '../../tenant-sql/values.ts';
import type { InferredSchema, ZoneEdges } from './inference/index.ts';
import type {
  ConfirmedSchema,
  JobError,
  JobProgress,
  JobStatus,
  Reading,
  UploadJob,
  UploadMode,
  WorkedJob,
} from './job.ts';
import type { StoredFile } from './receive.ts';

/** Which job of which company. Every statement on jobs filters by both. */
export interface JobKey {
  id: string;
  companyId: string;
}

interface JobRow {
  id: string;
  company_id: string;
  user_table_id: string | null;
  created_by_user_id: string;
  files: StoredFile[];
  mode: UploadMode;
  status: JobStatus;
  inferred_schema: InferredSchema | null;
  confirmed_schema: ConfirmedSchema | null;
  progress: JobProgress;
  error: JobError | null;
  created_at: string;
  updated_at: string;
}

interface WorkedRow<State> extends JobRow {
  reading: Reading | null;
  step: number;
  state: State | null;
  attempts: number;
}

const MEMBERS =
  'id, company_id, user_table_id, created_by_user_id, files, mode, status, inferred_schema, confirmed_schema, progress, error, created_at, updated_at';

const KEY = 'id = $1 AND company_id = $2';

/** Condition of jobs that have not ended. */
export const ACTIVE = `status IN ('queued', 'analisando', 'waiting_confirm', 'inserting')`;

/** Jobs that a list holds at most; expiry keeps the number of waiting ones low. */
const MAX_LISTED = 500;

function jobOf(row: JobRow): UploadJob {
  return {
    id: row.id,
    companyId: row.company_id,
    userTableId: row.user_table_id,
    createdByUserId: row.created_by_user_id,
    files: row.files,
    mode: row.mode,
    status: row.status,
    inferredSchema: row.inferred_schema,
    confirmedSchema: row.confirmed_schema,
    progress: row.status === 'queued' ? null : { ...row.progress, phase: row.status },
    error: row.error,
    createdAt: datetimeJson(row.created_at),
    updatedAt: datetimeJson(row.updated_at),
  };
}

/** A job of files that were just stored. */
export type NewJob = Pick<UploadJob, 'id' | 'companyId' | 'createdByUserId' | 'files' | 'createdAt'> & {
  progress: JobProgress;
};

/** Enters a new job, `queued`. Its progress is written from the start and not shown before work begins. */
export async function insertJob(tx: TenantTx, job: NewJob & Pick<UploadJob, 'mode' | 'userTableId'>): Promise<void> {
  await tx.execute(
    `INSERT INTO console.upload_jobs
       (id, company_id, user_table_id, created_by_user_id, files, mode, status, progress, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5::json, $6, 'queued', $7::json, $8, $8)`,
    [
      job.id,
      job.companyId,
      job.userTableId,
      job.createdByUserId,
      JSON.stringify(job.files),
      job.mode,
      JSON.stringify(job.progress),
      job.createdAt,
    ],
  );
}

/** The job as it is now. */
export async function readJob(tx: TenantTx, key: JobKey): Promise<UploadJob | undefined> {
  const [row] = await tx.query<JobRow>(`SELECT ${MEMBERS} FROM console.upload_jobs WHERE ${KEY}`, [
    key.id,
    key.companyId,
  ]);
  return row && jobOf(row);
}

/** Jobs that have not ended, newest first. */
export async function readActiveJobs(tx: TenantTx, companyId: string): Promise<UploadJob[]> {
  const rows = await tx.query<JobRow>(
    `SELECT ${MEMBERS} FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE}
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    [companyId, MAX_LISTED],
  );
  return rows.map(jobOf);
}

/**
 * Takes up the work of a phase: a queued job begins it. Counts the attempt.
 * @returns undefined when the job is in another phase or gone, so that there is nothing to do
 */
export async function takeUp<State>(
  tx: TenantTx,
  key: JobKey,
  phase: 'analisando' | 'inserting',
  at: string,
): Promise<WorkedJob<State> | undefined> {
  const [row] = await tx.query<WorkedRow<State>>(
    `UPDATE console.upload_jobs SET status = $3, attempts = attempts + 1, updated_at = $4
     WHERE ${KEY} AND (status = $3 OR (status = 'queued' AND $3 = 'analisando'))
     RETURNING ${MEMBERS}, reading, step, state, attempts`,
    [key.id, key.companyId, phase, at],
  );
  return row && { ...jobOf(row), reading: row.reading, step: row.step, state: row.state, attempts: row.attempts };
}

/** A job held against every other change. */
export interface HeldJob {
  status: JobStatus;
  step: number;
  state: unknown;
}

/** Holds the job until the transaction ends, and tells where its work stands. */
export async function hold(tx: TenantTx, key: JobKey): Promise<HeldJob | undefined> {
  const [row] = await tx.query<HeldJob>(`SELECT status, step, state FROM console.upload_jobs WHERE ${KEY} FOR UPDATE`, [
    key.id,
    key.companyId,
  ]);
  return row;
}

/**
 * Records that the work at `step` got on: it is at `step + 1` then.
 * @returns false, nothing changed, when somebody else's work came first
 */
export async function advance(
  tx: TenantTx,
  key: JobKey,
  step: number,
  to: { state: unknown; progress: JobProgress },
  at: string,
): Promise<boolean> {
  const changed = await tx.execute(
    `UPDATE console.upload_jobs
     SET step = step + 1, state = $4::json, progress = $5::json, attempts = 0, updated_at = $6
     WHERE ${KEY} AND step = $3`,
    [key.id, key.companyId, step, JSON.stringify(to.state), JSON.stringify(to.progress), at],
  );
  return changed === 1;
}

/** SQLSTATE with which `workAround` refuses. */
export const NOT_MINE = '22012';

/**
 * The same as statements around a COPY: all of them in one message are one transaction, in one round trip. The first
 * fails with `NOT_MINE` (a division by zero: SQL has no plainer way) when somebody else's work came first.
 */
export function workAround(
  key: JobKey,
  step: number,
  to: { state: unknown; progress: JobProgress },
  at: string,
): { before: string; after: string } {
  const here = `id = ${literal(key.id)} AND company_id = ${literal(key.companyId)} AND step = ${Math.trunc(step)}`;
  return {
    before: `SELECT 1 / count(*) FROM (
        SELECT FROM console.upload_jobs WHERE ${here} FOR UPDATE
      ) AS mine`,
    after: `UPDATE console.upload_jobs
      SET step = step + 1, state = ${literal(JSON.stringify(to.state))}, progress = ${literal(JSON.stringify(to.progress))},
        attempts = 0, updated_at = ${literal(at)}
      WHERE ${here}`,
  };
}

/** Ends the analysis: what was inferred waits for a person. False when somebody else's work came first. */
export async function finishAnalysis(
  tx: TenantTx,
  key: JobKey,
  step: number,
  found: { schema: InferredSchema; reading: Reading; progress: JobProgress },
  at: string,
): Promise<boolean> {
  const changed = await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'waiting_confirm', inferred_schema = $4::json, reading = $5::json, progress = $6::json,
       step = step + 1, state = NULL, attempts = 0, updated_at = $7
     WHERE ${KEY} AND step = $3 AND status = 'analisando'`,
    [
      key.id,
      key.companyId,
      step,
      JSON.stringify(found.schema),
      JSON.stringify(found.reading),
      JSON.stringify(found.progress),
      at,
    ],
  );
  return changed === 1;
}

/** Whether Postgres knows a time zone of this name: not all that others know. */
export async function knowsTimeZone(tx: TenantTx, zone: string): Promise<boolean> {
  try {
    await tx.query('SELECT now() AT TIME ZONE $1::text', [zone]);
    return true;
  } catch (error) {
    if (isPostgresError(error) && error.code === '22023') return false;
    throw error;
  }
}

/** What a time zone leaves of the first and the last day that the API can write. */
export async function zoneEdges(tx: TenantTx, zone: string): Promise<ZoneEdges> {
  const [row] = await tx.query<{ first: string; last: string }>(
    `SELECT extract(epoch FROM timestamp '0001-01-02' - (timestamptz '0001-01-02 00:00:00Z' AT TIME ZONE $1::text)) AS first,
       extract(epoch FROM timestamp '9999-12-31' - (timestamptz '9999-12-31 00:00:00Z' AT TIME ZONE $1::text)) AS last`,
    [zone],
  );
  const DAY = 24 * 60 * 60;
  return { first: Math.max(0, -Number(row?.first)), last: DAY - Math.max(0, Number(row?.last)) };
}

/** Moves a waiting job on to loading. False when it waits no more; violates `upload_jobs_name` for a name in use. */
export async function confirmJob(
  tx: TenantTx,
  key: JobKey,
  confirmed: { schema: ConfirmedSchema; progress: JobProgress },
  at: string,
): Promise<boolean> {
  const changed = await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'inserting', confirmed_schema = $3::json, progress = $4::json, step = step + 1, attempts = 0, updated_at = $5
     WHERE ${KEY} AND status = 'waiting_confirm'`,
    [key.id, key.companyId, JSON.stringify(confirmed.schema), JSON.stringify(confirmed.progress), at],
  );
  return changed === 1;
}

/** Ends a held job well: its rows are in the table. */
export async function finishLoad(
  tx: TenantTx,
  key: JobKey,
  done: { userTableId: string; progress: JobProgress },
  at: string,
): Promise<void> {
  await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'done', user_table_id = $3, progress = $4::json, step = step + 1, state = NULL, attempts = 0, updated_at = $5
     WHERE ${KEY}`,
    [key.id, key.companyId, done.userTableId, JSON.stringify(done.progress), at],
  );
}

/** Ends a held job as failed. */
export async function failJob(tx: TenantTx, key: JobKey, error: JobError, at: string): Promise<void> {
  await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'failed', error = $3::json, step = step + 1, state = NULL, updated_at = $4
     WHERE ${KEY}`,
    [key.id, key.companyId, JSON.stringify(error), at],
  );
}
