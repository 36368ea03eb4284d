import { z } from 'zod';
import type { Filter, Widget } from '../../db/schema/dashboards.ts';
import type { FieldProblem } from '../../kernel/failure.ts';
import { description, displayName, slug } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { isChoice, MAX_TEXT_LENGTH } from '../../sql-templates/parameters.ts';
import {
  type AccessFailures,
  MAX_DASHBOARD_LENGTH,
  mapKinds,
  measureLength,
  parameterFields,
  parameterProblems,
  templateProblems,
  templateSql,
  type Visualization,
} from '../visualizations/service.ts';
import { getOptionsSql, matchParameter } from './inputs.ts';

const MAX_WIDGETS = 50;
const MAX_FILTERS = 50;
const MAX_STATIC_OPTIONS = 1000;
/** The maximum amount of SQL of all options together, in characters. */
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

/** Numbers and booleans are taken as JSON writes them: values are always texts. */
const toText = (input: unknown) => (typeof input === 'number' || typeof input === 'boolean' ? String(input) : input);
const text = z.string().max(MAX_TEXT_LENGTH);

/** An option of a filter. Its value is not empty, as an empty value means that nothing is chosen. */
const option = z
  .object({ label: z.preprocess(toText, text), value: z.preprocess(toText, text.min(1)) })
  .meta({ id: 'FilterOption' });

export const staticOptions = z.array(option).max(MAX_STATIC_OPTIONS);

const options = z.union([staticOptions, z.object({ sql: templateSql })]).meta({
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

/** The fields of a dashboard that people define. */
export const definitionFields = {
  name: displayName,
  slug,
  description,
  cache_seconds: z
    .int()
    .min(0)
    .max(MAX_CACHE_SECONDS)
    .meta({ description: 'How long viewers may be shown a cached result, in seconds.' }),
  layout: z.array(widget).max(MAX_WIDGETS),
  filters: z.array(filter).max(MAX_FILTERS),
};

/** The body that creates a dashboard. */
export const newDashboard = z.object({
  ...definitionFields,
  slug: slug.optional(),
  description: description.default(''),
  cache_seconds: definitionFields.cache_seconds.default(DEFAULT_CACHE_SECONDS),
  layout: definitionFields.layout.default([]),
  filters: definitionFields.filters.default([]),
});

/** The body that changes a dashboard: only fields that are sent change. */
export const dashboardChanges = z.object(definitionFields).partial();

export type NewDashboard = z.output<typeof newDashboard>;
export type DashboardChanges = z.output<typeof dashboardChanges>;

/** The ids of the visualizations on a layout, each once. */
export const listWidgetIds = (layout: readonly Widget[]): string[] => [
  ...new Set(layout.map(({ visualization_id }) => visualization_id)),
];

type Definition = { layout: readonly Widget[]; filters: readonly Filter[] };

/**
 * The filters of a dashboard, for storing: whoever is denied a visualization on it cannot apply a filter to it, as the kind of its
 * parameter, which would not be checked, is unknown to them. Filters that were there still apply to what they applied to.
 * @param denied ids of the visualizations that the caller is denied
 */
export function limitFilters(
  { layout, filters }: Definition,
  present: Definition,
  denied: Pick<AccessFailures, 'has'>,
): Filter[] {
  const placed = new Set(listWidgetIds(present.layout));
  const known = new Set(present.filters.map(formatBinding));
  return filters.map((filter) => {
    const ids = filter.applies_to ?? listWidgetIds(layout);
    const isBound = known.has(formatBinding(filter));
    const allowed = ids.filter((id) => !denied.has(id) || (isBound && placed.has(id)));
    return allowed.length < ids.length ? { ...filter, applies_to: allowed } : filter;
  });
}

/** What a filter sets, and of which kind, as text. */
const formatBinding = ({ slug, kind, applies_to }: Filter): string => JSON.stringify([slug, kind, applies_to]);

/**
 * Returns the problems of filters, for a dashboard with these visualizations.
 * @param denied ids of those that the caller is denied: nothing is told of their parameters
 */
export function findFilterProblems(
  filters: readonly Filter[],
  visualizations: readonly Visualization[],
  denied: Pick<AccessFailures, 'has'>,
): FieldProblem[] {
  const visible = visualizations.filter(({ id }) => !denied.has(id));
  const ids = new Set(visualizations.map(({ id }) => id));
  return [
    ...findLengthProblems(filters, visualizations),
    ...parameterProblems(filters, 'filters'),
    ...filters.flatMap((each, index): FieldProblem[] => {
      const at = `filters.${index}`;
      const hasUnknown = (each.applies_to ?? []).some((id) => !ids.has(id));
      return [
        ...findOptionProblems(each, filters, `${at}.options`),
        ...(hasUnknown
          ? [{ field: `${at}.applies_to`, message: 'must only hold visualizations that are on the layout' }]
          : []),
        ...visible.flatMap((visualization) => {
          const message = matchParameter(each, visualization)?.problem;
          return message === undefined ? [] : [{ field: `${at}.kind`, message: `${message} "${visualization.name}"` }];
        }),
      ];
    }),
  ];
}

function findLengthProblems(filters: readonly Filter[], visualizations: readonly Visualization[]): FieldProblem[] {
  const sum = (lengths: number[]) => lengths.reduce((total, length) => total + length, 0);
  const tooLong = (field: string, most: number, what: string) => [
    { field, message: `must hold at most ${most} characters of ${what} together` },
  ];
  return [
    ...(sum(visualizations.map(measureLength)) > MAX_DASHBOARD_LENGTH
      ? tooLong('layout', MAX_DASHBOARD_LENGTH, 'SQL and parameters')
      : []),
    ...(sum(filters.map(({ options }) => getOptionsSql(options)?.length ?? 0)) > MAX_OPTIONS_LENGTH
      ? tooLong('filters', MAX_OPTIONS_LENGTH, 'SQL for options')
      : []),
  ];
}

function findOptionProblems(
  { slug: own, kind, options: given }: Filter,
  filters: readonly Filter[],
  field: string,
): FieldProblem[] {
  if (given === null) return [];
  if (!isChoice(kind)) {
    const none = Array.isArray(given) && given.length === 0;
    return none ? [] : [{ field, message: 'are only allowed for filters of kind select or multi_select' }];
  }
  const others = mapKinds(filters.filter((filter) => filter.slug !== own));
  return Array.isArray(given) ? [] : templateProblems(given.sql, others, `${field}.sql`);
}
