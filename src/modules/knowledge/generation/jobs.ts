import type { Context } from '../../../context.ts';
import { deleteObjects } from '../../../platform/stored-files.ts';
import { SOURCE_PREFIX } from './sources.ts';
import * as store from './store.ts';

export { runBatch } from './work.ts';

/** The time without a change after which an active job is resumed. */
const RESUME_AFTER_MS = 60_000;
const JOBS_PER_RUN = 100;

/** Scheduled: sends the messages of stalled jobs again, as these may be lost. */
export async function resumeJobs(ctx: Context): Promise<void> {
  const now = ctx.now();
  for (const { id, companyId } of await store.selectStalled(
    ctx.db,
    { now, since: now - RESUME_AFTER_MS },
    JOBS_PER_RUN,
  )) {
    await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId: id });
  }
}

/** The age from which a text without an active job is left over. */
const LEFTOVER_AGE_MS = 60 * 60_000;

/** Scheduled: deletes texts that ended jobs failed to delete. */
export async function deleteLeftoverSources(ctx: Context): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({ prefix: SOURCE_PREFIX, ...(cursor !== undefined && { cursor }) });
    const old = page.objects.filter(({ uploaded }) => uploaded.getTime() < ctx.now() - LEFTOVER_AGE_MS);
    const parseJobId = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
    const ids = old.map(({ key }) => parseJobId(key));
    const active = new Set((ids.length > 0 ? await store.selectActiveIds(ctx.db, ids) : []).map(({ id }) => id));
    const leftover = old.map(({ key }) => key).filter((key) => !active.has(parseJobId(key)));
    await deleteObjects(ctx.files, leftover);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}
