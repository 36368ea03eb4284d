import type { TenantTx } from '../../tenant-sql/client.ts';
import { quoteLiteral } from '../../tenant-sql/identifiers.ts';
import type { AppliedEvolution } from '../managed-tables/service.ts';
import type { InferredSchema } from './inference/index.ts';
import type { JobProgress, LoadResult, Reading, WorkedJob } from './job.ts';
import { SupersededError } from './problems.ts';
import type { StoredFile } from './receive.ts';
import { JOB_COLUMNS, JOB_KEY_CONDITION, type JobKey, type JobRow, toJob } from './store.ts';

type WorkedRow<State> = JobRow & Pick<WorkedJob<State>, 'reading' | 'state' | 'attempts'> & { step: number };

/**
 * Claims a job for the work of a phase until `lease.leaseUntil`, and counts the attempt, unless `lease.limit` other jobs of the
 * company are being worked on. A queued job enters the phase `analisando`. Concurrent claims may each exceed the limit by one.
 * @returns the job; if too many of the company's are running, the number of jobs with work to do; undefined when the job is in
 * another phase, or deleted: there is nothing to do
 */
export async function claimJob<State>(
  tx: TenantTx,
  key: JobKey,
  phase: 'analisando' | 'inserting',
  at: string,
  lease: { limit: number; leaseUntil: string },
): Promise<{ job: WorkedJob<State> } | { job: null; otherJobCount: number } | undefined> {
  const [row] = await tx.query<WorkedRow<State> & { may_run: boolean; others: number }>(
    `WITH company AS (
       SELECT count(*) FILTER (WHERE turn_until > $4) < $5 AS may_run, count(*)::int AS others
       FROM console.upload_jobs
       WHERE id <> $1 AND company_id = $2 AND status IN ('queued', 'analisando', 'inserting'))
     UPDATE console.upload_jobs SET
       status = CASE WHEN may_run THEN $3 ELSE status END,
       attempts = attempts + may_run::int,
       turn_until = CASE WHEN may_run THEN $6::timestamptz ELSE turn_until END,
       updated_at = $4
     FROM company
     WHERE ${JOB_KEY_CONDITION} AND (status = $3 OR (status = 'queued' AND $3 = 'analisando'))
     RETURNING ${JOB_COLUMNS}, reading, step, state, attempts, may_run, others`,
    [key.id, key.companyId, phase, at, lease.limit, lease.leaseUntil],
  );
  if (!row) return undefined;
  if (!row.may_run) return { job: null, otherJobCount: row.others };
  const { reading, step: stepNumber, state, attempts, may_run: _, others: __, ...jobRow } = row;
  return { job: { ...toJob(jobRow), reading, stepNumber, state, attempts } };
}

/** Releases a job that was claimed until `leaseUntil`, unless a later delivery has claimed it meanwhile. */
export async function releaseJob(tx: TenantTx, key: JobKey, leaseUntil: string): Promise<void> {
  await tx.execute(`UPDATE console.upload_jobs SET turn_until = NULL WHERE ${JOB_KEY_CONDITION} AND turn_until = $3`, [
    key.id,
    key.companyId,
    leaseUntil,
  ]);
}

/** Saves the progress of the work at `step`, and increases the step. @throws SupersededError when it is at another step */
export async function advanceJob(
  tx: TenantTx,
  key: JobKey,
  step: number,
  to: { state: unknown; progress: JobProgress },
  at: string,
): Promise<void> {
  const changedRowCount = await tx.execute(
    `UPDATE console.upload_jobs
     SET step = step + 1, state = $4::json, progress = $5::json, attempts = 0, updated_at = $6
     WHERE ${JOB_KEY_CONDITION} AND step = $3`,
    [key.id, key.companyId, step, JSON.stringify(to.state), JSON.stringify(to.progress), at],
  );
  if (changedRowCount !== 1) throw new SupersededError();
}

