import type { PrincipalContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { invalidInput } from '../../../kernel/failure.ts';
import { makeNoUsage } from '../../../platform/ai.ts';
import { findResources } from '../resources/reading.ts';
import { chunkConcepts, chunkLines, describeCatalogue, readEntityHints } from '../suggestions/prompt-texts.ts';
import { requireAi } from '../suggestions/propose.ts';
import { extractText } from './documents.ts';
import { jobRunning, makeFileFailure, makePrerequisiteFailure } from './failures.ts';
import { requireBusinessDomains, requireOntologyPrerequisites } from './prerequisites.ts';
import { runWithReadingLimit } from './reading-limit.ts';
import { BATCH_CHARACTERS, MAX_BATCHES, makeSource, splitBatches, storeSource } from './sources.ts';
import * as store from './store.ts';
import { endAsCancelled } from './work.ts';

/** The input for generating concepts. */
export interface ConceptGeneration {
  /** Keys of business domains; all of the company's domains when absent. */
  business_domains?: string[];
  text?: string;
  file?: { name: string; bytes: Uint8Array<ArrayBuffer> };
}

/** Queues a job that generates concepts from business domains, text and a file. */
export async function startConceptGeneration(
  ctx: PrincipalContext,
  { business_domains: keys, text = '', file }: ConceptGeneration,
): Promise<store.JobRow> {
  requireAi(ctx);
  const domains = await requireBusinessDomains(ctx, keys);
  const startDocument = async (document: string) => {
    const batches = splitBatches([text, document].filter((sourceText) => sourceText.trim() !== '').join('\n\n'));
    if (batches.length > MAX_BATCHES)
      throw makeFileFailure(`holds more than ${MAX_BATCHES * BATCH_CHARACTERS} characters`);
    return startJob(ctx, {
      type: 'concept_generation',
      targetType: 'concept',
      targetIds: [],
      totalCount: batches.length > 0 ? batches.length : domains.length,
      input: { businessDomains: domains, ...(file && { fileName: file.name }) },
      batches,
    });
  };
  return file
    ? runWithReadingLimit(async () => startDocument(await extractText(file.name, file.bytes)))
    : startDocument('');
}

/** Queues a job that generates nodes and relations from the concepts of type `entity_hint` and a connection's catalogue. */
export async function startOntologyGeneration(ctx: PrincipalContext, connectionId: string): Promise<store.JobRow> {
  requireAi(ctx);
  await requireOntologyPrerequisites(ctx, connectionId);
  const batches = chunkLines(await describeCatalogue(ctx, MAX_BATCHES * BATCH_CHARACTERS), BATCH_CHARACTERS);
  const totalCount = Math.max(batches.length, chunkConcepts(await readEntityHints(ctx)).length);
  if (totalCount > MAX_BATCHES)
    throw makePrerequisiteFailure({
      field: 'connection_id',
      message: 'has too many tables and columns to generate an ontology from',
    });
  return startJob(ctx, {
    type: 'ontology_generation',
    targetType: 'ontology_node',
    targetIds: [],
    totalCount,
    input: { connectionId },
    batches,
  });
}

/** Queues a job that asks the model how to improve each of several resources. */
export async function startEnrichment(
  ctx: PrincipalContext,
  targetType: ResourceType,
  ids: string[],
): Promise<store.JobRow> {
  requireAi(ctx);
  const targetIds = [...new Set(ids)];
  const foundResources = await findResources(ctx, targetIds);
  const targets = new Set(
    foundResources.filter((row) => row.resourceType === targetType && row.status !== 'archived').map(({ id }) => id),
  );
  const message = `is not the id of any ${targetType.replace('_', ' ')} of this company`;
  const problems = ids.flatMap((id, index) => (targets.has(id) ? [] : [{ field: `target_ids.${index}`, message }]));
  if (problems.length > 0) throw invalidInput(problems);
  const totalCount = targetIds.length;
  return startJob(ctx, { type: 'enrichment', targetType, targetIds, totalCount, input: {}, batches: [] });
}

type NewJob = Pick<store.JobRow, 'type' | 'targetType' | 'targetIds' | 'totalCount' | 'input'> & { batches: string[] };

/** Stores a job, then its text, then sends its first message: `resumeJobs` resumes a job interrupted in between. */
async function startJob(ctx: PrincipalContext, { batches, ...job }: NewJob): Promise<store.JobRow> {
  const id = ctx.newId();
  const now = ctx.now();
  const { companyId } = ctx.actor;
  const source = batches.length > 0 ? makeSource(ctx, id, batches) : undefined;
  const row: store.JobRow = {
    ...job,
    id,
    companyId,
    input: { ...job.input, ...(source && { source }) },
    status: 'queued',
    processedCount: 0,
    suggestionCount: 0,
    rejectedCount: 0,
    conceptsNotSent: 0,
    usage: makeNoUsage(),
    lastError: null,
    requestId: ctx.correlationId,
    createdByUserId: ctx.actor.id,
    leasedUntil: null,
    attempts: 0,
    endedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const [active] = row.type === 'enrichment' ? [] : await store.selectActiveJob(ctx.db, companyId, row.type);
  if (active) throw jobRunning(active.id);
  await commit(ctx.db, { job: store.insertJob(ctx.db, row) }, { 'knowledge_jobs.type': () => jobRunning() });
  try {
    if (source) await storeSource(ctx, source, batches);
    await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId: id });
  } catch (error) {
    await endAsCancelled(ctx, id);
    throw error;
  }
  return row;
}
