import { z } from 'zod';
import { FILTER_OPERATORS } from '../../../tenant-sql/row-filters.ts';
import { TIME_GRAINS } from '../metrics/compile.ts';
import { metricQuery } from '../metrics/query.ts';

const textList = z.array(z.string());

/** The schema of a query as the model writes it: strict schemas have no defaults. */
const queryShape = z.object({
  metrics: textList,
  dimensions: textList,
  filters: z.array(
    z.object({
      dimension: z.string(),
      op: z.enum(FILTER_OPERATORS),
      values: z.array(z.union([z.string(), z.number(), z.boolean()])),
    }),
  ),
  time_grain: z.enum(TIME_GRAINS).nullable(),
  order_by: z.array(z.object({ by: z.string(), descending: z.boolean() })),
  limit: z.number().nullable(),
});

const CHOICE_KINDS = ['answer', 'clarification', 'refusal'] as const;

/** The schema of the model's answer. */
export const CHOICE_SHAPE = z.object({
  kind: z.enum(CHOICE_KINDS),
  query: queryShape.nullable(),
  alternatives: z.array(queryShape),
});

/** The maximum number of readings of a question that are offered. */
const MAX_ALTERNATIVES = 5;

const modelQuery = z.preprocess((value) => {
  if (typeof value !== 'object' || value === null || !('limit' in value) || value.limit !== null) return value;
  const { limit: _none, ...rest } = value;
  return rest;
}, metricQuery);

/** The schema of the model's choice for a question: one query, several possible ones, or none. */
const modelChoice = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answer'), query: modelQuery }),
  z.object({ kind: z.literal('clarification'), alternatives: z.array(modelQuery).min(2).max(MAX_ALTERNATIVES) }),
  z.object({ kind: z.literal('refusal') }),
]);

/** Parses the answer of a model, which may be anything. @returns its problems, where it is not a valid choice */
export function readChoice(answer: unknown): z.output<typeof modelChoice> | { problems: string[] } {
  const { data, error } = modelChoice.safeParse(answer);
  if (data) return data;
  const issues = error?.issues.slice(0, 10) ?? [];
  return { problems: issues.map(({ path, message }) => `${path.join('.') || 'answer'}: ${message}`) };
}
