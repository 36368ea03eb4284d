import type { FilterPolicy, Input, PolicyMode, ViewerTerms } from '../../src/sharing/terms.ts';

/** An input that takes any number of values, unless told otherwise. */
export const input = (slug: string, overrides: Partial<Input> = {}): Input => ({
  slug,
  label: slug,
  kind: 'multi_select',
  default: null,
  required: false,
  origin: 'filter',
  takesList: true,
  appliesTo: [],
  skips: [],
  viewerAttributes: [],
  unbound: [],
  ...overrides,
});

/** A policy of a multi_select. */
export const policy = (slug: string, mode: PolicyMode, ...allowed_values: string[]): FilterPolicy => ({
  filter_slug: slug,
  filter_kind: 'multi_select',
  mode,
  allowed_values,
});

/** The terms of an embed, empty unless told otherwise. */
export const embed = (terms: Partial<NonNullable<ViewerTerms['embed']>>) => ({
  embed: { fixed: {}, allowed: [], required: [], ...terms },
});

/** A bound list. */
export const list = (...values: string[]) => ({ type: 'list', values });
