import { z } from 'zod';
import { askModel } from '../../../platform/ai.ts';
import { NODE_TYPES, type OntologyNode } from '../ontology/service.ts';
import { compose, PROMPTS } from '../prompts/compose.ts';
import { livingResources, type Resource } from '../resources/service.ts';
import {
  acceptedAs,
  conceptPieces,
  entityHints,
  fitting,
  GROUNDS_SHAPE,
  type Proposal,
  pendingOntology,
  rowOf,
  stagedBy,
} from '../suggestions/service.ts';
import { type Batch, type BatchTurn, SourceGone } from './batch.ts';
import { readNode, readRelation, waitedForBy, worldOf } from './ontology-candidates.ts';
import { readBatch } from './sources.ts';

const PROMPT = PROMPTS.ontologyGeneration;
/** Candidates of each kind in one answer that are looked at. */
const MAX_CANDIDATES = 300;
/** Nodes and relations that exist that are read at all. */
const MOST_KNOWN = 5000;

const text = z.string().nullable();
const texts = z.array(z.string()).nullable();

const SHAPE = z.object({
  nodes: z.array(
    z.object({
      key: z.string(),
      name: z.string(),
      description: z.string(),
      node_type: z.enum(NODE_TYPES),
      aliases: texts,
      attributes: texts,
      constraints: texts,
      source_concept_ids: texts,
      mapped_catalog_assets: texts,
      ...GROUNDS_SHAPE,
    }),
  ),
  relations: z.array(
    z.object({
      subject_key: z.string(),
      predicate: z.string(),
      object_key: z.string(),
      description: text,
      cardinality: text,
      relation_type: text,
      ...GROUNDS_SHAPE,
    }),
  ),
});

const answered = z.object({ nodes: z.array(z.unknown()).default([]), relations: z.array(z.unknown()).default([]) });

/**
 * Asks for the nodes and relations of one part of the catalogue. Concepts that are more than one request holds take turns,
 * so that all of both are read by the end.
 */
export async function ontologyBatch({ ctx, settings, job, usage }: BatchTurn): Promise<Batch> {
  const { source } = job.input;
  if (!source) throw new SourceGone();
  const parts = source.offsets.length - 1;
  const part = job.processedCount % parts;
  const catalogue = await readBatch(ctx, source, part);
  if (catalogue === undefined) throw new SourceGone();
  const hints = await entityHints(ctx);
  const pieces = conceptPieces(hints);
  const nodes = (await livingResources(ctx, { type: 'ontology_node', limit: MOST_KNOWN })) as Resource<OntologyNode>[];
  const relations = await livingResources(ctx, { type: 'ontology_relation', limit: MOST_KNOWN });
  const suggested = [...(await pendingOntology(ctx)), ...(await stagedBy(ctx, job.id))];
  const accepted = await acceptedAs(ctx, waitedForBy(suggested));
  const world = worldOf({ hints, nodes, relations, suggested, accepted });
  // Those of this very job come first, which relations are likeliest to name.
  const known = [...world.ends].toReversed().map(([key, { name }]) => JSON.stringify({ key, name }));
  const materials = [
    { what: 'concepts', text: pieces[job.processedCount % pieces.length] ?? '' },
    { what: `part ${part + 1} of ${parts} of the catalogue`, text: catalogue },
    { what: 'known nodes', text: fitting(known) },
  ];
  const { value, model } = await askModel(
    settings,
    { name: 'ontology', ...compose(PROMPT, materials), shape: SHAPE, read: (answer) => answered.parse(answer) },
    usage,
  );
  const of = { createdByUserId: job.createdByUserId, requestId: job.requestId, jobId: job.id };
  const keep = (proposal: Omit<Proposal, 'model' | 'promptVersion'>, candidateKey: string) =>
    rowOf(ctx, { ...proposal, model, promptVersion: PROMPT.version }, { ...of, candidateKey });

  const batch: Batch = { rows: [], rejected: 0 };
  for (const [index, candidate] of value.nodes.entries()) {
    const read = index < MAX_CANDIDATES ? readNode(candidate, world) : undefined;
    if (!read) batch.rejected += 1;
    else if (read.known) world.ends.set(read.key, read.known);
    else {
      const row = keep(read.proposal, `node\n${read.unique}`);
      const end = { nodeId: null, suggestionId: row.id, name: row.targetName };
      world.ends.set(read.key, end);
      world.nodes.set(read.unique, end);
      batch.rows.push(row);
    }
  }
  for (const [index, candidate] of value.relations.entries()) {
    const read = index < MAX_CANDIDATES ? readRelation(candidate, world) : undefined;
    if (!read) {
      batch.rejected += 1;
      continue;
    }
    world.relations.add(read.unique);
    batch.rows.push(keep(read.proposal, `relation\n${read.unique}`));
  }
  return batch;
}
