import { z } from 'zod';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { Evidence } from '../../../db/schema/knowledge-suggestions.ts';
import { cut } from '../../../kernel/text.ts';
import { CONCEPT_TYPES } from '../concepts/service.ts';
import { NODE_TYPES } from '../ontology/service.ts';
import { MAX_DESCRIPTION } from '../resources/members.ts';
import { SEMANTIC_KINDS } from '../semantic/service.ts';
import type { Grounds } from './suggestion.ts';

const text = z.string().nullable();
const texts = z.array(z.string()).nullable();

/**
 * What a model may write of each resource. Never a status, nor the id of anything: what is active and what belongs
 * together is for people, and for us.
 */
const PROPOSALS = {
  concept: z.object({
    name: text,
    description: text,
    type: z.enum(CONCEPT_TYPES).nullable(),
    aliases: texts,
    tags: texts,
    related_catalog_assets: texts,
  }),
  semantic: z.object({
    kind: z.enum(SEMANTIC_KINDS).nullable(),
    name: text,
    description: text,
    formula: text,
    grain: text,
    filters: texts,
    aggregation: text,
    mapped_tables: texts,
    mapped_columns: texts,
    mapped_relations: texts,
  }),
  ontology_node: z.object({
    name: text,
    description: text,
    node_type: z.enum(NODE_TYPES).nullable(),
    aliases: texts,
    attributes: texts,
    constraints: texts,
    mapped_catalog_assets: texts,
  }),
  ontology_relation: z.object({ description: text, cardinality: text, relation_type: text }),
} satisfies Record<ResourceType, z.ZodObject>;

const EVIDENCE_SHAPE = z.array(
  z.object({
    source: z.enum(['text', 'catalog', 'concept', 'business_domain']),
    quote: text,
    table: text,
    column: text,
  }),
);

/** What a model is told to say about why it proposes something. */
export const GROUNDS_SHAPE = { explanation: z.string(), evidence: EVIDENCE_SHAPE, confidence: z.number() };

/** What a model is told to answer about one resource. */
export const proposalShape = (type: ResourceType) => z.object({ payload: PROPOSALS[type], ...GROUNDS_SHAPE });

/** What a model proposes for one resource of a type: the members it may write, those left null taken out. */
export function proposalIn(type: ResourceType, payload: unknown): Content {
  const members = z.record(z.string(), z.unknown()).parse(payload);
  const allowed = Object.keys(PROPOSALS[type].shape);
  return Object.fromEntries(
    allowed.flatMap((member) => {
      const value = members[member];
      return value === null || value === undefined ? [] : [[member, value]];
    }),
  );
}

const MAX_EVIDENCE = 20;
const MAX_QUOTE = 1000;
const MAX_IDENTIFIER = 63;

const evidenceItem = z.preprocess(
  (item) => (typeof item === 'string' ? { quote: item } : item),
  z
    .object({
      source: EVIDENCE_SHAPE.element.shape.source.catch('text'),
      quote: text.catch(null),
      table: text.catch(null),
      column: text.catch(null),
    })
    .transform(
      ({ source, quote, table, column }): Evidence => ({
        source,
        quote: quote == null ? null : cut(quote, MAX_QUOTE),
        table: table == null ? null : cut(table, MAX_IDENTIFIER),
        column: column == null ? null : cut(column, MAX_IDENTIFIER),
      }),
    ),
);

const grounds = z.object({
  explanation: z
    .string()
    .nullish()
    .transform((explanation) => cut(explanation ?? '', MAX_DESCRIPTION)),
  evidence: z
    .preprocess((items) => (typeof items === 'string' ? [items] : items), z.array(evidenceItem).nullish())
    .transform((items) => items?.slice(0, MAX_EVIDENCE) ?? []),
  confidence: z.number().min(0).max(1).nullable().default(null),
});

/**
 * Why a model proposes something, cut to what we keep. What it leaves out is empty.
 * @throws ZodError for what is nothing of the kind
 */
export const groundsIn = (answer: unknown): Grounds => grounds.parse(answer);
