import { h } from '../dom.ts';

/** The maximum number of options that are drawn; the viewer searches for others. */
const LIMIT = 100;

/** The options of a picker. Enter chooses the active one. */
export interface OptionList {
  element: HTMLElement;
  limit: number;
  fill(options: { label: string; value: string }[], chosen: readonly string[]): void;
  mark(chosen: readonly string[]): void;
  move(step: 1 | -1): void;
  pickActive(): void;
  /** Id of the active option's element; empty when there is none. */
  activeId(): string;
}

/** Makes a list box with this id. `pick` is called with the chosen value. */
export function optionList(id: string, label: string, several: boolean, pick: (value: string) => void): OptionList {
  const element = h('ul', { id, role: 'listbox', 'aria-label': label, 'aria-multiselectable': several && 'true' });
  let items: { value: string; item: HTMLLIElement }[] = [];
  let active = -1;

  function activate(at: number): void {
    items[active]?.item.classList.remove('active');
    active = at;
    items[active]?.item.classList.add('active');
    items[active]?.item.scrollIntoView({ block: 'nearest' });
  }

  function mark(chosen: readonly string[]): void {
    for (const { value, item } of items) item.setAttribute('aria-selected', String(chosen.includes(value)));
  }

  return {
    element,
    limit: LIMIT,
    fill(options, chosen) {
      items = options.slice(0, LIMIT).map(({ label: text, value }, at) => ({
        value: String(value),
        item: h(
          'li',
          {
            id: `${id}-${at}`,
            role: 'option',
            // The search field keeps the focus.
            onmousedown: (event: MouseEvent) => event.preventDefault(),
            onclick: () => {
              activate(at);
              pick(String(value));
            },
          },
          text,
        ),
      }));
      active = -1;
      element.replaceChildren(...items.map(({ item }) => item));
      mark(chosen);
    },
    mark,
    move(step) {
      if (items.length > 0) activate((active + step + items.length) % items.length);
    },
    pickActive() {
      const current = items[active];
      if (current) pick(current.value);
    },
    activeId: () => items[active]?.item.id ?? '',
  };
}
