import { z } from 'zod';
import type { CompanyContext } from '../../../context.ts';
import { askModel } from '../../../platform/ai.ts';
import type { Concept } from '../concepts/concept.ts';
import { NODE_TYPES, type OntologyNode } from '../ontology/node.ts';
import { compose, PROMPTS } from '../prompts/compose.ts';
import { type Resource, unarchivedResources } from '../resources/service.ts';
import {
  chunkConcepts,
  findAcceptedResourceIds,
  joinLines,
  makeSuggestion,
  type NewSuggestion,
  type Proposal,
  RATIONALE_SHAPE,
  readEntityHints,
  readPendingOntologySuggestions,
  readStagedSuggestions,
} from '../suggestions/service.ts';
import { type BatchInput, type BatchResult, SourceMissing, toOrigin } from './batch.ts';
import {
  buildKnownOntology,
  type KnownOntology,
  listSuggestedNodeIds,
  readNode,
  readRelation,
} from './ontology-candidates.ts';
import { readBatch } from './sources.ts';

const PROMPT = PROMPTS.ontologyGeneration;
/** The maximum number of nodes, and the maximum number of relations, of one answer that are read. */
const MAX_CANDIDATES = 300;
/** The maximum number of nodes, and the maximum number of relations, of the company that are read. */
const MAX_KNOWN_ITEMS = 5000;

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
 * Asks for the nodes and relations of one chunk of the catalogue and one of the concepts. The chunks alternate, so that the
 * batches of a job read all of both.
 */
export async function proposeOntology({ ctx, settings, job, usage }: BatchInput): Promise<BatchResult> {
  const { source } = job.input;
  if (!source) throw new SourceMissing();
  const parts = source.offsets.length - 1;
  const part = job.processedCount % parts;
  const catalogue = await readBatch(ctx, source, part);
  if (catalogue === undefined) throw new SourceMissing();
  const hints = await readEntityHints(ctx);
  const chunks = chunkConcepts(hints);
  const known = await readKnownOntology(ctx, job.id, hints);
  // The nodes of this job come first: relations most likely name these.
  const nodeLines = [...known.nodesByKey].toReversed().map(([key, { name }]) => JSON.stringify({ key, name }));
  const sections = [
    { title: 'concepts', text: chunks[job.processedCount % chunks.length] ?? '' },
    { title: `part ${part + 1} of ${parts} of the catalogue`, text: catalogue },
    { title: 'known nodes', text: joinLines(nodeLines) },
  ];
  const { value, model } = await askModel(
    settings,
    { name: 'ontology', ...compose(PROMPT, sections), shape: ANSWER_SHAPE, read: (json) => modelAnswer.parse(json) },
    usage,
  );
  return collectCandidates(value, known, (proposal, candidateKey) =>
    makeSuggestion(ctx, { ...proposal, model, promptVersion: PROMPT.version }, toOrigin(job, candidateKey)),
  );
}

/** Reads the ontology of the company and the nodes and relations that are suggested already. */
async function readKnownOntology(
  ctx: CompanyContext,
  jobId: string,
  hints: Resource<Concept>[],
): Promise<KnownOntology> {
  const nodes = (await unarchivedResources(ctx, {
    type: 'ontology_node',
    limit: MAX_KNOWN_ITEMS,
  })) as Resource<OntologyNode>[];
  const relations = await unarchivedResources(ctx, { type: 'ontology_relation', limit: MAX_KNOWN_ITEMS });
  const suggested = [...(await readPendingOntologySuggestions(ctx)), ...(await readStagedSuggestions(ctx, jobId))];
  const accepted = await findAcceptedResourceIds(ctx, listSuggestedNodeIds(suggested));
  return buildKnownOntology({ hints, nodes, relations, suggested, accepted });
}

/** Reads the candidates of an answer: nodes first, which become known to the relations. */
function collectCandidates(
  value: z.output<typeof modelAnswer>,
  known: KnownOntology,
  suggestionOf: (proposal: Omit<Proposal, 'model' | 'promptVersion'>, candidateKey: string) => NewSuggestion,
): BatchResult {
  const result: BatchResult = { suggestions: [], rejected: 0 };
  for (const [index, candidate] of value.nodes.entries()) {
    const node = index < MAX_CANDIDATES ? readNode(candidate, known) : undefined;
    if (!node) result.rejected += 1;
    else if (node.existing) known.nodesByKey.set(node.key, node.existing);
    else {
      const suggestion = suggestionOf(node.proposal, `node\n${node.uniqueKey}`);
      const added = { nodeId: null, suggestionId: suggestion.id, name: suggestion.targetName };
      known.nodesByKey.set(node.key, added);
      known.nodesByUniqueKey.set(node.uniqueKey, added);
      result.suggestions.push(suggestion);
    }
  }
  for (const [index, candidate] of value.relations.entries()) {
    const relation = index < MAX_CANDIDATES ? readRelation(candidate, known) : undefined;
    if (!relation) {
      result.rejected += 1;
      continue;
    }
    known.relationKeys.add(relation.uniqueKey);
    result.suggestions.push(suggestionOf(relation.proposal, `relation\n${relation.uniqueKey}`));
  }
  return result;
}
