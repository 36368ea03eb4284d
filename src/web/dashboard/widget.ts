import { fileName } from '../../kernel/files.ts';
import type { ViewChart, ViewResult } from '../../presentation/viewing.ts';
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

/** What the viewer may do with a card. */
export interface CardOptions {
  download?: DownloadResult | undefined;
  /** Called with a point that the viewer chooses. */
  onChoose?: ((point: ChosenPoint) => void) | undefined;
}

/** A filter policy refuses a card for values that the viewer cannot change. */
const refusalText = (code: string): string =>
  failureText(code === 'SHARE_FILTER_POLICY_VIOLATION' ? 'FORBIDDEN' : code);

/** Makes the card of a visualization. `bare` leaves out its name, if the page names it already. */
export function widgetOf(
  { visualization_id: id, name, description, chart }: ViewChart,
  bare: boolean,
  { download, onChoose }: CardOptions = {},
): Widget {
  let latest: ViewResult | undefined;
  let waits = 0;
  let drawing: Drawing | undefined;
  let asTable = false;

  const choose = onChoose && ((values: Point) => onChoose({ visualization: { id, name }, values }));
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
    menu?.status,
  );

  function toggleTable(): void {
    asTable = !asTable;
    if (latest) void render(latest);
  }

  function setBody(...content: Node[]): void {
    const before = drawing;
    drawing = undefined;
    body.replaceChildren(...content);
    before?.end();
  }

  function setMessage(message: string, kind: 'empty' | 'error'): void {
    toggle.hidden = note.hidden = true;
    menu?.offer([]);
    setBody(h('p', { class: kind, role: kind === 'error' && 'alert' }, message));
  }

  function setNote(text: string): void {
    note.textContent = text;
    note.hidden = text === '';
  }

  async function render(result: ViewResult): Promise<void> {
    // A point that is chosen by the keyboard may change the filters: the focus stays at the card.
    const isHere = document.hasFocus() && body.contains(document.activeElement);
    await fill(result);
    if (isHere && document.activeElement === document.body) {
      body.querySelector<HTMLElement>('.points button, .numbers button, td button')?.focus({ preventScroll: true });
    }
  }

  async function fill(result: ViewResult): Promise<void> {
    const { columns = [], rows = [], error, truncated } = result;
    if (error) return setMessage(refusalText(error.error_code), 'error');
    if (rows.length === 0) return setMessage(TEXTS.noRows, 'empty');
    const data = { columns, rows };
    const drawable = chart.type === 'table' || rolesOf(data, chart) !== undefined;
    const notes = [!drawable && TEXTS.missingColumn, truncated && TEXTS.truncated(rows.length)];
    setNote(notes.filter((each) => each !== false && each !== undefined).join(' '));
    toggle.hidden = !drawable || chart.type === 'table' || chart.type === 'number';
    toggle.textContent = asTable ? TEXTS.showChart : TEXTS.showTable;
    if (chart.type === 'table' || asTable || !drawable) {
      setBody(tableOf(data, name, chart, choose));
    } else if (chart.type === 'number') setBody(numbersOf(data, chart, choose));
    else await drawChart(result, data);
    if (latest === result) offerDownloads();
  }

  function offerDownloads(): void {
    if (!download) return;
    const drawn = drawing;
    const picture = async () =>
      new File([await (drawn as Drawing).picture()], fileName(name, 'png'), { type: 'image/png' });
    menu?.offer([
      { label: 'CSV', make: () => download(id, 'csv') },
      { label: 'XLSX', make: () => download(id, 'xlsx') },
      ...(drawn ? [{ label: 'PNG', make: picture }] : []),
    ]);
  }

  async function drawChart(result: ViewResult, data: Data): Promise<void> {
    const { draw } = await import('../charts/draw.ts');
    if (latest !== result || asTable) return;
    const canvas = h('canvas', { role: 'img' });
    setBody(h('div', { class: 'canvas' }, canvas));
    drawing = draw(canvas, data, chart, choose);
    drawing?.points?.setAttribute('aria-label', TEXTS.pointsOf(name));
    if (drawing?.points) canvas.after(drawing.points);
    if (drawing?.note) setNote([note.textContent, drawing.note].join(' ').trim());
    canvas.setAttribute('aria-label', TEXTS.chartOf(name, TEXTS.chartKinds[chart.type], drawing?.summary ?? ''));
  }

  return {
    element,
    wait() {
      waits += 1;
      element.setAttribute('aria-busy', 'true');
    },
    show(next) {
      latest = next;
      const until = waits;
      // While the code that draws it is being loaded, the next result may be requested.
      void render(next).finally(() => {
        if (until === waits) element.setAttribute('aria-busy', 'false');
      });
    },
    fail(message) {
      latest = undefined;
      element.setAttribute('aria-busy', 'false');
      setMessage(message, 'error');
    },
    repaint() {
      if (latest && drawing) void render(latest);
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
      // The same by the keyboard.
      const number = h('dd', {}, choose ? h('button', { type: 'button' }, text) : text);
      // A long number is written smaller, so that it fits on one line.
      number.style.setProperty('--length', String(text.length));
      return h('div', {}, h('dt', { class: y.length === 1 && 'unseen' }, label), number);
    }),
  );
}
