import { z } from 'zod';
import { CHART_TYPES } from '../../db/schema/visualizations.ts';
import type { FieldProblem } from '../../kernel/failure.ts';
import { description, displayName, metadata, slug } from '../../kernel/fields.ts';
import { charactersBefore } from '../../kernel/text.ts';
import { valuesBySlug } from '../../sql-templates/fields.ts';
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
/** The number of times that a template may use parameters. */
const MAX_USES = 250;
/** Characters of SQL and parameters of all visualizations on a dashboard: each view reads them all. */
export const MAX_DASHBOARD_LENGTH = 400_000;

/** Text that can be sent to Postgres: no NUL, no half of a surrogate pair. */
const isSendable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** User SQL, with `{{slug}}` for parameters. */
export const templateSql = z
  .string()
  .min(1)
  .max(MAX_SQL_LENGTH)
  .refine(isSendable, 'must be Unicode text without NUL characters');

/** The name of a parameter or filter in SQL and in requests. */
const parameterSlug = z
  .string()
  .max(MAX_SLUG_LENGTH)
  .regex(PARAMETER_SLUG_PATTERN, 'must be lower-case letters, digits and _, with single hyphens between them');

const columnName = z.string().min(1).max(200);

export const chart = z
  .object({
    type: z.enum(CHART_TYPES),
    x: columnName.nullable().default(null),
    y: z.array(columnName).max(MAX_SERIES).default([]),
    series: columnName.nullable().default(null),
    options: metadata.default({}),
  })
  .meta({ id: 'Chart', description: 'How the columns of the result are drawn.' });

const TABLE_CHART = chart.parse({ type: 'table' });

/** The fields that parameters and filters share, as callers send them. */
export const parameterFields = {
  slug: parameterSlug.meta({ examples: ['region'] }),
  label: z.string().trim().min(1).max(200),
  kind: z.enum(PARAMETER_KINDS),
  default: z.unknown().default(null),
  required: z.boolean().default(false),
  viewer_attribute: parameterSlug.optional().meta({
    description:
      'For viewers (portal, public, embed) the value is always this attribute of the viewer: never chosen, never shown. A viewer without it is refused.',
  }),
};

const parameter = z.object(parameterFields).meta({ id: 'Parameter' });

/** Repeated slugs, and defaults that do not fit their kind. */
export function parameterProblems(parameters: readonly Parameter[], field: string): FieldProblem[] {
  const seen = new Set<string>();
  return parameters.flatMap(({ slug: name, kind, default: defaultValue }, index) => {
    const problems: FieldProblem[] = [];
    if (seen.has(name)) problems.push({ field: `${field}.${index}.slug`, message: 'is used by another one' });
    seen.add(name);
    const coerced = coerceParameter(kind, defaultValue);
    if ('problem' in coerced) problems.push({ field: `${field}.${index}.default`, message: coerced.problem });
    return problems;
  });
}

/** Returns the problems of a template, and of its use of parameters of these kinds. */
export function templateProblems(
  sql: string,
  kinds: ReadonlyMap<string, ParameterKind>,
  field: string,
): FieldProblem[] {
  try {
    const { placeholders } = parseTemplate(sql);
    if (placeholders.length > MAX_USES) return [{ field, message: `must use parameters at most ${MAX_USES} times` }];
    const uses = placeholders.map((place) => findMisuse(place, kinds.get(place.slug)));
    return [...new Set(uses)].flatMap((message) => (message === undefined ? [] : [{ field, message }]));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return [{ field, message: `${error.message} (at character ${charactersBefore(sql, error.position) + 1})` }];
  }
}

export const mapKinds = (parameters: readonly Pick<Parameter, 'slug' | 'kind'>[]): ReadonlyMap<string, ParameterKind> =>
  new Map(parameters.map(({ slug: name, kind }) => [name, kind]));

const fields = {
  name: displayName,
  slug,
  description,
  sql: templateSql,
  chart,
  parameters: z.array(parameter).max(MAX_PARAMETERS),
};

/** The body that creates a visualization. */
export const newVisualization = z.object({
  ...fields,
  slug: slug.optional(),
  description: description.default(''),
  chart: chart
    .optional()
    .meta({ description: 'A table when not sent.' })
    .transform((sent) => sent ?? TABLE_CHART),
  parameters: fields.parameters.default([]),
});

/** The body of a preview: the SQL that is run without being saved, and the values of its parameters by slug. */
export const previewBody = z.object({
  sql: fields.sql,
  parameters: fields.parameters.default([]),
  values: valuesBySlug('Values of the parameters, by slug.').default({}),
});

/** The body that changes a visualization: only fields that are sent change. */
export const visualizationChanges = z.object(fields).partial();

export type Preview = z.output<typeof previewBody>;
export type NewVisualization = z.output<typeof newVisualization>;
export type VisualizationChanges = z.output<typeof visualizationChanges>;

/** The length of a visualization, as it counts for that of a dashboard. */
export const measureLength = ({ sql, parameters }: { sql: string; parameters: readonly Parameter[] }): number =>
  sql.length + JSON.stringify(parameters).length;

export function definitionProblems({
  sql,
  parameters,
}: {
  sql: string;
  parameters: readonly Parameter[];
}): FieldProblem[] {
  return [...parameterProblems(parameters, 'parameters'), ...templateProblems(sql, mapKinds(parameters), 'sql')];
}
