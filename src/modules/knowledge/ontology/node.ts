import { z } from 'zod';
import { requireAction } from '../../../access/requirements.ts';
import { ontologyNodeFailures } from '../resources/failures.ts';
import {
  changedStatus,
  description,
  MAX_LIST_ITEMS,
  MAX_LONG_LIST_ITEMS,
  makeResourceIdsSchema,
  makeTextListSchema,
  name,
  newStatus,
  resourceId,
} from '../resources/fields.ts';
import { joinUniqueKey, type ResourceDefinition, toReferences } from '../resources/service.ts';

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
  permissions: {
    requireCreate: (actor) => requireAction(actor, 'ontology:create', '*', 'node'),
    requireUpdate: (actor, id) => requireAction(actor, 'ontology:update', id, 'node'),
    requireDelete: (actor, id) => requireAction(actor, 'ontology:delete', id, 'node'),
  },
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
