import { fileName } from '../../kernel/files.ts';
import type { ViewChart, ViewResult } from '../../kernel/viewing.ts';
import type { Drawing } from '../charts/draw.ts';
import { numberStyleOf, numberText, toNumber } from '../charts/format.ts';
import { type Data, type Point, pointOf, rolesOf } from '../charts/plot.ts';
import { h, uniqueId } from '../dom.ts';
import type { FileFormat } from '../source.ts';
import { tableOf } from '../table.ts';
import { failureText, TEXTS } from '../texts.ts';
import { downloadMenu } from './download-menu.ts';

/** The card of one visualization and its result. */
export interface Widget {
  element: HTMLElement;
  /** Dims the card until a new result arrives. */
  wait(): void;
  show(result: ViewResult): void;
  /** Replaces the result by a message. */
  fail(message: string): void;
  /** Draws the result again in the other colour scheme. */
  repaint(): void;
}

/** Makes a file of a visualization's result, with the values that the page has. */
export type DownloadResult = (visualizationId: string, format: FileFormat) => Promise<File>;

/** A point of a chart, or a row of a table, that the viewer has chosen. */
export interface ChosenPoint {
  visualization: { id: string; name: string };
  /** By column. */
  values: Point;
}

/** What a card can do, where that may be. */
export interface CardOffers {
  download?: DownloadResult | undefined;
  /** Called with a point that the viewer chooses. */
  chosen?: ((point: ChosenPoint) => void) | undefined;
}

/** A card is refused for what its viewer is held to, never for what they chose. */
const refusalText = (code: string): string =>
  failureText(code === 'SHARE_FILTER_POLICY_VIOLATION' ? 'FORBIDDEN' : code);

/** Makes the card of a visualization. `bare` leaves out its name, if the page names it already. */
export function widgetOf(
  { visualization_id: id, name, description, chart }: ViewChart,
  bare: boolean,
  { download, chosen }: CardOffers = {},
): Widget {
  let result: ViewResult | undefined;
  let waits = 0;
  let drawing: Drawing | undefined;
  let asTable = false;

  const choose = chosen && ((values: Point) => chosen({ visualization: { id, name }, values }));
  const titleId = uniqueId('widget');
  const title = h('h2', { id: titleId, class: bare && 'unseen' }, name);
  const toggle = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: toggleTable });
  const menu = download && downloadMenu(name);
  const body = h('div', { class: 'body' });
  const note = h('p', { class: 'note', hidden: true });
  const element = h(
    'section',
    { class: `widget ${chart.type}`, 'aria-labelledby': titleId, 'aria-busy': 'true' },
    h(
      'header',
      {},
      h('div', {}, title, !bare && description !== '' && h('p', {}, description)),
      h('div', { class: 'tools' }, toggle, menu?.button, menu?.panel),
    ),
    body,
    note,
    menu?.said,
  );

  function toggleTable(): void {
    asTable = !asTable;
    if (result) void render(result);
  }

  function put(...content: Node[]): void {
    const before = drawing;
    drawing = undefined;
    body.replaceChildren(...content);
    before?.end();
  }

  function say(message: string, kind: 'empty' | 'error'): void {
    toggle.hidden = note.hidden = true;
    menu?.offer([]);
    put(h('p', { class: kind, role: kind === 'error' && 'alert' }, message));
  }

  function tell(text: string): void {
    note.textContent = text;
    note.hidden = text === '';
  }

  async function render(shown: ViewResult): Promise<void> {
    // What a viewer chooses by the keyboard may change what is shown: they stay at the card.
    const isHere = document.hasFocus() && body.contains(document.activeElement);
    await fill(shown);
    if (isHere && document.activeElement === document.body) {
      body.querySelector<HTMLElement>('.points button, .numbers button, td button')?.focus({ preventScroll: true });
    }
  }

  async function fill(shown: ViewResult): Promise<void> {
    const { columns = [], rows = [], error, truncated } = shown;
    if (error) return say(refusalText(error.error_code), 'error');
    if (rows.length === 0) return say(TEXTS.noRows, 'empty');
    const data = { columns, rows };
    const drawable = chart.type === 'table' || rolesOf(data, chart) !== undefined;
    const notes = [!drawable && TEXTS.missingColumn, truncated && TEXTS.truncated(rows.length)];
    tell(notes.filter((each) => each !== false && each !== undefined).join(' '));
    toggle.hidden = !drawable || chart.type === 'table' || chart.type === 'number';
    toggle.textContent = asTable ? TEXTS.showChart : TEXTS.showTable;
    if (chart.type === 'table' || asTable || !drawable) {
      put(tableOf(data, name, chart, choose));
    } else if (chart.type === 'number') put(numbersOf(data, chart, choose));
    else await drawChart(shown, data);
    if (result === shown) offerDownloads();
  }

  function offerDownloads(): void {
    if (!download) return;
    const shown = drawing;
    const picture = async () =>
      new File([await (shown as Drawing).picture()], fileName(name, 'png'), { type: 'image/png' });
    menu?.offer([
      { label: 'CSV', make: () => download(id, 'csv') },
      { label: 'XLSX', make: () => download(id, 'xlsx') },
      ...(shown ? [{ label: 'PNG', make: picture }] : []),
    ]);
  }

  async function drawChart(shown: ViewResult, data: Data): Promise<void> {
    const { draw } = await import('../charts/draw.ts');
    if (result !== shown || asTable) return;
    const canvas = h('canvas', { role: 'img' });
    put(h('div', { class: 'canvas' }, canvas));
    drawing = draw(canvas, data, chart, choose);
    drawing?.points?.setAttribute('aria-label', TEXTS.pointsOf(name));
    if (drawing?.points) canvas.after(drawing.points);
    if (drawing?.note) tell([note.textContent, drawing.note].join(' ').trim());
    canvas.setAttribute('aria-label', TEXTS.chartOf(name, TEXTS.chartKinds[chart.type], drawing?.summary ?? ''));
  }

  return {
    element,
    wait() {
      waits += 1;
      element.setAttribute('aria-busy', 'true');
    },
    show(next) {
      result = next;
      const until = waits;
      // The code that draws it may still be on its way, and the next result be asked for meanwhile.
      void render(next).finally(() => {
        if (until === waits) element.setAttribute('aria-busy', 'false');
      });
    },
    fail(message) {
      result = undefined;
      element.setAttribute('aria-busy', 'false');
      say(message, 'error');
    },
    repaint() {
      if (result && drawing) void render(result);
    },
  };
}

/** The numbers of the first row in large type, with their columns' names if there are several. */
function numbersOf(data: Data, chart: ViewChart['chart'], choose?: (point: Point) => void): HTMLElement {
  const { y } = rolesOf(data, chart) ?? { y: [] };
  const style = numberStyleOf(chart.options);
  const [row = []] = data.rows;
  return h(
    'dl',
    { class: 'numbers', onclick: choose && (() => choose(pointOf(data.columns, row))) },
    ...y.map((at) => {
      const cell = row[at] ?? null;
      const label = data.columns[at]?.name ?? '';
      const text = toNumber(cell) === null ? String(cell ?? '–') : numberText(cell as number | string, style);
      // The keyboard's way to the same.
      const number = h('dd', {}, choose ? h('button', { type: 'button' }, text) : text);
      // A long one is written smaller: it stands on one line.
      number.style.setProperty('--length', String(text.length));
      return h('div', {}, h('dt', { class: y.length === 1 && 'unseen' }, label), number);
    }),
  );
}
