import type { ViewFilter } from '../../presentation/viewing.ts';
import { createUniqueId, debounce, h } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';
import { areEqual, toRange } from '../values.ts';
import {
  type DateRange,
  formatDate,
  isBackwardsRange,
  makePresetRange,
  PRESETS,
  type Preset,
  parseTypedDate,
} from './dates.ts';
import { formatNumber, parseTypedNumber } from './numbers.ts';

/** The form control of a filter. */
export interface FilterControl {
  element: HTMLElement;
  /** Sets a value that the viewer did not enter here: from a reset, the address, or the host page of an embed. */
  setValue(value: unknown): void;
  /** Marks the control as required but empty. */
  markMissing(isMissing: boolean): void;
  /** Returns the control's value as text; empty without a value. */
  getText(): string;
}

/** Callback for a value that the viewer chose. */
export type OnChoose = (value: unknown) => void;

/** The pause in typing after which a typed value is applied. Milliseconds. */
const TYPING_PAUSE_MS = 450;

/** Creates a control to type a text or a number. */
export function createInputControl({ slug, label, kind, required }: ViewFilter, onChoose: OnChoose): FilterControl {
  const id = createUniqueId(slug);
  let chosenValue = '';
  const input = h('input', {
    id,
    type: 'text',
    inputmode: kind === 'number' && 'decimal',
    autocomplete: 'off',
    maxlength: 1000,
    'aria-required': required && 'true',
    oninput: debounce(TYPING_PAUSE_MS, chooseTypedValue),
    onchange: chooseTypedValue,
  });
  function chooseTypedValue(): void {
    const text = kind === 'number' ? parseTypedNumber(input.value, LOCALE) : input.value;
    if (text === chosenValue) return;
    chosenValue = text;
    onChoose(text === '' ? null : text);
  }
  return {
    element: h('div', { class: 'filter' }, buildLabel(id, label, required), input),
    setValue(value) {
      chosenValue = String(value ?? '');
      input.value = kind === 'number' ? formatNumber(chosenValue, LOCALE) : chosenValue;
    },
    markMissing: (isMissing) => input.setAttribute('aria-invalid', String(isMissing)),
    getText: () => input.value,
  };
}

interface DateField {
  element: HTMLElement;
  input: HTMLInputElement;
  /** Returns the value in the API's form; empty without a value, undefined for a text that is not a date. */
  readValue(): string | undefined;
  setDate(value: string): void;
}

/**
 * Creates a date field in the format of the page's language, which the browser's own field does not follow. The browser's
 * calendar opens from the end of the field.
 */
function createDateField(attributes: Parameters<typeof h>[1], onInput: () => void): DateField {
  const handleChange = () => {
    calendarInput.value = readValue() ?? '';
    onInput();
  };
  const input = h('input', {
    type: 'text',
    autocomplete: 'off',
    maxlength: 20,
    placeholder: TEXTS.dateForm,
    // Until a date is whole, it is being typed.
    oninput: debounce(TYPING_PAUSE_MS, () => readValue() !== undefined && handleChange()),
    onchange: handleChange,
    ...attributes,
  });
  const calendarInput = h('input', { type: 'date', class: 'calendar', tabindex: -1, 'aria-hidden': 'true' });
  calendarInput.addEventListener('change', () => {
    setDate(calendarInput.value);
    onInput();
  });
  const readValue = () => (input.value.trim() === '' ? '' : parseTypedDate(input.value, LOCALE));
  function setDate(isoDate: string): void {
    input.value = formatDate(isoDate, LOCALE);
    calendarInput.value = readValue() ?? '';
  }
  return { element: h('div', { class: 'date' }, input, calendarInput), input, readValue, setDate };
}

/** Creates the element below date fields that shows their problem. */
const createProblemElement = () => h('p', { class: 'error', role: 'alert' });

const formatNoDateMessage = (): string => TEXTS.noDate(formatDate('2026-12-31', LOCALE));

