import { z } from 'zod';
import { joinUniqueKey, type ResourceDefinition } from '../resources/definition.ts';
import { conceptFailures } from '../resources/failures.ts';
import {
  changedStatus,
  confidence,
  description,
  MAX_LIST_ITEMS,
  makeTextListSchema,
  makeTextSchema,
  name,
  newStatus,
} from '../resources/fields.ts';

export const CONCEPT_TYPES = ['term', 'rule', 'entity_hint', 'metric_hint', 'policy_hint'] as const;

export const conceptFields = {
  name,
  description,
  type: z.enum(CONCEPT_TYPES),
  aliases: makeTextListSchema(MAX_LIST_ITEMS),
  tags: makeTextListSchema(MAX_LIST_ITEMS),
  source: makeTextSchema(200).nullable().meta({ description: "Where it comes from, in the author's words." }),
  confidence: confidence.nullable(),
  related_catalog_assets: makeTextListSchema(MAX_LIST_ITEMS, 300).meta({
    description: 'Tables and columns it is about, such as `orders` or `orders.total`.',
  }),
};

export type Concept = z.output<z.ZodObject<typeof conceptFields>>;

const conceptInput = z.object({ ...conceptFields, status: newStatus }).partial();

/** The resource type of concepts: a business term or rule, or a hint at an entity, a metric or a policy. */
export const concept: ResourceDefinition<Concept> = {
  type: 'concept',
  failures: conceptFailures,
  createSchema: conceptInput.required({ name: true, description: true }).meta({ id: 'NewConcept' }),
  changesSchema: conceptInput,
  patchSchema: conceptInput.extend({ status: changedStatus }).meta({ id: 'ConceptChanges' }),
  defaults: { type: 'term', aliases: [], tags: [], source: null, confidence: null, related_catalog_assets: [] },
  actions: {
    list: 'concepts:list',
    create: 'concepts:create',
    get: 'concepts:get',
    update: 'concepts:update',
    archive: 'concepts:delete',
  },
  getName: (content) => content.name,
  makeUniqueKey: (content) => joinUniqueKey(content.name),
  getFacet: (content) => content.type,
  listTexts: (content) => [content.name, content.description, ...content.aliases, ...content.tags],
  listReferences: () => [],
  acyclicFields: [],
};
