import type { CompanyContext, Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { claimJob, LEASE_MS, RENEWAL_MS, RESUME_AFTER_MS, updateAttempt } from '../../db/job-leases.ts';
import { dataJobs } from '../../db/schema/data-jobs.ts';
import { Failure } from '../../kernel/failure.ts';
import { logError } from '../../platform/log.ts';
import { SegmentWriter, sumSegmentBytes } from '../../platform/segments.ts';
import { resultTooLarge } from '../../tenant-sql/failures.ts';
import { openReadonlyDatabase } from '../managed-database/service.ts';
import { executionFailed } from '../visualizations/failures.ts';
import { compileStatement, createResultWriter, getVisualization } from '../visualizations/service.ts';
import { toExecutionFailure } from './execute.ts';
import { JOB_RETENTION_MS } from './job-service.ts';
import {
  claimDueDataJobs,
  type DataJob,
  deleteJob,
  giveUpJob,
  makeFreeSlotSql,
  selectJob,
  selectOldJobs,
  selectWaitingJobs,
} from './job-store.ts';
import { deleteAttemptObjects, deleteResult, makePieceKey } from './result-pieces.ts';
import { MAX_ROWS, streamUserSql } from './user-sql-stream.ts';

const MAX_ATTEMPTS = 5;
/** The maximum number of rows and bytes of a result, and the longest time to produce it. */
export const JOB_LIMITS = { maxRows: 10_000_000, maxBytes: 5 * 1024 ** 3, milliseconds: 600_000 };

/** The maximum number of jobs of a company that run at once, so that the queue has room for those of other companies. */
const MAX_RUNNING_JOBS = 2;

const BATCH_SIZE = 50;

/** The number by which the rows of a batch are divided after a batch was too large. */
const BATCH_DIVISOR = 30;

const INTERRUPTED_MESSAGE = 'The job was interrupted too often.';

/**
 * Streams the result of a job to R2. A message does nothing while another attempt holds the job, or while the maximum
 * number of the company's jobs are running: when one of these ends, the messages of the waiting jobs are sent again.
 * After an interrupted attempt, a new one starts over and the objects of the old one are deleted. Only the current
 * attempt sets the outcome of the job.
 */
export async function writeResult(ctx: CompanyContext, jobId: string, limits = JOB_LIMITS): Promise<void> {
  const now = ctx.now();
  const key = { companyId: ctx.actor.companyId, id: jobId };
  const {
    givenUp,
    claimed: [job],
  } = await commit(ctx.db, {
    givenUp: giveUpJob(ctx.db, key, { now, maxAttempts: MAX_ATTEMPTS, error: INTERRUPTED_MESSAGE }),
    claimed: claimJob(
      ctx.db,
      dataJobs,
      key,
      { now, dueAt: now + LEASE_MS, updatedAt: now },
      makeFreeSlotSql(key.companyId, now, MAX_RUNNING_JOBS),
    ),
  });
  if (!job) {
    if (givenUp.length === 0) return;
    await resendWaitingJobs(ctx);
    return deleteResult(ctx.files, key);
  }
  const leaseTimer = setInterval(() => {
    const renewal = commit(ctx.db, { job: updateAttempt(ctx.db, dataJobs, job, { dueAt: ctx.now() + LEASE_MS }) });
    renewal.catch((error) => logError('data_job_not_renewed', error, { job_id: jobId }));
  }, RENEWAL_MS);
  try {
    if (job.attempt > 1) await deleteResult(ctx.files, job);
    await endAttempt(ctx, job, { status: 'succeeded', ...(await writeWholeResult(ctx, job, limits)) });
  } catch (error) {
    const expectedFailure = error instanceof Failure ? toExecutionFailure(error) : undefined;
    if (expectedFailure === undefined || expectedFailure.kind === 'unavailable') {
      await endAttempt(ctx, job, { status: 'queued', dueAt: ctx.now() + RESUME_AFTER_MS });
      // Only jobs without an attempt: those that failed likewise would send each other's messages until they are given up.
      await resendWaitingJobs(ctx, { isNew: true }).catch((cause) => logError('data_jobs_not_resent', cause));
      throw error;
    }
    await endAttempt(ctx, job, { status: 'failed', error: expectedFailure.message });
  } finally {
    clearInterval(leaseTimer);
  }
  await resendWaitingJobs(ctx);
}

/** Sends the messages of waiting jobs again: a superfluous one does nothing. @param isNew only of jobs that no attempt has begun */
async function resendWaitingJobs(ctx: CompanyContext, { isNew = false } = {}): Promise<void> {
  const { companyId } = ctx.actor;
  const { waiting } = await readTogether(ctx.db, {
    waiting: selectWaitingJobs(ctx.db, companyId, MAX_RUNNING_JOBS, isNew),
  });
  await ctx.jobs.sendAll(waiting.map(({ id }) => ({ type: 'data.write', companyId, jobId: id }) as const));
}

/**
 * Records the outcome of an attempt, unless one is recorded or another attempt has begun. Its objects are kept only if they are
 * the job's result, which they are, too, when the attempt succeeded and the answer of the database was lost.
 */
async function endAttempt(ctx: CompanyContext, job: DataJob, changes: Partial<DataJob>): Promise<void> {
  const {
    stored: [storedJob],
  } = await commit(ctx.db, {
    ended: updateAttempt(ctx.db, dataJobs, job, { ...changes, updatedAt: ctx.now() }),
    stored: selectJob(ctx.db, job.companyId, job.id),
  });
  if (storedJob?.status === 'succeeded' && storedJob.attempt === job.attempt) return;
  await deleteAttemptObjects(ctx.files, job);
}

/** Writes the whole result. If a batch is too large, as long rows follow short ones, starts over with smaller batches. */
async function writeWholeResult(ctx: CompanyContext, job: DataJob, limits: typeof JOB_LIMITS) {
  const endsAt = performance.now() + limits.milliseconds;
  for (let rowsPerBatch = MAX_ROWS; ; rowsPerBatch = Math.ceil(rowsPerBatch / BATCH_DIVISOR)) {
    try {
      return await writeBatches(
        ctx,
        job,
        { ...limits, milliseconds: Math.max(1, endsAt - performance.now()) },
        rowsPerBatch,
      );
    } catch (error) {
      if (!resultTooLarge.matches(error) || rowsPerBatch === 1) throw error;
    }
  }
}

async function writeBatches(ctx: CompanyContext, job: DataJob, limits: typeof JOB_LIMITS, rowsPerBatch: number) {
  const visualization = await getVisualization(ctx, job.visualizationId);
  const statement = compileStatement({ visualization, values: new Map(job.values) });
  const sql = await openReadonlyDatabase(ctx);
  try {
    const writer = createResultWriter({ format: job.format });
    let pieceCount = 0;
    const file = new SegmentWriter(ctx.files, () => makePieceKey(job, pieceCount++));
    let rowCount: number | undefined;
    let resultBytes = 0;
    const writeBytes = async (writtenBytes: Uint8Array) => {
      resultBytes += writtenBytes.length;
      if (resultBytes > limits.maxBytes) throw executionFailed(`The result has more than ${limits.maxBytes} bytes.`);
      await file.write(writtenBytes);
    };
    for await (const { columns, rows } of streamUserSql(sql, statement, {
      milliseconds: limits.milliseconds,
      rowsPerBatch,
    })) {
      if (rowCount === undefined) await writeBytes(writer.begin(columns));
      rowCount = (rowCount ?? 0) + rows.length;
      if (rowCount > limits.maxRows) throw executionFailed(`The result has more than ${limits.maxRows} rows.`);
      await writeBytes(writer.writeRows(rows));
    }
    await writeBytes(writer.end({ row_count: rowCount ?? 0, truncated: false }));
    await file.flush();
    return { rowCount: rowCount ?? 0, bytes: sumSegmentBytes(file.segments), pieces: pieceCount };
  } finally {
    await sql.close();
  }
}

/** Resends messages for jobs that no attempt holds. For the scheduled run. */
export async function resumeDataJobs(ctx: Context): Promise<void> {
  const now = ctx.now();
  const { due } = await commit(ctx.db, {
    due: claimDueDataJobs(ctx.db, { now, nextDueAt: now + RESUME_AFTER_MS, limit: BATCH_SIZE }),
  });
  for (const { companyId, id } of due) await ctx.jobs.send({ type: 'data.write', companyId, jobId: id });
}

/** Deletes jobs with their results, a day after they were created. For the scheduled run. */
export async function purgeDataJobs(ctx: Context): Promise<void> {
  const { old } = await readTogether(ctx.db, { old: selectOldJobs(ctx.db, ctx.now() - JOB_RETENTION_MS, BATCH_SIZE) });
  for (const job of old) {
    await deleteResult(ctx.files, job);
    await commit(ctx.db, { deleted: deleteJob(ctx.db, job.companyId, job.id) });
  }
}
