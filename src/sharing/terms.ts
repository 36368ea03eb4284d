import type { FieldProblem } from '../kernel/failure.ts';
import {
  coerceParameter,
  isChoice,
  isNoValue,
  type Parameter,
  type ParameterKind,
} from '../sql-templates/parameters.ts';
import type { ViewerAttributes } from './viewer-attributes.ts';

/** A filter or parameter that can be given a value. Slugs are unique within a dashboard or visualization. */
export interface Input extends Parameter {
  /**
   * `filter`: the viewer may use it unless something says otherwise (also the parameters of a visualization shown alone) ·
   * `parameter`: of a visualization on a dashboard, set by no filter of the dashboard; an embed may open it.
   */
  origin: 'filter' | 'parameter';
  /** Whether its SQL can be given any number of values: every use is `= ANY ({{slug}})`. */
  takesList: boolean;
  /** Ids of the visualizations whose parameter of this slug is given the value. */
  appliesTo: readonly string[];
  /** Ids of those that have such a parameter and are not given the value: the filter is not for them. */
  skips: readonly string[];
  /** The viewer attributes that set its value for viewers: it is always what all of them allow. */
  viewerAttributes: readonly string[];
  /** Ids of those among `skips` whose own parameter is bound to an attribute: they cannot be shown to viewers. */
  unbound: readonly string[];
}

/** The attribute that a filter or parameter names, if any. */
export const listAttributes = ({ viewer_attribute }: Pick<Parameter, 'viewer_attribute'>): string[] =>
  viewer_attribute === undefined ? [] : [viewer_attribute];

/**
 * - `selectable` the viewer chooses among `allowed_values`; choosing nothing means all of them
 * - `locked` always all of `allowed_values`; the viewer does not see the filter
 * - `hidden` the filter does not exist for the viewer, and has no value
 */
export const POLICY_MODES = ['selectable', 'locked', 'hidden'] as const;

export type PolicyMode = (typeof POLICY_MODES)[number];

/** A policy of a context's grant or of a share, as it is stored and shown. */
export interface FilterPolicy {
  filter_slug: string;
  filter_kind: ParameterKind;
  mode: PolicyMode;
  allowed_values: string[];
}

/** The allowed values of a policy that was sent without any, which a policy that is not hidden must have. */
export const NO_VALUES_SENT: string[] = [];

/** The parameters of an embed token. */
export interface EmbedTerms {
  /** Values as they were given, by slug. */
  fixed: Readonly<Record<string, unknown>>;
  /** Slugs that the viewer may send. */
  allowed: readonly string[];
  /** Slugs among the allowed ones that the viewer must send. */
  required: readonly string[];
}

/** The terms that narrow one viewer. More terms never show more. */
export interface ViewerTerms {
  /** Whether results may be downloaded; where several things share, the answer of each. None is no. */
  downloads?: readonly boolean[];
  /** The policies of the context's grant and of every active share of that context and dashboard. */
  policies?: readonly FilterPolicy[];
  embed?: EmbedTerms;
  /** The attributes of the viewer; none where left out. */
  attributes?: ViewerAttributes;
  /** Whether the viewer is of the company: they set parameters that no filter sets, and what attributes decide. */
  isInsider?: boolean;
}

/**
 * Returns the problems of policies for a dashboard with these inputs: unknown or repeated filters, a kind that is not the
 * filter's, nothing to allow, several values for SQL that compares one.
 * @param field the field of the body that holds the list
 */
export function policyProblems(
  inputs: readonly Input[],
  policies: readonly FilterPolicy[],
  field: string,
): FieldProblem[] {
  const filters = new Map(inputs.filter(({ origin }) => origin === 'filter').map((each) => [each.slug, each]));
  const seen = new Set<string>();
  return policies.flatMap((policy, index) => {
    const { filter_slug: slug } = policy;
    const [part, message] = policyProblem(filters.get(slug), policy, seen.has(slug)) ?? [];
    seen.add(slug);
    return message === undefined ? [] : [{ field: `${field}.${index}.${part}`, message }];
  });
}

function policyProblem(
  filter: Input | undefined,
  policy: FilterPolicy,
  repeated: boolean,
): [string, string] | undefined {
  if (repeated) return ['filter_slug', 'has a policy already'];
  if (!filter) return ['filter_slug', 'is not a filter of the dashboard'];
  if (!isChoice(filter.kind)) return ['filter_slug', 'must be a filter of kind select or multi_select'];
  if (filter.kind !== policy.filter_kind) return ['filter_kind', `must be ${filter.kind}, the kind of the filter`];
  if (policy.mode === 'hidden')
    return filter.required ? ['mode', 'cannot be hidden: the filter is required'] : undefined;
  if (policy.allowed_values === NO_VALUES_SENT) return ['allowed_values', 'is required'];
  if (policy.allowed_values.length === 0) return ['allowed_values', 'must hold at least one value'];
  if (policy.allowed_values.length > 1 && !filter.takesList) {
    return ['filter_slug', `takes one value only: to allow several, compare with = ANY({{${filter.slug}}}) in the SQL`];
  }
  return undefined;
}

/** Returns the problems of an embed's terms for these inputs. */
export function embedProblems(inputs: readonly Input[], { fixed, allowed, required }: EmbedTerms): FieldProblem[] {
  const bySlug = new Map(inputs.map((input) => [input.slug, input]));
  const known = (slug: string) => {
    const input = bySlug.get(slug);
    if (!input) return 'is not a parameter of this dashboard or visualization';
    return input.viewerAttributes.length > 0 ? 'is always set from an attribute of the viewer' : undefined;
  };
  const problem = (field: string, message: string | undefined) => (message === undefined ? [] : [{ field, message }]);
  const unset = inputs.filter(
    (each) =>
      each.origin === 'filter' &&
      each.required &&
      each.viewerAttributes.length === 0 &&
      isNoValue(each.default) &&
      !allowed.includes(each.slug),
  );
  return [
    ...Object.entries(fixed).flatMap(([slug, value]) => {
      const input = bySlug.get(slug);
      const coerced = input && coerceParameter(input.kind, value);
      return problem(`fixed_params.${slug}`, coerced && 'problem' in coerced ? coerced.problem : known(slug));
    }),
    ...unset.flatMap(({ slug }) =>
      problem(
        'allowed_params',
        isNoValue(fixed[slug]) ? `must include ${slug}: it is required and has no fixed value` : undefined,
      ),
    ),
    ...allowed.flatMap((slug, index) =>
      problem(`allowed_params.${index}`, Object.hasOwn(fixed, slug) ? 'is fixed already' : known(slug)),
    ),
    ...required.flatMap((slug, index) =>
      problem(`required_params.${index}`, allowed.includes(slug) ? undefined : 'must be in allowed_params'),
    ),
  ];
}
