type Child = Node | string | null | undefined | false;

/** Attributes of an element; names that begin with `on` are listeners. False and undefined leave one out. */
type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

/** Makes an element. Text is always text: nothing is parsed as HTML. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Names a button that shows a sign: for screen readers, and for whoever rests on it with the mouse. */
export function labelButton(button: HTMLElement, label: string, title = label): void {
  button.setAttribute('aria-label', label);
  button.title = title;
}

let ids = 0;

export const uniqueId = (prefix: string): string => `${prefix}-${++ids}`;

/** Returns a function that calls `work` once it has not been called for that many milliseconds. */
export function debounced(milliseconds: number, work: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

const STEPS: Record<string, -1 | 1> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** A listener for keys, by which arrows go from one of these to the next: all of them together are one stop of Tab. */
export const arrowKeys =
  (within: string, each: string) =>
  (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    const target = event.target as HTMLElement;
    if (!step || !target.matches(each)) return;
    // The page does not scroll but to the next.
    event.preventDefault();
    const all = Array.from(target.closest(within)?.querySelectorAll<HTMLElement>(each) ?? []);
    const next = all[all.indexOf(target) + step];
    if (!next) return;
    target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
