import type { Context } from '../../../context.ts';
import { deleteObjects } from '../../../platform/stored-files.ts';
import { SOURCE_PREFIX } from './sources.ts';
import * as store from './store.ts';

export { runBatch } from './work.ts';

/** The time without a change after which an active job is resumed. */
const RESUME_AFTER_MS = 60_000;
const JOBS_PER_RUN = 100;

/** Resends the messages of stalled jobs, as they may be lost. For the scheduled run. */
export async function resumeJobs(ctx: Context): Promise<void> {
  const now = ctx.now();
  for (const { id, companyId } of await store.selectStalledJobs(
    ctx.db,
    { now, since: now - RESUME_AFTER_MS },
    JOBS_PER_RUN,
  )) {
    await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId: id });
  }
}

/** The age from which a stored text without an active job is deleted. */
const LEFTOVER_AGE_MS = 60 * 60_000;

/** Deletes texts that ended jobs failed to delete. For the scheduled run. */
export async function deleteLeftoverSources(ctx: Context): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({ prefix: SOURCE_PREFIX, ...(cursor !== undefined && { cursor }) });
    const oldObjects = page.objects.filter(({ uploaded }) => uploaded.getTime() < ctx.now() - LEFTOVER_AGE_MS);
    const parseJobId = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
    const ids = oldObjects.map(({ key }) => parseJobId(key));
    const activeIds = new Set((ids.length > 0 ? await store.selectActiveJobIds(ctx.db, ids) : []).map(({ id }) => id));
    const leftoverKeys = oldObjects.map(({ key }) => key).filter((key) => !activeIds.has(parseJobId(key)));
    await deleteObjects(ctx.files, leftoverKeys);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}
