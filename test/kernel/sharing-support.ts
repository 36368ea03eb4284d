import type { Dimension, FilterPolicy, PolicyMode, Terms } from '../../src/kernel/sharing-rules.ts';

/** A dimension that takes any number of values, unless told otherwise. */
export const dimension = (slug: string, overrides: Partial<Dimension> = {}): Dimension => ({
  slug,
  label: slug,
  kind: 'multi_select',
  default: null,
  required: false,
  origin: 'filter',
  takesList: true,
  reaches: [],
  misses: [],
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
export const embed = (terms: Partial<NonNullable<Terms['embed']>>) => ({
  embed: { fixed: {}, allowed: [], required: [], ...terms },
});

/** A bound list. */
export const list = (...values: string[]) => ({ type: 'list', values });
