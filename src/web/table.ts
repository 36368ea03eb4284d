import type { ViewCell, ViewChart, ViewColumn } from '../presentation/viewing.ts';
import { type FormatCell, formatLabel, isNumeric, makeColumnFormats } from './charts/format.ts';
import { type DataPoint, type ResultData, toPoint } from './charts/plot.ts';
import { createArrowKeyListener, h } from './dom.ts';
import { LOCALE, TEXTS } from './texts.ts';

const ROWS_PER_PAGE = 100;
/** The maximum number of rows that are printed. */
const MAX_PRINTED_ROWS = 500;
/** The highest level (`data-tight`) to which a table is narrowed to fit on paper: see styles/print.css. */
const MAX_TIGHTNESS = 4;

type SortOrder = { column: number; descending: boolean } | undefined;

/** A table that shows a result. */
export interface ResultTable {
  element: HTMLElement;
  /** Shows the rows for printing, up to the maximum; with false, restores the rows shown before. */
  setPrinted(isPrinted: boolean): void;
  /** Returns true if a part of the table is out of view. */
  isPartlyHidden(): boolean;
  /** Returns the viewer's sort order, number of rows and scroll position. */
  getArrangement(): TableArrangement;
  /** Takes over another table's order, number of rows and scroll position, if the columns are equal. */
  applyArrangement(as: TableArrangement): void;
}

interface TableArrangement {
  columns: string;
  order: SortOrder;
  /** The maximum number of rows that the table shows. */
  maxRows: number;
  scrollLeft: number;
  scrollTop: number;
}

/**
 * Builds a table of a result, a hundred rows at a time. Pressing a column's head sorts by it. The head and the first column stay
 * in view; the line below says which rows are shown. @param isCut whether the result has more rows than `data`
 * @param onChoose called with a row that is pressed, or that is chosen by the keyboard: arrow keys go from row to row
 */
