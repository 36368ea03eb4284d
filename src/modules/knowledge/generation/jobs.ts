import type { Context } from '../../../context.ts';
import { SOURCES } from './sources.ts';
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

/** A text this old belongs to a job that is in work, or to none. Milliseconds. */
const SETTLED_MS = 60 * 60_000;

/** The scheduled run: removes texts of jobs that have ended, where something broke off before they did so themselves. */
export async function sweepSources(ctx: Context): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({ prefix: SOURCES, ...(cursor !== undefined && { cursor }) });
    const old = page.objects.filter(({ uploaded }) => uploaded.getTime() < ctx.now() - SETTLED_MS);
    const jobIdOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
    const ids = old.map(({ key }) => jobIdOf(key));
    const inWork = new Set((ids.length > 0 ? await store.selectInWork(ctx.db, ids) : []).map(({ id }) => id));
    const left = old.map(({ key }) => key).filter((key) => !inWork.has(jobIdOf(key)));
    if (left.length > 0) await ctx.files.delete(left);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}
