import type { FieldProblem } from './failure.ts';
import { coerceParameter, isChoice, isNoValue } from './parameters.ts';
import type { Dimension, EmbedTerms, FilterPolicy } from './sharing-rules.ts';

/**
 * What is wrong with policies for a dashboard with these dimensions: unknown or repeated filters, a kind that is not the
 * filter's, nothing to allow, several values for SQL that compares one.
 * @param field the member of the body that holds the list
 */
export function policyProblems(
  dimensions: readonly Dimension[],
  policies: readonly FilterPolicy[],
  field: string,
): FieldProblem[] {
  const filters = new Map(dimensions.filter(({ origin }) => origin === 'filter').map((each) => [each.slug, each]));
  const seen = new Set<string>();
  return policies.flatMap((policy, index) => {
    const { filter_slug: slug } = policy;
    const [member, message] = policyProblem(filters.get(slug), policy, seen.has(slug)) ?? [];
    seen.add(slug);
    return message === undefined ? [] : [{ field: `${field}.${index}.${member}`, message }];
  });
}

function policyProblem(
  filter: Dimension | undefined,
  policy: FilterPolicy,
  repeated: boolean,
): [string, string] | undefined {
  if (repeated) return ['filter_slug', 'has a policy already'];
  if (!filter) return ['filter_slug', 'is not a filter of the dashboard'];
  if (!isChoice(filter.kind)) return ['filter_slug', 'must be a filter of kind select or multi_select'];
  if (filter.kind !== policy.filter_kind) return ['filter_kind', `is ${filter.kind} on the dashboard`];
  if (policy.mode === 'hidden')
    return filter.required ? ['mode', 'cannot be hidden: the filter is required'] : undefined;
  if (policy.allowed_values.length === 0) return ['allowed_values', 'must hold at least one value'];
  if (policy.allowed_values.length > 1 && !filter.takesList) {
    return ['filter_slug', `is compared with one value: write its SQL as = ANY({{${filter.slug}}}) first`];
  }
  return undefined;
}

/** What is wrong with the terms of an embed for these dimensions. */
export function embedProblems(
  dimensions: readonly Dimension[],
  { fixed, allowed, required }: EmbedTerms,
): FieldProblem[] {
  const bySlug = new Map(dimensions.map((dimension) => [dimension.slug, dimension]));
  const known = (slug: string) => (bySlug.has(slug) ? undefined : 'is not a parameter of this');
  const problem = (field: string, message: string | undefined) => (message === undefined ? [] : [{ field, message }]);
  const unset = dimensions.filter(
    (each) => each.origin === 'filter' && each.required && isNoValue(each.default) && !allowed.includes(each.slug),
  );
  return [
    ...Object.entries(fixed).flatMap(([slug, value]) => {
      const dimension = bySlug.get(slug);
      const coerced = dimension && coerceParameter(dimension.kind, value);
      return problem(`fixed_params.${slug}`, coerced && 'problem' in coerced ? coerced.problem : known(slug));
    }),
    ...unset.flatMap(({ slug }) =>
      problem(
        'allowed_params',
        isNoValue(fixed[slug]) ? `must hold ${slug}, which is required, or it must be fixed` : undefined,
      ),
    ),
    ...allowed.flatMap((slug, index) =>
      problem(`allowed_params.${index}`, Object.hasOwn(fixed, slug) ? 'is fixed already' : known(slug)),
    ),
    ...required.flatMap((slug, index) =>
      problem(`required_params.${index}`, allowed.includes(slug) ? undefined : 'must be among the allowed ones'),
    ),
  ];
}
