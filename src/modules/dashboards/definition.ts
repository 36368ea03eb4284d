import { z } from 'zod';
import type { Filter, Widget } from '../../db/schema/dashboards.ts';
import type { FieldProblem } from '../../kernel/failure.ts';
import { description, displayNameSchema, slugSchema } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { isChoiceKind, MAX_TEXT_LENGTH } from '../../sql-templates/parameters.ts';
import {
  type AccessFailures,
  findParameterProblems,
  findTemplateProblems,
  MAX_DASHBOARD_LENGTH,
  mapKinds,
  measureLength,
  parameterFields,
  templateSqlField,
  type Visualization,
} from '../visualizations/service.ts';
import { getOptionsSql, matchParameter } from './inputs.ts';
import type { Dashboard } from './store.ts';

const MAX_WIDGETS = 50;
const MAX_FILTERS = 50;
const MAX_STATIC_OPTIONS = 1000;
/** The maximum length of the SQL of all options together, in characters. */
const MAX_OPTIONS_LENGTH = 100_000;
const MAX_CACHE_SECONDS = 24 * 60 * 60;
const DEFAULT_CACHE_SECONDS = 60;

const visualizationId = z.string().regex(ID_PATTERN, 'must be the id of a visualization');
const gridUnit = z.int().max(10_000);

const widget = z
  .object({
    visualization_id: visualizationId,
    x: gridUnit.min(0),
    y: gridUnit.min(0),
    w: gridUnit.min(1),
    h: gridUnit.min(1),
  })
  .meta({ id: 'Widget', description: 'Where a visualization is placed, in units of the grid.' });

/** Converts numbers and booleans to text as JSON writes them: option values are always texts. */
const toText = (input: unknown) => (typeof input === 'number' || typeof input === 'boolean' ? String(input) : input);
const text = z.string().max(MAX_TEXT_LENGTH);

/** The schema of a filter's option. Its value is not empty, as an empty value means that nothing is chosen. */
const option = z
  .object({ label: z.preprocess(toText, text), value: z.preprocess(toText, text.min(1)) })
  .meta({ id: 'FilterOption' });

export const staticOptions = z.array(option).max(MAX_STATIC_OPTIONS);

const options = z.union([staticOptions, z.object({ sql: templateSqlField })]).meta({
  description:
    'The first column of `sql` is the value, the second the label; null and empty values are left out. It may use other filters as `{{slug}}`: each has the value that is enforced for the viewer, or no value if the viewer may choose it.',
});

export const filter = z
  .object({
    ...parameterFields,
    options: options.nullable().default(null),
    applies_to: z.array(visualizationId).max(MAX_WIDGETS).nullable().default(null).meta({
      description: 'The visualizations that the filter applies to; null for all.',
    }),
  })
  .meta({ id: 'Filter' });

/** The schemas of the dashboard fields that people define. */
export const definitionFields = {
  name: displayNameSchema,
  slug: slugSchema,
  description,
  cache_seconds: z
    .int()
    .min(0)
    .max(MAX_CACHE_SECONDS)
    .meta({ description: 'How long viewers may be shown a cached result, in seconds.' }),
  layout: z.array(widget).max(MAX_WIDGETS),
  filters: z.array(filter).max(MAX_FILTERS),
};

/** The request body that creates a dashboard. */
export const newDashboard = z.object({
  ...definitionFields,
  slug: slugSchema.optional(),
  description: description.default(''),
  cache_seconds: definitionFields.cache_seconds.default(DEFAULT_CACHE_SECONDS),
  layout: definitionFields.layout.default([]),
  filters: definitionFields.filters.default([]),
});

/** The request body that changes a dashboard: only fields that are sent change. */
export const dashboardChanges = z.object(definitionFields).partial();

export type NewDashboard = z.output<typeof newDashboard>;
export type DashboardChanges = z.output<typeof dashboardChanges>;

/** Returns the ids of the visualizations on a layout, each once. */
export const listWidgetIds = (layout: readonly Widget[]): string[] => [
  ...new Set(layout.map(({ visualization_id }) => visualization_id)),
];

export type DashboardDefinition = Pick<Dashboard, 'layout' | 'filters'>;

