import type { Filter } from '../../db/schema/dashboards.ts';
import { type Input, listAttributes } from '../../sharing/filter-policy.ts';
import { type BoundValue, type BoundValues, isChoiceKind, type ParameterKind } from '../../sql-templates/parameters.ts';
import { acceptsList, getTemplate } from '../../sql-templates/template.ts';
import type { AccessFailures, Visualization } from '../visualizations/service.ts';

type VisualizationInputs = Pick<Visualization, 'id' | 'sql' | 'parameters'>;

const NO_SLUGS: ReadonlySet<string> = new Set();

const doesFilterApply = (filter: Pick<Filter, 'applies_to'>, visualizationId: string): boolean =>
  filter.applies_to?.includes(visualizationId) ?? true;

/**
 * Matches a filter with the parameter of its slug in a visualization: whether the SQL takes any number of values, and the problem
 * if the filter cannot set it. Undefined when the filter is not for the visualization or there is no such parameter.
 */
export function matchParameter(
  filter: Pick<Filter, 'slug' | 'kind' | 'applies_to'>,
  { id, sql, parameters }: VisualizationInputs,
): { takesList: boolean; problem?: string } | undefined {
  const parameter = parameters.find(({ slug }) => slug === filter.slug);
  if (!parameter || !doesFilterApply(filter, id)) return undefined;
  if (getKindFamily(filter.kind) !== getKindFamily(parameter.kind)) {
    return { takesList: false, problem: `must be ${parameter.kind}, the kind of the parameter in` };
  }
  const list = acceptsList(getTemplate(sql), parameter.slug, parameter.kind);
  const problem = 'cannot be multi_select: = ANY({{…}}) is not used for the parameter in';
  return filter.kind === 'multi_select' && !list ? { takesList: false, problem } : { takesList: list };
}

/** Returns the family of a kind: parameters of kinds in one family accept each other's values. */
const getKindFamily = (kind: ParameterKind): string => (isChoiceKind(kind) ? 'text' : kind);

/**
 * Lists a dashboard's filters, in order, then the parameters of its visualizations that no filter sets. @param hiddenIds ids of the
 * visualizations that the caller is denied, whose parameters are left out
 */
export function listDashboardInputs(
  { filters }: { filters: readonly Filter[] },
  visualizations: readonly VisualizationInputs[],
  hiddenIds: Pick<AccessFailures, 'has'> = NO_SLUGS,
): Input[] {
  const inputs = new Map<string, Input>();
  for (const filter of filters) inputs.set(filter.slug, toFilterInput(filter, filters, visualizations));
  for (const { id, sql, parameters } of visualizations) {
    if (hiddenIds.has(id)) continue;
    for (const parameter of parameters) {
      const { slug, kind } = parameter;
      const existingInput = inputs.get(slug);
      if (existingInput?.origin === 'filter') continue;
      inputs.set(slug, {
        ...(existingInput ?? parameter),
        required: false,
        origin: 'parameter',
        takesList: acceptsList(getTemplate(sql), slug, kind) && (existingInput?.takesList ?? true),
        appliesTo: [...(existingInput?.appliesTo ?? []), id],
        skippedIds: [],
        viewerAttributes: [...new Set([...(existingInput?.viewerAttributes ?? []), ...listAttributes(parameter)])],
        unboundIds: [],
      });
    }
  }
  return [...inputs.values()];
}

function toFilterInput(
  filter: Filter,
  filters: readonly Filter[],
  visualizations: readonly VisualizationInputs[],
): Input {
  const { slug, label, kind, default: defaultValue, required } = filter;
  const matchingVisualizations = visualizations.filter(({ parameters }) =>
    parameters.some((parameter) => parameter.slug === slug),
  );
  const appliedVisualizations = matchingVisualizations.filter(({ id }) => doesFilterApply(filter, id));
  const findOwnParameter = ({ parameters }: VisualizationInputs) =>
    parameters.find((parameter) => parameter.slug === slug) ?? {};
  const acceptsListInOptions = filters.every(({ options }) => {
    const sql = getOptionsSql(options);
    return sql === null || acceptsList(getTemplate(sql), slug, kind);
  });
  return {
    slug,
    label,
    kind,
    default: defaultValue,
    required,
    origin: 'filter',
    takesList:
      isChoiceKind(kind) &&
      acceptsListInOptions &&
      matchingVisualizations.every((user) => matchParameter(filter, user)?.takesList ?? true),
    appliesTo: appliedVisualizations.map(({ id }) => id),
    skippedIds: matchingVisualizations.filter(({ id }) => !doesFilterApply(filter, id)).map(({ id }) => id),
    viewerAttributes: [...new Set([filter, ...appliedVisualizations.map(findOwnParameter)].flatMap(listAttributes))],
    unboundIds: matchingVisualizations
      .filter((user) => !doesFilterApply(filter, user.id) && listAttributes(findOwnParameter(user)).length > 0)
      .map(({ id }) => id),
  };
}

/** Returns the SQL of a filter's options; null when they are static or there are none. */
export const getOptionsSql = (options: Filter['options']): string | null =>
  options === null || Array.isArray(options) ? null : options.sql;

/** Selects the values that apply to one visualization. A filter not applied to it leaves its parameter at the default. */
export function selectApplicableValues(
  { filters }: { filters: readonly Filter[] },
  visualizationId: string,
  values: BoundValues,
): BoundValues {
  const applicableValues = [...values].filter(([slug]): boolean => {
    const filter = filters.find((candidate) => candidate.slug === slug);
    return filter === undefined || doesFilterApply(filter, visualizationId);
  });
  return new Map<string, BoundValue>(applicableValues);
}
