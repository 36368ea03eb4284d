import { type BoundValue, coerceParameter, isChoice, isNoValue } from '../sql-templates/parameters.ts';
import type { FilterPolicy, Input, ViewerTerms } from './terms.ts';
import { attributeValue, intersectValues } from './viewer-attributes.ts';

/** The rule of a viewer for one input. */
export interface Rule {
  input: Input;
  /** `open`: the viewer may send any value of its kind · `closed`: sending one is a violation. */
  access: 'open' | 'closed';
  /** The values that rows may have, and that the viewer may choose among; null when nothing narrows them. */
  allowed: readonly string[] | null;
  /** The value when none is sent: the author's, none, a fixed one; `refused`: there must be none to send. */
  fallback: 'default' | 'none' | 'refused' | { fixed: BoundValue };
  /** Whether the input must end up with a value: sent, fixed, or its default. */
  required: boolean;
  /** The viewer must send a value. */
  mustSend: boolean;
}

/** The rules of one viewer. */
export interface ViewerRules {
  /** The rules by the input's slug. */
  rules: ReadonlyMap<string, Rule>;
  /** The values that terms enforce whatever the viewer sends, by slug; undefined where no filter can carry them any more. */
  enforced: ReadonlyMap<string, BoundValue | undefined>;
  /** Ids of visualizations that have a parameter of an enforced slug but are not given its value: they are not shown. */
  refused: ReadonlySet<string>;
  /** An embed answers every slug that it does not allow alike, so that nobody can guess which ones exist. */
  allowedOnly: boolean;
  /** Whether the viewer may download results, which are those that the other rules leave. */
  downloads: boolean;
  /** Slugs whose terms cannot be enforced, for a changed filter or a missing attribute: nothing is shown then. */
  unenforceable: readonly string[];
}

/** Combines a viewer's terms into the rules: the values to choose from, those that are fixed and those that are enforced. */
export function viewerRules(inputs: readonly Input[], terms: ViewerTerms = {}): ViewerRules {
  const rules = new Map(inputs.map((input) => [input.slug, buildInitialRule(input, terms)]));
  const narrowing = new Set<string>();
  for (const policy of terms.policies ?? []) {
    const { filter_slug: slug, mode } = policy;
    const rule = rules.get(slug);
    if (rule && (mode === 'hidden' || isChoice(rule.input.kind))) rules.set(slug, applyPolicy(rule, policy));
    if (mode !== 'hidden') narrowing.add(slug);
  }
  const fixed = Object.entries(terms.embed?.fixed ?? {}).filter(([, value]) => !isNoValue(value));
  const byAttribute = terms.isInsider ? [] : inputs.filter(({ viewerAttributes }) => viewerAttributes.length > 0);
  const slugs = new Set([...narrowing, ...fixed.map(([slug]) => slug), ...byAttribute.map(({ slug }) => slug)]);

  const enforced = new Map<string, BoundValue | undefined>();
  const refused = new Set<string>();
  const lacking = byAttribute.filter(({ slug }) => rules.get(slug)?.fallback === 'refused');
  const unenforceable = new Set(lacking.map(({ slug }) => slug));
  if (!terms.isInsider) for (const { unbound } of inputs) for (const id of unbound) refused.add(id);
  for (const slug of slugs) {
    const rule = rules.get(slug);
    const { appliesTo = [], skips = [], origin = 'parameter', kind = 'text' } = rule?.input ?? {};
    // A policy is about a filter: where that is gone, or no choice any more, nobody sees the parameters of its name.
    const isKnown = rule !== undefined && rule.fallback !== 'refused';
    const bound = isKnown && !(narrowing.has(slug) && (origin === 'parameter' || !isChoice(kind)));
    enforced.set(slug, bound && origin === 'filter' ? enforcedValue(rule) : undefined);
    const left = bound ? skips : [...appliesTo, ...skips];
    for (const id of left) refused.add(id);
    if (!bound && left.length === 0) unenforceable.add(slug);
  }
  const { downloads = [] } = terms;
  return {
    rules,
    enforced,
    refused,
    allowedOnly: terms.embed !== undefined,
    downloads: downloads.length > 0 && downloads.every(Boolean),
    unenforceable: [...unenforceable],
  };
}

function buildInitialRule(input: Input, terms: ViewerTerms): Rule {
  const rule = ruleOfEmbed(input, terms);
  if (terms.isInsider || input.viewerAttributes.length === 0) return rule;
  const closed: Rule = { ...rule, access: 'closed', required: false, mustSend: false };
  const value = attributeValue(input, terms.attributes ?? {});
  const fixed = typeof rule.fallback === 'object' ? rule.fallback.fixed : null;
  const both = value && fixed ? intersectValues(value, fixed) : value;
  return both === undefined ? { ...closed, fallback: 'refused' } : { ...closed, fallback: { fixed: both } };
}

function ruleOfEmbed(input: Input, { embed, isInsider }: ViewerTerms): Rule {
  const { slug, kind, required } = input;
  const rule: Rule = { input, access: 'open', allowed: null, fallback: 'default', required, mustSend: false };
  if (!embed) return input.origin === 'filter' || isInsider ? rule : { ...rule, access: 'closed' };
  if (Object.hasOwn(embed.fixed, slug)) {
    const fixed = coerceParameter(kind, embed.fixed[slug]);
    // The value was right when the token was made, and the kind changed since.
    if ('problem' in fixed) return { ...rule, access: 'closed', allowed: [], fallback: 'none' };
    return { ...rule, access: 'closed', fallback: { fixed: fixed.value } };
  }
  if (!embed.allowed.includes(slug)) return { ...rule, access: 'closed' };
  return { ...rule, mustSend: embed.required.includes(slug) };
}

/** The rule with one more policy: it allows the values that both allow, and is open only where both leave it open. */
function applyPolicy(rule: Rule, { mode, allowed_values }: FilterPolicy): Rule {
  if (mode === 'hidden') {
    return { ...rule, access: 'closed', fallback: rule.fallback === 'default' ? 'none' : rule.fallback };
  }
  const allowed = [...new Set(allowed_values)].filter((value) => rule.allowed?.includes(value) ?? true);
  return { ...rule, allowed, access: mode === 'locked' ? 'closed' : rule.access };
}

/** The value that a rule enforces: the fixed one, or all that is allowed. Null when that is anything. */
export function enforcedValue({ fallback, allowed }: Rule): BoundValue {
  if (typeof fallback === 'object') return within(fallback.fixed, allowed);
  return allowed && { type: 'list', values: [...allowed] };
}

/** A fixed value as far as policies allow it. No value means all that is allowed. */
function within(value: BoundValue, allowed: readonly string[] | null): BoundValue {
  if (allowed === null) return value;
  if (value === null) return { type: 'list', values: [...allowed] };
  return { type: 'list', values: value.type === 'list' ? value.values.filter((each) => allowed.includes(each)) : [] };
}
