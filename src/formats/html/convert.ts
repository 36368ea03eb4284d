import { guessEncoding } from '../text/detect.ts';
import { createRecoder, isWestern, type Recode } from '../text/utf8.ts';
import type { Converted, SheetOutput } from '../workbook/choice.ts';
import { computeMaxTextBytes, WorkbookTooLarge } from '../workbook/limits.ts';
import type { ReadRange } from '../zip/directory.ts';
import { LINE_BREAK, TableText } from './table.ts';

/** The page has no table, or cannot be read. */
export class HtmlUnreadable extends Error {}

/** A page, and where the text of its table goes. */
export interface HtmlFile<T> {
  size: number;
  read: ReadRange;
  begin(): SheetOutput<T>;
}

/** The most elements and texts of a page: the runtime reports each by a call, far slower than parsing. */
const MAX_EVENTS = 1_500_000;
const MAX_BYTES = 32 * 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const HEAD_BYTES = 4096;
/** Tables within tables: pages that are laid out by tables have a few. */
const MAX_DEPTH = 100;

/** Converts a page's first table of two rows with values, or none to null. @throws HtmlUnreadable, WorkbookTooLarge */
export async function convertHtml<T>(file: HtmlFile<T>): Promise<Converted<T> | null> {
  if (file.size > MAX_BYTES) throw new WorkbookTooLarge();
  try {
    return await convertAs(file, await recoderFor(file, false));
  } catch (error) {
    if (!(error instanceof WrongEncoding)) throw error;
    return await convertAs(file, await recoderFor(file, true));
  }
}

/** Bytes that are not in the encoding that the page says, or is thought to have. */
class WrongEncoding extends Error {}

/** Makes the function that converts the page to UTF-8; `mark` is the length of its byte order mark. */
type Recoder = () => { recode: Recode; mark: number };

async function recoderFor({ read }: HtmlFile<unknown>, isSecond: boolean): Promise<Recoder> {
  if (isSecond) return () => ({ recode: createRecoder('windows-1252'), mark: 0 });
  const head = await read(0, HEAD_BYTES);
  const { encoding, markLength: mark } = guessEncoding(head);
  if (mark > 0 || encoding !== 'utf-8') return () => ({ recode: createRecoder(encoding), mark });
  const text = String.fromCharCode(...head);
  const named = /<meta\s[^>]*charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(text)?.[1]?.toLowerCase() ?? 'utf-8';
  if (/^(?:utf-?8|utf-?16.*|unicode|(?:us-)?ascii)$/.test(named))
    return () => ({ recode: createRecoder('utf-8'), mark });
  if (isWestern(named)) return () => ({ recode: createRecoder('windows-1252'), mark });
  const encoder = new TextEncoder();
  return () => {
    const decoder = decoderNamed(named);
    return { recode: (piece, isLast) => encoder.encode(decoder.decode(piece, { stream: !isLast })), mark };
  };
}

function decoderNamed(label: string): TextDecoder {
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true });
  } catch {
    throw new HtmlUnreadable();
  }
}

async function convertAs<T>(file: HtmlFile<T>, recoder: Recoder): Promise<Converted<T> | null> {
  const budget = new EventBudget();
  const survey = new TableFinder(budget);
  await rewrite(file, recoder, budget, survey.rewriter, async () => survey.found !== null);
  if (survey.count === 0) throw new HtmlUnreadable();
  if (survey.found === null) return null;
  const output = file.begin();
  let written = 0;
  const table = new TableText((text) => {
    written += text.length;
    if (written > computeMaxTextBytes(file.size)) throw new WorkbookTooLarge();
    return output.write(text);
  });
  const reading = new TableReader(budget, survey.found, table);
  await rewrite(file, recoder, budget, reading.rewriter, async () => {
    await table.flush();
    return reading.isOver;
  });
  return table.end(output);
}

/** Limits the elements and texts that the runtime reports in both passes, and stores a failure, which it would wrap. */
class EventBudget {
  failure: unknown;
  #left = MAX_EVENTS;

  handler<A>(handle: (of: A) => void): (of: A) => void {
    return (of) => {
      if (this.failure !== undefined) return;
      try {
        this.#left -= 1;
        if (this.#left < 0) throw new WorkbookTooLarge();
        handle(of);
      } catch (error) {
        this.failure = error;
      }
    };
  }
}

/** Keeps which tables are open, by their numbers in the page. */
class TableNesting {
  count = 0;
  readonly open: number[] = [];

  get current(): number {
    return this.open.at(-1) ?? -1;
  }

  /** Begins a table. @param onEnd called when it, or an element around it, is closed */
  begin(element: Element, onEnd: () => void): void {
    if (this.open.length >= MAX_DEPTH) throw new HtmlUnreadable();
    const table = this.count;
    this.count += 1;
    this.open.push(table);
    element.onEndTag(() => {
      const at = this.open.lastIndexOf(table);
      if (at < 0) return;
      this.open.length = at;
      onEnd();
    });
  }
}

/** Finds the first table that comes to two rows with values. */
class TableFinder {
  readonly rewriter: HTMLRewriter;
  found: number | null = null;
  readonly #nesting = new TableNesting();
  /** For each table that is open: its rows with values, and whether the present one has one. */
  readonly #rows: { filled: number; isFilled: boolean }[] = [];

