import { defineFailure, type FieldProblem, invalid } from './failure.ts';
import {
  type BoundValue,
  type BoundValues,
  coerceParameter,
  defaultOf,
  isChoice,
  isNoValue,
  MAX_PARAMETERS,
  type Parameter,
  type ParameterKind,
} from './parameters.ts';
import { cut } from './text.ts';

/** Something of a dashboard or visualization that can be given a value. Slugs are unique among those of one thing. */
export interface Dimension extends Parameter {
  /**
   * `filter` the viewer's to use unless something says otherwise (also the parameters of a visualization shown alone) ·
   * `parameter` of a visualization on a dashboard that no filter of the dashboard stands for: an embed may open it.
   */
  origin: 'filter' | 'parameter';
  /** Its SQL can be given any number of values: every use is `= ANY ({{slug}})`. */
  takesList: boolean;
  /** Ids of the visualizations that have a parameter of this name and are given the value. */
  reaches: readonly string[];
  /** Ids of those that have one and are not: the filter is not for them. */
  misses: readonly string[];
}

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

/** What an embed token carries. */
export interface EmbedTerms {
  /** Values as they were given, by slug. */
  fixed: Readonly<Record<string, unknown>>;
  /** Slugs that the viewer may send. */
  allowed: readonly string[];
  /** Slugs among the allowed ones that the viewer must send. */
  required: readonly string[];
}

/** Everything that narrows one viewer. Nothing of it widens: more terms never show more. */
export interface Terms {
  /** Of the context's grant and of every active share of that context and dashboard. */
  policies?: readonly FilterPolicy[];
  embed?: EmbedTerms;
  /** Whether the viewer may set parameters that no filter stands for. People of the company may. */
  parametersOpen?: boolean;
}

/** What a viewer may do with one dimension. */
export interface Rule {
  dimension: Dimension;
  /** `open` any value of its kind · `closed` none: sending one is a violation. */
  access: 'open' | 'closed';
  /** The values that rows may have, and that the viewer may choose among; null when nothing narrows them. */
  allowed: readonly string[] | null;
  /** The value of a dimension that the viewer does not set. `standing` is its author's default. */
  otherwise: 'standing' | 'none' | { fixed: BoundValue };
  /** It must end up with a value: sent, fixed, or its default. */
  required: boolean;
  /** The viewer must send a value. */
  mustSend: boolean;
}

/** The rules of one viewer. */
export interface ViewerRules {
  /** By slug. */
  rules: ReadonlyMap<string, Rule>;
  /** What the viewer is held to, by slug; undefined where no filter stands for it any more. */
  held: ReadonlyMap<string, BoundValue | undefined>;
  /** Ids of visualizations that what the viewer is held to does not reach, though it is about them: they are not shown. */
  refused: ReadonlySet<string>;
  /** What an embed does not allow is a violation, whether there is such a thing or not: names are not for guessing. */
  allowedOnly: boolean;
  /** Terms that cannot be kept, because what they speak of is gone or has changed: nothing may be shown then. */
  unkept: readonly string[];
}

/** Combines a viewer's terms into what they may choose, what is fixed and what is bound. */
export function viewerRules(dimensions: readonly Dimension[], terms: Terms = {}): ViewerRules {
  const rules = new Map(dimensions.map((dimension) => [dimension.slug, initialRule(dimension, terms)]));
  const narrowing = new Set<string>();
  for (const policy of terms.policies ?? []) {
    const { filter_slug: slug, mode } = policy;
    const rule = rules.get(slug);
    if (rule && (mode === 'hidden' || isChoice(rule.dimension.kind))) rules.set(slug, narrowed(rule, policy));
    if (mode !== 'hidden') narrowing.add(slug);
  }
  const fixed = Object.entries(terms.embed?.fixed ?? {}).filter(([, value]) => !isNoValue(value));
  const slugs = new Set([...narrowing, ...fixed.map(([slug]) => slug)]);

  const held = new Map<string, BoundValue | undefined>();
  const refused = new Set<string>();
  const unkept: string[] = [];
  for (const slug of slugs) {
    const rule = rules.get(slug);
    const { reaches = [], misses = [], origin = 'parameter', kind = 'text' } = rule?.dimension ?? {};
    // A policy is about a filter: where that is gone, or no choice any more, the parameters of its name are left to nobody.
    const bound = rule !== undefined && !(narrowing.has(slug) && (origin === 'parameter' || !isChoice(kind)));
    held.set(slug, bound && origin === 'filter' ? heldTo(rule) : undefined);
    const left = bound ? misses : [...reaches, ...misses];
    for (const id of left) refused.add(id);
    if (!bound && left.length === 0) unkept.push(slug);
  }
  return { rules, held, refused, allowedOnly: terms.embed !== undefined, unkept };
}

