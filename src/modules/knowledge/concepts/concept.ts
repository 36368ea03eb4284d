import { z } from 'zod';
import { requireAction } from '../../../access/requirements.ts';
import {
  confidence,
  description,
  givenStatus,
  MAX_ITEMS,
  name,
  patchedStatus,
  textList,
  textOf,
} from '../resources/members.ts';
import { type Definition, keyFrom } from '../resources/service.ts';

export const CONCEPT_TYPES = ['term', 'rule', 'entity_hint', 'metric_hint', 'policy_hint'] as const;

/** A concept's own members. */
export const conceptMembers = {
  name,
  description,
  type: z.enum(CONCEPT_TYPES),
  aliases: textList(MAX_ITEMS),
  tags: textList(MAX_ITEMS),
  source: textOf(200).nullable().meta({ description: 'Where it comes from, in the words of whoever made it.' }),
  confidence: confidence.nullable(),
  related_catalog_assets: textList(MAX_ITEMS, 300).meta({
    description: 'Tables and columns it is about, such as `orders` or `orders.total`.',
  }),
};

export type Concept = z.output<z.ZodObject<typeof conceptMembers>>;

const input = z.object({ ...conceptMembers, status: givenStatus }).partial();

/** A word of the business, a rule, or a hint at what the model of the data will need. */
export const concept: Definition<Concept> = {
  type: 'concept',
  noun: 'concept',
  create: input.required({ name: true, description: true }).meta({ id: 'NewConcept' }),
  changes: input,
  patch: input.extend({ status: patchedStatus }).meta({ id: 'ConceptChanges' }),
  defaults: { type: 'term', aliases: [], tags: [], source: null, confidence: null, related_catalog_assets: [] },
  permissions: {
    names: ['concepts:create', 'concepts:update'],
    requireCreate: (actor) => requireAction(actor, 'concepts:create', '*'),
    requireUpdate: (actor, id) => requireAction(actor, 'concepts:update', id),
    requireDelete: (actor, id) => requireAction(actor, 'concepts:delete', id),
  },
  nameOf: (content) => content.name,
  keyOf: (content) => keyFrom(content.name),
  facetOf: (content) => content.type,
  textsOf: (content) => [content.name, content.description, ...content.aliases, ...content.tags],
  referencesOf: () => [],
  acyclic: [],
};