export function buildTable(
  data: ResultData,
  caption: string,
  chart: ViewChart['chart'],
  { isCut, onChoose }: { isCut?: boolean | undefined; onChoose?: ((row: DataPoint) => void) | undefined },
): ResultTable {
  const formats = makeColumnFormats(data, chart);
  const total = data.rows.length;
  let order: SortOrder;
  let visibleRowCount = ROWS_PER_PAGE;
  let rowCountBeforePrint = ROWS_PER_PAGE;

  const body = h('tbody', { onkeydown: createArrowKeyListener('tbody', 'button') });
  const moreButton = h('button', {
    type: 'button',
    class: 'quiet more',
    onclick: () => showRows(visibleRowCount + ROWS_PER_PAGE),
  });
  const headCells = data.columns.map((column, at) => buildHead(column, () => toggleSort(at)));
  const head = h('thead', {}, h('tr', {}, ...headCells));
  const table = h('table', {}, h('caption', { class: 'unseen' }, caption), head, body);
  const scrollArea = h(
    'div',
    { class: 'rows', tabindex: 0, role: 'group', 'aria-label': caption, onscroll: updateExtent },
    table,
    moreButton,
  );
  const sheetElement = h('div', { class: 'sheet' }, scrollArea);
  const extentText = h('p', { class: 'extent' });
  const notPrintedNote = h('p', { class: 'left' }, TEXTS.notPrinted(total - MAX_PRINTED_ROWS, isCut));
  notPrintedNote.hidden = total <= MAX_PRINTED_ROWS;

  function toggleSort(column: number): void {
    sortRows({ column, descending: order?.column === column && !order.descending });
  }

  function sortRows(newOrder: NonNullable<SortOrder>): void {
    order = newOrder;
    headCells.forEach((headCell, at) => {
      headCell.setAttribute(
        'aria-sort',
        at !== newOrder.column ? 'none' : newOrder.descending ? 'descending' : 'ascending',
      );
    });
    showRows(ROWS_PER_PAGE);
  }

  function showRows(rowCount: number): void {
    visibleRowCount = rowCount;
    const sortedRows = order ? data.rows.toSorted(makeRowComparator(order, data.columns)) : data.rows;
    body.replaceChildren(
      ...sortedRows.slice(0, visibleRowCount).map((row) => buildRow(row, data.columns, formats, onChoose)),
    );
    body.querySelector('button')?.setAttribute('tabindex', '0');
    moreButton.hidden = total <= visibleRowCount;
    moreButton.textContent = moreButton.hidden ? '' : TEXTS.moreRows(total - visibleRowCount);
    stretchRows();
  }

  /** Makes rows slightly higher, so that the last visible one is clearly cut off, which shows that more rows follow. */
  function stretchRows(): void {
    table.style.removeProperty('--stretch');
    const { clientHeight, scrollHeight, scrollTop } = scrollArea;
    if (scrollHeight > clientHeight + 1) {
      const edge = scrollArea.getBoundingClientRect().top - scrollTop + clientHeight;
      const boxes = Array.from(body.rows, (row) => row.getBoundingClientRect());
      const at = boxes.findIndex(({ bottom }) => bottom > edge);
      const { top = 0, height = 1 } = boxes[at] ?? {};
      const fraction = (edge - top) / height;
      const [pixels, over] =
        fraction < 1 - MAX_VISIBLE_SHARE
          ? [fraction + 1 - MAX_VISIBLE_SHARE, at]
          : [fraction - MAX_VISIBLE_SHARE, at + MAX_VISIBLE_SHARE];
      // Above the first row there is none that could be higher.
      if ((at > 0 && fraction < 1 - MAX_VISIBLE_SHARE) || (at >= 0 && fraction > MAX_VISIBLE_SHARE))
        table.style.setProperty('--stretch', `${(pixels * height) / over}px`);
    }
    updateExtent();
  }

  /** Updates the text that says which rows are in view, and the markers on the sides where more content follows. */
  function updateExtent(): void {
    const { scrollLeft, scrollTop, clientWidth, clientHeight, scrollWidth, scrollHeight } = scrollArea;
    const hiddenSides = {
      left: scrollLeft > 1,
      right: scrollLeft + clientWidth < scrollWidth - 1,
      above: scrollTop > 1,
      below: scrollTop + clientHeight < scrollHeight - 1,
    };
    sheetElement.dataset.more = Object.entries(hiddenSides)
      .flatMap(([cutSide, isCut]) => (isCut ? cutSide : []))
      .join(' ');
    const { top = 0, bottom = 0 } = headCells[0]?.getBoundingClientRect() ?? {};
    const edge = scrollArea.getBoundingClientRect().top + clientHeight;
    if (bottom === top) return;
    const firstRowIndex = countUntil(body.rows, (box) => box.top >= bottom - 1);
    const endRowIndex = Math.max(
      firstRowIndex + 1,
      countUntil(body.rows, (box) => box.bottom > edge + 1),
    );
    extentText.textContent = TEXTS.range(
      Math.min(firstRowIndex + 1, total),
      Math.min(endRowIndex, total),
      total,
      isCut,
    );
  }

  const columns = data.columns.map(({ name }) => name).join('\n');
  showRows(ROWS_PER_PAGE);
  new ResizeObserver(stretchRows).observe(scrollArea);
  return {
    element: h('div', { class: 'listing' }, sheetElement, extentText, notPrintedNote),
    setPrinted(isPrinted) {
      if (isPrinted) rowCountBeforePrint = visibleRowCount;
      showRows(isPrinted ? MAX_PRINTED_ROWS : rowCountBeforePrint);
      delete table.dataset.tight;
      for (
        let tightness = 1;
        isPrinted && tightness <= MAX_TIGHTNESS && table.offsetWidth > scrollArea.clientWidth;
        tightness += 1
      ) {
        table.dataset.tight = String(tightness);
      }
    },
    isPartlyHidden: () => sheetElement.dataset.more !== '',
    getArrangement() {
      const { scrollLeft, scrollTop } = scrollArea;
      return { columns, order, maxRows: visibleRowCount, scrollLeft, scrollTop };
    },
    applyArrangement({ columns: columnsBefore, order: storedOrder, maxRows, scrollLeft, scrollTop }) {
      if (columnsBefore !== columns) return;
      if (storedOrder) sortRows(storedOrder);
      if (maxRows > visibleRowCount) showRows(maxRows);
      scrollArea.scrollTo(scrollLeft, scrollTop);
    },
  };
}

