import type { CompanyContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import type { JobType } from '../../../db/schema/knowledge-jobs.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { type AiUsage, computeMaxAskMs, makeNoUsage } from '../../../platform/ai.ts';
import { logError } from '../../../platform/log.ts';
import { deleteObjects } from '../../../platform/stored-files.ts';
import { findResources } from '../resources/reading.ts';
import { modelFailures, nothingProposed } from '../suggestions/failures.ts';
import { isAiConfigured, proposeChange, requireAi } from '../suggestions/propose.ts';
import { makeSuggestion } from '../suggestions/service.ts';
import * as suggestionStore from '../suggestions/store.ts';
import { type BatchInput, type BatchResult, SourceMissingError, toOrigin } from './batch.ts';
import { proposeConcepts } from './concept-batch.ts';
import { proposeOntology } from './ontology-batch.ts';
import * as store from './store.ts';

/** The maximum number of deliveries without a finished batch, after which a job fails. */
const MAX_ATTEMPTS = 8;
/** The maximum time for reading and writing, in addition to asking the model. */
const MAX_READ_WRITE_MS = 30_000;

const BATCH_RUNNERS: Record<JobType, (input: BatchInput) => Promise<BatchResult>> = {
  concept_generation: proposeConcepts,
  ontology_generation: proposeOntology,
  enrichment: proposeEnrichment,
};

/**
 * Runs the next batch of a job and sends the message for the following one. Of concurrent deliveries, one leases the job; a late
 * delivery finds its batch done. A failure of the model ends the job; any other error throws, and the message is delivered again.
 */
export async function runBatch(ctx: CompanyContext, jobId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const key = { companyId, id: jobId };
  const leaseUntil = ctx.now() + computeLeaseMs(ctx);
  const [job] = await store.leaseJob(ctx.db, key, ctx.now(), leaseUntil);
  if (!job) return;
  const usage = makeNoUsage();
  if (job.attempts > MAX_ATTEMPTS)
    return endAsFailed(ctx, job, 'The job was tried several times without progress.', usage);
  try {
    const result = await BATCH_RUNNERS[job.type]({ ctx, settings: requireAi(ctx), job, usage });
    const hasMoreBatches = await recordBatch(ctx, job, result, usage);
    if (hasMoreBatches) await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId });
  } catch (error) {
    const lastError = findFinalError(error);
    if (lastError === undefined) {
      await store.releaseJob(ctx.db, key, leaseUntil, usage);
      throw error;
    }
    await endAsFailed(ctx, job, lastError, usage);
  }
}

const computeLeaseMs = (ctx: CompanyContext): number =>
  MAX_READ_WRITE_MS + (isAiConfigured(ctx) ? computeMaxAskMs(requireAi(ctx)) : 0);

/** Returns the message of an error that ends the job; undefined for an error after which the batch is retried. */
function findFinalError(error: unknown): string | undefined {
  if (error instanceof SourceMissingError) return 'The text that was sent is no longer available.';
  return modelFailures.some((type) => type.matches(error)) ? (error as Failure).message : undefined;
}

/** Stores the result of a batch with the progress of its job. @returns whether there is another batch */
async function recordBatch(
  ctx: CompanyContext,
  job: store.JobRow,
  { suggestions, rejectedCount, conceptsNotSent = 0 }: BatchResult,
  usage: AiUsage,
): Promise<boolean> {
  const isLast = job.processedCount + 1 === job.totalCount;
  const isStaged = job.type !== 'enrichment';
  const { db } = ctx;
  const now = ctx.now();
  const batch = { suggestionCount: suggestions.length, rejectedCount, conceptsNotSent, usage };
  const status = isStaged ? 'staged' : 'pending';
  // The new concepts replace the pending suggestions of earlier jobs.
  const supersedes = isLast && job.type === 'concept_generation';
  const { advanced } = await commit(db, {
    advanced: store.advanceJob(db, job, batch, now),
    inserted: suggestions.length > 0 ? [suggestionStore.insertJobSuggestions(db, suggestions, status)] : [],
    superseded: supersedes ? [suggestionStore.supersedeConcepts(db, job.companyId, job.id, now)] : [],
    published: isLast && isStaged ? [suggestionStore.publishStagedSuggestions(db, job.companyId, job.id, now)] : [],
  });
  if (!advanced[0]) {
    // Cancelled meanwhile, or done by another delivery: the answer is discarded, but what it used is counted.
    await store.addUsage(ctx.db, job, usage);
    return false;
  }
  if (isLast) await deleteSource(ctx, job);
  return !isLast;
}

/** Ends a job as failed, and deletes its staged suggestions. */
async function endAsFailed(ctx: CompanyContext, job: store.JobRow, lastError: string, usage: AiUsage): Promise<void> {
  const { failed } = await commit(ctx.db, {
    failed: store.failJob(ctx.db, job, lastError, usage, ctx.now()),
    discarded: suggestionStore.deleteStagedSuggestions(ctx.db, job.companyId, job.id),
  });
  if (failed[0]) await deleteSource(ctx, failed[0]);
}

/** Ends a job as cancelled, and deletes its staged suggestions; undefined for a job that is not active. */
export async function endAsCancelled(ctx: CompanyContext, id: string): Promise<store.JobRow | undefined> {
  const { companyId } = ctx.actor;
  const { cancelled } = await commit(ctx.db, {
    cancelled: store.cancelJob(ctx.db, { companyId, id }, ctx.now()),
    discarded: suggestionStore.deleteStagedSuggestions(ctx.db, companyId, id),
  });
  if (cancelled[0]) await deleteSource(ctx, cancelled[0]);
  return cancelled[0];
}

/** Deletes the text of a job that has ended. Where that fails, `deleteLeftoverSources` deletes it later. */
async function deleteSource(ctx: CompanyContext, { id, companyId, input }: store.JobRow): Promise<void> {
  if (!input.source) return;
  try {
    await deleteObjects(ctx.files, [input.source.key]);
  } catch (error) {
    logError('knowledge_source_not_removed', error, { company_id: companyId, job_id: id });
  }
}

/** Asks the model how to improve the next target. A missing target, or one that needs no improvement, counts as rejected. */
async function proposeEnrichment({ ctx, settings, job, usage }: BatchInput): Promise<BatchResult> {
  const [target] = await findResources(ctx, [job.targetIds[job.processedCount] as string]);
  if (!target || target.status === 'archived') return { suggestions: [], rejectedCount: 1 };
  try {
    const proposal = await proposeChange(ctx, settings, target, usage);
    return { suggestions: [makeSuggestion(ctx, proposal, toOrigin(job, `improve\n${target.id}`))], rejectedCount: 0 };
  } catch (error) {
    if (nothingProposed.matches(error)) return { suggestions: [], rejectedCount: 1 };
    throw error;
  }
}
