import type { Context } from '../../../context.ts';
import * as store from './store.ts';

export { workOn } from './work.ts';

/** A job in work that shows no sign of life for so long is taken up again. Milliseconds. */
const SILENCE_MS = 60_000;
const JOBS_PER_RUN = 100;

/** The scheduled run: sends again the messages of jobs that nobody is at, whatever became of them. */
export async function resumeJobs(ctx: Context): Promise<void> {
  const now = ctx.now();
  for (const { id, companyId } of await store.selectSilent(ctx.db, { now, since: now - SILENCE_MS }, JOBS_PER_RUN)) {
    await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId: id });
  }
}
