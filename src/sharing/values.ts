import { type FieldProblem, invalid } from '../kernel/failure.ts';
import { cut } from '../kernel/text.ts';
import {
  type BoundValue,
  type BoundValues,
  coerceParameter,
  getDefault,
  MAX_PARAMETERS,
} from '../sql-templates/parameters.ts';
import { policyViolation } from './failures.ts';
import { enforcedValue, type Rule, type ViewerRules } from './rules.ts';

/**
 * The values that a viewer's request runs with. Whatever is sent, an input that is narrowed is bound to a part of what is
 * allowed: an empty list where nothing is, which lets no row through (see `allowsNothing`).
 * @returns a value for every input; those of origin `parameter` that nobody set are left out, since each visualization
 *   has its own default
 */
export function boundValues(
  { rules, allowedOnly, unenforceable }: ViewerRules,
  sent: Readonly<Record<string, unknown>>,
): BoundValues {
  if (unenforceable.length > 0) throw policyViolation();
  const slugs = Object.keys(sent);
  if (slugs.length > MAX_PARAMETERS) {
    throw invalid([{ field: 'parameters', message: `must hold at most ${MAX_PARAMETERS} parameters` }]);
  }
  const closed = slugs.find((slug) => (rules.has(slug) ? rules.get(slug)?.access === 'closed' : allowedOnly));
  if (closed !== undefined) throw policyViolation(closed);

  const problems: FieldProblem[] = slugs
    .filter((slug) => !rules.has(slug))
    .map((slug) => ({
      field: `parameters.${cut(slug, 63)}`,
      message: 'is not a parameter of this dashboard or visualization',
    }));
  const values = new Map<string, BoundValue>();
  for (const [slug, rule] of rules) {
    const sentValue = Object.hasOwn(sent, slug) ? sent[slug] : undefined;
    const chosen = coerceParameter(rule.input.kind, sentValue);
    if ('problem' in chosen) {
      problems.push({ field: `parameters.${slug}`, message: chosen.problem });
      continue;
    }
    const value = chosen.value === null ? getUnchosenValue(rule, sentValue) : checkChoice(rule, chosen.value);
    if (rule.mustSend ? chosen.value === null : rule.required && value === null)
      problems.push(missingValueProblem(rule));
    if (value !== undefined) values.set(slug, value);
  }
  if (problems.length > 0) throw invalid(problems);
  return values;
}

/** A viewer is not told the names of closed inputs. */
const missingValueProblem = ({ access, input: { slug } }: Rule): FieldProblem =>
  access === 'open'
    ? { field: `parameters.${slug}`, message: 'is required' }
    : { field: 'parameters', message: 'lack a required value that cannot be chosen here' };

/** Returns the value that the viewer chose. @throws policyViolation where it is not allowed */
function checkChoice({ input, allowed }: Rule, value: BoundValue): BoundValue {
  if (allowed === null) return value;
  const isAllowed = value?.type === 'list' && value.values.every((chosen) => allowed.includes(chosen));
  if (!isAllowed) throw policyViolation(input.slug);
  return value;
}

/** The value of an input for which the viewer sent none; undefined where each visualization has its own. */
function getUnchosenValue(rule: Rule, sentValue: unknown): BoundValue | undefined {
  const { input, access, allowed, fallback, required } = rule;
  if (allowed !== null || typeof fallback === 'object') return enforcedValue(rule);
  if (fallback === 'none') return null;
  // Sending no value takes the default away, unless there must be one.
  if (access === 'open' && sentValue !== undefined && !required) return null;
  return input.origin === 'parameter' ? undefined : getDefault(input);
}

/** Whether a value lets no row through: SQL that it is bound to need not run, and must not answer any. */
export const allowsNothing = (value: BoundValue | undefined): boolean =>
  value?.type === 'list' && value.values.length === 0;

/** The bound values as one text, equal exactly for the same values: a cache key made of it leaves none out. */
export function canonicalValues(values: BoundValues): string {
  const entries = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries.map(([slug, value]) => [slug, value && canonical(value)]));
}

function canonical(value: NonNullable<BoundValue>): unknown {
  if (value.type === 'list') return ['list', ...value.values.toSorted()];
  return value.type === 'range' ? ['range', value.from, value.to] : [value.type, value.value];
}
