import type { ViewCell, ViewChart, ViewColumn } from '../presentation/viewing.ts';
import { type CellText, columnTextsOf, isNumeric, labelText } from './charts/format.ts';
import { type Data, type Point, toPoint } from './charts/plot.ts';
import { arrowKeys, h } from './dom.ts';
import { LOCALE, TEXTS } from './texts.ts';

const ROWS_PER_PAGE = 100;
/** The maximum number of rows that are printed. */
const MAX_PRINTED = 500;
/** The highest level (`data-tight`) of making a table narrower for paper: see styles/print.css. */
const MAX_TIGHT = 4;

type Order = { column: number; descending: boolean } | undefined;

/** A result as a table. */
export interface Table {
  element: HTMLElement;
  /** Shows the rows for printing, up to the maximum; with false, restores the rows shown before. */
  print(isPrinted: boolean): void;
  /** Whether a part of it is out of view. */
  isCut(): boolean;
  /** Returns the viewer's sort order, number of rows and scroll position. */
  arranged(): Arranged;
  /** Takes over another table's order, number of rows and scroll position, if the columns are equal. */
  arrange(as: Arranged): void;
}

interface Arranged {
  columns: string;
  order: Order;
  /** The number of rows it holds, at most. */
  rows: number;
  scrollLeft: number;
  scrollTop: number;
}

/**
 * A result as a table, a hundred rows at a time. Pressing a column's head sorts by it. Its head and its first column stay in
 * view; the line below it says which rows are.
 * @param choose called with a row that is pressed, or that is chosen by the keyboard: arrow keys go from row to row
 */
export function buildTable(
  data: Data,
  caption: string,
  chart: ViewChart['chart'],
  choose?: (row: Point) => void,
): Table {
  const texts = columnTextsOf(data, chart);
  const total = data.rows.length;
  let order: Order;
  let visible = ROWS_PER_PAGE;
  let shown = ROWS_PER_PAGE;

  const body = h('tbody', { onkeydown: arrowKeys('tbody', 'button') });
  const more = h('button', { type: 'button', class: 'quiet more', onclick: () => show(visible + ROWS_PER_PAGE) });
  const heads = data.columns.map((column, at) => buildHead(column, () => sortBy(at)));
  const head = h('thead', {}, h('tr', {}, ...heads));
  const table = h('table', {}, h('caption', { class: 'unseen' }, caption), head, body);
  const area = h(
    'div',
    { class: 'rows', tabindex: 0, role: 'group', 'aria-label': caption, onscroll: tellView },
    table,
    more,
  );
  const view = h('div', { class: 'sheet' }, area);
  const extent = h('p', { class: 'extent' });
  const left = h('p', { class: 'left' }, TEXTS.notPrinted(total - MAX_PRINTED));
  left.hidden = total <= MAX_PRINTED;

  function sortBy(column: number): void {
    sort({ column, descending: order?.column === column && !order.descending });
  }

  function sort(next: NonNullable<Order>): void {
    order = next;
    heads.forEach((each, at) => {
      each.setAttribute('aria-sort', at !== next.column ? 'none' : next.descending ? 'descending' : 'ascending');
    });
    show(ROWS_PER_PAGE);
  }

  function show(rows: number): void {
    visible = rows;
    const sorted = order ? data.rows.toSorted(makeRowComparator(order)) : data.rows;
    body.replaceChildren(...sorted.slice(0, visible).map((row) => buildRow(row, data.columns, texts, choose)));
    body.querySelector('button')?.setAttribute('tabindex', '0');
    more.hidden = total <= visible;
    more.textContent = more.hidden ? '' : TEXTS.moreRows(total - visible);
    stretch();
  }

  /** Makes rows slightly higher, so that the last visible one is clearly cut off, which shows that more rows follow. */
  function stretch(): void {
    table.style.removeProperty('--stretch');
    const { clientHeight, scrollHeight, scrollTop } = area;
    if (scrollHeight > clientHeight + 1) {
      const edge = area.getBoundingClientRect().top - scrollTop + clientHeight;
      const boxes = Array.from(body.rows, (row) => row.getBoundingClientRect());
      const at = boxes.findIndex(({ bottom }) => bottom > edge);
      const { top = 0, height = 1 } = boxes[at] ?? {};
      const part = (edge - top) / height;
      const [pixels, over] =
        part < 1 - MAX_SEEN_SHARE ? [part + 1 - MAX_SEEN_SHARE, at] : [part - MAX_SEEN_SHARE, at + MAX_SEEN_SHARE];
      if (at > 0 && (part < 1 - MAX_SEEN_SHARE || part > MAX_SEEN_SHARE))
        table.style.setProperty('--stretch', `${(pixels * height) / over}px`);
    }
    tellView();
  }

  /** Updates the text that says which rows are in view, and the marks of the sides on which there are more. */
  function tellView(): void {
    const { scrollLeft, scrollTop, clientWidth, clientHeight, scrollWidth, scrollHeight } = area;
    const sides = {
      left: scrollLeft > 1,
      right: scrollLeft + clientWidth < scrollWidth - 1,
      above: scrollTop > 1,
      below: scrollTop + clientHeight < scrollHeight - 1,
    };
    view.dataset.more = Object.entries(sides)
      .flatMap(([side, isCut]) => (isCut ? side : []))
      .join(' ');
    const { top = 0, bottom = 0 } = heads[0]?.getBoundingClientRect() ?? {};
    const edge = area.getBoundingClientRect().top + clientHeight;
    if (bottom === top) return;
    const first = countUntil(body.rows, (box) => box.top >= bottom - 1);
    const last = Math.max(
      first + 1,
      countUntil(body.rows, (box) => box.bottom > edge + 1),
    );
    extent.textContent = TEXTS.range(Math.min(first + 1, total), Math.min(last, total), total);
  }

  const columns = data.columns.map(({ name }) => name).join('\n');
  show(ROWS_PER_PAGE);
  new ResizeObserver(stretch).observe(area);
  return {
    element: h('div', { class: 'listing' }, view, extent, left),
    print(isPrinted) {
      if (isPrinted) shown = visible;
      show(isPrinted ? MAX_PRINTED : shown);
      delete table.dataset.tight;
      for (let tight = 1; isPrinted && tight <= MAX_TIGHT && table.offsetWidth > area.clientWidth; tight += 1) {
        table.dataset.tight = String(tight);
      }
    },
    isCut: () => view.dataset.more !== '',
    arranged() {
      const { scrollLeft, scrollTop } = area;
      return { columns, order, rows: visible, scrollLeft, scrollTop };
    },
    arrange({ columns: before, order: sorted, rows, scrollLeft, scrollTop }) {
      if (before !== columns) return;
      if (sorted) sort(sorted);
      if (rows > visible) show(rows);
      area.scrollTo(scrollLeft, scrollTop);
    },
  };
}

