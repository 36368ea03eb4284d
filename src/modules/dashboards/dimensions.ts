import type { Filter } from '../../db/schema/dashboards.ts';
import { type BoundValue, type BoundValues, isChoice, type ParameterKind } from '../../kernel/parameters.ts';
import type { Dimension } from '../../kernel/sharing-rules.ts';
import { takesList, templateOf } from '../../kernel/sql-template.ts';
import type { Visualization } from '../visualizations/service.ts';

type Definition = Pick<Visualization, 'id' | 'sql' | 'parameters'>;

/** Whether a filter is for a visualization. */
const appliesTo = (filter: Pick<Filter, 'applies_to'>, visualizationId: string): boolean =>
  filter.applies_to?.includes(visualizationId) ?? true;

/**
 * How a filter stands for the parameter of its name in a visualization: whether its SQL takes any number of values, and
 * why it cannot, if so. Undefined when the filter is not for the visualization, or that has no such parameter.
 */
export function standIn(
  filter: Pick<Filter, 'slug' | 'kind' | 'applies_to'>,
  { id, sql, parameters }: Definition,
): { takesList: boolean; problem?: string } | undefined {
  const parameter = parameters.find(({ slug }) => slug === filter.slug);
  if (!parameter || !appliesTo(filter, id)) return undefined;
  if (family(filter.kind) !== family(parameter.kind)) {
    return { takesList: false, problem: `is not the kind (${parameter.kind}) of the parameter in` };
  }
  const list = takesList(templateOf(sql), parameter.slug, parameter.kind);
  const problem = 'takes several values, but = ANY({{…}}) is not how they are compared in';
  return filter.kind === 'multi_select' && !list ? { takesList: false, problem } : { takesList: list };
}

/** Kinds whose values can stand for each other. */
const family = (kind: ParameterKind): string => (isChoice(kind) ? 'text' : kind);

/**
 * What of a dashboard can be given a value: its filters, in their order, then those parameters of its visualizations that
 * no filter stands for.
 */
export function dashboardDimensions(
  { filters }: { filters: readonly Filter[] },
  visualizations: readonly Definition[],
): Dimension[] {
  const dimensions = new Map<string, Dimension>();
  for (const filter of filters) dimensions.set(filter.slug, filterDimension(filter, filters, visualizations));
  for (const { id, sql, parameters } of visualizations) {
    for (const parameter of parameters) {
      const { slug, kind } = parameter;
      const known = dimensions.get(slug);
      if (known?.origin === 'filter') continue;
      dimensions.set(slug, {
        ...(known ?? parameter),
        required: false,
        origin: 'parameter',
        takesList: takesList(templateOf(sql), slug, kind) && (known?.takesList ?? true),
        reaches: [...(known?.reaches ?? []), id],
        misses: [],
      });
    }
  }
  return [...dimensions.values()];
}

function filterDimension(filter: Filter, filters: readonly Filter[], visualizations: readonly Definition[]): Dimension {
  const { slug, label, kind, default: standing, required } = filter;
  const users = visualizations.filter(({ parameters }) => parameters.some((parameter) => parameter.slug === slug));
  const inOptions = filters.every(({ options }) => {
    const sql = optionsSql(options);
    return sql === null || takesList(templateOf(sql), slug, kind);
  });
  return {
    slug,
    label,
    kind,
    default: standing,
    required,
    origin: 'filter',
    takesList: isChoice(kind) && inOptions && users.every((user) => standIn(filter, user)?.takesList ?? true),
    reaches: users.filter(({ id }) => appliesTo(filter, id)).map(({ id }) => id),
    misses: users.filter(({ id }) => !appliesTo(filter, id)).map(({ id }) => id),
  };
}

/** The SQL that gives the options of a filter, if it is SQL that does. */
export const optionsSql = (options: Filter['options']): string | null =>
  options === null || Array.isArray(options) ? null : options.sql;

/**
 * The values of a dashboard that are for one of its visualizations. A filter that is not for it leaves the parameter to its
 * own default.
 */
export function valuesFor(
  { filters }: { filters: readonly Filter[] },
  visualizationId: string,
  values: BoundValues,
): BoundValues {
  const kept = [...values].filter(([slug]): boolean => {
    const filter = filters.find((each) => each.slug === slug);
    return filter === undefined || appliesTo(filter, visualizationId);
  });
  return new Map<string, BoundValue>(kept);
}
