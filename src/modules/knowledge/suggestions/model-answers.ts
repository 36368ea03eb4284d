import { z } from 'zod';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { EVIDENCE_SOURCES } from '../../../db/schema/knowledge-suggestions.ts';
import { truncateText } from '../../../kernel/text.ts';
import { CONCEPT_TYPES } from '../concepts/concept.ts';
import { NODE_TYPES } from '../ontology/definitions.ts';
import { MAX_DESCRIPTION_LENGTH } from '../resources/fields.ts';
import { SEMANTIC_KINDS } from '../semantic/item.ts';

const nullableText = z.string().nullable();
const nullableTexts = z.array(z.string()).nullable();

/** The fields that a model may propose for each type. Never a status or an id: people decide about these. */
const PROPOSABLE_FIELDS = {
  concept: z.object({
    name: nullableText,
    description: nullableText,
    type: z.enum(CONCEPT_TYPES).nullable(),
    aliases: nullableTexts,
    tags: nullableTexts,
    related_catalog_assets: nullableTexts,
  }),
  semantic: z.object({
    kind: z.enum(SEMANTIC_KINDS).nullable(),
    name: nullableText,
    description: nullableText,
    formula: nullableText,
    grain: nullableText,
    filters: nullableTexts,
    aggregation: nullableText,
    mapped_tables: nullableTexts,
    mapped_columns: nullableTexts,
    mapped_relations: nullableTexts,
  }),
  ontology_node: z.object({
    name: nullableText,
    description: nullableText,
    node_type: z.enum(NODE_TYPES).nullable(),
    aliases: nullableTexts,
    attributes: nullableTexts,
    constraints: nullableTexts,
    mapped_catalog_assets: nullableTexts,
  }),
  ontology_relation: z.object({ description: nullableText, cardinality: nullableText, relation_type: nullableText }),
} satisfies Record<ResourceType, z.ZodObject>;

const EVIDENCE_SHAPE = z.array(
  z.object({
    source: z.enum(EVIDENCE_SOURCES),
    quote: nullableText,
    table: nullableText,
    column: nullableText,
  }),
);

export const RATIONALE_SHAPE = { explanation: z.string(), evidence: EVIDENCE_SHAPE, confidence: z.number() };

/** The schema of the model's answer about one resource. */
export const makeProposalShape = (type: ResourceType) =>
  z.object({ payload: PROPOSABLE_FIELDS[type], ...RATIONALE_SHAPE });

/** Parses the fields that a model proposes for one resource, without fields that it may not write or left null. */
export function parseProposal(type: ResourceType, payload: unknown): Content {
  const fields = z.record(z.string(), z.unknown()).parse(payload);
  const allowedFields = Object.keys(PROPOSABLE_FIELDS[type].shape);
  const entries = allowedFields.map((field) => [field, fields[field]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined));
}

const MAX_EVIDENCE = 20;
const MAX_QUOTE_LENGTH = 1000;
const MAX_IDENTIFIER_LENGTH = 63;

/** Makes the schema of a text that is cut to a length; anything else is null. */
const makeCutText = (maxLength: number) =>
  nullableText.catch(null).transform((text) => text && truncateText(text, maxLength));

const evidenceItem = z.preprocess(
  (item) => (typeof item === 'string' ? { quote: item } : item),
  z.object({
    source: EVIDENCE_SHAPE.element.shape.source.catch('text'),
    quote: makeCutText(MAX_QUOTE_LENGTH),
    table: makeCutText(MAX_IDENTIFIER_LENGTH),
    column: makeCutText(MAX_IDENTIFIER_LENGTH),
  }),
);

/** The rationale of an answer, cut to the length that is stored. A part that the model left out is empty. */
export const rationale = z.object({
  explanation: z
    .string()
    .nullish()
    .transform((explanation) => truncateText(explanation ?? '', MAX_DESCRIPTION_LENGTH)),
  evidence: z
    .preprocess((items) => (typeof items === 'string' ? [items] : items), z.array(evidenceItem).nullish())
    .transform((items) => items?.slice(0, MAX_EVIDENCE) ?? []),
  confidence: z.number().min(0).max(1).nullable().default(null),
});

/** The reasons that a model gives for a proposal. */
export type Rationale = z.output<typeof rationale>;
