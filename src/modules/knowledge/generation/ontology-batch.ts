import { z } from 'zod';
import type { CompanyContext } from '../../../context.ts';
import type { TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { askModel } from '../../../platform/ai.ts';
import type { Concept } from '../concepts/concept.ts';
import { NODE_TYPES, type OntologyNode } from '../ontology/definitions.ts';
import { composePrompt, PROMPTS } from '../prompts/compose.ts';
import { listUnarchivedResources, type Resource } from '../resources/reading.ts';
import { RATIONALE_SHAPE } from '../suggestions/model-answers.ts';
import { chunkConcepts, joinLines, readEntityHints } from '../suggestions/prompt-texts.ts';
import type { Proposal } from '../suggestions/propose.ts';
import { findAcceptedResourceIds } from '../suggestions/review.ts';
import { makeSuggestion } from '../suggestions/service.ts';
import { type NewSuggestion, selectPendingSuggestions, selectStagedSuggestions } from '../suggestions/store.ts';
import { type BatchInput, type BatchResult, SourceMissingError, toOrigin } from './batch.ts';
import {
  buildKnownOntology,
  type KnownOntology,
  listSuggestedNodeIds,
  readNode,
  readRelation,
} from './ontology-candidates.ts';
import { readBatch } from './sources.ts';

const ONTOLOGY_PROMPT = PROMPTS.ontologyGeneration;
/** The maximum number of nodes that are read from one answer; as many relations are read. */
const MAX_CANDIDATES = 300;
/** The maximum number of nodes of the company that are read; as many relations are read. */
const MAX_KNOWN_ITEMS = 5000;

const CREATED_TYPES: TargetType[] = ['ontology_node_create', 'ontology_relation_create'];

const nullableText = z.string().nullable();
const nullableTexts = z.array(z.string()).nullable();

const ANSWER_SHAPE = z.object({
  nodes: z.array(
    z.object({
      key: z.string(),
      name: z.string(),
      description: z.string(),
      node_type: z.enum(NODE_TYPES),
      aliases: nullableTexts,
      attributes: nullableTexts,
      constraints: nullableTexts,
      source_concept_ids: nullableTexts,
      mapped_catalog_assets: nullableTexts,
      ...RATIONALE_SHAPE,
    }),
  ),
  relations: z.array(
    z.object({
      subject_key: z.string(),
      predicate: z.string(),
      object_key: z.string(),
      description: nullableText,
      cardinality: nullableText,
      relation_type: nullableText,
      ...RATIONALE_SHAPE,
    }),
  ),
});

const modelAnswer = z.object({ nodes: z.array(z.unknown()).default([]), relations: z.array(z.unknown()).default([]) });

/**
 * Asks the model for nodes and relations, given one chunk of the catalogue and one of the concepts. Each batch of a job takes the
 * next chunk of both.
 */
export async function proposeOntology({ ctx, settings, job, usage }: BatchInput): Promise<BatchResult> {
  const { source } = job.input;
  if (!source) throw new SourceMissingError();
  const parts = source.offsets.length - 1;
  const batchIndex = job.processedCount % parts;
  const catalogueChunk = await readBatch(ctx, source, batchIndex);
  if (catalogueChunk === undefined) throw new SourceMissingError();
  const entityHints = await readEntityHints(ctx);
  const chunks = chunkConcepts(entityHints);
  const knownOntology = await readKnownOntology(ctx, job.id, entityHints);
  // The nodes of this job come first: relations most likely name these.
  const nodeLines = [...knownOntology.nodesByKey].toReversed().map(([key, { name }]) => JSON.stringify({ key, name }));
  const sections = [
    { title: 'concepts', text: chunks[job.processedCount % chunks.length] ?? '' },
    { title: `part ${batchIndex + 1} of ${parts} of the catalogue`, text: catalogueChunk },
    { title: 'known nodes', text: joinLines(nodeLines) },
  ];
  const { value, model } = await askModel(
    settings,
    {
      name: 'ontology',
      ...composePrompt(ONTOLOGY_PROMPT, sections),
      answerSchema: ANSWER_SHAPE,
      readAnswer: (json) => modelAnswer.parse(json),
    },
    usage,
  );
  return collectCandidates(value, knownOntology, (proposal, candidateKey) =>
    makeSuggestion(ctx, { ...proposal, model, promptVersion: ONTOLOGY_PROMPT.version }, toOrigin(job, candidateKey)),
  );
}

/** Reads the ontology of the company, including nodes and relations that are only suggested so far. */
async function readKnownOntology(
  ctx: CompanyContext,
  jobId: string,
  entityHints: Resource<Concept>[],
): Promise<KnownOntology> {
  const { companyId } = ctx.actor;
  const nodes = (await listUnarchivedResources(ctx, {
    type: 'ontology_node',
    limit: MAX_KNOWN_ITEMS,
  })) as Resource<OntologyNode>[];
  const relations = await listUnarchivedResources(ctx, { type: 'ontology_relation', limit: MAX_KNOWN_ITEMS });
  const suggestedCreations = [
    ...(await selectPendingSuggestions(ctx.db, companyId, { targetTypes: CREATED_TYPES, includesImported: true })),
    // Of very many the newest, and those in the order of their creation.
    ...(await selectStagedSuggestions(ctx.db, companyId, jobId)).toReversed(),
  ];
  const nodeIdsBySuggestion = await findAcceptedResourceIds(ctx, listSuggestedNodeIds(suggestedCreations));
  return buildKnownOntology({ entityHints, nodes, relations, suggestedCreations, nodeIdsBySuggestion });
}

/** Parses the candidates of an answer: nodes first, which relations can then name. */
function collectCandidates(
  value: z.output<typeof modelAnswer>,
  knownOntology: KnownOntology,
  buildSuggestion: (proposal: Omit<Proposal, 'model' | 'promptVersion'>, candidateKey: string) => NewSuggestion,
): BatchResult {
  const result: BatchResult = { suggestions: [], rejectedCount: 0 };
  for (const [index, candidate] of value.nodes.entries()) {
    const node = index < MAX_CANDIDATES ? readNode(candidate, knownOntology) : undefined;
    if (!node) result.rejectedCount += 1;
    else if (node.existing) knownOntology.nodesByKey.set(node.key, node.existing);
    else {
      const suggestion = buildSuggestion(node.proposal, `node\n${node.uniqueKey}`);
      const addedNode = { nodeId: null, suggestionId: suggestion.id, name: suggestion.targetName };
      knownOntology.nodesByKey.set(node.key, addedNode);
      knownOntology.nodesByUniqueKey.set(node.uniqueKey, addedNode);
      result.suggestions.push(suggestion);
    }
  }
  for (const [index, candidate] of value.relations.entries()) {
    const relation = index < MAX_CANDIDATES ? readRelation(candidate, knownOntology) : undefined;
    if (!relation) result.rejectedCount += 1;
    else {
      knownOntology.relationKeys.add(relation.uniqueKey);
      result.suggestions.push(buildSuggestion(relation.proposal, `relation\n${relation.uniqueKey}`));
    }
  }
  return result;
}
