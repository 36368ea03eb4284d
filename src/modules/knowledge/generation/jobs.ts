import type { Context } from '../../../context.ts';
import { deleteObjects } from '../../../platform/stored-files.ts';
import { SOURCE_PREFIX } from './sources.ts';
import * as store from './store.ts';

/** The time without a change after which an active job is resumed. */
const RESUME_AFTER_MS = 60_000;
const JOBS_PER_RUN = 100;

/** Resends the messages of stalled jobs, as they may be lost. For the scheduled run. */
export async function resumeJobs(ctx: Context): Promise<void> {
  const now = ctx.now();
  const stalledJobs = await store.selectStalledJobs(ctx.db, { now, since: now - RESUME_AFTER_MS }, JOBS_PER_RUN);
  for (const { id, companyId } of stalledJobs)
    await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId: id });
}

/** The age from which a stored text without an active job is deleted. */
const LEFTOVER_AGE_MS = 60 * 60_000;

/** Deletes texts that ended jobs failed to delete. For the scheduled run. */
export async function deleteLeftoverSources(ctx: Context): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({ prefix: SOURCE_PREFIX, ...(cursor !== undefined && { cursor }) });
    const oldObjects = page.objects.filter(({ uploaded }) => uploaded.getTime() < ctx.now() - LEFTOVER_AGE_MS);
    const keysByJob = new Map(oldObjects.map(({ key }) => [key.slice(key.lastIndexOf('/') + 1), key]));
    if (keysByJob.size > 0)
      for (const { id } of await store.selectActiveJobIds(ctx.db, [...keysByJob.keys()])) keysByJob.delete(id);
    await deleteObjects(ctx.files, [...keysByJob.values()]);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}
