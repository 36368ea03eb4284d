import { z } from 'zod';
import { requireAction } from '../../../access/requirements.ts';
import {
  description,
  givenStatus,
  idList,
  MAX_ITEMS,
  MAX_LONG_ITEMS,
  name,
  oneId,
  patchedStatus,
  textList,
} from '../resources/members.ts';
import { type Definition, keyFrom, referencesIn } from '../resources/service.ts';

export const NODE_TYPES = ['class', 'role', 'event', 'object', 'state'] as const;

/** A node's own members. */
export const nodeMembers = {
  name,
  description,
  node_type: z.enum(NODE_TYPES),
  parent_node_id: oneId.nullable(),
  aliases: textList(MAX_ITEMS),
  attributes: textList(MAX_LONG_ITEMS, 300),
  constraints: textList(MAX_LONG_ITEMS, 1000),
  source_concepts: idList(MAX_LONG_ITEMS).meta({ description: 'Ids of concepts.' }),
  mapped_semantic_entities: idList(MAX_LONG_ITEMS).meta({ description: 'Ids of semantic items of kind `entity`.' }),
  mapped_catalog_assets: textList(MAX_LONG_ITEMS, 300).meta({
    description: 'Tables and columns that hold it, such as `orders` or `orders.total`.',
  }),
};

export type OntologyNode = z.output<z.ZodObject<typeof nodeMembers>>;

const input = z.object({ ...nodeMembers, status: givenStatus }).partial();

/** A kind of thing that the business deals with. */
export const ontologyNode: Definition<OntologyNode> = {
  type: 'ontology_node',
  noun: 'ontology_node',
  create: input.required({ name: true, description: true }).meta({ id: 'NewOntologyNode' }),
  changes: input,
  patch: input.extend({ status: patchedStatus }).meta({ id: 'OntologyNodeChanges' }),
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
    names: ['ontology:create', 'ontology:update'],
    requireCreate: (actor) => requireAction(actor, 'ontology:create', '*', 'node'),
    requireUpdate: (actor, id) => requireAction(actor, 'ontology:update', id, 'node'),
    requireDelete: (actor, id) => requireAction(actor, 'ontology:delete', id, 'node'),
  },
  nameOf: (content) => content.name,
  keyOf: (content) => keyFrom(content.node_type, content.name),
  facetOf: (content) => content.node_type,
  textsOf: (content) => [content.name, content.description, ...content.aliases],
  referencesOf: (content) => [
    ...(content.parent_node_id === null
      ? []
      : [{ field: 'parent_node_id', id: content.parent_node_id, type: 'ontology_node' as const }]),
    ...referencesIn('source_concepts', content.source_concepts, 'concept'),
    ...referencesIn('mapped_semantic_entities', content.mapped_semantic_entities, 'semantic', 'entity'),
  ],
  acyclic: ['parent_node_id'],
};
