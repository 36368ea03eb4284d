import { z } from 'zod';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { conceptFields } from '../concepts/concept.ts';
import { nodeFields } from '../ontology/node.ts';
import { relationFields } from '../ontology/relation.ts';
import { MAX_ITEMS, MAX_LONG_ITEMS, name, textList } from '../resources/fields.ts';
import { uniqueKeyFrom } from '../resources/service.ts';
import { semanticFields } from '../semantic/item.ts';

/** A reference to a node by its name, which is unique within its type. */
const nodeName = z.strictObject({ node_type: nodeFields.node_type, name });
type NodeName = z.output<typeof nodeName>;

const {
  source_concept_ids: _sources,
  depends_on_concepts: _c,
  depends_on_metrics: _m,
  depends_on_entities: _e,
  ...item
} = semanticFields;
const {
  parent_node_id: _parent,
  source_concepts: _concepts,
  mapped_semantic_entities: _entities,
  ...node
} = nodeFields;
const { subject_node_id: _subject, object_node_id: _object, ...relation } = relationFields;

/** The shape of an entry in each list of a document: its own fields, and its references to others by name. */
export const SHAPES = {
  concepts: z.strictObject(conceptFields).partial().required({ name: true, description: true }),
  semantic: z
    .strictObject({
      ...item,
      source_concepts: textList(MAX_ITEMS),
      depends_on_concepts: textList(MAX_LONG_ITEMS),
      depends_on_metrics: textList(MAX_LONG_ITEMS),
      depends_on_entities: textList(MAX_LONG_ITEMS),
    })
    .partial()
    .required({ kind: true, name: true, description: true }),
  nodes: z
    .strictObject({
      ...node,
      parent_node: nodeName.nullable(),
      source_concepts: textList(MAX_LONG_ITEMS),
      mapped_semantic_entities: textList(MAX_LONG_ITEMS),
    })
    .partial()
    .required({ name: true, description: true }),
  relations: z
    .strictObject({ ...relation, subject: nodeName, object: nodeName })
    .partial()
    .required({ subject: true, predicate: true, object: true, description: true }),
};

export type ListName = keyof typeof SHAPES;

/** The lists of a document, in this order: entries that others refer to come first. */
export const LIST_NAMES = Object.keys(SHAPES) as ListName[];

export const RESOURCE_TYPES: Record<ListName, ResourceType> = {
  concepts: 'concept',
  semantic: 'semantic',
  nodes: 'ontology_node',
  relations: 'ontology_relation',
};

/** A field of a document that refers to others by name, where the resource holds ids. */
export interface Reference {
  documentField: string;
  /** The name of the field in the resource. */
  field: string;
  type: ResourceType;
  /** The noun for the resource in messages to people: `concept`. */
  what: string;
  /** The unique key of the resource that a name means. */
  keyOf(named: never): string;
  isList: boolean;
}

const conceptReference = (documentField: string, field = documentField): Reference => ({
  documentField,
  field,
  type: 'concept',
  what: 'concept',
  keyOf: (named: string) => uniqueKeyFrom(named),
  isList: true,
});

const itemReference = (kind: 'metric' | 'entity', documentField: string): Reference => ({
  documentField,
  field: documentField,
  type: 'semantic',
  what: kind,
  keyOf: (named: string) => uniqueKeyFrom(kind, named),
  isList: true,
});

const nodeReference = (documentField: string, field: string): Reference => ({
  documentField,
  field,
  type: 'ontology_node',
  what: 'node',
  keyOf: ({ node_type, name: named }: NodeName) => uniqueKeyFrom(node_type, named),
  isList: false,
});

/** The fields of each list that name others. */
export const REFERENCES: Record<ListName, readonly Reference[]> = {
  concepts: [],
  semantic: [
    conceptReference('source_concepts', 'source_concept_ids'),
    conceptReference('depends_on_concepts'),
    itemReference('metric', 'depends_on_metrics'),
    itemReference('entity', 'depends_on_entities'),
  ],
  nodes: [
    nodeReference('parent_node', 'parent_node_id'),
    conceptReference('source_concepts'),
    itemReference('entity', 'mapped_semantic_entities'),
  ],
  relations: [nodeReference('subject', 'subject_node_id'), nodeReference('object', 'object_node_id')],
};

export const DOCUMENT_FORMAT = 'data-console-knowledge/1';

/** The maximum number of bytes of a document of any format, for import and export. */
export const MAX_DOCUMENT_BYTES = 5 * 1024 * 1024;

/** The schema of a document: the knowledge of a company without ids, times and the company itself. */
export const knowledgeDocument = z
  .strictObject({
    format: z.literal(DOCUMENT_FORMAT).optional(),
    concepts: z.array(SHAPES.concepts).default([]),
    semantic: z.array(SHAPES.semantic).default([]),
    nodes: z.array(SHAPES.nodes).default([]),
    relations: z.array(SHAPES.relations).default([]),
  })
  .meta({ id: 'KnowledgeDocument', description: 'References are by name; kinds and names are in order.' });

export type Entry = Record<string, unknown>;
export type KnowledgeDocument = { format: string } & Record<ListName, Entry[]>;
