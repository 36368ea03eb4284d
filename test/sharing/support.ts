import type { FilterPolicy, Input, PolicyMode, ViewerTerms } from '../../src/sharing/filter-policy.ts';

/** Creates an input that accepts any number of values, except for the overrides. */
export const makeInput = (slug: string, overrides: Partial<Input> = {}): Input => ({
  slug,
  label: slug,
  kind: 'multi_select',
  default: null,
  required: false,
  origin: 'filter',
  takesList: true,
  appliesTo: [],
  skippedIds: [],
  viewerAttributes: [],
  unboundIds: [],
  ...overrides,
});

/** Creates a policy for a multi_select filter. */
export const makePolicy = (slug: string, mode: PolicyMode, ...allowed_values: string[]): FilterPolicy => ({
  filter_slug: slug,
  filter_kind: 'multi_select',
  mode,
  allowed_values,
});

/** Creates the terms of an embed, empty except for `terms`. */
export const makeEmbedTerms = (terms: Partial<NonNullable<ViewerTerms['embed']>>) => ({
  embed: { fixedValues: {}, allowedSlugs: [], requiredSlugs: [], ...terms },
});

/** Creates a bound list of values. */
export const makeList = (...values: string[]) => ({ type: 'list', values });
