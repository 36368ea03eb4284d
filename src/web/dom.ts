type Child = Node | string | null | undefined | false;

/**
 * Attributes of an element; names that begin with `on` are event listeners. An attribute that is false or undefined is left out.
 */
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

/** Labels a button that shows only an icon: for screen readers, and as the tooltip for the mouse. */
export function labelButton(button: HTMLElement, label: string, title = label): void {
  button.setAttribute('aria-label', label);
  button.title = title;
}

let idCount = 0;

export const createUniqueId = (prefix: string): string => `${prefix}-${++idCount}`;

/** Returns a function that calls `work` when the given milliseconds have passed since the function was last called. */
export function debounce(milliseconds: number, work: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

const ARROW_KEY_STEPS: Record<string, -1 | 1> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** Creates a key listener by which arrow keys move the focus between elements that are one tab stop together. */
export const createArrowKeyListener =
  (containerSelector: string, itemSelector: string) =>
  (event: KeyboardEvent): void => {
    const step = ARROW_KEY_STEPS[event.key];
    const target = event.target as HTMLElement;
    if (!step || !target.matches(itemSelector)) return;
    // The page does not scroll but to the next.
    event.preventDefault();
    const focusableElements = Array.from(
      target.closest(containerSelector)?.querySelectorAll<HTMLElement>(itemSelector) ?? [],
    );
    const nextElement = focusableElements[focusableElements.indexOf(target) + step];
    if (!nextElement) return;
    target.tabIndex = -1;
    nextElement.tabIndex = 0;
    nextElement.focus();
  };
