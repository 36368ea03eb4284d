import type { CompanyContext, UserContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import type { JobStatus, JobType } from '../../../db/schema/knowledge-jobs.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { invalid } from '../../../kernel/failure.ts';
import { noUsage } from '../../../platform/ai.ts';
import { connectionIdOf } from '../../managed-database/service.ts';
import { listTables } from '../../managed-tables/service.ts';
import { type BusinessDomain, getBusinessDomains } from '../business-domains/service.ts';
import { countResources, findResources } from '../resources/service.ts';
import {
  catalogueLines,
  conceptPieces,
  entityHints,
  isAiConfigured,
  packed,
  requireAi,
} from '../suggestions/service.ts';
import { textOfDocument } from './documents.ts';
import { badFile, jobEnded, jobNotFound, jobRunning, prerequisiteMissing } from './failures.ts';
import { BATCH_CHARACTERS, batchesOf, MAX_BATCHES, sourceOf } from './sources.ts';
import * as store from './store.ts';
import { endCancelled } from './work.ts';

export { ACCEPTED_FILE_TYPES } from './failures.ts';
export type { JobRow } from './store.ts';

/** What a generation of concepts is asked for with. */
export interface ConceptGeneration {
  /** Keys; all of the company's when not given. */
  businessDomains?: string[];
  text?: string;
  file?: { name: string; bytes: Uint8Array<ArrayBuffer> };
}

/** What a generation of concepts needs, and what of it is missing. */
export async function conceptPrerequisites(ctx: CompanyContext) {
  const businessDomains = await getBusinessDomains(ctx);
  const aiConfigured = isAiConfigured(ctx);
  const missing = [
    ...(aiConfigured ? [] : ['ai_provider']),
    ...(businessDomains.length > 0 ? [] : ['business_domains']),
  ];
  return { aiConfigured, businessDomains, missing };
}

/** What a generation of ontology needs, and what of it is missing. */
export async function ontologyPrerequisites(ctx: CompanyContext) {
  const connectionId = await connectionIdOf(ctx);
  const tableCount = connectionId === null ? 0 : (await listTables(ctx, { page: 1, perPage: 1, search: '' })).total;
  const connections =
    connectionId === null || tableCount === 0
      ? []
      : [{ connection_id: connectionId, name: 'Managed database', table_count: tableCount }];
  const entityHintCount = await countResources(ctx, 'concept', 'entity_hint');
  const aiConfigured = isAiConfigured(ctx);
  const missing = [
    ...(aiConfigured ? [] : ['ai_provider']),
    ...(entityHintCount > 0 ? [] : ['entity_hint_concepts']),
    ...(connections.length > 0 ? [] : ['connection']),
  ];
  return { aiConfigured, connections, entityHintCount, missing };
}

/**
 * Queues a generation of concepts from business domains, text and a file.
 * @throws Failure `ai.not_configured`, `knowledge_job.running`, or invalid naming what is missing or cannot be read
 */
export async function startConceptGeneration(
  ctx: UserContext,
  { businessDomains, text = '', file }: ConceptGeneration,
): Promise<store.JobRow> {
  requireAi(ctx);
  const domains = await chosenDomains(ctx, businessDomains);
  const documents = [text, file ? await textOfDocument(file.name, file.bytes) : ''];
  const batches = batchesOf(documents.filter((document) => document.trim() !== '').join('\n\n'));
  if (batches.length > MAX_BATCHES) throw badFile(`holds more than ${MAX_BATCHES * BATCH_CHARACTERS} characters`);
  return start(ctx, {
    type: 'concept_generation',
    targetType: 'concept',
    targetIds: [],
    totalCount: batches.length > 0 ? batches.length : domains.length,
    input: { businessDomains: domains, ...(file && { fileName: file.name }) },
    batches,
  });
}

/**
 * Queues a generation of nodes and relations from the concepts that hint at entities, and a connection's catalogue.
 * @throws Failure `ai.not_configured`, `knowledge_job.running`, or invalid naming what is missing
 */
export async function startOntologyGeneration(ctx: UserContext, connectionId: string): Promise<store.JobRow> {
  requireAi(ctx);
  const { connections, entityHintCount } = await ontologyPrerequisites(ctx);
  if (entityHintCount === 0) {
    throw prerequisiteMissing('entity_hint_concepts', 'the company has no concept of type entity_hint');
  }
  if (!connections.some((connection) => connection.connection_id === connectionId)) {
    throw prerequisiteMissing('connection_id', 'names no connection of this company that has tables');
  }
  const batches = packed(await catalogueLines(ctx, MAX_BATCHES * BATCH_CHARACTERS), BATCH_CHARACTERS);
  const totalCount = Math.max(batches.length, conceptPieces(await entityHints(ctx)).length);
  if (totalCount > MAX_BATCHES) throw prerequisiteMissing('connection_id', 'names a catalogue that is too large');
  return start(ctx, {
    type: 'ontology_generation',
    targetType: 'ontology_node',
    targetIds: [],
    totalCount,
    input: { connectionId },
    batches,
  });
}

/**
 * Queues a job that asks how to improve each target.
 * @throws Failure `ai.not_configured`, or invalid naming targets that are not there
 */
export async function startEnrichment(
  ctx: UserContext,
  targetType: ResourceType,
  ids: string[],
): Promise<store.JobRow> {
  requireAi(ctx);
  const targetIds = [...new Set(ids)];
  const found = await findResources(ctx, targetIds);
  const living = new Set(
    found.filter((row) => row.resourceType === targetType && row.status !== 'archived').map(({ id }) => id),
  );
  const problems = ids.flatMap((id, index) =>
    living.has(id)
      ? []
      : [{ field: `target_ids.${index}`, message: `names no ${targetType.replace('_', ' ')} of this company` }],
  );
  if (problems.length > 0) throw invalid(problems);
  const totalCount = targetIds.length;
  return start(ctx, { type: 'enrichment', targetType, targetIds, totalCount, input: {}, batches: [] });
}

/** A job of the company, of one type or any. @throws Failure `knowledge_job.not_found` */
export async function getJob(ctx: CompanyContext, id: string, type?: JobType): Promise<store.JobRow> {
  const [job] = await store.selectJob(ctx.db, { companyId: ctx.actor.companyId, id });
  if (!job || (type !== undefined && job.type !== type)) throw jobNotFound();
  return job;
}

/** A page of the company's enrichment jobs, newest first. */
export const listEnrichments = (
  ctx: CompanyContext,
  filter: { targetType?: ResourceType; status?: JobStatus },
  part: { page: number; perPage: number },
) => store.readJobs(ctx.db, { companyId: ctx.actor.companyId, type: 'enrichment' }, filter, part);

/**
 * Ends a job that has not ended. What an enrichment has shown already stays; an answer in flight is thrown away.
 * @throws Failure `knowledge_job.not_found`, `knowledge_job.ended`
 */
export async function cancelJob(ctx: CompanyContext, id: string): Promise<store.JobRow> {
  const cancelled = await endCancelled(ctx, id);
  if (!cancelled) throw jobEnded((await getJob(ctx, id)).status);
  return cancelled;
}

async function chosenDomains(ctx: CompanyContext, keys: string[] | undefined): Promise<BusinessDomain[]> {
  const configured = await getBusinessDomains(ctx);
  if (configured.length === 0) {
    throw prerequisiteMissing('business_domains', 'the company has no business domain: configure one first');
  }
  if (keys === undefined || keys.length === 0) return configured;
  const byKey = new Map(configured.map((domain) => [domain.key, domain]));
  const problems = keys.flatMap((key, index) =>
    byKey.has(key) ? [] : [{ field: `business_domains.${index}`, message: 'is no business domain of this company' }],
  );
  if (problems.length > 0) throw invalid(problems);
  return [...new Set(keys)].map((key) => byKey.get(key) as BusinessDomain);
}

type NewJob = Pick<store.JobRow, 'type' | 'targetType' | 'targetIds' | 'totalCount' | 'input'> & { batches: string[] };

/** Keeps a job, then its text, then sends its first message: whatever breaks off in between, the job is found. */
async function start(ctx: UserContext, { batches, ...job }: NewJob): Promise<store.JobRow> {
  const id = ctx.newId();
  const now = ctx.now();
  const { companyId } = ctx.actor;
  const stored = batches.length > 0 ? sourceOf(ctx, id, batches) : undefined;
  const row: store.JobRow = {
    ...job,
    id,
    companyId,
    input: { ...job.input, ...(stored && { source: stored.source }) },
    status: 'queued',
    processedCount: 0,
    suggestionCount: 0,
    rejectedCount: 0,
    usage: noUsage(),
    lastError: null,
    requestId: ctx.correlationId,
    createdByUserId: ctx.actor.id,
    leasedUntil: null,
    attempts: 0,
    endedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const [running] = row.type === 'enrichment' ? [] : await store.selectRunning(ctx.db, companyId, row.type);
  if (running) throw jobRunning(running.id);
  await commit(ctx.db, [store.insertJob(ctx.db, row)], { 'knowledge_jobs.type': () => jobRunning(undefined) });
  try {
    if (stored) await ctx.files.put(stored.source.key, stored.bytes);
    await ctx.jobs.send({ type: 'knowledge.generate', companyId, jobId: id });
  } catch (error) {
    await cancelJob(ctx, id);
    throw error;
  }
  return row;
}
