import { type FieldProblem, invalidInput } from '../kernel/failure.ts';
import { truncateText } from '../kernel/text.ts';
import {
  type BoundValue,
  type BoundValues,
  coerceParameter,
  getDefault,
  MAX_PARAMETERS,
} from '../sql-templates/parameters.ts';
import { policyViolation } from './failures.ts';
import { computeEnforcedValue, type InputRule, type ViewerRules } from './rules.ts';

/**
 * Computes the values that a viewer's request runs with. Whatever the viewer sends, a narrowed input is bound to a part of the
 * allowed values: an empty list where nothing is allowed, which lets no row through (see `allowsNothing`). @returns a value for
 * every input; inputs of origin `parameter` that nobody set are left out, since each visualization has its own default
 */
export function computeBoundValues(
  { inputRules, hidesUnknownSlugs, unenforceableSlugs }: ViewerRules,
  sentValues: Readonly<Record<string, unknown>>,
): BoundValues {
  if (unenforceableSlugs.length > 0) throw policyViolation();
  const slugs = Object.keys(sentValues);
  if (slugs.length > MAX_PARAMETERS) {
    throw invalidInput([{ field: 'parameters', message: `must hold at most ${MAX_PARAMETERS} parameters` }]);
  }
  const closedSlug = slugs.find((slug) =>
    inputRules.has(slug) ? inputRules.get(slug)?.access === 'closed' : hidesUnknownSlugs,
  );
  if (closedSlug !== undefined) throw policyViolation(closedSlug);

  const problems: FieldProblem[] = slugs
    .filter((slug) => !inputRules.has(slug))
    .map((slug) => ({
      field: `parameters.${truncateText(slug, 63)}`,
      message: 'is not a parameter of this dashboard or visualization',
    }));
  const values = new Map<string, BoundValue>();
  for (const [slug, rule] of inputRules) {
    const sentValue = Object.hasOwn(sentValues, slug) ? sentValues[slug] : undefined;
    const coercedValue = coerceParameter(rule.input.kind, sentValue);
    if ('problem' in coercedValue) {
      problems.push({ field: `parameters.${slug}`, message: coercedValue.problem });
      continue;
    }
    const value =
      coercedValue.value === null ? getUnchosenValue(rule, sentValue) : requireAllowedChoice(rule, coercedValue.value);
    if (rule.mustSend ? coercedValue.value === null : rule.required && value === null)
      problems.push(makeMissingValueProblem(rule));
    if (value !== undefined) values.set(slug, value);
  }
  if (problems.length > 0) throw invalidInput(problems);
  return values;
}

/** Makes the problem of a missing value, without the names of closed inputs, which a viewer must not learn. */
const makeMissingValueProblem = ({ access, input: { slug } }: InputRule): FieldProblem =>
  access === 'open'
    ? { field: `parameters.${slug}`, message: 'is required' }
    : { field: 'parameters', message: 'lack a required value that cannot be chosen here' };

/** Returns the value that the viewer chose. @throws policyViolation where it is not allowed */
function requireAllowedChoice({ input, allowedValues }: InputRule, value: BoundValue): BoundValue {
  if (allowedValues === null) return value;
  const isAllowed = value?.type === 'list' && value.values.every((chosenValue) => allowedValues.includes(chosenValue));
  if (!isAllowed) throw policyViolation(input.slug);
  return value;
}

/** Returns the value of an input for which the viewer sent none; undefined where each visualization has its own default. */
function getUnchosenValue(rule: InputRule, sentValue: unknown): BoundValue | undefined {
  const { input, access, allowedValues, fallback, required } = rule;
  if (allowedValues !== null || typeof fallback === 'object') return computeEnforcedValue(rule);
  if (fallback === 'none') return null;
  // Sending no value takes the default away, unless there must be one.
  if (access === 'open' && sentValue !== undefined && !required) return null;
  return input.origin === 'parameter' ? undefined : getDefault(input);
}

/** Tells whether a value lets no row through: SQL that it is bound to need not run, and must return no rows. */
export const allowsNothing = (value: BoundValue | undefined): boolean =>
  value?.type === 'list' && value.values.length === 0;

/** Formats the bound values as one text, equal only for equal values: a cache key made of it omits none. */
export function formatCanonicalValues(values: BoundValues): string {
  const entries = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries.map(([slug, value]) => [slug, value && toCanonicalValue(value)]));
}

function toCanonicalValue(value: NonNullable<BoundValue>): unknown {
  if (value.type === 'list') return ['list', ...value.values.toSorted()];
  return value.type === 'range' ? ['range', value.from, value.to] : [value.type, value.value];
}