function initialRule(dimension: Dimension, { embed, parametersOpen }: Terms): Rule {
  const { slug, kind, required } = dimension;
  const rule: Rule = { dimension, access: 'open', allowed: null, otherwise: 'standing', required, mustSend: false };
  if (!embed) return dimension.origin === 'filter' || parametersOpen ? rule : { ...rule, access: 'closed' };
  if (Object.hasOwn(embed.fixed, slug)) {
    const fixed = coerceParameter(kind, embed.fixed[slug]);
    // A value that was right when the token was made, for a kind that changed since.
    if ('problem' in fixed) return { ...rule, access: 'closed', allowed: [], otherwise: 'none' };
    return { ...rule, access: 'closed', otherwise: { fixed: fixed.value } };
  }
  if (!embed.allowed.includes(slug)) return { ...rule, access: 'closed' };
  return { ...rule, mustSend: embed.required.includes(slug) };
}

/** The rule with one more policy: what is allowed by both, and open only where both leave it open. */
function narrowed(rule: Rule, { mode, allowed_values }: FilterPolicy): Rule {
  if (mode === 'hidden') {
    return { ...rule, access: 'closed', otherwise: typeof rule.otherwise === 'object' ? rule.otherwise : 'none' };
  }
  const allowed = [...new Set(allowed_values)].filter((value) => rule.allowed?.includes(value) ?? true);
  return { ...rule, allowed, access: mode === 'locked' ? 'closed' : rule.access };
}

/**
 * The values that a viewer's request runs with. Whatever is sent, a dimension that is narrowed is bound to a part of what
 * is allowed: an empty list where nothing is, which lets no row through (see `isNothing`).
 * @returns a value for every dimension; those of origin `parameter` that nobody set are left out, since each
 *   visualization has its own default
 */
export function boundValues(
  { rules, allowedOnly, unkept }: ViewerRules,
  sent: Readonly<Record<string, unknown>>,
): BoundValues {
  if (unkept.length > 0) throw policyViolation();
  const slugs = Object.keys(sent);
  if (slugs.length > MAX_PARAMETERS) {
    throw invalid([{ field: 'parameters', message: `must hold at most ${MAX_PARAMETERS} parameters` }]);
  }
  const closed = slugs.find((slug) => (rules.has(slug) ? rules.get(slug)?.access === 'closed' : allowedOnly));
  if (closed !== undefined) throw policyViolation(closed);

  const problems: FieldProblem[] = slugs
    .filter((slug) => !rules.has(slug))
    .map((slug) => ({ field: `parameters.${cut(slug, 63)}`, message: 'is not a parameter of this' }));
  const values = new Map<string, BoundValue>();
  for (const [slug, rule] of rules) {
    const input = Object.hasOwn(sent, slug) ? sent[slug] : undefined;
    const chosen = coerceParameter(rule.dimension.kind, input);
    if ('problem' in chosen) {
      problems.push({ field: `parameters.${slug}`, message: chosen.problem });
      continue;
    }
    const value = chosen.value === null ? unchosen(rule, input) : choice(rule, chosen.value);
    if (rule.mustSend ? chosen.value === null : rule.required && value === null) problems.push(missing(rule));
    if (value !== undefined) values.set(slug, value);
  }
  if (problems.length > 0) throw invalid(problems);
  return values;
}

/** Names of what is closed are not for the viewer. */
const missing = ({ access, dimension: { slug } }: Rule): FieldProblem =>
  access === 'open'
    ? { field: `parameters.${slug}`, message: 'is required' }
    : { field: 'parameters', message: 'cannot hold something that is required: it is not to be chosen here' };

/** What the viewer chose, if it is among what is allowed. */
function choice({ dimension, allowed }: Rule, value: BoundValue): BoundValue {
  if (allowed === null) return value;
  const kept = value?.type === 'list' && value.values.every((chosen) => allowed.includes(chosen));
  if (!kept) throw policyViolation(dimension.slug);
  return value;
}

/** What a rule binds to, whatever the viewer sends: all that is allowed, or what is fixed. Null when that is anything. */
function heldTo({ otherwise, allowed }: Rule): BoundValue {
  if (typeof otherwise === 'object') return within(otherwise.fixed, allowed);
  return allowed && { type: 'list', values: [...allowed] };
}

/** The value of what the viewer left out, or sent as no value; undefined where each visualization has its own. */
function unchosen(rule: Rule, input: unknown): BoundValue | undefined {
  const { dimension, access, allowed, otherwise, required } = rule;
  if (allowed !== null || typeof otherwise === 'object') return heldTo(rule);
  if (otherwise === 'none') return null;
  // Sending no value takes the default away, unless there must be one.
  if (access === 'open' && input !== undefined && !required) return null;
  return dimension.origin === 'parameter' ? undefined : defaultOf(dimension);
}

