import { guessEncoding } from '../text/detect.ts';
import { createRecoder, isWesternName, type Recode } from '../text/utf8.ts';
import type { ConvertedSheet, SheetSource } from '../workbook/choice.ts';
import { computeMaxTextBytes, WorkbookTooLarge } from '../workbook/limits.ts';
import { LINE_BREAK_PLACEHOLDER, TableText } from './table.ts';

/** Error thrown when the page has no table, or cannot be read. */
export class HtmlUnreadable extends Error {}

/** Maximum number of elements and texts of a page: the runtime reports each by a call, far slower than parsing. */
const MAX_EVENTS = 1_500_000;
const MAX_BYTES = 32 * 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const HEAD_BYTES = 4096;
/** Maximum nesting of tables: pages that are laid out by tables have a few levels. */
const MAX_DEPTH = 100;

/** Converts a page's first table with at least two rows of values; null without one. @throws HtmlUnreadable, WorkbookTooLarge */
export async function convertHtml<T>(file: SheetSource<T>): Promise<ConvertedSheet<T> | null> {
  if (file.size > MAX_BYTES) throw new WorkbookTooLarge();
  try {
    return await convertWithRecoder(file, await findRecoder(file));
  } catch (error) {
    if (!(error instanceof WrongEncoding)) throw error;
    return await convertWithRecoder(file, () => ({ recode: createRecoder('windows-1252'), markLength: 0 }));
  }
}

/** Error thrown for bytes that are not in the encoding that the page declares or is assumed to have. */
class WrongEncoding extends Error {}

/** Function that makes a converter of the page to UTF-8; `markLength` is the length of the page's byte order mark. */
type RecoderFactory = () => { recode: Recode; markLength: number };

async function findRecoder({ read }: SheetSource<unknown>): Promise<RecoderFactory> {
  const head = await read(0, HEAD_BYTES);
  const { encoding, markLength } = guessEncoding(head);
  if (markLength > 0 || encoding !== 'utf-8') return () => ({ recode: createRecoder(encoding), markLength });
  const text = String.fromCharCode(...head);
  const declaredLabel = /<meta\s[^>]*charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(text)?.[1]?.toLowerCase() ?? 'utf-8';
  if (/^(?:utf-?8|utf-?16.*|unicode|(?:us-)?ascii)$/.test(declaredLabel))
    return () => ({ recode: createRecoder('utf-8'), markLength });
  if (isWesternName(declaredLabel)) return () => ({ recode: createRecoder('windows-1252'), markLength });
  const encoder = new TextEncoder();
  return () => {
    const decoder = findDecoder(declaredLabel);
    return { recode: (piece, isLast) => encoder.encode(decoder.decode(piece, { stream: !isLast })), markLength };
  };
}

function findDecoder(label: string): TextDecoder {
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true });
  } catch {
    throw new HtmlUnreadable();
  }
}

async function convertWithRecoder<T>(
  file: SheetSource<T>,
  recoderFactory: RecoderFactory,
): Promise<ConvertedSheet<T> | null> {
  const budget = new EventBudget();
  const tableFinder = new TableFinder(budget);
  await rewritePage(file, recoderFactory, budget, tableFinder.rewriter, async () => tableFinder.foundTable !== null);
  if (tableFinder.count === 0) throw new HtmlUnreadable();
  if (tableFinder.foundTable === null) return null;
  const output = file.beginText();
  let writtenBytes = 0;
  const table = new TableText((text) => {
    writtenBytes += text.length;
    if (writtenBytes > computeMaxTextBytes(file.size)) throw new WorkbookTooLarge();
    return output.write(text);
  });
  const tableReader = new TableReader(budget, tableFinder.foundTable, table);
  await rewritePage(file, recoderFactory, budget, tableReader.rewriter, async () => {
    await table.flushText();
    return tableReader.isOver;
  });
  return table.endTable(output);
}

/**
 * Limits the elements and texts that the runtime reports in both passes, and stores a failure, which the runtime would
 * wrap.
 */
class EventBudget {
  failure: unknown;
  #remainingEvents = MAX_EVENTS;

  makeHandler<A>(handle: (argument: A) => void): (argument: A) => void {
    return (argument) => {
      if (this.failure !== undefined) return;
      try {
        this.#remainingEvents -= 1;
        if (this.#remainingEvents < 0) throw new WorkbookTooLarge();
        handle(argument);
      } catch (error) {
        this.failure = error;
      }
    };
  }
}

/** Tracks which tables are open, by their numbers in the page. */
class TableNesting {
  count = 0;
  readonly openTables: number[] = [];

  get current(): number {
    return this.openTables.at(-1) ?? -1;
  }

  /** Begins a table. @param onEnd called when the table, or an element around it, is closed */
  beginTable(element: Element, onEnd: () => void): void {
    if (this.openTables.length >= MAX_DEPTH) throw new HtmlUnreadable();
    const table = this.count;
    this.count += 1;
    this.openTables.push(table);
    element.onEndTag(() => {
      const at = this.openTables.lastIndexOf(table);
      if (at < 0) return;
      this.openTables.length = at;
      onEnd();
    });
  }
}

/** Finds the first table that has two rows with values. */
class TableFinder {
  readonly rewriter: HTMLRewriter;
  foundTable: number | null = null;
  readonly #nesting = new TableNesting();
  /** State of each open table: its rows with values, and whether the current row has one. */
  readonly #rows: { filledRowCount: number; isFilled: boolean }[] = [];