/** Saves that a job's file is fetched, in place of its state with the URL. @throws SupersededError when it is at another step */
export async function finishFetch(
  tx: TenantTx,
  key: JobKey,
  step: number,
  to: { files: StoredFile[]; progress: JobProgress },
  at: string,
): Promise<void> {
  const changedRowCount = await tx.execute(
    `UPDATE console.upload_jobs
     SET step = step + 1, files = $4::json, progress = $5::json, state = NULL, attempts = 0, updated_at = $6
     WHERE ${JOB_KEY_CONDITION} AND step = $3`,
    [key.id, key.companyId, step, JSON.stringify(to.files), JSON.stringify(to.progress), at],
  );
  if (changedRowCount !== 1) throw new SupersededError();
}

/** The SQLSTATE of a division by zero, with which the guard of {@link buildGuardedAdvance} fails: SQL has no plainer way. */
export const DIVISION_BY_ZERO_CODE = '22012';

/**
 * Builds the statements of `advanceJob`, split to run before and after a COPY; together in one message they are one transaction
 * and one round trip. The guard fails with {@link DIVISION_BY_ZERO_CODE} when another delivery has done that step.
 */
export function buildGuardedAdvance(
  key: JobKey,
  step: number,
  to: { state: unknown; progress: JobProgress },
  at: string,
): { guardSql: string; advanceSql: string } {
  const isAtStepSql = `id = ${quoteLiteral(key.id)} AND company_id = ${quoteLiteral(key.companyId)} AND step = ${Math.trunc(step)}`;
  return {
    guardSql: `SELECT 1 / count(*) FROM (
        SELECT FROM console.upload_jobs WHERE ${isAtStepSql} FOR UPDATE
      ) AS at_step`,
    advanceSql: `UPDATE console.upload_jobs
      SET step = step + 1, state = ${quoteLiteral(JSON.stringify(to.state))}, progress = ${quoteLiteral(JSON.stringify(to.progress))},
        attempts = 0, updated_at = ${quoteLiteral(at)}
      WHERE ${isAtStepSql}`,
  };
}

/**
 * Ends the analysis: the inferred schema waits for its confirmation. @throws SupersededError when the job is at another step, as
 * another delivery has done this one or the job was cancelled
 */
export async function finishAnalysis(
  tx: TenantTx,
  key: JobKey,
  step: number,
  result: { schema: InferredSchema; reading: Reading; progress: JobProgress },
  at: string,
): Promise<void> {
  const changedRowCount = await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'waiting_confirm', inferred_schema = $4::json, reading = $5::json, progress = $6::json,
       step = step + 1, state = NULL, attempts = 0, updated_at = $7
     WHERE ${JOB_KEY_CONDITION} AND step = $3`,
    [
      key.id,
      key.companyId,
      step,
      JSON.stringify(result.schema),
      JSON.stringify(result.reading),
      JSON.stringify(result.progress),
      at,
    ],
  );
  if (changedRowCount !== 1) throw new SupersededError();
}

/** The table with the rows of a load, and the first characters of their ids, if they were added to existing rows. */
export interface PublishedLoad {
  userTableId: string;
  addedRows: string | null;
  result?: LoadResult;
  /** The changes to the table's columns. */
  evolved?: AppliedEvolution;
}

/** Ends a job whose rows are in the table. The caller's transaction has locked both. */
export async function finishLoad(
  tx: TenantTx,
  key: JobKey,
  publishedLoad: PublishedLoad & { progress: JobProgress },
  at: string,
): Promise<void> {
  await tx.execute(
    `UPDATE console.upload_jobs
     SET status = 'done', user_table_id = $3, progress = $4::json, step = step + 1, state = NULL, attempts = 0,
       load_number = nextval('console.load_numbers'), loaded_at = $5, added_rows = $6, result = $7::json, evolved = $8::json, updated_at = $5
     WHERE ${JOB_KEY_CONDITION}`,
    [
      key.id,
      key.companyId,
      publishedLoad.userTableId,
      JSON.stringify(publishedLoad.progress),
      at,
      publishedLoad.addedRows,
      publishedLoad.result ? JSON.stringify(publishedLoad.result) : null,
      publishedLoad.evolved ? JSON.stringify(publishedLoad.evolved) : null,
    ],
  );
}
