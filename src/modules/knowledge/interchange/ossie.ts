import { z } from 'zod';

/** The version of Apache Ossie's core metadata specification that is written and read. */
export const OSSIE_VERSION = '0.2.0.dev0';

/** Our vendor name in `custom_extensions`. */
export const VENDOR_NAME = 'DATA_CONSOLE';

const text = z.string();
const extensions = z.array(z.object({ vendor_name: text, data: text })).default([]);
const context = z.union([text, z.looseObject({ synonyms: z.array(text).default([]) })]).optional();

const expression = z.object({
  dialects: z.array(z.object({ dialect: text, expression: text })).min(1),
});

/** The schema of the semantic model fields that are read. Fields that other vendors add are ignored. */
export const semanticModel = z.object({
  name: text,
  description: text.optional(),
  datasets: z.array(z.unknown()).min(1),
  relationships: z.array(z.unknown()).default([]),
  metrics: z.array(z.unknown()).default([]),
  custom_extensions: extensions,
});

export const dataset = z.object({
  name: text,
  source: text,
  description: text.optional(),
  ai_context: context,
  fields: z.array(z.unknown()).default([]),
});

export const field = z.object({
  name: text,
  expression,
  dimension: z.object({ is_time: z.boolean().optional() }).optional(),
  description: text.optional(),
});

export const relationship = z.object({
  name: text,
  from: text,
  to: text,
  from_columns: z.array(text).min(1),
  to_columns: z.array(text).min(1),
});

export const metric = z.object({
  name: text,
  expression,
  description: text.optional(),
  ai_context: context,
});

/** Returns the expression in standard SQL, where there is one. */
export const findAnsiExpression = ({ dialects }: z.output<typeof expression>): string | undefined =>
  dialects.find(({ dialect }) => dialect === 'ANSI_SQL')?.expression;
