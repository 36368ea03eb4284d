import type { CompanyContext } from '../../../context.ts';
import type { JobStatus, JobType } from '../../../db/schema/knowledge-jobs.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { jobEnded, jobNotFound } from './failures.ts';
import * as store from './store.ts';
import { endCancelled } from './work.ts';

export { ACCEPTED_FILE_TYPES } from './failures.ts';
export { conceptPrerequisites, ontologyPrerequisites } from './prerequisites.ts';
export { type ConceptGeneration, startConceptGeneration, startEnrichment, startOntologyGeneration } from './start.ts';
export type { JobRow } from './store.ts';

/** A job of the company, of one type or any. */
export async function getJob(ctx: CompanyContext, id: string, type?: JobType): Promise<store.JobRow> {
  const [job] = await store.selectJob(ctx.db, { companyId: ctx.actor.companyId, id });
  if (!job || (type !== undefined && job.type !== type)) throw jobNotFound();
  return job;
}

/** A page of the company's enrichment jobs, newest first. */
export const listEnrichments = (
  ctx: CompanyContext,
  filter: { targetType?: ResourceType; status?: JobStatus },
  page: { page: number; perPage: number },
) => store.readJobs(ctx.db, { companyId: ctx.actor.companyId, type: 'enrichment' }, filter, page);

/** Cancels a job. Suggestions that an enrichment has made stay; an answer of the model that is under way is discarded. */
export async function cancelJob(ctx: CompanyContext, id: string): Promise<store.JobRow> {
  const cancelled = await endCancelled(ctx, id);
  if (!cancelled) throw jobEnded((await getJob(ctx, id)).status);
  return cancelled;
}
