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
