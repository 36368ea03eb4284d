import { z } from 'zod';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { EVIDENCE_SOURCES, type Evidence } from '../../../db/schema/knowledge-suggestions.ts';
import { truncateText } from '../../../kernel/text.ts';
import { CONCEPT_TYPES } from '../concepts/concept.ts';
import { NODE_TYPES } from '../ontology/node.ts';
import { MAX_DESCRIPTION_LENGTH } from '../resources/fields.ts';
import { SEMANTIC_KINDS } from '../semantic/item.ts';

const nullableText = z.string().nullable();
const nullableTexts = z.array(z.string()).nullable();

/** The reasons that a model gives for a proposal. */
export interface Rationale {
  explanation: string;
  evidence: Evidence[];
  confidence: number | null;
}

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
  return Object.fromEntries(
    allowedFields.flatMap((field) => {
      const value = fields[field];
      return value === null || value === undefined ? [] : [[field, value]];
    }),
  );
}

const MAX_EVIDENCE = 20;
const MAX_QUOTE_LENGTH = 1000;
const MAX_IDENTIFIER_LENGTH = 63;

const evidenceItem = z.preprocess(
  (item) => (typeof item === 'string' ? { quote: item } : item),
  z
    .object({
      source: EVIDENCE_SHAPE.element.shape.source.catch('text'),
      quote: nullableText.catch(null),
      table: nullableText.catch(null),
      column: nullableText.catch(null),
    })
    .transform(
      ({ source, quote, table, column }): Evidence => ({
        source,
        quote: quote == null ? null : truncateText(quote, MAX_QUOTE_LENGTH),
        table: table == null ? null : truncateText(table, MAX_IDENTIFIER_LENGTH),
        column: column == null ? null : truncateText(column, MAX_IDENTIFIER_LENGTH),
      }),
    ),
);

const rationale = z.object({
  explanation: z
    .string()
    .nullish()
    .transform((explanation) => truncateText(explanation ?? '', MAX_DESCRIPTION_LENGTH)),
  evidence: z
    .preprocess((items) => (typeof items === 'string' ? [items] : items), z.array(evidenceItem).nullish())
    .transform((items) => items?.slice(0, MAX_EVIDENCE) ?? []),
  confidence: z.number().min(0).max(1).nullable().default(null),
});

/**
 * Parses the rationale of an answer, cut to the length that is stored. A part that the model left out is empty. @throws ZodError
 * when the answer has another shape
 */
export const parseAnswerRationale = (answer: unknown): Rationale => rationale.parse(answer);
