import { z } from 'zod';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { conceptFields } from '../concepts/concept.ts';
import { nodeFields, relationFields } from '../ontology/definitions.ts';
import { joinUniqueKey } from '../resources/definition.ts';
import { MAX_LIST_ITEMS, MAX_LONG_LIST_ITEMS, makeTextListSchema, name } from '../resources/fields.ts';
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

/** The schemas for an entry in each list of a document: its own fields, and its references to other entries by name. */
export const ENTRY_SHAPES = {
  concepts: z.strictObject(conceptFields).partial().required({ name: true, description: true }),
  semantic: z
    .strictObject({
      ...item,
      source_concepts: makeTextListSchema(MAX_LIST_ITEMS),
      depends_on_concepts: makeTextListSchema(MAX_LONG_LIST_ITEMS),
      depends_on_metrics: makeTextListSchema(MAX_LONG_LIST_ITEMS),
      depends_on_entities: makeTextListSchema(MAX_LONG_LIST_ITEMS),
    })
    .partial()
    .required({ kind: true, name: true, description: true }),
  nodes: z
    .strictObject({
      ...node,
      parent_node: nodeName.nullable(),
      source_concepts: makeTextListSchema(MAX_LONG_LIST_ITEMS),
      mapped_semantic_entities: makeTextListSchema(MAX_LONG_LIST_ITEMS),
    })
    .partial()
    .required({ name: true, description: true }),
  relations: z
    .strictObject({ ...relation, subject: nodeName, object: nodeName })
    .partial()
    .required({ subject: true, predicate: true, object: true, description: true }),
};

export type ListName = keyof typeof ENTRY_SHAPES;

/** The lists of a document, in order: entries that other entries refer to come first. */
export const LIST_NAMES = Object.keys(ENTRY_SHAPES) as ListName[];

export const RESOURCE_TYPES: Record<ListName, ResourceType> = {
  concepts: 'concept',
  semantic: 'semantic',
  nodes: 'ontology_node',
  relations: 'ontology_relation',
};

/** A field of a document that names other entries, where the stored resource holds ids. */
export interface ReferenceField {
  documentField: string;
  /** The name of the field in the resource. */
  field: string;
  type: ResourceType;
  /** Returns the English sentence that there is no resource of a name. */
  formatMissing(entryName: string): string;
  /** Returns the unique key of the resource that a name refers to. */
  makeKey(entryName: never): string;
  isList: boolean;
}

/** The English sentences that an item of a name does not exist, each whole so that it can be translated. */
const MISSING_ITEM_SENTENCES = {
  metric: (entryName: string) => `metric "${entryName}" does not exist`,
  entity: (entryName: string) => `entity "${entryName}" does not exist`,
};

const makeConceptReference = (documentField: string, field = documentField): ReferenceField => ({
  documentField,
  field,
  type: 'concept',
  formatMissing: (entryName) => `concept "${entryName}" does not exist`,
  makeKey: (entryName: string) => joinUniqueKey(entryName),
  isList: true,
});

const makeItemReference = (kind: 'metric' | 'entity', documentField: string): ReferenceField => ({
  documentField,
  field: documentField,
  type: 'semantic',
  formatMissing: MISSING_ITEM_SENTENCES[kind],
  makeKey: (entryName: string) => joinUniqueKey(kind, entryName),
  isList: true,
});

const makeNodeReference = (documentField: string, field: string): ReferenceField => ({
  documentField,
  field,
  type: 'ontology_node',
  formatMissing: (entryName) => `node "${entryName}" does not exist`,
  makeKey: ({ node_type, name: named }: NodeName) => joinUniqueKey(node_type, named),
  isList: false,
});

/** The fields of each list that name other entries. */
export const REFERENCE_FIELDS: Record<ListName, readonly ReferenceField[]> = {
  concepts: [],
  semantic: [
    makeConceptReference('source_concepts', 'source_concept_ids'),
    makeConceptReference('depends_on_concepts'),
    makeItemReference('metric', 'depends_on_metrics'),
    makeItemReference('entity', 'depends_on_entities'),
  ],
  nodes: [
    makeNodeReference('parent_node', 'parent_node_id'),
    makeConceptReference('source_concepts'),
    makeItemReference('entity', 'mapped_semantic_entities'),
  ],
  relations: [makeNodeReference('subject', 'subject_node_id'), makeNodeReference('object', 'object_node_id')],
};

export const DOCUMENT_FORMAT = 'data-console-knowledge/1';

/** The maximum number of bytes of a document of any format, for import and export. */
export const MAX_DOCUMENT_BYTES = 5 * 1024 * 1024;

/** The schema of a document: the knowledge of a company without ids, times and the company itself. */
export const knowledgeDocument = z
  .strictObject({
    format: z.literal(DOCUMENT_FORMAT).optional(),
    concepts: z.array(ENTRY_SHAPES.concepts).default([]),
    semantic: z.array(ENTRY_SHAPES.semantic).default([]),
    nodes: z.array(ENTRY_SHAPES.nodes).default([]),
    relations: z.array(ENTRY_SHAPES.relations).default([]),
  })
  .meta({ id: 'KnowledgeDocument', description: 'References are by name; kinds and names are in order.' });

export type DocumentEntry = Record<string, unknown>;
export type KnowledgeDocument = { format: string } & Record<ListName, DocumentEntry[]>;
