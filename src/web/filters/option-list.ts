import { h } from '../dom.ts';

/** The maximum number of options that are shown; the viewer finds the remaining ones by searching. */
const MAX_SHOWN_OPTIONS = 100;

/** The list box with the options of a picker. The Enter key chooses the active option. */
export interface OptionList {
  element: HTMLElement;
  limit: number;
  setOptions(options: { label: string; value: string }[], chosenValues: readonly string[]): void;
  markChosen(chosenValues: readonly string[]): void;
  moveActiveOption(step: 1 | -1): void;
  pickActiveOption(): void;
  /** Returns the id of the active option's element; empty when there is none. */
  getActiveId(): string;
}

/** Creates a list box with this id. `pick` is called with the chosen value. */
export function createOptionList(
  id: string,
  label: string,
  isMultiple: boolean,
  pick: (value: string) => void,
): OptionList {
  const element = h('ul', { id, role: 'listbox', 'aria-label': label, 'aria-multiselectable': isMultiple && 'true' });
  let items: { value: string; item: HTMLLIElement }[] = [];
  let activeIndex = -1;

  function activateOption(at: number): void {
    items[activeIndex]?.item.classList.remove('active');
    activeIndex = at;
    items[activeIndex]?.item.classList.add('active');
    items[activeIndex]?.item.scrollIntoView({ block: 'nearest' });
  }

  function markOptions(chosenValues: readonly string[]): void {
    for (const { value, item } of items) item.setAttribute('aria-selected', String(chosenValues.includes(value)));
  }

  return {
    element,
    limit: MAX_SHOWN_OPTIONS,
    setOptions(options, chosenValues) {
      items = options.slice(0, MAX_SHOWN_OPTIONS).map(({ label: text, value }, at) => ({
        value: String(value),
        item: h(
          'li',
          {
            id: `${id}-${at}`,
            role: 'option',
            // The search field keeps the focus.
            onmousedown: (event: MouseEvent) => event.preventDefault(),
            onclick: () => {
              activateOption(at);
              pick(String(value));
            },
          },
          text,
        ),
      }));
      activeIndex = -1;
      element.replaceChildren(...items.map(({ item }) => item));
      markOptions(chosenValues);
    },
    markChosen: markOptions,
    moveActiveOption(step) {
      if (items.length > 0) activateOption((activeIndex + step + items.length) % items.length);
    },
    pickActiveOption() {
      const activeOption = items[activeIndex];
      if (activeOption) pick(activeOption.value);
    },
    getActiveId: () => items[activeIndex]?.item.id ?? '',
  };
}
