import { z } from 'zod';
import { nodeMembers, type OntologyNode, ontologyNode, relationMembers } from '../ontology/service.ts';
import { keyFrom, type Resource } from '../resources/service.ts';
import { groundsIn, type SuggestionRow } from '../suggestions/service.ts';

/** A node that a relation can name: one that exists, or one that is only suggested. */
export interface End {
  nodeId: string | null;
  suggestionId: string | null;
  name: string;
}

/** What is there already, and what the answer adds. */
export interface World {
  /** By the key that the model knows it by. */
  ends: Map<string, End>;
  /** By type and name. */
  nodes: Map<string, End>;
  /** What relations there are. */
  relations: Set<string>;
  /** Concepts that nodes may come from. */
  conceptIds: Set<string>;
}

/** What a world is made of. */
interface Known {
  hints: Resource[];
  nodes: Resource<OntologyNode>[];
  relations: Resource[];
  /** What is proposed and not decided about. */
  suggested: SuggestionRow[];
  /** Nodes that came of suggestions which relations of `suggested` name. */
  accepted: Map<string, string>;
}

type Ends = Record<
  'subject_node_id' | 'subject_suggestion_id' | 'object_node_id' | 'object_suggestion_id',
  string | null
>;

/** The suggested nodes that suggested relations name. */
export const waitedForBy = (suggested: SuggestionRow[]): string[] =>
  suggested
    .flatMap(({ payload }) => [payload.subject_suggestion_id, payload.object_suggestion_id])
    .filter((id) => typeof id === 'string');

/** What the company has of nodes and relations, and what is proposed already. */
export function worldOf({ hints, nodes, relations, suggested, accepted }: Known): World {
  const world: World = {
    ends: new Map(),
    nodes: new Map(),
    relations: new Set(relations.map(({ uniqueKey }) => uniqueKey)),
    conceptIds: new Set(hints.map(({ id }) => id)),
  };
  const add = (key: string, unique: string, end: End) => {
    world.ends.set(key, end);
    world.nodes.set(unique, end);
  };
  for (const { id, content, uniqueKey } of nodes) {
    add(`node:${id}`, uniqueKey, { nodeId: id, suggestionId: null, name: content.name });
  }
  for (const { id, targetType, targetName, payload } of suggested) {
    if (targetType === 'ontology_node_create') {
      const unique = ontologyNode.keyOf({ ...ontologyNode.defaults, ...payload } as OntologyNode);
      if (!world.nodes.has(unique))
        add(`suggested:${id}`, unique, { nodeId: null, suggestionId: id, name: targetName });
    } else if (targetType === 'ontology_relation_create') {
      const { subject_node_id, subject_suggestion_id, object_node_id, object_suggestion_id } = payload as Ends;
      const [subject, object] = [subject_node_id ?? subject_suggestion_id, object_node_id ?? object_suggestion_id];
      const nodeOf = (id: string | null) => accepted.get(id ?? '') ?? id;
      world.relations.add(uniqueOf(nodeOf(subject), payload.predicate, nodeOf(object)));
    }
  }
  return world;
}

const uniqueOf = (subject: unknown, predicate: unknown, object: unknown): string =>
  keyFrom(String(subject), String(predicate), String(object));

const nodeCandidate = z
  .object({ ...nodeMembers, key: z.string().min(1), source_concept_ids: z.array(z.string()) })
  .omit({ parent_node_id: true, source_concepts: true, mapped_semantic_entities: true })
  .partial()
  .required({ key: true, name: true, description: true });

/** A node that a model proposes; undefined when it is not valid. `known` is one like it that is there already. */
export function readNode(candidate: unknown, world: World) {
  const parsed = nodeCandidate.safeParse(withoutNulls(candidate));
  const grounds = groundsOf(candidate);
  if (!parsed.success || !grounds) return undefined;
  const { key, source_concept_ids = [], ...members } = parsed.data;
  // A key of its own that is taken would turn relations to the wrong node.
  if (world.ends.has(key)) return undefined;
  const source_concepts = source_concept_ids.filter((id) => world.conceptIds.has(id));
  const payload = { ...members, source_concepts };
  const unique = ontologyNode.keyOf({ ...ontologyNode.defaults, ...members } as OntologyNode);
  const proposal = {
    ...grounds,
    targetType: 'ontology_node_create' as const,
    targetId: null,
    targetVersion: null,
    targetName: members.name,
    conceptId: source_concepts[0] ?? null,
    conceptName: null,
    payload,
  };
  return { key, unique, known: world.nodes.get(unique), proposal };
}

const relationCandidate = z
  .object({ ...relationMembers, subject_key: z.string(), object_key: z.string() })
  .omit({ subject_node_id: true, object_node_id: true, confidence: true, evidence: true })
  .partial()
  .required({ subject_key: true, predicate: true, object_key: true });

/** A relation that a model proposes; undefined when it is not valid, names nodes that nobody knows, or is there already. */
export function readRelation(candidate: unknown, { ends, relations }: World) {
  const parsed = relationCandidate.safeParse(withoutNulls(candidate));
  const grounds = groundsOf(candidate);
  if (!parsed.success || !grounds) return undefined;
  const { subject_key, object_key, predicate, description, ...members } = parsed.data;
  const [subject, object] = [ends.get(subject_key), ends.get(object_key)];
  if (!subject || !object) return undefined;
  const unique = uniqueOf(subject.nodeId ?? subject.suggestionId, predicate, object.nodeId ?? object.suggestionId);
  if (relations.has(unique)) return undefined;
  const sentence = `${subject.name} ${predicate} ${object.name}`;
  const proposal = {
    ...grounds,
    targetType: 'ontology_relation_create' as const,
    targetId: null,
    targetVersion: null,
    targetName: sentence,
    conceptId: null,
    conceptName: null,
    payload: {
      ...members,
      subject_node_id: subject.nodeId,
      subject_suggestion_id: subject.suggestionId,
      predicate,
      object_node_id: object.nodeId,
      object_suggestion_id: object.suggestionId,
      description: description ?? sentence,
      confidence: grounds.confidence,
      evidence: grounds.evidence,
    },
  };
  return { unique, proposal };
}

function groundsOf(candidate: unknown): ReturnType<typeof groundsIn> | undefined {
  try {
    return groundsIn(candidate);
  } catch {
    return undefined;
  }
}

const withoutNulls = (candidate: unknown): unknown =>
  typeof candidate === 'object' && candidate !== null
    ? Object.fromEntries(Object.entries(candidate).filter(([, value]) => value !== null))
    : candidate;
