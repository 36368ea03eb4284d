import type { ViewCell, ViewChart, ViewColumn } from '../presentation/viewing.ts';
import { type CellText, columnTextsOf, isNumeric, labelText } from './charts/format.ts';
import { type Data, type Point, pointOf } from './charts/plot.ts';
import { h } from './dom.ts';
import { LOCALE, TEXTS } from './texts.ts';

const ROWS_AT_ONCE = 100;

type Order = { column: number; descending: boolean } | undefined;

/**
 * A result as a table, a hundred rows at a time. Pressing a column's head sorts by it.
 * @param choose called with a row that is pressed, or that is chosen by the keyboard: arrow keys go from row to row
 */
export function tableOf(
  data: Data,
  caption: string,
  chart: ViewChart['chart'],
  choose?: (row: Point) => void,
): HTMLElement {
  const texts = columnTextsOf(data, chart);
  let order: Order;
  let visible = ROWS_AT_ONCE;

  const body = h('tbody', { onkeydown: moveByArrows });
  const more = h('button', { type: 'button', class: 'quiet more', onclick: () => show(visible + ROWS_AT_ONCE) });
  const heads = data.columns.map((column, at) => headOf(column, () => sortBy(at)));
  const table = h('table', {}, h('caption', { class: 'unseen' }, caption), h('thead', {}, h('tr', {}, ...heads)), body);

  function sortBy(column: number): void {
    order = { column, descending: order?.column === column && !order.descending };
    heads.forEach((head, at) => {
      head.setAttribute('aria-sort', at !== column ? 'none' : order?.descending ? 'descending' : 'ascending');
    });
    show(ROWS_AT_ONCE);
  }

  function show(rows: number): void {
    visible = rows;
    const sorted = order ? data.rows.toSorted(comparing(order)) : data.rows;
    body.replaceChildren(...sorted.slice(0, visible).map((row) => rowOf(row, data.columns, texts, choose)));
    body.querySelector('button')?.setAttribute('tabindex', '0');
    more.hidden = sorted.length <= visible;
    more.textContent = TEXTS.moreRows(sorted.length - visible);
  }

  show(ROWS_AT_ONCE);
  return h('div', { class: 'rows', tabindex: 0, role: 'group', 'aria-label': caption }, table, more);
}

const CLASSES: Partial<Record<ViewColumn['type'], string>> = {
  integer: 'number',
  decimal: 'number',
  date: 'timestamp',
  datetime: 'timestamp',
};

const headOf = (column: ViewColumn, onclick: () => void): HTMLTableCellElement =>
  h(
    'th',
    { scope: 'col', 'aria-sort': 'none', class: CLASSES[column.type] },
    h('button', { type: 'button', onclick }, column.name),
  );

function rowOf(row: ViewCell[], columns: ViewColumn[], texts: CellText[], choose?: (row: Point) => void): HTMLElement {
  const contentOf = (at: number) => {
    const [text, cell] = [texts[at] ?? String, row[at] ?? null];
    // Pressing it presses the row. All rows together are one stop of Tab.
    return choose && at === 0 ? h('button', { type: 'button', tabindex: -1 }, labelText(text, cell)) : text(cell);
  };
  return h(
    'tr',
    { onclick: choose && (() => choose(pointOf(columns, row))) },
    ...columns.map(({ type }, at) => h('td', { class: CLASSES[type] }, contentOf(at))),
  );
}

const ROW_KEYS: Record<string, 'nextElementSibling' | 'previousElementSibling'> = {
  ArrowDown: 'nextElementSibling',
  ArrowUp: 'previousElementSibling',
};

/** From the button of a row to that of the next. */
function moveByArrows(event: KeyboardEvent): void {
  const { target, key } = event;
  const way = ROW_KEYS[key];
  if (!way || !(target instanceof HTMLButtonElement)) return;
  // The page does not scroll but to the row.
  event.preventDefault();
  const next = target.closest('tr')?.[way]?.querySelector('button');
  if (!next) return;
  target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/**
 * Compares numbers by value and all else as text in the page's language; empty cells come last in either direction.
 */
const comparing =
  ({ column, descending }: NonNullable<Order>) =>
  (first: ViewCell[], second: ViewCell[]): number => {
    const [a, b] = [first[column] ?? null, second[column] ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ascending = isNumeric(a) && isNumeric(b) ? Number(a) - Number(b) : COLLATOR.compare(String(a), String(b));
    return descending ? -ascending : ascending;
  };

const COLLATOR = new Intl.Collator(LOCALE);
