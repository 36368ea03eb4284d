import type { ViewFilter } from '../../presentation/viewing.ts';
import { debounced, h, uniqueId } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';
import { areEqual, toRange } from '../values.ts';
import { type DateRange, isBackwards, PRESETS, type Preset, presetRange, shownDate, typedDate } from './dates.ts';
import { shownNumber, typedNumber } from './numbers.ts';

/** The form control of a filter. */
export interface Control {
  element: HTMLElement;
  /** Sets a value that comes from elsewhere: a reset, the address, or the page around an embedded one. */
  set(value: unknown): void;
  /** Marks the control as required but empty. */
  markMissing(missing: boolean): void;
  /** The control's value as people read it; empty without one. */
  getText(): string;
}

/** Called when the viewer chose a value. */
export type Choose = (value: unknown) => void;

/** Typing is applied after this pause. */
const TYPING_MS = 450;

/** A field for a text or a number. */
export function inputControl({ slug, label, kind, required }: ViewFilter, choose: Choose): Control {
  const id = uniqueId(slug);
  let chosen = '';
  const input = h('input', {
    id,
    type: 'text',
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
    element: h('div', { class: 'filter' }, buildLabel(id, label, required), input),
    set(value) {
      chosen = value === null || value === undefined ? '' : String(value);
      input.value = kind === 'number' ? shownNumber(chosen, LOCALE) : chosen;
    },
    markMissing: (missing) => input.setAttribute('aria-invalid', String(missing)),
    getText: () => input.value,
  };
}

interface DateField {
  element: HTMLElement;
  input: HTMLInputElement;
  /** The value in the API's form; empty without one, undefined for a text that is no date. */
  value(): string | undefined;
  set(value: string): void;
}

/** A date as the page's language writes it, which the browser's own field does not; its calendar opens at the end. */
function dateField(attributes: Parameters<typeof h>[1], took: () => void): DateField {
  const change = () => {
    calendar.value = value() ?? '';
    took();
  };
  const input = h('input', {
    type: 'text',
    autocomplete: 'off',
    maxlength: 20,
    placeholder: TEXTS.dateForm,
    // Until a date is whole, it is being typed.
    oninput: debounced(TYPING_MS, () => value() !== undefined && change()),
    onchange: change,
    ...attributes,
  });
  const calendar = h('input', { type: 'date', class: 'calendar', tabindex: -1, 'aria-hidden': 'true' });
  calendar.addEventListener('change', () => {
    set(calendar.value);
    took();
  });
  const value = () => (input.value.trim() === '' ? '' : typedDate(input.value, LOCALE));
  function set(iso: string): void {
    input.value = shownDate(iso, LOCALE);
    calendar.value = value() ?? '';
  }
  return { element: h('div', { class: 'date' }, input, calendar), input, value, set };
}

/** The element below date fields for their problem. */
const dateProblem = () => h('p', { class: 'error', role: 'alert' });

const noDate = (): string => TEXTS.noDate(shownDate('2026-12-31', LOCALE));

/** A field for one date. */
export function dateControl({ slug, label, required }: ViewFilter, choose: Choose): Control {
  const id = uniqueId(slug);
  let chosen = '';
  const field = dateField({ id, 'aria-required': required && 'true' }, take);
  const problem = dateProblem();
  function take(): void {
    const value = field.value();
    mark(value === undefined);
    problem.textContent = value === undefined ? noDate() : '';
    if (value === undefined || value === chosen) return;
    chosen = value;
    choose(value === '' ? null : value);
  }
  const mark = (isWrong: boolean) => field.input.setAttribute('aria-invalid', String(isWrong));
  return {
    element: h('div', { class: 'filter' }, buildLabel(id, label, required), field.element, problem),
    set(value) {
      chosen = value === null || value === undefined ? '' : String(value);
      problem.textContent = '';
      field.set(chosen);
    },
    markMissing: mark,
    getText: () => field.input.value,
  };
}

/** Two fields for dates, either of which may be empty, and the ranges that people often choose. */
export function dateRangeControl({ slug, label, required }: ViewFilter, choose: Choose): Control {
  const titleId = uniqueId(slug);
  const end = (name: string) => dateField({ 'aria-label': name, 'aria-required': required && 'true' }, take);
  const [from, to] = [end(TEXTS.rangeStart(label)), end(TEXTS.rangeEnd(label))];
  const problem = dateProblem();
  const preset = h(
    'select',
    { 'aria-label': TEXTS.presetsOf(label), onchange: takePreset },
    h('option', { value: '' }, TEXTS.anyDate),
    ...PRESETS.map((each) => h('option', { value: each }, TEXTS.presets[each])),
    h('option', { value: 'own' }, TEXTS.ownDates),
  );
  let chosen: unknown = null;

  function take(): void {
    const range = { from: from.value(), to: to.value() };
    const isWhole = range.from !== undefined && range.to !== undefined;
    problem.textContent = !isWhole ? noDate() : isBackwards(range as DateRange) ? TEXTS.backwards(label) : '';
    preset.value = findPreset(range);
    markMissing(false);
    const value = isWhole ? toRange(range.from as string, range.to as string) : chosen;
    if (areEqual(value, chosen)) return;
    chosen = value;
    choose(value);
  }

  function takePreset(): void {
    if (preset.value === 'own') {
      from.input.focus();
      return;
    }
    const range: DateRange = preset.value === '' ? {} : presetRange(preset.value as Preset, new Date());
    from.set(range.from ?? '');
    to.set(range.to ?? '');
    take();
  }

  function markMissing(missing: boolean): void {
    for (const { input, value } of [from, to]) {
      const isWrong = missing || value() === undefined || isBackwards({ from: from.value(), to: to.value() });
      input.setAttribute('aria-invalid', String(isWrong));
    }
  }

  return {
    element: h(
      'div',
      { class: 'filter range', role: 'group', 'aria-labelledby': titleId },
      h('span', { class: 'label', id: titleId }, label, required && ' *'),
      h(
        'div',
        { class: 'ends' },
        h('div', { class: 'select' }, preset),
        from.element,
        h('span', { 'aria-hidden': 'true' }, '–'),
        to.element,
      ),
      problem,
    ),
    set(value) {
      const range = (value ?? {}) as DateRange;
      chosen = value;
      from.set(range.from ?? '');
      to.set(range.to ?? '');
      preset.value = findPreset(range);
      problem.textContent = isBackwards(range) ? TEXTS.backwards(label) : '';
    },
    markMissing,
    getText: () =>
      [from, to].some(({ input }) => input.value !== '') ? `${from.input.value} – ${to.input.value}`.trim() : '',
  };
}

/** The preset that stands for these days now. */
function findPreset({
  from = '',
  to = '',
}: {
  from?: string | undefined;
  to?: string | undefined;
}): Preset | '' | 'own' {
  if (from === '' && to === '') return '';
  const now = new Date();
  return PRESETS.find((each) => areEqual(presetRange(each, now), { from, to })) ?? 'own';
}

/** The label of the field with this id. */
export const buildLabel = (id: string, label: string, required: boolean): HTMLLabelElement =>
  h('label', { for: id }, label, required && h('span', { 'aria-hidden': 'true' }, ' *'));
