import type { ViewFilter, ViewOptions } from '../../presentation/viewing.ts';
import { ApiProblem, formatFailure } from '../api.ts';
import { createUniqueId, debounce, h } from '../dom.ts';
import { formatList, TEXTS } from '../texts.ts';
import type { FilterControl, OnChoose } from './inputs.ts';
import { createOptionList } from './option-list.ts';

/** The pause in typing after which options are requested. Milliseconds. */
const TYPING_PAUSE_MS = 200;

/** A function that requests the options that contain a text. */
export type RequestOptions = (search: string, signal: AbortSignal) => Promise<ViewOptions>;

/**
 * Creates a control to choose one or several options that the server searches: a button with the chosen ones, and a panel with a
 * search field above a list box. Arrow keys move, Enter chooses, Escape closes.
 */
export function createPickerControl(
  filter: ViewFilter,
  requestOptions: RequestOptions,
  onChoose: OnChoose,
): FilterControl {
  const { slug, label, required } = filter;
  const isMultiple = filter.kind === 'multi_select';
  let chosenValues: string[] = [];
  const labels = new Map<string, string>();
  let pendingRequest = new AbortController();
  /** True if the server has no list of options: the typed text is the value. */
  let isFreeText = false;

  const [buttonId, labelId, listId] = [createUniqueId(slug), createUniqueId(slug), createUniqueId(slug)];
  const chosenText = h('span', { class: 'said' });
  const button = h(
    'button',
    {
      type: 'button',
      id: buttonId,
      class: 'picker',
      'aria-haspopup': 'dialog',
      'aria-expanded': 'false',
      onclick: togglePanel,
    },
    chosenText,
  );
  button.setAttribute('aria-labelledby', `${labelId} ${buttonId}`);
  const list = createOptionList(listId, label, isMultiple, (value) => pickOption(value));
  const searchInput = h('input', {
    type: 'text',
    role: 'combobox',
    autocomplete: 'off',
    placeholder: TEXTS.search,
    'aria-label': TEXTS.searchIn(label),
    'aria-expanded': 'true',
    'aria-controls': listId,
    'aria-autocomplete': 'list',
    oninput: debounce(TYPING_PAUSE_MS, () => void loadOptions()),
    onkeydown: onKeyDown,
  });
  const noteElement = h('p', { class: 'note', role: 'status' });
  const clearButton = h('button', { type: 'button', class: 'quiet', onclick: () => setValues([]) }, TEXTS.clear);
  const panel = h(
    'div',
    { class: 'panel', role: 'dialog', 'aria-label': label, hidden: true },
    searchInput,
    list.element,
    noteElement,
    clearButton,
  );
  const element = h(
    'div',
    {
      class: 'filter',
      onkeydown: (event: KeyboardEvent) => event.key === 'Escape' && closePanel(true),
      onfocusout: onFocusOut,
    },
    h('span', { class: 'label', id: labelId }, label, required && h('span', { 'aria-hidden': 'true' }, ' *')),
    button,
    panel,
  );

  function togglePanel(): void {
    if (!panel.hidden) {
      closePanel(true);
      return;
    }
    panel.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    searchInput.value = '';
    searchInput.focus();
    void loadOptions();
  }

  function closePanel(returnsFocus: boolean): void {
    if (panel.hidden) return;
    panel.hidden = true;
    pendingRequest.abort();
    button.setAttribute('aria-expanded', 'false');
    if (returnsFocus) button.focus();
  }

  function onFocusOut({ relatedTarget }: FocusEvent): void {
    if (!element.contains(relatedTarget as Node | null)) closePanel(false);
  }

  async function loadOptions(): Promise<void> {
    pendingRequest.abort();
    pendingRequest = new AbortController();
    const { signal } = pendingRequest;
    const searchText = searchInput.value.trim();
    noteElement.textContent = TEXTS.loading;
    try {
      const { options } = await requestOptions(searchText, signal);
      for (const option of options) labels.set(String(option.value), option.label);
      list.setOptions(options, chosenValues);
      markActiveOption();
      const emptyText = searchText === '' ? TEXTS.noOptions : TEXTS.noMatches;
      noteElement.textContent =
        options.length === 0 ? emptyText : options.length >= list.limit ? TEXTS.moreOptions : '';
      showChosen();
    } catch (error) {
      if (signal.aborted) return;
      list.setOptions([], chosenValues);
      markActiveOption();
      isFreeText = error instanceof ApiProblem && error.status === 404;
      noteElement.textContent = isFreeText ? TEXTS.typeValue : formatFailure(error);
    }
  }

  /** Loads the labels of values that the viewer did not choose here, and shows them instead of the values. */
  async function loadLabels(): Promise<void> {
    const { options } = await requestOptions('', new AbortController().signal).catch(() => ({ options: [] }));
    for (const option of options) labels.set(String(option.value), option.label);
    showChosen();
  }

  function onKeyDown(event: KeyboardEvent): void {
    const keyActions: Record<string, () => void> = {
      ArrowDown: () => list.moveActiveOption(1),
      ArrowUp: () => list.moveActiveOption(-1),
      Enter: () => (isFreeText && searchInput.value !== '' ? pickOption(searchInput.value) : list.pickActiveOption()),
    };
    const keyAction = keyActions[event.key];
    if (!keyAction) return;
    event.preventDefault();
    keyAction();
    markActiveOption();
  }

  function markActiveOption(): void {
    searchInput.setAttribute('aria-activedescendant', list.getActiveId());
  }

  function pickOption(value: string): void {
    markActiveOption();
    if (!isMultiple) {
      setValues(chosenValues.includes(value) && !required ? [] : [value]);
      closePanel(true);
    } else
      setValues(
        chosenValues.includes(value)
          ? chosenValues.filter((chosenValue) => chosenValue !== value)
          : [...chosenValues, value],
      );
  }

  function setValues(values: string[]): void {
    chosenValues = values;
    list.markChosen(chosenValues);
    showChosen();
    onChoose(isMultiple ? chosenValues : (chosenValues[0] ?? null));
  }

  function showChosen(): void {
    const names = chosenValues.map((value) => labels.get(value) ?? value);
    chosenText.textContent =
      names.length === 0 ? TEXTS.all : names.length > 2 ? `${names[0]} + ${names.length - 1}` : formatList(names);
    button.title = formatList(names);
    clearButton.hidden = chosenValues.length === 0 || required;
  }

  showChosen();
  return {
    element,
    setValue(value) {
      const values = Array.isArray(value)
        ? value
        : value === null || value === undefined || value === ''
          ? []
          : [value];
      chosenValues = values.map(String);
      list.markChosen(chosenValues);
      showChosen();
      if (!chosenValues.every((chosenValue) => labels.has(chosenValue))) void loadLabels();
    },
    getText: () => button.title,
    markMissing: (isMissing) => button.classList.toggle('missing', isMissing),
  };
}
