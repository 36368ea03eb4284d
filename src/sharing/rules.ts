import { type BoundValue, coerceParameter, isChoiceKind, isNoValue } from '../sql-templates/parameters.ts';
import type { FilterPolicy, Input, ViewerTerms } from './filter-policy.ts';
import { computeAttributeValue, intersectValues } from './viewer-attributes.ts';

/** The rule of a viewer for one input. */
export interface InputRule {
  input: Input;
  /** `open`: the viewer may send any value of the input's kind · `closed`: sending one is a violation. */
  access: 'open' | 'closed';
  /** The values that rows may have, and that the viewer may choose among; null when nothing narrows them. */
  allowedValues: readonly string[] | null;
  /**
   * The value when the viewer sends none: `default` the author's, `none` no value, a fixed one; `refused`: no value can be used,
   * so nothing may be shown.
   */
  fallback: 'default' | 'none' | 'refused' | { fixed: BoundValue };
  /** True if the input must end up with a value: a sent value, a fixed value, or its default. */
  required: boolean;
  /** Whether the viewer must send a value. */
  mustSend: boolean;
}

/** The rules of one viewer. */
export interface ViewerRules {
  /** The rules by the input's slug. */
  inputRules: ReadonlyMap<string, InputRule>;
  /**
   * The values that terms enforce whatever the viewer sends, by slug; undefined where no filter can pass the value on any more.
   */
  enforcedValues: ReadonlyMap<string, BoundValue | undefined>;
  /** The ids of visualizations that have a parameter of an enforced slug but are not given its value: they are not shown. */
  refusedIds: ReadonlySet<string>;
  /** Whether every slug that is not allowed gets the same answer, as in an embed, so that nobody can guess which slugs exist. */
  hidesUnknownSlugs: boolean;
  /** Whether the viewer may download results, restricted by the other rules. */
  allowsDownloads: boolean;
  /** The slugs whose terms cannot be enforced, for a changed filter or a missing attribute: nothing is shown then. */
  unenforceableSlugs: readonly string[];
}

/** Combines all that restricts a viewer into rules: the values to choose from, the value that replaces a missing one (fixed), and
 * the values that are used whatever the viewer sends (enforced). */
export function makeViewerRules(inputs: readonly Input[], terms: ViewerTerms = {}): ViewerRules {
  const rules = new Map(inputs.map((input) => [input.slug, buildInitialRule(input, terms)]));
  const narrowedSlugs = new Set<string>();
  for (const policy of terms.policies ?? []) {
    const { filter_slug: slug, mode } = policy;
    const rule = rules.get(slug);
    if (rule && (mode === 'hidden' || isChoiceKind(rule.input.kind))) rules.set(slug, applyPolicy(rule, policy));
    if (mode !== 'hidden') narrowedSlugs.add(slug);
  }
  const fixedEntries = Object.entries(terms.embed?.fixedValues ?? {}).filter(([, value]) => !isNoValue(value));
  const attributeInputs = terms.isInsider ? [] : inputs.filter(({ viewerAttributes }) => viewerAttributes.length > 0);
  const slugs = new Set([
    ...narrowedSlugs,
    ...fixedEntries.map(([slug]) => slug),
    ...attributeInputs.map(({ slug }) => slug),
  ]);

  const enforcedValues = new Map<string, BoundValue | undefined>();
  const hiddenIds = new Set<string>();
  const lackingInputs = attributeInputs.filter(({ slug }) => rules.get(slug)?.fallback === 'refused');
  const unenforceableSlugs = new Set(lackingInputs.map(({ slug }) => slug));
  if (!terms.isInsider) for (const { unboundIds: unbound } of inputs) for (const id of unbound) hiddenIds.add(id);
  for (const slug of slugs) {
    const rule = rules.get(slug);
    const { appliesTo = [], skippedIds = [], origin = 'parameter', kind = 'text' } = rule?.input ?? {};
    // A policy is about a filter: where that is gone, or no choice any more, nobody sees the parameters of its name.
    const isKnown = rule !== undefined && rule.fallback !== 'refused';
    const isBound = isKnown && !(narrowedSlugs.has(slug) && (origin === 'parameter' || !isChoiceKind(kind)));
    enforcedValues.set(slug, isBound && origin === 'filter' ? computeEnforcedValue(rule) : undefined);
    const unboundIds = isBound ? skippedIds : [...appliesTo, ...skippedIds];
    for (const id of unboundIds) hiddenIds.add(id);
    if (!isBound && unboundIds.length === 0) unenforceableSlugs.add(slug);
  }
  const { downloads = [] } = terms;
  return {
    inputRules: rules,
    enforcedValues,
    refusedIds: hiddenIds,
    hidesUnknownSlugs: terms.embed !== undefined,
    allowsDownloads: downloads.length > 0 && downloads.every(Boolean),
    unenforceableSlugs: [...unenforceableSlugs],
  };
}

