import type { ViewFilter } from '../../presentation/viewing.ts';
import { debounced, h, uniqueId } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';
import { rangeOf } from '../values.ts';
import { shownNumber, typedNumber } from './numbers.ts';

/** The form control of a filter. */
export interface Control {
  element: HTMLElement;
  /** Sets a value that comes from elsewhere: a reset, the address, or the page around an embedded one. */
  set(value: unknown): void;
  /** Marks the control as required but empty. */
  demand(missing: boolean): void;
}

/** Called when the viewer chose a value. */
export type Choose = (value: unknown) => void;

/** Typing is applied after this pause. */
const TYPING_MS = 450;

/** A field for a text, number or date. */
export function inputControl({ slug, label, kind, required }: ViewFilter, choose: Choose): Control {
  const id = uniqueId(slug);
  let chosen = '';
  const input = h('input', {
    id,
    type: kind === 'date' ? 'date' : 'text',
    inputmode: kind === 'number' && 'decimal',
    autocomplete: 'off',
    maxlength: 1000,
    'aria-required': required && 'true',
    oninput: debounced(TYPING_MS, take),
    onchange: take,
  });
  function take(): void {
    const text = kind === 'number' ? typedNumber(input.value, LOCALE) : input.value;
    if (text === chosen) return;
    chosen = text;
    choose(text === '' ? null : text);
  }
  return {
    element: h('div', { class: 'filter' }, labelOf(id, label, required), input),
    set(value) {
      chosen = value === null || value === undefined ? '' : String(value);
      input.value = kind === 'number' ? shownNumber(chosen, LOCALE) : chosen;
    },
    demand: (missing) => input.setAttribute('aria-invalid', String(missing)),
  };
}

/** Two fields for dates, either of which may be empty. */
export function dateRangeControl({ slug, label, required }: ViewFilter, choose: Choose): Control {
  const titleId = uniqueId(slug);
  const end = (name: string) =>
    h('input', {
      type: 'date',
      'aria-label': name,
      'aria-required': required && 'true',
      onchange: take,
    });
  const from = end(TEXTS.rangeStart(label));
  const to = end(TEXTS.rangeEnd(label));
  function take(): void {
    // Neither end may pass the other; the browser marks the invalid one.
    from.max = to.value;
    to.min = from.value;
    if (from.checkValidity() && to.checkValidity()) choose(rangeOf(from.value, to.value));
  }
  return {
    element: h(
      'div',
      { class: 'filter range', role: 'group', 'aria-labelledby': titleId },
      h('span', { class: 'label', id: titleId }, label, required && ' *'),
      h('div', { class: 'ends' }, from, h('span', { 'aria-hidden': 'true' }, '–'), to),
    ),
    set(value) {
      const range = (value ?? {}) as { from?: string; to?: string };
      from.value = range.from ?? '';
      to.value = range.to ?? '';
      from.max = to.value;
      to.min = from.value;
    },
    demand: (missing) => {
      for (const input of [from, to]) input.setAttribute('aria-invalid', String(missing));
    },
  };
}

/** The label of the field with this id. */
export const labelOf = (id: string, label: string, required: boolean): HTMLLabelElement =>
  h('label', { for: id }, label, required && h('span', { 'aria-hidden': 'true' }, ' *'));
