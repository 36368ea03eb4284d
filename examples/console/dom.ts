import { type ApiError, fieldErrors } from '../../client/client.ts';

type Child = Node | string;

/** Makes an element; names that begin with `on` are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

export const buildTable = (head: string[], rows: Child[][]): HTMLTableElement =>
  h(
    'table',
    {},
    h('thead', {}, h('tr', {}, ...head.map((name) => h('th', {}, name)))),
    h('tbody', {}, ...rows.map((cells) => h('tr', {}, ...cells.map((cell) => h('td', {}, cell))))),
  );

/** Returns the API's message about a failure, in the reader's language. */
export const formatError = (error: unknown): string => String(Object((error as ApiError).body ?? error).message);

type Field = { name: string; label: string } & Record<string, string | undefined>;

/** Builds a form that shows the API's messages about fields beside them, and any other message below. */
export function form(
  fields: Field[],
  action: string,
  send: (values: Record<string, string>) => Promise<unknown>,
): HTMLFormElement {
  const alert = h('p', { role: 'alert' });
  const notes = new Map(fields.map(({ name }) => [name, h('small')]));
  const rows = fields.map(({ label, ...attributes }) =>
    h('label', {}, `${label} `, h('input', attributes), notes.get(attributes.name) as Node),
  );
  const button = h('button', {}, action);
  const element = h('form', {}, ...rows, button, alert);
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(Array.from(new FormData(element), ([name, value]) => [name, String(value)]));
    button.disabled = true;
    alert.textContent = '';
    for (const note of notes.values()) note.textContent = '';
    await send(values).catch((error) => {
      const fieldProblems = Object.entries(fieldErrors(error));
      const notedProblems = fieldProblems.filter(([name]) => notes.has(name));
      for (const [name, message] of notedProblems) (notes.get(name) as Node).textContent = message;
      if (notedProblems.length === 0)
        alert.textContent = [formatError(error), ...fieldProblems.map((problem) => problem.join(' '))].join(' ');
    });
    button.disabled = false;
  });
  return element;
}

/** Builds a button that shows the message of a failure beside itself. */
export function act(name: string, work: () => Promise<unknown>): HTMLSpanElement {
  const alert = h('span', { role: 'alert' });
  const run = () => {
    alert.textContent = '';
    work().catch((error) => {
      alert.textContent = formatError(error);
    });
  };
  return h('span', {}, h('button', { type: 'button', onclick: run }, name), alert);
}