function buildInitialRule(input: Input, terms: ViewerTerms): InputRule {
  const rule = buildEmbedRule(input, terms);
  if (terms.isInsider || input.viewerAttributes.length === 0) return rule;
  const value = computeAttributeValue(input, terms.attributes ?? {});
  const fixedValue = typeof rule.fallback === 'object' ? rule.fallback.fixed : null;
  const commonValue = value && fixedValue ? intersectValues(value, fixedValue) : value;
  const fallback = commonValue === undefined ? 'refused' : { fixed: commonValue };
  return { ...rule, access: 'closed', required: false, mustSend: false, fallback };
}

function buildEmbedRule(input: Input, { embed, isInsider }: ViewerTerms): InputRule {
  const { slug, kind, required } = input;
  const rule: InputRule = {
    input,
    access: 'open',
    allowedValues: null,
    fallback: 'default',
    required,
    mustSend: false,
  };
  if (!embed) return input.origin === 'filter' || isInsider ? rule : { ...rule, access: 'closed' };
  if (Object.hasOwn(embed.fixedValues, slug)) {
    const fixedValue = coerceParameter(kind, embed.fixedValues[slug]);
    // The value was right when the token was made, and the kind changed since.
    if ('problem' in fixedValue) return { ...rule, access: 'closed', allowedValues: [], fallback: 'none' };
    return { ...rule, access: 'closed', fallback: { fixed: fixedValue.value } };
  }
  if (!embed.allowedSlugs.includes(slug)) return { ...rule, access: 'closed' };
  return { ...rule, mustSend: embed.requiredSlugs.includes(slug) };
}

/** Adds a policy to a rule: the result allows the values that both allow, and is open only where both are open. */
function applyPolicy(rule: InputRule, { mode, allowed_values }: FilterPolicy): InputRule {
  if (mode === 'hidden') {
    return { ...rule, access: 'closed', fallback: rule.fallback === 'default' ? 'none' : rule.fallback };
  }
  const allowedValues = [...new Set(allowed_values)].filter((value) => rule.allowedValues?.includes(value) ?? true);
  return { ...rule, allowedValues, access: mode === 'locked' ? 'closed' : rule.access };
}

/** Computes the value that a rule enforces: the fixed one, or all allowed values; null when any value is allowed. */
export function computeEnforcedValue({ fallback, allowedValues }: InputRule): BoundValue {
  if (typeof fallback === 'object') return restrictToAllowed(fallback.fixed, allowedValues);
  return allowedValues && { type: 'list', values: [...allowedValues] };
}

/** Restricts a fixed value to the values that policies allow; null (no value) becomes the list of all allowed values. */
function restrictToAllowed(value: BoundValue, allowedValues: readonly string[] | null): BoundValue {
  if (allowedValues === null) return value;
  if (value === null) return { type: 'list', values: [...allowedValues] };
  return {
    type: 'list',
    values: value.type === 'list' ? value.values.filter((listValue) => allowedValues.includes(listValue)) : [],
  };
}