  constructor(budget: EventBudget) {
    const cell = { text: budget.makeHandler((text: Text) => this.#noteText(text.text)) };
    this.rewriter = new HTMLRewriter()
      .on('table', {
        element: budget.makeHandler((element: Element) => {
          this.#nesting.beginTable(element, () => {
            this.#rows.length = this.#nesting.openTables.length;
          });
          this.#rows.push({ filledRowCount: 0, isFilled: false });
        }),
      })
      .on('tr', {
        element: budget.makeHandler(() => {
          const rows = this.#rows.at(-1);
          if (rows) rows.isFilled = false;
        }),
      })
      .on(CELL_SELECTOR, cell);
  }

  get count(): number {
    return this.#nesting.count;
  }

  #noteText(text: string): void {
    const rows = this.#rows.at(-1);
    if (!rows || rows.isFilled || text.replace(/&(?:nbsp|#160|#xa0);?|\s/gi, '') === '') return;
    rows.isFilled = true;
    rows.filledRowCount += 1;
    if (rows.filledRowCount === 2) this.foundTable ??= this.#nesting.current;
  }
}

/** Selector of cells. It is a single one, since each selector also reports the text of nested elements. */
const CELL_SELECTOR = 'td,th';

/** Elements that break lines within a cell. */
const LINE_BREAKING_ELEMENTS = ['br', 'p', 'div', 'li', 'table', 'tr'];
/** Elements whose text is not displayed. */
const INVISIBLE_ELEMENTS = ['script', 'style', 'template'];

/** Reads the rows and cells of one table; of tables nested in its cells, only the text. */
class TableReader {
  readonly rewriter: HTMLRewriter;
  isOver = false;
  readonly #nesting = new TableNesting();
  #silent = 0;

  constructor(budget: EventBudget, tableNumber: number, table: TableText) {
    const isCurrentTable = () => !this.isOver && this.#nesting.current === tableNumber;
    const isInTable = () => !this.isOver && this.#nesting.openTables.includes(tableNumber);
    const cell = {
      element: budget.makeHandler((element: Element) => {
        if (isCurrentTable()) table.beginCell(element.getAttribute('colspan'), element.getAttribute('rowspan'));
        else if (isInTable()) table.appendText(' ');
      }),
      text: budget.makeHandler((text: Text) => {
        if (isInTable() && this.#silent === 0) table.appendText(text.text.replaceAll(LINE_BREAK_PLACEHOLDER, '\ufffd'));
      }),
    };
    const rewriter = new HTMLRewriter().on(CELL_SELECTOR, cell);
    for (const name of LINE_BREAKING_ELEMENTS) {
      const textSelector = `${name === 'tr' || name === 'table' ? '' : 'table '}${name}`;
      rewriter.on(textSelector, {
        element: budget.makeHandler((element: Element) => {
          if (name === 'tr' && isCurrentTable()) table.beginRow();
          else if (isInTable()) table.appendText(LINE_BREAK_PLACEHOLDER);
          if (name === 'table')
            this.#nesting.beginTable(element, () => {
              this.isOver = this.#nesting.count > tableNumber && !this.#nesting.openTables.includes(tableNumber);
              if (isInTable()) table.appendText(LINE_BREAK_PLACEHOLDER);
            });
        }),
      });
    }
    for (const name of INVISIBLE_ELEMENTS) {
      rewriter.on(`table ${name}`, {
        element: budget.makeHandler((element: Element) => {
          this.#silent += 1;
          element.onEndTag(() => {
            this.#silent -= 1;
          });
        }),
      });
    }
    this.rewriter = rewriter;
  }
}

/** Sends the page through a rewriter, until it ends or `shouldStop` is true after a block. */
async function rewritePage(
  file: SheetSource<unknown>,
  recoderFactory: RecoderFactory,
  budget: EventBudget,
  rewriter: HTMLRewriter,
  shouldStop: () => Promise<boolean>,
): Promise<void> {
  const source = toUtf8(file, recoderFactory(), budget);
  const page = rewriter.transform(new Response(source)).body?.getReader();
  while (page) {
    const { done } = await page.read().catch(() => {
      // The parser fails at elements nested without end, for instance.
      throw new HtmlUnreadable();
    });
    if (budget.failure !== undefined) throw budget.failure;
    if (done || (await shouldStop())) break;
  }
  await page?.cancel().catch(() => {});
}

function toUtf8(
  { read, size }: SheetSource<unknown>,
  { recode, markLength }: ReturnType<RecoderFactory>,
  budget: EventBudget,
): ReadableStream<Uint8Array> {
  let at = markLength;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (let isOpen = true; isOpen; ) {
          const piece = at < size ? await read(at, Math.min(BLOCK_BYTES, size - at)) : new Uint8Array();
          at += piece.length;
          const isLast = piece.length === 0 || at >= size;
          const text = recodePiece(recode, piece, isLast);
          if (text.length > 0) controller.enqueue(text);
          if (isLast) controller.close();
          isOpen = !isLast && text.length === 0;
        }
      } catch (error) {
        budget.failure ??= error;
        controller.close();
      }
    },
  });
}

function recodePiece(recode: Recode, piece: Uint8Array, isLast: boolean): Uint8Array {
  try {
    return recode(piece, isLast);
  } catch (error) {
    throw error instanceof TypeError ? new WrongEncoding() : error;
  }
}