/** The maximum visible share of the last row in view, where it is cut off; the minimum is 1 minus this value. */
const MAX_VISIBLE_SHARE = 0.7;

/**
 * Counts the rows before the first row whose box satisfies the condition; all later rows must satisfy it, too (binary search).
 */
function countUntil(rows: HTMLCollectionOf<HTMLTableRowElement>, isMatch: (box: DOMRect) => boolean): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isMatch((rows[middle] as HTMLElement).getBoundingClientRect())) to = middle;
    else from = middle + 1;
  }
  return from;
}

const TYPE_CLASSES: Partial<Record<ViewColumn['type'], string>> = {
  integer: 'number',
  decimal: 'number',
  date: 'timestamp',
  datetime: 'timestamp',
};

const buildHead = (column: ViewColumn, onclick: () => void): HTMLTableCellElement =>
  h(
    'th',
    { scope: 'col', 'aria-sort': 'none', class: TYPE_CLASSES[column.type] },
    h('button', { type: 'button', onclick }, column.name),
  );

function buildRow(
  row: ViewCell[],
  columns: ViewColumn[],
  formats: FormatCell[],
  onChoose?: (row: DataPoint) => void,
): HTMLElement {
  const buildContent = (at: number) => {
    const [formatCell, cell] = [formats[at] ?? String, row[at] ?? null];
    // Pressing it presses the row. All rows together are one stop of Tab.
    return onChoose && at === 0
      ? h('button', { type: 'button', tabindex: -1 }, formatLabel(formatCell, cell))
      : formatCell(cell);
  };
  return h(
    'tr',
    { onclick: onChoose && (() => onChoose(toPoint(columns, row))) },
    ...columns.map(({ type }, at) => h('td', { class: TYPE_CLASSES[type] }, buildContent(at))),
  );
}

/** Creates a comparator of rows: numbers and times by value, text by the page's language; empty cells come last. */
const makeRowComparator =
  ({ column, descending }: NonNullable<SortOrder>, columns: readonly ViewColumn[]) =>
  (first: ViewCell[], second: ViewCell[]): number => {
    const [a, b] = [first[column] ?? null, second[column] ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ascendingOrder = compareCells(columns[column]?.type, a, b);
    return descending ? -ascendingOrder : ascendingOrder;
  };

function compareCells(type: ViewColumn['type'] | undefined, a: ViewCell, b: ViewCell): number {
  // Numbers in a column of text have no common order with its other cells.
  if ((type === 'integer' || type === 'decimal') && isNumeric(a) && isNumeric(b)) return compareNumbers(a, b);
  if (type === 'date' || type === 'datetime') return compareTimes(String(a), String(b));
  return COLLATOR.compare(String(a), String(b));
}

/** Compares times in ISO 8601, which have three or six digits of a second. */
function compareTimes(first: string, second: string): number {
  const [a, b] = [first.replace('Z', ''), second.replace('Z', '')];
  return Number(a > b) - Number(a < b);
}

/** Compares numbers: by their digits if they are equal as doubles, which round those that are given as text. */
function compareNumbers(first: number | string, second: number | string): number {
  const difference = Number(first) - Number(second);
  if (difference) return difference;
  const [a, b] = [String(first), String(second)];
  // With as many digits before the point, numbers have the order of their texts.
  const order = a.search(/\.|$/) - b.search(/\.|$/) || Number(a > b) - Number(a < b);
  return a.startsWith('-') ? -order : order;
}

const COLLATOR = new Intl.Collator(LOCALE, { numeric: true });