/**
 * Returns the filters of a dashboard to store: a caller who is denied a visualization cannot newly apply a filter to
 * it, as the kind of its parameter, which would not be checked, is unknown to the caller. Stored filters still apply to
 * the same visualizations.
 * @param deniedVisualizations ids of the visualizations that the caller is denied
 */
export function restrictFilters(
  { layout, filters }: DashboardDefinition,
  storedDefinition: DashboardDefinition,
  deniedVisualizations: Pick<AccessFailures, 'has'>,
): Filter[] {
  const placedIds = new Set(listWidgetIds(storedDefinition.layout));
  const storedBindings = new Set(storedDefinition.filters.map(formatBinding));
  return filters.map((filter) => {
    const ids = filter.applies_to ?? listWidgetIds(layout);
    const isBound = storedBindings.has(formatBinding(filter));
    const allowedIds = ids.filter((id) => !deniedVisualizations.has(id) || (isBound && placedIds.has(id)));
    return allowedIds.length < ids.length ? { ...filter, applies_to: allowedIds } : filter;
  });
}

/** Returns a filter's slug, kind and visualizations as text, to compare filters. */
const formatBinding = ({ slug, kind, applies_to }: Filter): string => JSON.stringify([slug, kind, applies_to]);

/**
 * Returns the problems of filters, for a dashboard with these visualizations. @param deniedVisualizations ids that the caller is
 * denied: their parameters are not revealed
 */
export function findFilterProblems(
  filters: readonly Filter[],
  visualizations: readonly Visualization[],
  deniedVisualizations: Pick<AccessFailures, 'has'>,
): FieldProblem[] {
  const visibleVisualizations = visualizations.filter(({ id }) => !deniedVisualizations.has(id));
  const ids = new Set(visualizations.map(({ id }) => id));
  return [
    ...findLengthProblems(filters, visualizations),
    ...findParameterProblems(filters, 'filters'),
    ...filters.flatMap((filter, index): FieldProblem[] => {
      const at = `filters.${index}`;
      const hasUnknownId = (filter.applies_to ?? []).some((id) => !ids.has(id));
      return [
        ...findOptionProblems(filter, filters, `${at}.options`),
        ...(hasUnknownId
          ? [{ field: `${at}.applies_to`, message: 'must only hold visualizations that are on the layout' }]
          : []),
        ...visibleVisualizations.flatMap((visualization) => {
          const message = matchParameter(filter, visualization)?.problem;
          return message === undefined ? [] : [{ field: `${at}.kind`, message: `${message} "${visualization.name}"` }];
        }),
      ];
    }),
  ];
}

function findLengthProblems(filters: readonly Filter[], visualizations: readonly Visualization[]): FieldProblem[] {
  const sum = (lengths: number[]) => lengths.reduce((total, length) => total + length, 0);
  const problems: FieldProblem[] = [];
  if (sum(visualizations.map(measureLength)) > MAX_DASHBOARD_LENGTH)
    problems.push({
      field: 'layout',
      message: `must hold at most ${MAX_DASHBOARD_LENGTH} characters of SQL and parameters together`,
    });
  if (sum(filters.map(({ options }) => getOptionsSql(options)?.length ?? 0)) > MAX_OPTIONS_LENGTH)
    problems.push({
      field: 'filters',
      message: `must hold at most ${MAX_OPTIONS_LENGTH} characters of SQL for options together`,
    });
  return problems;
}

function findOptionProblems(
  { slug: ownSlug, kind, options: filterOptions }: Filter,
  filters: readonly Filter[],
  field: string,
): FieldProblem[] {
  if (filterOptions === null) return [];
  if (!isChoiceKind(kind)) {
    const isEmptyList = Array.isArray(filterOptions) && filterOptions.length === 0;
    return isEmptyList ? [] : [{ field, message: 'are only allowed for filters of kind select or multi_select' }];
  }
  const otherKinds = mapKinds(filters.filter((filter) => filter.slug !== ownSlug));
  return Array.isArray(filterOptions) ? [] : findTemplateProblems(filterOptions.sql, otherKinds, `${field}.sql`);
}
