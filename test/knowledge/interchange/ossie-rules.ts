import { z } from 'zod';

/**
 * The rules by which Apache Ossie validates a document of version 0.2.0.dev0 (`validation/validate.py` with
 * `core-spec/osi-schema.json`, commit 88e0011): shape, unique names, references. Its fourth rule, that SQL can be parsed, is
 * tested by running the expressions.
 */
const text = z.string();
const EXTENSIONS_SCHEMA = z.array(z.strictObject({ vendor_name: text, data: text })).optional();
const context = z
  .union([
    text,
    z.looseObject({
      instructions: text.optional(),
      synonyms: z.array(text).optional(),
      examples: z.array(text).optional(),
    }),
  ])
  .optional();
const DIALECT_SCHEMA = z.enum(['ANSI_SQL', 'SNOWFLAKE', 'MDX', 'TABLEAU', 'DATABRICKS', 'MAQL', 'BIGQUERY']);
const EXPRESSION_SCHEMA = z.strictObject({
  dialects: z.array(z.strictObject({ dialect: DIALECT_SCHEMA, expression: text })).min(1),
});
const DATATYPE_SCHEMA = z
  .enum(['String', 'Integer', 'Decimal', 'Float', 'Boolean', 'Date', 'Time', 'DateTime', 'DateTimeTz', 'Opaque'])
  .optional();
const COMMON_MEMBERS = { description: text.optional(), ai_context: context, custom_extensions: EXTENSIONS_SCHEMA };
const field = z.strictObject({
  name: text,
  expression: EXPRESSION_SCHEMA,
  dimension: z.strictObject({ is_time: z.boolean().optional() }).optional(),
  label: text.optional(),
  datatype: DATATYPE_SCHEMA,
  ...COMMON_MEMBERS,
});
const DATASET_SCHEMA = z.strictObject({
  name: text,
  source: text,
  primary_key: z.array(text).optional(),
  unique_keys: z.array(z.array(text)).optional(),
  fields: z.array(field).optional(),
  ...COMMON_MEMBERS,
});
const RELATIONSHIP_SCHEMA = z.strictObject({
  name: text,
  from: text,
  to: text,
  from_columns: z.array(text).min(1),
  to_columns: z.array(text).min(1),
  ai_context: context,
  custom_extensions: EXTENSIONS_SCHEMA,
});
const metric = z.strictObject({
  name: text,
  expression: EXPRESSION_SCHEMA,
  datatype: DATATYPE_SCHEMA,
  ...COMMON_MEMBERS,
});
const MODEL_SCHEMA = z.strictObject({
  name: text,
  datasets: z.array(DATASET_SCHEMA).min(1),
  relationships: z.array(RELATIONSHIP_SCHEMA).optional(),
  metrics: z.array(metric).optional(),
  ...COMMON_MEMBERS,
});
const DOCUMENT_SCHEMA = z.strictObject({ version: z.literal('0.2.0.dev0'), semantic_model: z.array(MODEL_SCHEMA) });

export type OssieDocument = z.output<typeof DOCUMENT_SCHEMA>;

/** Lists what is wrong with a document. */
export function findOssieProblems(value: unknown): string[] {
  const { data, error } = DOCUMENT_SCHEMA.safeParse(value);
  if (!data) return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return data.semantic_model.flatMap(({ datasets, relationships = [], metrics = [] }) => {
    const names = datasets.map(({ name }) => name);
    const relationshipEnds = relationships.flatMap(({ from, to }) => [from, to]);
    return [
      ...findRepeatedNames('dataset', names),
      ...datasets.flatMap(({ name, fields = [] }) =>
        findRepeatedNames(
          `field of ${name}`,
          fields.map((field) => field.name),
        ),
      ),
      ...findRepeatedNames(
        'metric',
        metrics.map(({ name }) => name),
      ),
      ...findRepeatedNames(
        'relationship',
        relationships.map(({ name }) => name),
      ),
      ...relationshipEnds.filter((end) => !names.includes(end)).map((end) => `unknown dataset ${end}`),
    ];
  });
}

const findRepeatedNames = (nameKind: string, names: string[]): string[] =>
  names.filter((name, index) => names.indexOf(name) < index).map((name) => `${nameKind} ${name} twice`);