/** A fixed value as far as policies allow it. No value means all that is allowed. */
function within(value: BoundValue, allowed: readonly string[] | null): BoundValue {
  if (allowed === null) return value;
  if (value === null) return { type: 'list', values: [...allowed] };
  return { type: 'list', values: value.type === 'list' ? value.values.filter((each) => allowed.includes(each)) : [] };
}

/** Whether a value lets no row through: SQL that it is bound to need not run, and must not give any. */
export const isNothing = (value: BoundValue | undefined): boolean =>
  value?.type === 'list' && value.values.length === 0;

/** A filter as its viewer sees it. */
export interface UsableFilter {
  dimension: Dimension;
  allowed: readonly string[] | null;
  /** The default, where the viewer may choose it; else null. As a caller would send it. */
  default: unknown;
  required: boolean;
}

/** The dimensions that a viewer may use, in their order. Without `parameters`, only filters. */
export function usableFilters({ rules }: ViewerRules): UsableFilter[] {
  return [...rules.values()]
    .filter(({ access }) => access === 'open')
    .map(({ dimension, allowed, required, mustSend }) => ({
      dimension,
      allowed,
      required: required || mustSend,
      default: narrowedDefault(dimension, allowed),
    }));
}

function narrowedDefault({ kind, default: standing }: Dimension, allowed: readonly string[] | null): unknown {
  if (isNoValue(standing)) return null;
  if (allowed === null) return standing;
  const value = coerceParameter(kind, standing);
  const kept = 'value' in value && value.value?.type === 'list' && value.value.values.every((v) => allowed.includes(v));
  return kept ? standing : null;
}

/** Which options of a filter a viewer may see. */
export interface OptionsRule {
  /** The values that are left; null for all. */
  allowed: readonly string[] | null;
  /** What the SQL of the options is bound to, by the slugs of other filters; null when it may not run for this viewer. */
  bound: BoundValues | null;
}

/**
 * What a viewer may see of a filter's options. Their SQL shows what the viewer is held to elsewhere and no more: SQL that
 * does not use something of it would show what that hides, and does not run. Values that a policy names are shown all the same.
 * @param uses the slugs that the SQL of the options uses with these values; null where there is none
 */
export function optionsRule(
  { rules, held, unkept }: ViewerRules,
  slug: string,
  uses: ((values: BoundValues) => ReadonlySet<string>) | null,
): OptionsRule {
  const rule = rules.get(slug);
  if (!rule || !isChoice(rule.dimension.kind)) {
    throw filterNotFound();
  }
  const others = [...held].filter(([other]) => other !== slug);
  const bound = new Map(others.map(([other, value]) => [other, value ?? null]));
  const used = uses?.(bound);
  const isBound = !used || others.every(([other, value]) => value !== undefined && used.has(other));
  if (rule.access === 'closed' || unkept.length > 0 || (!isBound && rule.allowed === null)) {
    throw filterDisabled();
  }
  return { allowed: rule.allowed, bound: isBound ? bound : null };
}

/**
 * The bound values as one text: equal for two viewers exactly when they are bound to the same. A cache key made of it
 * (and of what is executed, with its version) leaves no constraint out.
 */
export function canonicalValues(values: BoundValues): string {
  const entries = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries.map(([slug, value]) => [slug, value && canonical(value)]));
}

function canonical(value: NonNullable<BoundValue>): unknown {
  if (value.type === 'list') return ['list', ...value.values.toSorted()];
  return value.type === 'range' ? ['range', value.from, value.to] : [value.type, value.value];
}

/** @param slug only one that the viewer sent: others may be names that the viewer must not learn */
export const policyViolation = defineFailure('sharing.policy_violation', {
  kind: 'forbidden',
  detail: (slug?: string) => ({
    message: 'The parameters are not among those that may be chosen here.',
    ...(slug !== undefined && { filter_slug: slug }),
  }),
  says: { sharing: 'SHARE_FILTER_POLICY_VIOLATION' },
});

export const filterNotFound = defineFailure('sharing.filter_not_found', {
  kind: 'missing',
  detail: { message: 'There is no such filter with options.' },
  says: { sharing: 'NOT_FOUND' },
});

export const filterDisabled = defineFailure('sharing.filter_disabled', {
  kind: 'forbidden',
  detail: { message: 'This filter is not available.' },
  says: { sharing: 'FILTER_DISABLED_BY_POLICY' },
});
