import type { FieldProblem } from '../kernel/failure.ts';
import {
  coerceParameter,
  isChoiceKind,
  isNoValue,
  type Parameter,
  type ParameterKind,
} from '../sql-templates/parameters.ts';
import type { ViewerAttributes } from './viewer-attributes.ts';

/** A filter or parameter that can be given a value. Slugs are unique within a dashboard or visualization. */
export interface Input extends Parameter {
  /**
   * Where the input comes from: a `filter`, or the parameter of a visualization shown alone, which the viewer may use unless a
   * rule forbids it; or a `parameter` of a visualization on a dashboard that no filter sets, which an embed may open.
   */
  origin: 'filter' | 'parameter';
  /** Whether the input's SQL accepts any number of values: every use is `= ANY ({{slug}})`. */
  takesList: boolean;
  /** The ids of the visualizations whose parameter of this slug gets the value. */
  appliesTo: readonly string[];
  /**
   * The ids of visualizations that have such a parameter but do not get the value: the filter does not apply to these
   * visualizations.
   */
  skippedIds: readonly string[];
  /** The viewer attributes that set the input's value for viewers: the value is always the intersection of all of them. */
  viewerAttributes: readonly string[];
  /** The ids among `skippedIds` whose own parameter is bound to an attribute: these visualizations cannot be shown to viewers. */
  unboundIds: readonly string[];
}

/** Lists the attribute that a filter or parameter names, if any. */
export const listAttributes = ({ viewer_attribute }: Pick<Parameter, 'viewer_attribute'>): string[] =>
  viewer_attribute === undefined ? [] : [viewer_attribute];

/**
 * The modes of a policy: - `selectable` the viewer chooses among `allowed_values`; choosing nothing means all of them - `locked`
 * always all of `allowed_values`; the viewer does not see the filter - `hidden` the filter does not exist for the viewer, and has
 * no value
 */
export const POLICY_MODES = ['selectable', 'locked', 'hidden'] as const;

export type PolicyMode = (typeof POLICY_MODES)[number];

/** A policy of a context's grant or of a share, in the form that is stored and shown. */
export interface FilterPolicy {
  filter_slug: string;
  filter_kind: ParameterKind;
  mode: PolicyMode;
  allowed_values: string[];
}

/**
 * The default `allowed_values` of a policy that was sent without them: this list itself shows that they are missing, which only
 * a hidden policy may do.
 */
export const NO_VALUES_SENT: string[] = [];

/** The parameters of an embed token. */
export interface EmbedTerms {
  /** The fixed values of the token, by slug. */
  fixedValues: Readonly<Record<string, unknown>>;
  /** The slugs that the viewer may send. */
  allowedSlugs: readonly string[];
  /** The slugs among the allowed ones that the viewer must send. */
  requiredSlugs: readonly string[];
}

/** The terms that restrict one viewer. Additional terms never show more. */
export interface ViewerTerms {
  /** Whether results may be downloaded, for each share that shows the item: all must allow it. None means no. */
  downloads?: readonly boolean[];
  /** The policies of the context's grant and of every active share of that context and dashboard. */
  policies?: readonly FilterPolicy[];
  embed?: EmbedTerms;
  /** The attributes of the viewer; none if missing. */
  attributes?: ViewerAttributes;
  /**
   * Whether the viewer belongs to the company: such a viewer sets parameters that no filter sets, and values that attributes
   * decide for others.
   */
  isInsider?: boolean;
}

/**
 * Finds the problems of policies for a dashboard with these inputs: unknown or repeated filters, a kind that is not the filter's,
 * no allowed value, several values for SQL that compares with one. @param field the field of the body that holds the list
 */
export function findPolicyProblems(
  inputs: readonly Input[],
  policies: readonly FilterPolicy[],
  field: string,
): FieldProblem[] {
  const filters = new Map(inputs.filter(({ origin }) => origin === 'filter').map((filter) => [filter.slug, filter]));
  const seenSlugs = new Set<string>();
  return policies.flatMap((policy, index) => {
    const { filter_slug: slug } = policy;
    const [part, message] = findPolicyProblem(filters.get(slug), policy, seenSlugs.has(slug)) ?? [];
    seenSlugs.add(slug);
    return message === undefined ? [] : [{ field: `${field}.${index}.${part}`, message }];
  });
}

function findPolicyProblem(
  filter: Input | undefined,
  policy: FilterPolicy,
  isRepeated: boolean,
): [string, string] | undefined {
  if (isRepeated) return ['filter_slug', 'has a policy already'];
  if (!filter) return ['filter_slug', 'is not a filter of the dashboard'];
  if (!isChoiceKind(filter.kind)) return ['filter_slug', 'must be a filter of kind select or multi_select'];
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

/** Finds the problems of an embed's terms for these inputs. */
export function findEmbedProblems(
  inputs: readonly Input[],
  { fixedValues, allowedSlugs, requiredSlugs }: EmbedTerms,
): FieldProblem[] {
  const inputsBySlug = new Map(inputs.map((input) => [input.slug, input]));
  const findSlugProblem = (slug: string) => {
    const input = inputsBySlug.get(slug);
    if (!input) return 'is not a parameter of this dashboard or visualization';
    return input.viewerAttributes.length > 0 ? 'is always set from an attribute of the viewer' : undefined;
  };
  const toProblems = (field: string, message: string | undefined) =>
    message === undefined ? [] : [{ field, message }];
  const unsetInputs = inputs.filter(
    (unsetInput) =>
      unsetInput.origin === 'filter' &&
      unsetInput.required &&
      unsetInput.viewerAttributes.length === 0 &&
      isNoValue(unsetInput.default) &&
      !allowedSlugs.includes(unsetInput.slug),
  );
  return [
    ...Object.entries(fixedValues).flatMap(([slug, value]) => {
      const input = inputsBySlug.get(slug);
      const coercedValue = input && coerceParameter(input.kind, value);
      return toProblems(
        `fixed_params.${slug}`,
        coercedValue && 'problem' in coercedValue ? coercedValue.problem : findSlugProblem(slug),
      );
    }),
    ...unsetInputs.flatMap(({ slug }) =>
      toProblems(
        'allowed_params',
        isNoValue(fixedValues[slug]) ? `must include ${slug}: it is required and has no fixed value` : undefined,
      ),
    ),
    ...allowedSlugs.flatMap((slug, index) =>
      toProblems(
        `allowed_params.${index}`,
        Object.hasOwn(fixedValues, slug) ? 'is fixed already' : findSlugProblem(slug),
      ),
    ),
    ...requiredSlugs.flatMap((slug, index) =>
      toProblems(`required_params.${index}`, allowedSlugs.includes(slug) ? undefined : 'must be in allowed_params'),
    ),
  ];
}
