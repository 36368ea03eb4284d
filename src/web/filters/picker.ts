import type { ViewFilter, ViewOptions } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { debounced, h, uniqueId } from '../dom.ts';
import { formatList, TEXTS } from '../texts.ts';
import type { Choose, Control } from './inputs.ts';
import { optionList } from './option-list.ts';

/** Options are requested after this pause in typing. */
const TYPING_MS = 200;

/** Requests the options that contain a text. */
export type AskOptions = (search: string, signal: AbortSignal) => Promise<ViewOptions>;

/**
 * A control to choose one or several options that the server searches: a button with the chosen ones, and a panel with
 * a search field above a list box. Arrow keys move, Enter chooses, Escape closes.
 */
export function pickerControl(filter: ViewFilter, ask: AskOptions, choose: Choose): Control {
  const { slug, label, required } = filter;
  const several = filter.kind === 'multi_select';
  let chosen: string[] = [];
  const labels = new Map<string, string>();
  let asking = new AbortController();
  /** The server has no options: the text typed is the value. */
  let free = false;

  const [buttonId, labelId, listId] = [uniqueId(slug), uniqueId(slug), uniqueId(slug)];
  const said = h('span', { class: 'said' });
  const button = h(
    'button',
    {
      type: 'button',
      id: buttonId,
      class: 'picker',
      'aria-haspopup': 'dialog',
      'aria-expanded': 'false',
      onclick: toggle,
    },
    said,
  );
  button.setAttribute('aria-labelledby', `${labelId} ${buttonId}`);
  const list = optionList(listId, label, several, (value) => pick(value));
  const search = h('input', {
    type: 'text',
    role: 'combobox',
    autocomplete: 'off',
    placeholder: TEXTS.search,
    'aria-label': TEXTS.searchIn(label),
    'aria-expanded': 'true',
    'aria-controls': listId,
    'aria-autocomplete': 'list',
    oninput: debounced(TYPING_MS, () => void load()),
    onkeydown: onKey,
  });
  const note = h('p', { class: 'note', role: 'status' });
  const clear = h('button', { type: 'button', class: 'quiet', onclick: () => take([]) }, TEXTS.clear);
  const panel = h(
    'div',
    { class: 'panel', role: 'dialog', 'aria-label': label, hidden: true },
    search,
    list.element,
    note,
    clear,
  );
  const element = h(
    'div',
    {
      class: 'filter',
      onkeydown: (event: KeyboardEvent) => event.key === 'Escape' && close(true),
      onfocusout: onLeave,
    },
    h('span', { class: 'label', id: labelId }, label, required && h('span', { 'aria-hidden': 'true' }, ' *')),
    button,
    panel,
  );

  function toggle(): void {
    if (!panel.hidden) {
      close(true);
      return;
    }
    panel.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    search.value = '';
    search.focus();
    void load();
  }

  function close(back: boolean): void {
    if (panel.hidden) return;
    panel.hidden = true;
    asking.abort();
    button.setAttribute('aria-expanded', 'false');
    if (back) button.focus();
  }

  function onLeave({ relatedTarget }: FocusEvent): void {
    if (!element.contains(relatedTarget as Node | null)) close(false);
  }

  async function load(): Promise<void> {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const wanted = search.value.trim();
    note.textContent = TEXTS.loading;
    try {
      const { options } = await ask(wanted, signal);
      for (const option of options) labels.set(String(option.value), option.label);
      list.fill(options, chosen);
      const none = wanted === '' ? TEXTS.noOptions : TEXTS.noMatches;
      note.textContent = options.length === 0 ? none : options.length >= list.limit ? TEXTS.moreOptions : '';
      say();
    } catch (error) {
      if (signal.aborted) return;
      list.fill([], chosen);
      free = error instanceof ApiProblem && error.status === 404;
      note.textContent = free ? TEXTS.typeValue : error instanceof ApiProblem ? error.message : TEXTS.broken;
    }
  }

  /** Replaces values that come from elsewhere by their labels, once these are known. */
  async function learnLabels(): Promise<void> {
    const { options } = await ask('', new AbortController().signal).catch(() => ({ options: [] }));
    for (const option of options) labels.set(String(option.value), option.label);
    say();
  }

  function onKey(event: KeyboardEvent): void {
    const moves: Record<string, () => void> = {
      ArrowDown: () => list.move(1),
      ArrowUp: () => list.move(-1),
      Enter: () => (free && search.value !== '' ? pick(search.value) : list.pickActive()),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
    search.setAttribute('aria-activedescendant', list.activeId());
  }

  function pick(value: string): void {
    if (!several) {
      take(chosen.includes(value) && !required ? [] : [value]);
      close(true);
    } else take(chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value]);
  }

  function take(values: string[]): void {
    chosen = values;
    list.mark(chosen);
    say();
    choose(several ? chosen : (chosen[0] ?? null));
  }

  function say(): void {
    const names = chosen.map((value) => labels.get(value) ?? value);
    said.textContent =
      names.length === 0 ? TEXTS.all : names.length > 2 ? `${names[0]} + ${names.length - 1}` : formatList(names);
    button.title = formatList(names);
    clear.hidden = chosen.length === 0 || required;
  }

  say();
  return {
    element,
    set(value) {
      const values = Array.isArray(value)
        ? value
        : value === null || value === undefined || value === ''
          ? []
          : [value];
      chosen = values.map(String);
      list.mark(chosen);
      say();
      if (!chosen.every((each) => labels.has(each))) void learnLabels();
    },
    getText: () => button.title,
    markMissing: (missing) => button.classList.toggle('missing', missing),
  };
}
