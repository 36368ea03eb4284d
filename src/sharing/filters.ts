import { type BoundValues, coerceParameter, isChoiceKind, isNoValue } from '../sql-templates/parameters.ts';
import { filterDisabled, filterNotFound } from './failures.ts';
import type { Input } from './filter-policy.ts';
import type { ViewerRules } from './rules.ts';

/**
 * Lists the inputs that a viewer may use, in their order, as the viewer may see them. `default` is in the form in which a caller
 * sends a value, and null where the viewer may not choose it.
 */
export const listUsableFilters = ({ inputRules }: ViewerRules) =>
  [...inputRules.values()]
    .filter(({ access }) => access === 'open')
    .map(({ input, allowedValues, required, mustSend }) => ({
      slug: input.slug,
      label: input.label,
      kind: input.kind,
      default: chooseAllowedDefault(input, allowedValues),
      required: required || mustSend,
    }));

function chooseAllowedDefault({ kind, default: value }: Input, allowedValues: readonly string[] | null): unknown {
  if (isNoValue(value)) return null;
  if (allowedValues === null) return value;
  const coercedValue = coerceParameter(kind, value);
  const isAllowed =
    'value' in coercedValue &&
    coercedValue.value?.type === 'list' &&
    coercedValue.value.values.every((listValue) => allowedValues.includes(listValue));
  return isAllowed ? value : null;
}

/** The rule for the options of a filter that a viewer may see. */
export interface OptionsRule {
  /** The values among which the viewer may choose; null for all. */
  allowedValues: readonly string[] | null;
  /**
   * The values of other filters to bind in the SQL of the options, by slug; null when that SQL may not run for this
   * viewer.
   */
  boundValues: BoundValues | null;
}

/**
 * Makes the rule for the options of a filter that a viewer may see. The SQL of the options must use every value that is
 * enforced on other filters, because the options would otherwise reveal what those filters hide: SQL that does not use
 * all of these values is not run. Values that a policy names are always shown. @param listUsedSlugs the slugs that the
 * SQL of the options uses with these values; null where there is no SQL
 */
export function makeOptionsRule(
  { inputRules, enforcedValues, hidesUnknownSlugs, unenforceableSlugs }: ViewerRules,
  slug: string,
  listUsedSlugs: ((values: BoundValues) => ReadonlySet<string>) | null,
): OptionsRule {
  const rule = inputRules.get(slug);
  if (hidesUnknownSlugs && rule?.access !== 'open') throw filterDisabled();
  if (!rule || !isChoiceKind(rule.input.kind)) throw filterNotFound();
  const otherEnforcedValues = [...enforcedValues].filter(([otherSlug]) => otherSlug !== slug);
  const boundValues = new Map(otherEnforcedValues.map(([otherSlug, value]) => [otherSlug, value ?? null]));
  const usedSlugs = listUsedSlugs?.(boundValues);
  const usesAllEnforced =
    !usedSlugs || otherEnforcedValues.every(([otherSlug, value]) => value !== undefined && usedSlugs.has(otherSlug));
  if (rule.access === 'closed' || unenforceableSlugs.length > 0 || (!usesAllEnforced && rule.allowedValues === null)) {
    throw filterDisabled();
  }
  return { allowedValues: rule.allowedValues, boundValues: usesAllEnforced ? boundValues : null };
}
