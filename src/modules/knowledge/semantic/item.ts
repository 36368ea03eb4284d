import { z } from 'zod';
import { joinUniqueKey, type ResourceDefinition, toReferences } from '../resources/definition.ts';
import { semanticItemFailures } from '../resources/failures.ts';
import {
  changedStatus,
  description,
  MAX_LIST_ITEMS,
  MAX_LONG_LIST_ITEMS,
  makeResourceIdsSchema,
  makeTextListSchema,
  makeTextSchema,
  name,
  newStatus,
} from '../resources/fields.ts';
import { checkItem, makeRecheckAfterWrite } from './check.ts';
import { requireUnreferenced } from './kind-change.ts';

export const SEMANTIC_KINDS = ['entity', 'metric', 'dimension', 'mapping'] as const;

/** The maximum number of filters of an item: each is compiled separately. */
const MAX_FILTERS = 20;
const MAX_SQL_LENGTH = 4096;

export const semanticFields = {
  kind: z.enum(SEMANTIC_KINDS),
  name,
  description,
  formula: makeTextSchema(MAX_SQL_LENGTH)
    .nullable()
    .meta({ description: 'An SQL expression over the mapped tables.', examples: ['sum(orders.total)'] }),
  grain: makeTextSchema(200).nullable(),
  filters: makeTextListSchema(MAX_FILTERS, MAX_SQL_LENGTH).meta({
    description: 'SQL conditions over the mapped tables.',
  }),
  aggregation: makeTextSchema(100).nullable().meta({
    description:
      'How a formula without aggregates, or the one mapped column, is aggregated: `sum`, `avg`, `min`, `max`, `count` or `count_distinct`; `last` or `first` sum the rows of the last or first moment.',
  }),
  mapped_tables: makeTextListSchema(MAX_LIST_ITEMS).meta({ description: 'Managed tables, by id or by name.' }),
  mapped_columns: makeTextListSchema(MAX_LONG_LIST_ITEMS, 200).meta({ description: 'Columns as `table.column`.' }),
  mapped_relations: makeTextListSchema(MAX_LONG_LIST_ITEMS, 500).meta({
    description: 'How the tables are joined, as `table.column = table.column`.',
  }),
  source_concept_ids: makeResourceIdsSchema(MAX_LIST_ITEMS).meta({
    description: 'Ids of the concepts that it comes from; at least one unless `kind` is `mapping`.',
  }),
  depends_on_concepts: makeResourceIdsSchema(MAX_LONG_LIST_ITEMS).meta({ description: 'Ids of concepts.' }),
  depends_on_metrics: makeResourceIdsSchema(MAX_LONG_LIST_ITEMS).meta({
    description: 'Ids of semantic items of kind `metric`.',
  }),
  depends_on_entities: makeResourceIdsSchema(MAX_LONG_LIST_ITEMS).meta({
    description: 'Ids of semantic items of kind `entity`.',
  }),
};

export type SemanticItem = z.output<z.ZodObject<typeof semanticFields>>;

const input = z.object({ ...semanticFields, status: newStatus }).partial();

/** The resource type that gives tables and columns a meaning: an entity, a metric, a dimension, or a mapping between them. */
export const semanticItem: ResourceDefinition<SemanticItem> = {
  type: 'semantic',
  failures: semanticItemFailures,
  createSchema: input.required({ kind: true, name: true, description: true }).meta({ id: 'NewSemanticItem' }),
  changesSchema: input,
  patchSchema: input.extend({ status: changedStatus }).meta({ id: 'SemanticItemChanges' }),
  defaults: {
    formula: null,
    grain: null,
    filters: [],
    aggregation: null,
    mapped_tables: [],
    mapped_columns: [],
    mapped_relations: [],
    source_concept_ids: [],
    depends_on_concepts: [],
    depends_on_metrics: [],
    depends_on_entities: [],
  },
  actions: {
    list: 'semantic:list',
    create: 'semantic:create',
    get: 'semantic:list',
    update: 'semantic:update',
    archive: 'semantic:delete',
  },
  getName: (content) => content.name,
  makeUniqueKey: (content) => joinUniqueKey(content.kind, content.name),
  getFacet: (content) => content.kind,
  listTexts: (content) => [content.name, content.description],
  listReferences: (content) => [
    ...toReferences('source_concept_ids', content.source_concept_ids, 'concept'),
    ...toReferences('depends_on_concepts', content.depends_on_concepts, 'concept'),
    ...toReferences('depends_on_metrics', content.depends_on_metrics, 'semantic', 'metric'),
    ...toReferences('depends_on_entities', content.depends_on_entities, 'semantic', 'entity'),
  ],
  acyclicFields: ['depends_on_metrics', 'depends_on_entities'],
  findProblems: ({ kind, source_concept_ids }) =>
    kind !== 'mapping' && source_concept_ids.length === 0
      ? [{ field: 'source_concept_ids', message: `must name at least one concept, for an item of kind ${kind}` }]
      : [],
  check: checkItem,
  beforeChange: requireUnreferenced,
  recheck: makeRecheckAfterWrite,
};
