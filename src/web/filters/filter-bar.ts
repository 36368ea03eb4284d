import type { ViewFilter } from '../../presentation/viewing.ts';
import { h } from '../dom.ts';
import type { Source } from '../source.ts';
import { TEXTS } from '../texts.ts';
import { listMissing, type ParameterValues } from '../values.ts';
import { createDateControl, createDateRangeControl, createInputControl, type FilterControl } from './inputs.ts';
import { createPickerControl } from './picker.ts';

/** The filters at the top of a page. */
export interface FilterBar {
  element: HTMLElement;
  setValues(values: ParameterValues): void;
  /** Marks the required filters that have no value. */
  markMissing(values: ParameterValues): void;
  /** Returns each filter with its value as text, such as `State: Texas`. */
  listTexts(): string[];
}

/** Creates the filter bar. @param onChoose called with a slug and the value @param resetFilters called to restore the defaults */
export function createFilterBar(
  filters: readonly ViewFilter[],
  source: Source,
  onChoose: (slug: string, value: unknown) => void,
  resetFilters: () => void,
): FilterBar {
  const controls = filters.map((filter) => [filter.slug, buildControl(filter, source, onChoose)] as const);
  return {
    element: h(
      'form',
      { class: 'filters', 'aria-label': TEXTS.filters, onsubmit: (event: Event) => event.preventDefault() },
      ...controls.map(([, { element }]) => element),
      h('button', { type: 'button', class: 'quiet reset', onclick: resetFilters }, TEXTS.reset),
    ),
    setValues(values) {
      for (const [slug, control] of controls) control.setValue(values[slug]);
    },
    markMissing(values) {
      const missingSlugs = new Set(listMissing(filters, values).map(({ slug }) => slug));
      for (const [slug, control] of controls) control.markMissing(missingSlugs.has(slug));
    },
    listTexts: () => controls.map(([, control], at) => `${filters[at]?.label}: ${control.getText() || TEXTS.all}`),
  };
}

function buildControl(
  filter: ViewFilter,
  source: Source,
  onChoose: (slug: string, value: unknown) => void,
): FilterControl {
  const chooseValue = (value: unknown) => onChoose(filter.slug, value);
  switch (filter.kind) {
    case 'select':
    case 'multi_select':
      return createPickerControl(
        filter,
        (search, signal) => source.readOptions(filter.slug, search, signal),
        chooseValue,
      );
    case 'date':
      return createDateControl(filter, chooseValue);
    case 'date_range':
      return createDateRangeControl(filter, chooseValue);
    default:
      return createInputControl(filter, chooseValue);
  }
}
