import { z } from 'zod';
import { joinUniqueKey, normalizeName, type ResourceDefinition, toReferences } from '../resources/definition.ts';
import { ontologyNodeFailures, ontologyRelationFailures } from '../resources/failures.ts';
import {
  changedStatus,
  confidence,
  description,
  evidence,
  MAX_LIST_ITEMS,
  MAX_LONG_LIST_ITEMS,
  makeResourceIdsSchema,
  makeTextListSchema,
  makeTextSchema,
  name,
  newStatus,
  resourceId,
} from '../resources/fields.ts';

export const NODE_TYPES = ['class', 'role', 'event', 'object', 'state'] as const;

export const nodeFields = {
  name,
  description,
  node_type: z.enum(NODE_TYPES),
  parent_node_id: resourceId.nullable(),
  aliases: makeTextListSchema(MAX_LIST_ITEMS),
  attributes: makeTextListSchema(MAX_LONG_LIST_ITEMS, 300),
  constraints: makeTextListSchema(MAX_LONG_LIST_ITEMS, 1000),
  source_concepts: makeResourceIdsSchema(MAX_LONG_LIST_ITEMS).meta({ description: 'Ids of concepts.' }),
  mapped_semantic_entities: makeResourceIdsSchema(MAX_LONG_LIST_ITEMS).meta({
    description: 'Ids of semantic items of kind `entity`.',
  }),
  mapped_catalog_assets: makeTextListSchema(MAX_LONG_LIST_ITEMS, 300).meta({
    description: 'Tables and columns that hold it, such as `orders` or `orders.total`.',
  }),
};

export type OntologyNode = z.output<z.ZodObject<typeof nodeFields>>;

const nodeInput = z.object({ ...nodeFields, status: newStatus }).partial();

/** The actions on nodes and relations: a caller who may list them may also get them. */
const ONTOLOGY_ACTIONS = {
  list: 'ontology:list',
  create: 'ontology:create',
  get: 'ontology:list',
  update: 'ontology:update',
  archive: 'ontology:delete',
} as const;

export const ontologyNode: ResourceDefinition<OntologyNode> = {
  type: 'ontology_node',
  failures: ontologyNodeFailures,
  createSchema: nodeInput.required({ name: true, description: true }).meta({ id: 'NewOntologyNode' }),
  changesSchema: nodeInput,
  patchSchema: nodeInput.extend({ status: changedStatus }).meta({ id: 'OntologyNodeChanges' }),
  defaults: {
    node_type: 'class',
    parent_node_id: null,
    aliases: [],
    attributes: [],
    constraints: [],
    source_concepts: [],
    mapped_semantic_entities: [],
    mapped_catalog_assets: [],
  },
  actions: ONTOLOGY_ACTIONS,
  arnType: 'node',
  getName: (content) => content.name,
  makeUniqueKey: (content) => joinUniqueKey(content.node_type, content.name),
  getFacet: (content) => content.node_type,
  listTexts: (content) => [content.name, content.description, ...content.aliases],
  listReferences: (content) => [
    ...(content.parent_node_id === null
      ? []
      : [{ field: 'parent_node_id', id: content.parent_node_id, type: 'ontology_node' as const }]),
    ...toReferences('source_concepts', content.source_concepts, 'concept'),
    ...toReferences('mapped_semantic_entities', content.mapped_semantic_entities, 'semantic', 'entity'),
  ],
  acyclicFields: ['parent_node_id'],
};

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
  actions: ONTOLOGY_ACTIONS,
  arnType: 'relation',
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