/** The maximum visible share of the last row in view, where it is cut off; the minimum is 1 less this. */
const MAX_SEEN_SHARE = 0.7;

/** Counts the rows before the first for which `isSo` is true, as it is for all after it. */
function countUntil(rows: HTMLCollectionOf<HTMLTableRowElement>, isSo: (box: DOMRect) => boolean): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isSo((rows[middle] as HTMLElement).getBoundingClientRect())) to = middle;
    else from = middle + 1;
  }
  return from;
}

const CLASSES: Partial<Record<ViewColumn['type'], string>> = {
  integer: 'number',
  decimal: 'number',
  date: 'timestamp',
  datetime: 'timestamp',
};

const buildHead = (column: ViewColumn, onclick: () => void): HTMLTableCellElement =>
  h(
    'th',
    { scope: 'col', 'aria-sort': 'none', class: CLASSES[column.type] },
    h('button', { type: 'button', onclick }, column.name),
  );

function buildRow(
  row: ViewCell[],
  columns: ViewColumn[],
  texts: CellText[],
  choose?: (row: Point) => void,
): HTMLElement {
  const buildContent = (at: number) => {
    const [text, cell] = [texts[at] ?? String, row[at] ?? null];
    // Pressing it presses the row. All rows together are one stop of Tab.
    return choose && at === 0 ? h('button', { type: 'button', tabindex: -1 }, labelText(text, cell)) : text(cell);
  };
  return h(
    'tr',
    { onclick: choose && (() => choose(toPoint(columns, row))) },
    ...columns.map(({ type }, at) => h('td', { class: CLASSES[type] }, buildContent(at))),
  );
}

/** A comparator of rows: numbers by value, else text by the page's language; empty cells come last. */
const makeRowComparator =
  ({ column, descending }: NonNullable<Order>) =>
  (first: ViewCell[], second: ViewCell[]): number => {
    const [a, b] = [first[column] ?? null, second[column] ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ascending = isNumeric(a) && isNumeric(b) ? Number(a) - Number(b) : COLLATOR.compare(String(a), String(b));
    return descending ? -ascending : ascending;
  };

const COLLATOR = new Intl.Collator(LOCALE);
