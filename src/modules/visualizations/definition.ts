import { z } from 'zod';
import { CHART_TYPES } from '../../db/schema/visualizations.ts';
import type { FieldProblem } from '../../kernel/failure.ts';
import { description, displayNameSchema, metadataSchema, slugSchema } from '../../kernel/fields.ts';
import { countCharactersBefore } from '../../kernel/text.ts';
import { makeValuesBySlugField } from '../../sql-templates/fields.ts';
import {
  coerceParameter,
  MAX_SLUG_LENGTH,
  PARAMETER_KINDS,
  PARAMETER_SLUG_PATTERN,
  type Parameter,
  type ParameterKind,
} from '../../sql-templates/parameters.ts';
import { findMisuse, parseTemplate, TemplateError } from '../../sql-templates/template.ts';

const MAX_SQL_LENGTH = 20_000;
const MAX_PARAMETERS = 50;
const MAX_SERIES = 20;
/** The maximum number of times that a template may use parameters. */
const MAX_PARAMETER_USES = 250;
/** The maximum number of characters of SQL and parameters of all visualizations on a dashboard: each view reads them all. */
export const MAX_DASHBOARD_LENGTH = 400_000;

/** Tells whether a text can be sent to Postgres: it has no NUL, and no half of a surrogate pair. */
const isSendable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** The schema of user SQL, with `{{slug}}` for parameters. */
export const templateSqlField = z
  .string()
  .min(1)
  .max(MAX_SQL_LENGTH)
  .refine(isSendable, 'must be Unicode text without NUL characters');

/** The name of a parameter or filter in SQL and in requests. */
const parameterSlugField = z
  .string()
  .max(MAX_SLUG_LENGTH)
  .regex(PARAMETER_SLUG_PATTERN, 'must be lower-case letters, digits and _, with single hyphens between them');

const columnNameField = z.string().min(1).max(200);

export const chartField = z
  .object({
    type: z.enum(CHART_TYPES),
    x: columnNameField.nullable().default(null),
    y: z.array(columnNameField).max(MAX_SERIES).default([]),
    series: columnNameField.nullable().default(null),
    options: metadataSchema.default({}),
  })
  .meta({ id: 'Chart', description: 'How the columns of the result are drawn.' });

const TABLE_CHART = chartField.parse({ type: 'table' });

/** The fields that parameters and filters share, in the form that callers send. */
export const parameterFields = {
  slug: parameterSlugField.meta({ examples: ['region'] }),
  label: z.string().trim().min(1).max(200),
  kind: z.enum(PARAMETER_KINDS),
  default: z.unknown().default(null),
  required: z.boolean().default(false),
  viewer_attribute: parameterSlugField.optional().meta({
    description:
      'For viewers (portal, public, embed) the value is always this attribute of the viewer: never chosen, never shown. A viewer without it is refused.',
  }),
};

const parameterField = z.object(parameterFields).meta({ id: 'Parameter' });

/** Finds repeated slugs, and defaults that do not fit their kind. */
export function findParameterProblems(parameters: readonly Parameter[], field: string): FieldProblem[] {
  const seenSlugs = new Set<string>();
  return parameters.flatMap(({ slug: name, kind, default: defaultValue }, index) => {
    const problems: FieldProblem[] = [];
    if (seenSlugs.has(name)) problems.push({ field: `${field}.${index}.slug`, message: 'is used by another one' });
    seenSlugs.add(name);
    const coercedDefault = coerceParameter(kind, defaultValue);
    if ('problem' in coercedDefault)
      problems.push({ field: `${field}.${index}.default`, message: coercedDefault.problem });
    return problems;
  });
}

/** Finds the problems of a template, and of its use of parameters of these kinds. */
export function findTemplateProblems(
  sql: string,
  kinds: ReadonlyMap<string, ParameterKind>,
  field: string,
): FieldProblem[] {
  try {
    const { placeholders } = parseTemplate(sql);
    if (placeholders.length > MAX_PARAMETER_USES)
      return [{ field, message: `must use parameters at most ${MAX_PARAMETER_USES} times` }];
    const misuses = placeholders.map((placeholder) => findMisuse(placeholder, kinds.get(placeholder.slug)));
    return [...new Set(misuses)].flatMap((message) => (message === undefined ? [] : [{ field, message }]));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return [{ field, message: `${error.message} (at character ${countCharactersBefore(sql, error.position) + 1})` }];
  }
}

export const mapKinds = (parameters: readonly Pick<Parameter, 'slug' | 'kind'>[]): ReadonlyMap<string, ParameterKind> =>
  new Map(parameters.map(({ slug: name, kind }) => [name, kind]));

const fields = {
  name: displayNameSchema,
  slug: slugSchema,
  description,
  sql: templateSqlField,
  chart: chartField,
  parameters: z.array(parameterField).max(MAX_PARAMETERS),
};

/** The body that creates a visualization. */
export const newVisualizationInput = z.object({
  ...fields,
  slug: slugSchema.optional(),
  description: description.default(''),
  chart: chartField
    .optional()
    .meta({ description: 'A table when not sent.' })
    .transform((sentChart) => sentChart ?? TABLE_CHART),
  parameters: fields.parameters.default([]),
});

/** The body of a preview: the SQL that is run without being saved, and the values of its parameters by slug. */
export const previewInput = z.object({
  sql: fields.sql,
  parameters: fields.parameters.default([]),
  values: makeValuesBySlugField('Values of the parameters, by slug.').default({}),
});

/** The body that changes a visualization: only fields that are sent change. */
export const visualizationChangesInput = z.object(fields).partial();

export type Preview = z.output<typeof previewInput>;
export type NewVisualization = z.output<typeof newVisualizationInput>;
export type VisualizationChanges = z.output<typeof visualizationChangesInput>;

/** The SQL of a visualization and the parameters that it uses. */
export interface Definition {
  sql: string;
  parameters: readonly Parameter[];
}

/** Measures the length by which a visualization counts towards that of a dashboard. */
export const measureLength = ({ sql, parameters }: Definition): number =>
  sql.length + JSON.stringify(parameters).length;

export const findDefinitionProblems = ({ sql, parameters }: Definition): FieldProblem[] => [
  ...findParameterProblems(parameters, 'parameters'),
  ...findTemplateProblems(sql, mapKinds(parameters), 'sql'),
];
