import { isDenied } from '../../../access/denials.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { openControlDb } from '../../../db/client.ts';
import type { JobStatus, JobType } from '../../../db/schema/knowledge-jobs.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { getDeniedSuggestions } from '../suggestions/suggestion.ts';
import { jobEnded, jobNotFound } from './failures.ts';
import * as store from './store.ts';
import { endAsCancelled } from './work.ts';

/** Returns a job of the company, of one type or any. A job on a target that the caller may not see counts as absent. */
export async function getJob(ctx: CompanyContext, id: string, type?: JobType): Promise<store.JobRow> {
  const [job] = await store.selectJob(ctx.db, { companyId: ctx.actor.companyId, id });
  if (!job || (type !== undefined && job.type !== type)) throw jobNotFound();
  if (job.targetIds.some((target) => isDenied(ctx.actor, job.targetType, target))) throw jobNotFound();
  return job;
}

/** Returns a version for each of these jobs that differs after each change, read from the primary database. */
export async function readKnowledgeJobVersions(
  { bindings, actor: { companyId } }: CompanyContext,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await store.selectJobVersions(openControlDb(bindings.CONTROL_DB), companyId, ids);
  return new Map(rows.map(({ id, stamp }) => [id, stamp]));
}

/** Returns a page of the company's enrichment jobs, newest first, without jobs on a target hidden from the caller. */
export const listEnrichments = (
  ctx: PrincipalContext,
  filter: { targetType?: ResourceType; status?: JobStatus },
  page: { page: number; perPage: number },
) =>
  store.readJobs(
    ctx.db,
    { companyId: ctx.actor.companyId, type: 'enrichment' },
    { ...filter, denialsByType: getDeniedSuggestions(ctx).targets },
    page,
  );

/** Cancels a job. Suggestions that an enrichment has made stay; a pending answer of the model is discarded. */
export async function cancelJob(ctx: CompanyContext, id: string): Promise<store.JobRow> {
  await getJob(ctx, id);
  const cancelledJob = await endAsCancelled(ctx, id);
  if (!cancelledJob) throw jobEnded((await getJob(ctx, id)).status);
  return cancelledJob;
}
