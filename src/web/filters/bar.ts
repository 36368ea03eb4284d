import type { ViewFilter } from '../../presentation/viewing.ts';
import { h } from '../dom.ts';
import type { Source } from '../source.ts';
import { TEXTS } from '../texts.ts';
import { listMissing, type ParameterValues } from '../values.ts';
import { type Control, dateControl, dateRangeControl, inputControl } from './inputs.ts';
import { pickerControl } from './picker.ts';

/** The filters at the top of a page. */
export interface FilterBar {
  element: HTMLElement;
  set(values: ParameterValues): void;
  /** Marks the required filters that have no value. */
  markMissing(values: ParameterValues): void;
  /** Each filter with its value in words, such as `State: Texas`. */
  listTexts(): string[];
}

/** @param choose called with a slug and the chosen value @param reset called when the defaults are wanted back */
export function filterBar(
  filters: readonly ViewFilter[],
  source: Source,
  choose: (slug: string, value: unknown) => void,
  reset: () => void,
): FilterBar {
  const controls = filters.map((filter) => [filter.slug, buildControl(filter, source, choose)] as const);
  return {
    element: h(
      'form',
      { class: 'filters', 'aria-label': TEXTS.filters, onsubmit: (event: Event) => event.preventDefault() },
      ...controls.map(([, { element }]) => element),
      h('button', { type: 'button', class: 'quiet reset', onclick: reset }, TEXTS.reset),
    ),
    set(values) {
      for (const [slug, control] of controls) control.set(values[slug]);
    },
    markMissing(values) {
      const missing = new Set(listMissing(filters, values).map(({ slug }) => slug));
      for (const [slug, control] of controls) control.markMissing(missing.has(slug));
    },
    listTexts: () => controls.map(([, control], at) => `${filters[at]?.label}: ${control.getText() || TEXTS.all}`),
  };
}

function buildControl(filter: ViewFilter, source: Source, choose: (slug: string, value: unknown) => void): Control {
  const take = (value: unknown) => choose(filter.slug, value);
  switch (filter.kind) {
    case 'select':
    case 'multi_select':
      return pickerControl(filter, (search, signal) => source.options(filter.slug, search, signal), take);
    case 'date':
      return dateControl(filter, take);
    case 'date_range':
      return dateRangeControl(filter, take);
    default:
      return inputControl(filter, take);
  }
}
