import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { databaseFull } from '../../tenant-sql/failures.ts';
import { openDatabaseIfAny } from '../managed-database/service.ts';
import { failJobAtStep } from './fail-job.ts';
import { InferenceError } from './inference/index.ts';
import type { JobError, JobProgress, WorkedJob } from './job.ts';
import { JobProblem, noRoomLeft, quotaPassed, retriesExhausted, Superseded } from './problems.ts';
import { advanceJob, claimJob, releaseJob } from './work-store.ts';

/** The maximum number of deliveries in a row without any progress, after which a job fails. */
const MAX_ATTEMPTS = 12;

/** The maximum number of jobs of one company that run at once: the consumers of the queue serve other companies too. */
const MAX_ACTIVE_JOBS = 2;
/** The lease of a delivery on its job, which ends with its work, or after this time if its isolate died. */
export const LEASE_MS = 120_000;
/** The longest pause before a job tries again: shorter than `RESUME_AFTER_MS`, so that the sweep does not queue it as well. */
const MAX_PAUSE_SECONDS = 30;

/** The work of one delivered message on its job. */
export interface Work<State> {
  ctx: CompanyContext;
  database: TenantSql;
  job: WorkedJob<State>;
}

/**
 * Works on a job for one message: `run` continues the job, for a bounded time, and returns whether there is more to do, which
 * the next message does then. Messages may be delivered twice, late, or at the same time: a delivery
 * that finds its step done by another one stops. A problem with the files ends the job with `endAnalysisWith`, which fails it
 * unless given; any other error is thrown, so that the message is delivered again.
 */
export async function workOnJob<State>(
  ctx: CompanyContext,
  message: { type: Extract<JobMessage, { jobId: string }>['type']; jobId: string },
  phase: 'analisando' | 'inserting',
  run: (work: Work<State>) => Promise<boolean>,
  endWith: (work: Work<State>, problem: JobError) => Promise<void> = failWork,
): Promise<void> {
  const { jobId, type } = message;
  const { companyId } = ctx.actor;
  const database = await openDatabaseIfAny(ctx);
  if (!database) return;
  const key = { id: jobId, companyId };
  const lease = { limit: MAX_ACTIVE_JOBS, until: isoTimestamp(ctx.now() + LEASE_MS) };
  const claim = await claimJob<State>(database, key, phase, isoTimestamp(ctx.now()), lease);
  if (!claim) return;
  const { job } = claim;
  // Others of the company are at work: the message goes to the end of the queue, behind those of other companies.
  if (!job) return ctx.jobs.send({ type, companyId, jobId }, computePause(claim.others));
  try {
    if (job.attempts > MAX_ATTEMPTS) throw new JobProblem(retriesExhausted);
    const more = await run({ ctx, database, job });
    if (more) await ctx.jobs.send({ type, companyId, jobId });
  } catch (error) {
    if (error instanceof Superseded) return;
    const problem = toJobError(error);
    if (!problem) throw error;
    await endWith({ ctx, database, job }, problem).catch(ignoreSuperseded);
  } finally {
    // If the database went away, the lease runs out by itself.
    await releaseJob(database, key, lease.until).catch((error) =>
      logError('job_not_released', error, { company_id: companyId }),
    );
  }
}

/**
 * Fails a job, if its work is still at its step.
 * @throws Superseded when it is not
 */
export const failWork = ({ ctx, database, job }: Work<unknown>, problem: JobError): Promise<void> =>
  failJobAtStep(database, ctx, job.id, job.step, problem);

/** The pause of a waiting job's message: about two of a company's come back a second, however many there are. */
const computePause = (others: number): number => Math.min(Math.ceil(others / 2), MAX_PAUSE_SECONDS);

/**
 * Saves the progress of the work, by itself or in the transaction that did it.
 * @throws Superseded when another delivery has done this step
 */
export async function saveProgress<State>(
  { ctx, database, job }: Work<State>,
  state: State,
  progress: JobProgress,
  tx: TenantTx = database,
): Promise<void> {
  if (!(await advanceJob(tx, job, job.step, { state, progress }, isoTimestamp(ctx.now())))) throw new Superseded();
}

function toJobError(error: unknown): JobError | undefined {
  if (error instanceof JobProblem) return error.error;
  if (databaseFull.matches(error)) return noRoomLeft;
  if (quotaExceeded.matches(error)) return quotaPassed(error.detail);
  if (error instanceof InferenceError) return { code: error.code, message: error.message, ...error.where };
  return undefined;
}

function ignoreSuperseded(error: unknown): void {
  if (!(error instanceof Superseded)) throw error;
}
