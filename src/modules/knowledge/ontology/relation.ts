import { z } from 'zod';
import { requireAction } from '../../../access/requirements.ts';
import { ontologyRelationFailures } from '../resources/failures.ts';
import {
  changedStatus,
  confidence,
  description,
  evidence,
  MAX_LONG_LIST_ITEMS,
  makeTextSchema,
  newStatus,
  resourceId,
} from '../resources/fields.ts';
import { joinUniqueKey, normalizeName, type ResourceDefinition } from '../resources/service.ts';

export const relationFields = {
  subject_node_id: resourceId,
  predicate: makeTextSchema(200).meta({ examples: ['places'] }),
  object_node_id: resourceId,
  description,
  cardinality: makeTextSchema(50)
    .nullable()
    .meta({ examples: ['1:N'] }),
  relation_type: makeTextSchema(100).nullable(),
  confidence: confidence.nullable(),
  evidence: z.array(z.union([makeTextSchema(1000), evidence])).max(MAX_LONG_LIST_ITEMS),
};

export type OntologyRelation = z.output<z.ZodObject<typeof relationFields>>;

const relationInput = z.object({ ...relationFields, status: newStatus }).partial();

/** The resource type of a relation between two nodes: subject, predicate, object. */
export const ontologyRelation: ResourceDefinition<OntologyRelation> = {
  type: 'ontology_relation',
  failures: ontologyRelationFailures,
  createSchema: relationInput
    .required({ subject_node_id: true, predicate: true, object_node_id: true, description: true })
    .meta({ id: 'NewOntologyRelation' }),
  changesSchema: relationInput,
  patchSchema: relationInput.extend({ status: changedStatus }).meta({ id: 'OntologyRelationChanges' }),
  defaults: { cardinality: null, relation_type: null, confidence: null, evidence: [] },
  permissions: {
    requireCreate: (actor) => requireAction(actor, 'ontology:create', '*', 'relation'),
    requireUpdate: (actor, id) => requireAction(actor, 'ontology:update', id, 'relation'),
    requireDelete: (actor, id) => requireAction(actor, 'ontology:delete', id, 'relation'),
  },
  getName: (content) => content.predicate,
  makeUniqueKey: (content) => joinUniqueKey(content.subject_node_id, content.predicate, content.object_node_id),
  getFacet: (content) => normalizeName(content.predicate),
  listTexts: (content) => [content.predicate, content.description],
  getEnds: (content) => ({ subjectId: content.subject_node_id, objectId: content.object_node_id }),
  listReferences: (content) => [
    { field: 'subject_node_id', id: content.subject_node_id, type: 'ontology_node' },
    { field: 'object_node_id', id: content.object_node_id, type: 'ontology_node' },
  ],
  acyclicFields: [],
};
