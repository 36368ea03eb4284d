import { type BoundValue, type BoundValues, isChoice, type ParameterKind } from '../../kernel/parameters.ts';
import type { Dimension } from '../../kernel/sharing-rules.ts';
import { parseTemplate, takesList } from '../../kernel/sql-template.ts';
import type { Visualization } from '../visualizations/service.ts';
import type { Filter } from './definition.ts';

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
  const list = takesList(parseTemplate(sql), parameter.slug, parameter.kind);
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
  for (const filter of filters) {
    const { slug, label, kind, default: standing, required } = filter;
    const everywhere = visualizations.every((visualization) => standIn(filter, visualization)?.takesList ?? true);
    dimensions.set(slug, {
      slug,
      label,
      kind,
      default: standing,
      required,
      origin: 'filter',
      takesList: isChoice(kind) && everywhere,
    });
  }
  for (const { sql, parameters } of visualizations) {
    for (const parameter of parameters) {
      const { slug, kind } = parameter;
      const known = dimensions.get(slug);
      if (known?.origin === 'filter') continue;
      const list = takesList(parseTemplate(sql), slug, kind) && (known?.takesList ?? true);
      dimensions.set(slug, { ...(known ?? parameter), required: false, origin: 'parameter', takesList: list });
    }
  }
  return [...dimensions.values()];
}

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
