import { z } from 'zod';
import { nodeFields, type OntologyNode, ontologyNode, relationFields } from '../ontology/definitions.ts';
import { joinUniqueKey } from '../resources/definition.ts';
import type { Resource } from '../resources/reading.ts';
import { CREATION } from '../suggestions/propose.ts';
import type { SuggestedCreation } from '../suggestions/store.ts';
import { omitNulls, parseRationale } from './batch.ts';

/** A node that a relation can name: an existing node, or one that is only suggested. */
interface KnownNode {
  nodeId: string | null;
  suggestionId: string | null;
  name: string;
}

/** The nodes and relations that exist or are suggested; those of the model's answer are added as they are read. */
export interface KnownOntology {
  /** The nodes by the key that the model names them by. */
  nodesByKey: Map<string, KnownNode>;
  nodesByUniqueKey: Map<string, KnownNode>;
  relationKeys: Set<string>;
  /** The ids of concepts that a node may name as its sources. */
  conceptIds: Set<string>;
}

type RelationEnds = Record<
  'subject_node_id' | 'subject_suggestion_id' | 'object_node_id' | 'object_suggestion_id',
  string | null
>;

/** Returns the ids of the suggested nodes that suggested relations refer to. */
export const listSuggestedNodeIds = (suggestedCreations: SuggestedCreation[]): string[] =>
  suggestedCreations
    .flatMap(({ payload }) => [payload.subject_suggestion_id, payload.object_suggestion_id])
    .filter((id) => typeof id === 'string');

/**
 * Builds the ontology that the model may refer to. `suggestedCreations`: pending or staged suggestions; `nodeIdsBySuggestion`:
 * the ids of the nodes created from accepted suggestions, by the ids of the suggestions.
 */
export function buildKnownOntology(ontology: {
  entityHints: Resource[];
  nodes: Resource<OntologyNode>[];
  relations: Resource[];
  suggestedCreations: SuggestedCreation[];
  nodeIdsBySuggestion: Map<string, string>;
}): KnownOntology {
  const knownOntology: KnownOntology = {
    nodesByKey: new Map(),
    nodesByUniqueKey: new Map(),
    relationKeys: new Set(ontology.relations.map(({ uniqueKey }) => uniqueKey)),
    conceptIds: new Set(ontology.entityHints.map(({ id }) => id)),
  };
  const addNode = (key: string, uniqueKey: string, node: KnownNode) => {
    knownOntology.nodesByKey.set(key, node);
    knownOntology.nodesByUniqueKey.set(uniqueKey, node);
  };
  for (const { id, content, uniqueKey } of ontology.nodes) {
    addNode(`node:${id}`, uniqueKey, { nodeId: id, suggestionId: null, name: content.name });
  }
  for (const { id, targetType, targetName, payload } of ontology.suggestedCreations) {
    if (targetType === 'ontology_node_create') {
      const uniqueKey = makeNodeKey(payload);
      if (!knownOntology.nodesByUniqueKey.has(uniqueKey)) {
        addNode(`suggested:${id}`, uniqueKey, { nodeId: null, suggestionId: id, name: targetName });
      }
    } else if (targetType === 'ontology_relation_create') {
      const { subject_node_id, subject_suggestion_id, object_node_id, object_suggestion_id } = payload as RelationEnds;
      const [subject, object] = [subject_node_id ?? subject_suggestion_id, object_node_id ?? object_suggestion_id];
      const resolveNodeId = (end: string | null) => ontology.nodeIdsBySuggestion.get(end ?? '') ?? end;
      knownOntology.relationKeys.add(makeRelationKey(resolveNodeId(subject), payload.predicate, resolveNodeId(object)));
    }
  }
  return knownOntology;
}

const makeNodeKey = (fields: Partial<OntologyNode>): string =>
  ontologyNode.makeUniqueKey({ ...ontologyNode.defaults, ...fields } as OntologyNode);

const makeRelationKey = (subject: unknown, predicate: unknown, object: unknown): string =>
  joinUniqueKey(String(subject), String(predicate), String(object));

const nodeCandidate = z
  .object({ ...nodeFields, key: z.string().min(1), source_concept_ids: z.array(z.string()) })
  .omit({ parent_node_id: true, source_concepts: true, mapped_semantic_entities: true })
  .partial()
  .required({ key: true, name: true, description: true });

/** Parses a node that the model proposes; undefined when it is not valid. `existing` is a known node of the same key. */
export function readNode(candidate: unknown, knownOntology: KnownOntology) {
  const parsedNode = nodeCandidate.safeParse(omitNulls(candidate));
  const rationale = parseRationale(candidate);
  if (!parsedNode.success || !rationale) return undefined;
  const { key, source_concept_ids = [], ...fields } = parsedNode.data;
  // Relations that name a key that is in use would be connected to the wrong node.
  if (knownOntology.nodesByKey.has(key)) return undefined;
  const source_concepts = source_concept_ids.filter((id) => knownOntology.conceptIds.has(id));
  const payload = { ...fields, source_concepts };
  const uniqueKey = makeNodeKey(fields);
  const proposal = {
    ...CREATION,
    ...rationale,
    targetType: 'ontology_node_create' as const,
    targetName: fields.name,
    conceptId: source_concepts[0] ?? null,
    payload,
  };
  return { key, uniqueKey, existing: knownOntology.nodesByUniqueKey.get(uniqueKey), proposal };
}

const relationCandidate = z
  .object({ ...relationFields, subject_key: z.string(), object_key: z.string() })
  .omit({ subject_node_id: true, object_node_id: true, confidence: true, evidence: true })
  .partial()
  .required({ subject_key: true, predicate: true, object_key: true });

/** Parses a relation that the model proposes; undefined when it is not valid, names unknown nodes, or is known already. */
export function readRelation(candidate: unknown, { nodesByKey, relationKeys }: KnownOntology) {
  const parsedRelation = relationCandidate.safeParse(omitNulls(candidate));
  const rationale = parseRationale(candidate);
  if (!parsedRelation.success || !rationale) return undefined;
  const { subject_key, object_key, predicate, description, ...fields } = parsedRelation.data;
  const [subject, object] = [nodesByKey.get(subject_key), nodesByKey.get(object_key)];
  if (!subject || !object) return undefined;
  const uniqueKey = makeRelationKey(
    subject.nodeId ?? subject.suggestionId,
    predicate,
    object.nodeId ?? object.suggestionId,
  );
  if (relationKeys.has(uniqueKey)) return undefined;
  const sentence = `${subject.name} ${predicate} ${object.name}`;
  const proposal = {
    ...CREATION,
    ...rationale,
    targetType: 'ontology_relation_create' as const,
    targetName: sentence,
    payload: {
      ...fields,
      subject_node_id: subject.nodeId,
      subject_suggestion_id: subject.suggestionId,
      predicate,
      object_node_id: object.nodeId,
      object_suggestion_id: object.suggestionId,
      description: description ?? sentence,
      confidence: rationale.confidence,
      evidence: rationale.evidence,
    },
  };
  return { uniqueKey, proposal };
}