/** Creates a control with a field for one date. */
export function createDateControl({ slug, label, required }: ViewFilter, onChoose: OnChoose): FilterControl {
  const id = createUniqueId(slug);
  let chosenValue = '';
  const field = createDateField({ id, 'aria-required': required && 'true' }, chooseTypedDate);
  const problemElement = createProblemElement();
  function chooseTypedDate(): void {
    const value = field.readValue();
    markInvalid(value === undefined);
    problemElement.textContent = value === undefined ? formatNoDateMessage() : '';
    if (value === undefined || value === chosenValue) return;
    chosenValue = value;
    onChoose(value === '' ? null : value);
  }
  const markInvalid = (isInvalid: boolean) => field.input.setAttribute('aria-invalid', String(isInvalid));
  return {
    element: h('div', { class: 'filter' }, buildLabel(id, label, required), field.element, problemElement),
    setValue(value) {
      chosenValue = String(value ?? '');
      problemElement.textContent = '';
      field.setDate(chosenValue);
    },
    markMissing: (isMissing) => markInvalid(isMissing || field.readValue() === undefined),
    getText: () => formatDate(chosenValue, LOCALE),
  };
}

/** Creates a control with two date fields, either of which may be empty, and a list of often-chosen ranges. */
export function createDateRangeControl({ slug, label, required }: ViewFilter, onChoose: OnChoose): FilterControl {
  const titleId = createUniqueId(slug);
  const end = (name: string) =>
    createDateField({ 'aria-label': name, 'aria-required': required && 'true' }, chooseTypedRange);
  const [from, to] = [end(TEXTS.rangeStart(label)), end(TEXTS.rangeEnd(label))];
  const problemElement = createProblemElement();
  const presetSelect = h(
    'select',
    { 'aria-label': TEXTS.presetsOf(label), onchange: choosePreset },
    h('option', { value: '' }, TEXTS.anyDate),
    ...PRESETS.map((preset) => h('option', { value: preset }, TEXTS.presets[preset])),
    h('option', { value: 'own' }, TEXTS.ownDates),
  );
  let chosenRange: unknown = null;

  function chooseTypedRange(): void {
    const range = { from: from.readValue(), to: to.readValue() };
    const isValid = range.from !== undefined && range.to !== undefined;
    problemElement.textContent = !isValid
      ? formatNoDateMessage()
      : isBackwardsRange(range as DateRange)
        ? TEXTS.backwards(label)
        : '';
    presetSelect.value = findPreset(range);
    markMissing(false);
    const value = isValid ? toRange(range.from as string, range.to as string) : chosenRange;
    if (areEqual(value, chosenRange)) return;
    chosenRange = value;
    onChoose(value);
  }

  function choosePreset(): void {
    if (presetSelect.value === 'own') {
      from.input.focus();
      return;
    }
    const range: DateRange = presetSelect.value === '' ? {} : makePresetRange(presetSelect.value as Preset, new Date());
    from.setDate(range.from ?? '');
    to.setDate(range.to ?? '');
    chooseTypedRange();
  }

  function markMissing(isMissing: boolean): void {
    for (const { input, readValue: readDate } of [from, to]) {
      const isInvalid =
        isMissing || readDate() === undefined || isBackwardsRange({ from: from.readValue(), to: to.readValue() });
      input.setAttribute('aria-invalid', String(isInvalid));
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
        h('div', { class: 'select' }, presetSelect),
        from.element,
        h('span', { 'aria-hidden': 'true' }, '–'),
        to.element,
      ),
      problemElement,
    ),
    setValue(value) {
      const range = (value ?? {}) as DateRange;
      chosenRange = value;
      from.setDate(range.from ?? '');
      to.setDate(range.to ?? '');
      presetSelect.value = findPreset(range);
      problemElement.textContent = isBackwardsRange(range) ? TEXTS.backwards(label) : '';
    },
    markMissing,
    getText: () => {
      const { from: start = '', to: last = '' } = (chosenRange ?? {}) as DateRange;
      return start || last ? `${formatDate(start, LOCALE)} – ${formatDate(last, LOCALE)}`.trim() : '';
    },
  };
}

/** Returns the preset whose range at this time equals the given dates. */
function findPreset({
  from = '',
  to = '',
}: {
  from?: string | undefined;
  to?: string | undefined;
}): Preset | '' | 'own' {
  if (from === '' && to === '') return '';
  const now = new Date();
  return PRESETS.find((preset) => areEqual(makePresetRange(preset, now), { from, to })) ?? 'own';
}

/** Builds the label of the field with the given id. */
export const buildLabel = (id: string, label: string, isRequired: boolean): HTMLLabelElement =>
  h('label', { for: id }, label, isRequired && h('span', { 'aria-hidden': 'true' }, ' *'));
