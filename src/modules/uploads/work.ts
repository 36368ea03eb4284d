import type { CompanyContext } from '../../context.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { databaseOf } from '../managed-database/service.ts';
import { endAt } from './ending.ts';
import { InferenceError } from './inference/index.ts';
import type { JobError, JobProgress, WorkedJob } from './job.ts';
import { JobProblem, retriesExhausted, Superseded } from './problems.ts';
import * as store from './store.ts';

/** Deliveries in which the work did not get on at all, after which a job is given up. */
const MAX_ATTEMPTS = 12;

/** One delivery's turn at a job. */
export interface Turn<State> {
  ctx: CompanyContext;
  database: TenantSql;
  job: WorkedJob<State>;
}

/**
 * Gives one delivery of a message its turn: `run` works on from where the job stands, for a bounded while, and answers
 * whether there is more to do, which the next message does then. Deliveries may come twice, late, or at the same time:
 * whoever finds that the work has gone on without it stops. What is wrong with the files ends the job; anything else
 * throws, and the message is delivered again.
 */
export async function takeTurn<State>(
  ctx: CompanyContext,
  message: { type: Extract<JobMessage, { jobId: string }>['type']; jobId: string },
  phase: 'analisando' | 'inserting',
  run: (turn: Turn<State>) => Promise<boolean>,
): Promise<void> {
  const { jobId, type } = message;
  const { companyId } = ctx.actor;
  const database = await databaseOf(ctx);
  const job = await (database && store.takeUp<State>(database, { id: jobId, companyId }, phase, nowOf(ctx)));
  if (!database || !job) return;
  try {
    if (job.attempts > MAX_ATTEMPTS) throw new JobProblem(retriesExhausted);
    const more = await run({ ctx, database, job });
    if (more) await ctx.jobs.send({ type, companyId, jobId });
  } catch (error) {
    if (error instanceof Superseded) return;
    const problem = problemOf(error);
    if (!problem) throw error;
    await endAt(database, ctx, jobId, job.step, problem).catch(unlessSuperseded);
  }
}

/**
 * Records how far a turn has come, with the statements of a transaction `tx` that did the work, or by itself.
 * @throws Superseded when somebody else's work came first
 */
export async function record<State>(
  { ctx, database, job }: Turn<State>,
  state: State,
  progress: JobProgress,
  tx: Parameters<typeof store.advance>[0] = database,
): Promise<void> {
  const key = { id: job.id, companyId: job.companyId };
  if (!(await store.advance(tx, key, job.step, { state, progress }, nowOf(ctx)))) throw new Superseded();
}

export const nowOf = (ctx: CompanyContext): string => new Date(ctx.now()).toISOString();

function problemOf(error: unknown): JobError | undefined {
  if (error instanceof JobProblem) return error.error;
  if (error instanceof InferenceError) return { code: error.code, message: error.message, ...error.where };
  return undefined;
}

function unlessSuperseded(error: unknown): void {
  if (!(error instanceof Superseded)) throw error;
}
