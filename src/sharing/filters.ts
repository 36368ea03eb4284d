import { type BoundValues, coerceParameter, isChoice, isNoValue } from '../sql-templates/parameters.ts';
import { filterDisabled, filterNotFound } from './failures.ts';
import type { ViewerRules } from './rules.ts';
import type { Input } from './terms.ts';

/** A filter as its viewer sees it. */
export interface UsableFilter {
  input: Input;
  allowed: readonly string[] | null;
  /** The default as a caller would send it, where the viewer may choose it; else null. */
  default: unknown;
  required: boolean;
}

/** The inputs that a viewer may use, in their order. */
export function usableFilters({ rules }: ViewerRules): UsableFilter[] {
  return [...rules.values()]
    .filter(({ access }) => access === 'open')
    .map(({ input, allowed, required, mustSend }) => ({
      input,
      allowed,
      required: required || mustSend,
      default: allowedDefault(input, allowed),
    }));
}

function allowedDefault({ kind, default: value }: Input, allowed: readonly string[] | null): unknown {
  if (isNoValue(value)) return null;
  if (allowed === null) return value;
  const coerced = coerceParameter(kind, value);
  const isAllowed =
    'value' in coerced &&
    coerced.value?.type === 'list' &&
    coerced.value.values.every((each) => allowed.includes(each));
  return isAllowed ? value : null;
}

/** The options of a filter that a viewer may see. */
export interface OptionsRule {
  /** The values that are left; null for all. */
  allowed: readonly string[] | null;
  /** The values of other filters for the SQL of the options, by slug; null when it may not run for this viewer. */
  bound: BoundValues | null;
}

/**
 * Returns the rule for the options of a filter that a viewer may see. Their SQL must use every value that is enforced on other
 * filters, or it would show what those hide: SQL that does not is not run. Values that a policy names are shown all the same.
 * @param uses the slugs that the SQL of the options uses with these values; null where there is none
 */
export function optionsRule(
  { rules, enforced, allowedOnly, unenforceable }: ViewerRules,
  slug: string,
  uses: ((values: BoundValues) => ReadonlySet<string>) | null,
): OptionsRule {
  const rule = rules.get(slug);
  if (allowedOnly && rule?.access !== 'open') throw filterDisabled();
  if (!rule || !isChoice(rule.input.kind)) throw filterNotFound();
  const others = [...enforced].filter(([other]) => other !== slug);
  const bound = new Map(others.map(([other, value]) => [other, value ?? null]));
  const used = uses?.(bound);
  const isBound = !used || others.every(([other, value]) => value !== undefined && used.has(other));
  if (rule.access === 'closed' || unenforceable.length > 0 || (!isBound && rule.allowed === null)) {
    throw filterDisabled();
  }
  return { allowed: rule.allowed, bound: isBound ? bound : null };
}
