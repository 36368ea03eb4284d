import { z } from 'zod';
import { requireAction } from '../../../access/requirements.ts';
import {
  confidence,
  description,
  evidence,
  givenStatus,
  MAX_LONG_ITEMS,
  oneId,
  patchedStatus,
  textOf,
} from '../resources/members.ts';
import { type Definition, keyFrom, normalized } from '../resources/service.ts';

/** A relation's own members. */
export const relationMembers = {
  subject_node_id: oneId,
  predicate: textOf(200).meta({ examples: ['places'] }),
  object_node_id: oneId,
  description,
  cardinality: textOf(50)
    .nullable()
    .meta({ examples: ['1:N'] }),
  relation_type: textOf(100).nullable(),
  confidence: confidence.nullable(),
  evidence: z.array(z.union([textOf(1000), evidence])).max(MAX_LONG_ITEMS),
};

export type OntologyRelation = z.output<z.ZodObject<typeof relationMembers>>;

const input = z.object({ ...relationMembers, status: givenStatus }).partial();

/** What one node has to do with another: subject, predicate, object. */
export const ontologyRelation: Definition<OntologyRelation> = {
  type: 'ontology_relation',
  noun: 'ontology_relation',
  create: input
    .required({ subject_node_id: true, predicate: true, object_node_id: true, description: true })
    .meta({ id: 'NewOntologyRelation' }),
  changes: input,
  patch: input.extend({ status: patchedStatus }).meta({ id: 'OntologyRelationChanges' }),
  defaults: { cardinality: null, relation_type: null, confidence: null, evidence: [] },
  permissions: {
    names: ['ontology:create', 'ontology:update'],
    requireCreate: (actor) => requireAction(actor, 'ontology:create', '*', 'relation'),
    requireUpdate: (actor, id) => requireAction(actor, 'ontology:update', id, 'relation'),
    requireDelete: (actor, id) => requireAction(actor, 'ontology:delete', id, 'relation'),
  },
  nameOf: (content) => content.predicate,
  keyOf: (content) => keyFrom(content.subject_node_id, content.predicate, content.object_node_id),
  facetOf: (content) => normalized(content.predicate),
  textsOf: (content) => [content.predicate, content.description],
  endsOf: (content) => ({ subjectId: content.subject_node_id, objectId: content.object_node_id }),
  referencesOf: (content) => [
    { field: 'subject_node_id', id: content.subject_node_id, type: 'ontology_node' },
    { field: 'object_node_id', id: content.object_node_id, type: 'ontology_node' },
  ],
  acyclic: [],
};