  constructor(budget: EventBudget) {
    const cell = { text: budget.handler((text: Text) => this.#text(text.text)) };
    this.rewriter = new HTMLRewriter()
      .on('table', {
        element: budget.handler((element: Element) => {
          this.#nesting.begin(element, () => {
            this.#rows.length = this.#nesting.open.length;
          });
          this.#rows.push({ filled: 0, isFilled: false });
        }),
      })
      .on('tr', {
        element: budget.handler(() => {
          const rows = this.#rows.at(-1);
          if (rows) rows.isFilled = false;
        }),
      })
      .on(CELLS, cell);
  }

  get count(): number {
    return this.#nesting.count;
  }

  #text(text: string): void {
    const rows = this.#rows.at(-1);
    if (!rows || rows.isFilled || text.replace(/&(?:nbsp|#160|#xa0);?|\s/gi, '') === '') return;
    rows.isFilled = true;
    rows.filled += 1;
    if (rows.filled === 2) this.found ??= this.#nesting.current;
  }
}

/** The selector of cells. Only one, since each selector hands over the text of what is nested in it. */
const CELLS = 'td,th';

/** Elements that break lines within a cell. */
const LINE_BREAKING_ELEMENTS = ['br', 'p', 'div', 'li', 'table', 'tr'];
/** Elements whose text nobody sees. */
const INVISIBLE_ELEMENTS = ['script', 'style', 'template'];

/** Reads the rows and cells of one table; of tables within its cells the text alone. */
class TableReader {
  readonly rewriter: HTMLRewriter;
  isOver = false;
  readonly #nesting = new TableNesting();
  #silent = 0;

  constructor(budget: EventBudget, wanted: number, table: TableText) {
    const isWanted = () => !this.isOver && this.#nesting.current === wanted;
    const isWithin = () => !this.isOver && this.#nesting.open.includes(wanted);
    const cell = {
      element: budget.handler((element: Element) => {
        if (isWanted()) table.beginCell(element.getAttribute('colspan'), element.getAttribute('rowspan'));
        else if (isWithin()) table.add(' ');
      }),
      text: budget.handler((text: Text) => {
        if (isWithin() && this.#silent === 0) table.add(text.text.replaceAll(LINE_BREAK, '\ufffd'));
      }),
    };
    const rewriter = new HTMLRewriter().on(CELLS, cell);
    for (const name of LINE_BREAKING_ELEMENTS) {
      const within = `${name === 'tr' || name === 'table' ? '' : 'table '}${name}`;
      rewriter.on(within, {
        element: budget.handler((element: Element) => {
          if (name === 'tr' && isWanted()) table.beginRow();
          else if (isWithin()) table.add(LINE_BREAK);
          if (name === 'table')
            this.#nesting.begin(element, () => {
              this.isOver = this.#nesting.count > wanted && !this.#nesting.open.includes(wanted);
              if (isWithin()) table.add(LINE_BREAK);
            });
        }),
      });
    }
    for (const name of INVISIBLE_ELEMENTS) {
      rewriter.on(`table ${name}`, {
        element: budget.handler((element: Element) => {
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

/** Sends the page through a rewriter, until it ends or `isEnough` after a block. */
async function rewrite(
  file: HtmlFile<unknown>,
  recoder: Recoder,
  budget: EventBudget,
  rewriter: HTMLRewriter,
  isEnough: () => Promise<boolean>,
): Promise<void> {
  const source = toUtf8(file, recoder(), budget);
  const page = rewriter.transform(new Response(source)).body?.getReader();
  while (page) {
    const { done } = await page.read().catch(() => {
      // The parser fails at elements nested without end, for instance.
      throw new HtmlUnreadable();
    });
    if (budget.failure !== undefined) throw budget.failure;
    if (done || (await isEnough())) break;
  }
  await page?.cancel().catch(() => {});
}

function toUtf8(
  { read, size }: HtmlFile<unknown>,
  { recode, mark }: ReturnType<Recoder>,
  budget: EventBudget,
): ReadableStream<Uint8Array> {
  let at = mark;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (let isOpen = true; isOpen; ) {
          const piece = at < size ? await read(at, Math.min(BLOCK_BYTES, size - at)) : new Uint8Array();
          at += piece.length;
          const isLast = piece.length === 0 || at >= size;
          const text = recoded(recode, piece, isLast);
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

function recoded(recode: Recode, piece: Uint8Array, isLast: boolean): Uint8Array {
  try {
    return recode(piece, isLast);
  } catch (error) {
    throw error instanceof TypeError ? new WrongEncoding() : error;
  }
}
