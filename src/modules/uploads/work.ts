import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { databaseFull } from '../../tenant-sql/failures.ts';
import { openDatabaseIfAny } from '../managed-database/service.ts';
import { failJobAtStep } from './fail-job.ts';
import { InferenceError } from './inference/index.ts';
import type { JobError, JobProgress, WorkedJob } from './job.ts';
import { advanceJob, claimJob, releaseJob } from './job-store.ts';
import { databaseFullError, JobProblem, quotaWouldBeExceeded, retriesExhausted, SupersededError } from './problems.ts';

/** The maximum number of consecutive deliveries without progress, after which a job fails. */
const MAX_ATTEMPTS = 12;

/** The maximum number of concurrently running jobs of one company: the consumers of the queue serve other companies, too. */
const MAX_ACTIVE_JOBS = 2;
/** The time after which the lease of a delivery on its job ends by itself, as the isolate may have died. Milliseconds. */
export const LEASE_MS = 120_000;
/** The longest pause before a job tries again: shorter than `RESUME_AFTER_MS`, so that the sweep does not queue it as well. */
const MAX_PAUSE_SECONDS = 30;

/** The work of one delivered message on its job. */
export interface JobWork<State> {
  ctx: CompanyContext;
  database: TenantSql;
  job: WorkedJob<State>;
}

/**
 * Works on a job for one message: `run` continues the job, for a limited time, and returns whether there is more to do, which the
 * next message then does. Messages may be delivered twice, late, or at the same time: a delivery that finds its step done by
 * another one stops. A problem with the files ends the job with `endWithProblem`, by default as failed; any other error is
 * thrown, so that the message is delivered again.
 */
export async function workOnJob<State>(
  ctx: CompanyContext,
  message: { type: Extract<JobMessage, { jobId: string }>['type']; jobId: string },
  phase: 'analisando' | 'inserting',
  run: (work: JobWork<State>) => Promise<boolean>,
  endWithProblem: (work: JobWork<State>, problem: JobError) => Promise<void> = failWork,
): Promise<void> {
  const { jobId, type } = message;
  const { companyId } = ctx.actor;
  const database = await openDatabaseIfAny(ctx);
  if (!database) return;
  const key = { id: jobId, companyId };
  const lease = { limit: MAX_ACTIVE_JOBS, leaseUntil: formatIsoTimestamp(ctx.now() + LEASE_MS) };
  const claim = await claimJob<State>(database, key, phase, formatIsoTimestamp(ctx.now()), lease);
  if (!claim) return;
  const { job } = claim;
  // Others of the company are at work: the message goes to the end of the queue, behind those of other companies.
  if (!job) return ctx.jobs.send({ type, companyId, jobId }, computePauseSeconds(claim.otherJobCount));
  try {
    if (job.attempts > MAX_ATTEMPTS) throw new JobProblem(retriesExhausted);
    const hasMoreWork = await run({ ctx, database, job });
    if (hasMoreWork) await ctx.jobs.send({ type, companyId, jobId });
  } catch (error) {
    if (error instanceof SupersededError) return;
    const problem = toJobError(error);
    if (!problem) throw error;
    await endWithProblem({ ctx, database, job }, problem).catch(ignoreSuperseded);
  } finally {
    // If the database went away, the lease runs out by itself.
    await releaseJob(database, key, lease.leaseUntil).catch((error) =>
      logError('job_not_released', error, { company_id: companyId }),
    );
  }
}

/** Ends a job as failed, unless another delivery has already done the step of this work. @throws SupersededError if one has */
export const failWork = ({ ctx, database, job }: JobWork<unknown>, problem: JobError): Promise<void> =>
  failJobAtStep(database, ctx, job.id, job.stepNumber, problem);

/** Computes the pause of a waiting job's message: about two messages of a company return per second, however many wait. */
const computePauseSeconds = (waitingJobCount: number): number =>
  Math.min(Math.ceil(waitingJobCount / 2), MAX_PAUSE_SECONDS);

/** Saves progress, by itself or in the work's transaction. @throws SupersededError when another delivery has done this step */
export const saveProgress = <State>(
  { ctx, database, job }: JobWork<State>,
  state: State,
  progress: JobProgress,
  tx: TenantTx = database,
): Promise<void> => advanceJob(tx, job, job.stepNumber, { state, progress }, formatIsoTimestamp(ctx.now()));

function toJobError(error: unknown): JobError | undefined {
  if (error instanceof JobProblem) return error.error;
  if (databaseFull.matches(error)) return databaseFullError;
  if (quotaExceeded.matches(error)) return quotaWouldBeExceeded(error.detail);
  if (error instanceof InferenceError) return { code: error.code, message: error.message, ...error.location };
  return undefined;
}

function ignoreSuperseded(error: unknown): void {
  if (!(error instanceof SupersededError)) throw error;
}
