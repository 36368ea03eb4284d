import type { CompanyContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import type { JobType } from '../../../db/schema/knowledge-jobs.ts';
import { Failure } from '../../../kernel/failure.ts';
import { type AiUsage, longestAskMs, noUsage } from '../../../platform/ai.ts';
import { logError } from '../../../platform/log.ts';
import { findResources } from '../resources/service.ts';
import {
  dropBatch,
  isAiConfigured,
  keepCandidates,
  proposeChange,
  requireAi,
  rowOf,
  showBatch,
} from '../suggestions/service.ts';
import { type Batch, type BatchTurn, SourceGone } from './batch.ts';
import { conceptBatch } from './concept-batch.ts';
import { ontologyBatch } from './ontology-batch.ts';
import * as store from './store.ts';

/** Deliveries in which a job did not get on at all, after which it is given up. */
const MAX_ATTEMPTS = 8;
/** What reading and writing may take beside asking the model. */
const GRACE_MS = 30_000;

const BATCHES: Record<JobType, (turn: BatchTurn) => Promise<Batch>> = {
  concept_generation: conceptBatch,
  ontology_generation: ontologyBatch,
  enrichment: enrichmentBatch,
};

/**
 * Does the next batch of a job and sends the message for the one after it. Deliveries may come twice, late, or at the same
 * time: one has its turn, and what another did meanwhile is not done again. A model that cannot be had ends the job;
 * anything else throws, and the message comes again.
 */
export async function workOn(ctx: CompanyContext, jobId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const key = { companyId, id: jobId };
  const until = ctx.now() + leaseMs(ctx);
  const [job] = await store.takeUp(ctx.db, key, ctx.now(), until);
  if (!job) return;
  const usage = noUsage();
  try {
    if (job.attempts > MAX_ATTEMPTS) throw new GivenUp();
    const batch = await BATCHES[job.type]({ ctx, settings: requireAi(ctx), job, usage });
    if (await record(ctx, job, batch, usage)) await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId });
  } catch (error) {
    const lastError = sentenceOf(error);
    if (lastError === undefined) {
      await store.release(ctx.db, key, until, usage);
      throw error;
    }
    await endFailed(ctx, job, lastError, usage);
  }
}

class GivenUp extends Error {}

const leaseMs = (ctx: CompanyContext): number => GRACE_MS + (isAiConfigured(ctx) ? longestAskMs(requireAi(ctx)) : 0);

/** What an error means for the job, in a sentence for its people; undefined when it is worth another delivery. */
function sentenceOf(error: unknown): string | undefined {
  if (error instanceof SourceGone) return 'The text that was sent is not there any more.';
  if (error instanceof GivenUp) return 'The work was tried several times and did not get on.';
  if (!(error instanceof Failure) || !error.reason.startsWith('ai.')) return undefined;
  return error.reason === 'ai.not_configured' ? 'No AI provider is configured.' : error.message;
}

/** Keeps a batch and the record of it together. @returns whether there is more to do */
async function record(
  ctx: CompanyContext,
  job: store.JobRow,
  { rows, rejected }: Batch,
  usage: AiUsage,
): Promise<boolean> {
  const isLast = job.processedCount + 1 === job.totalCount;
  const isStaged = job.type !== 'enrichment';
  const [advanced] = await commit(ctx.db, [
    store.advance(ctx.db, job, { suggestions: rows.length, rejected, usage }, ctx.now()),
    ...keepCandidates(ctx, rows, isStaged ? 'staged' : 'pending'),
    ...(isLast && isStaged ? showBatch(ctx, job.id, job.type === 'concept_generation' ? 'concepts' : 'ontology') : []),
  ]);
  if (!advanced[0]) {
    // Cancelled meanwhile, or done by another delivery: then this answer is thrown away, though not what it took.
    await store.addUsage(ctx.db, job, usage);
    return false;
  }
  if (isLast) await forgetSource(ctx, job);
  return !isLast;
}

/** Ends a job, with which goes what it kept back. */
async function endFailed(ctx: CompanyContext, job: store.JobRow, lastError: string, usage: AiUsage): Promise<void> {
  const fail = store.fail(ctx.db, job, lastError, usage, ctx.now());
  const [[failed]] = await commit(ctx.db, [fail, dropBatch(ctx, job.id)]);
  if (failed) await forgetSource(ctx, failed);
}

/**
 * Ends a job that is in work because somebody wants it to, with which goes what it kept back.
 * @returns undefined for a job that is not in work
 */
export async function endCancelled(ctx: CompanyContext, id: string): Promise<store.JobRow | undefined> {
  const cancel = store.cancel(ctx.db, { companyId: ctx.actor.companyId, id }, ctx.now());
  const [[cancelled]] = await commit(ctx.db, [cancel, dropBatch(ctx, id)]);
  if (cancelled) await forgetSource(ctx, cancelled);
  return cancelled;
}

/** Removes the text of a job that has ended. Where that fails, `sweepSources` makes up for it. */
async function forgetSource(ctx: CompanyContext, { id, companyId, input }: store.JobRow): Promise<void> {
  if (!input.source) return;
  try {
    await ctx.files.delete(input.source.key);
  } catch (error) {
    logError('knowledge_source_not_removed', error, { company_id: companyId, job_id: id });
  }
}

/** Asks how to improve the next target. One that is gone, or needs no improvement, is counted and passed over. */
async function enrichmentBatch({ ctx, settings, job, usage }: BatchTurn): Promise<Batch> {
  const [target] = await findResources(ctx, [job.targetIds[job.processedCount] as string]);
  if (!target || target.status === 'archived') return { rows: [], rejected: 1 };
  const of = { createdByUserId: job.createdByUserId, requestId: job.requestId, jobId: job.id };
  try {
    const proposal = await proposeChange(ctx, settings, target, usage);
    return { rows: [rowOf(ctx, proposal, { ...of, candidateKey: `improve\n${target.id}` })], rejected: 0 };
  } catch (error) {
    if (error instanceof Failure && error.reason === 'ai.nothing_proposed') return { rows: [], rejected: 1 };
    throw error;
  }
}
