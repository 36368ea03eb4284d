import type { Filter } from '../../db/schema/dashboards.ts';
import { type Input, listAttributes } from '../../sharing/terms.ts';
import { type BoundValue, type BoundValues, isChoice, type ParameterKind } from '../../sql-templates/parameters.ts';
import { getTemplate, takesList } from '../../sql-templates/template.ts';
import type { AccessFailures, Visualization } from '../visualizations/service.ts';

type Definition = Pick<Visualization, 'id' | 'sql' | 'parameters'>;

const NO_SLUGS: ReadonlySet<string> = new Set();

const doesFilterApply = (filter: Pick<Filter, 'applies_to'>, visualizationId: string): boolean =>
  filter.applies_to?.includes(visualizationId) ?? true;

/**
 * Matches a filter with the parameter of its slug in a visualization: whether the SQL takes any number of values, and the problem
 * if the filter cannot set it. Undefined when the filter is not for the visualization or there is no such parameter.
 */
export function matchParameter(
  filter: Pick<Filter, 'slug' | 'kind' | 'applies_to'>,
  { id, sql, parameters }: Definition,
): { takesList: boolean; problem?: string } | undefined {
  const parameter = parameters.find(({ slug }) => slug === filter.slug);
  if (!parameter || !doesFilterApply(filter, id)) return undefined;
  if (getKindFamily(filter.kind) !== getKindFamily(parameter.kind)) {
    return { takesList: false, problem: `must be ${parameter.kind}, the kind of the parameter in` };
  }
  const list = takesList(getTemplate(sql), parameter.slug, parameter.kind);
  const problem = 'cannot be multi_select: = ANY({{…}}) is not used for the parameter in';
  return filter.kind === 'multi_select' && !list ? { takesList: false, problem } : { takesList: list };
}

/** The family of a kind: parameters of kinds in one family accept each other's values. */
const getKindFamily = (kind: ParameterKind): string => (isChoice(kind) ? 'text' : kind);

/**
 * A dashboard's filters, in their order, then the parameters of its visualizations that no filter sets.
 * @param hidden ids of the visualizations that the caller is denied, whose parameters are as if they were not there
 */
export function listDashboardInputs(
  { filters }: { filters: readonly Filter[] },
  visualizations: readonly Definition[],
  hidden: Pick<AccessFailures, 'has'> = NO_SLUGS,
): Input[] {
  const inputs = new Map<string, Input>();
  for (const filter of filters) inputs.set(filter.slug, toFilterInput(filter, filters, visualizations));
  for (const { id, sql, parameters } of visualizations) {
    if (hidden.has(id)) continue;
    for (const parameter of parameters) {
      const { slug, kind } = parameter;
      const known = inputs.get(slug);
      if (known?.origin === 'filter') continue;
      inputs.set(slug, {
        ...(known ?? parameter),
        required: false,
        origin: 'parameter',
        takesList: takesList(getTemplate(sql), slug, kind) && (known?.takesList ?? true),
        appliesTo: [...(known?.appliesTo ?? []), id],
        skips: [],
        viewerAttributes: [...new Set([...(known?.viewerAttributes ?? []), ...listAttributes(parameter)])],
        unbound: [],
      });
    }
  }
  return [...inputs.values()];
}

function toFilterInput(filter: Filter, filters: readonly Filter[], visualizations: readonly Definition[]): Input {
  const { slug, label, kind, default: defaultValue, required } = filter;
  const users = visualizations.filter(({ parameters }) => parameters.some((parameter) => parameter.slug === slug));
  const applied = users.filter(({ id }) => doesFilterApply(filter, id));
  const own = ({ parameters }: Definition) => parameters.find((parameter) => parameter.slug === slug) ?? {};
  const inOptions = filters.every(({ options }) => {
    const sql = getOptionsSql(options);
    return sql === null || takesList(getTemplate(sql), slug, kind);
  });
  return {
    slug,
    label,
    kind,
    default: defaultValue,
    required,
    origin: 'filter',
    takesList: isChoice(kind) && inOptions && users.every((user) => matchParameter(filter, user)?.takesList ?? true),
    appliesTo: applied.map(({ id }) => id),
    skips: users.filter(({ id }) => !doesFilterApply(filter, id)).map(({ id }) => id),
    viewerAttributes: [...new Set([filter, ...applied.map(own)].flatMap(listAttributes))],
    unbound: users
      .filter((user) => !doesFilterApply(filter, user.id) && listAttributes(own(user)).length > 0)
      .map(({ id }) => id),
  };
}

/** The SQL of a filter's options; null when they are static or there are none. */
export const getOptionsSql = (options: Filter['options']): string | null =>
  options === null || Array.isArray(options) ? null : options.sql;

/** The values for one visualization of a dashboard. A filter that is not for it leaves the parameter its own default. */
export function selectApplicableValues(
  { filters }: { filters: readonly Filter[] },
  visualizationId: string,
  values: BoundValues,
): BoundValues {
  const kept = [...values].filter(([slug]): boolean => {
    const filter = filters.find((each) => each.slug === slug);
    return filter === undefined || doesFilterApply(filter, visualizationId);
  });
  return new Map<string, BoundValue>(kept);
}
