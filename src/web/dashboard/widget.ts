import { fileName } from '../../kernel/files.ts';
import type { ViewChart, ViewResult } from '../../presentation/viewing.ts';
import type { Drawing } from '../charts/draw.ts';
import { numberText, parseNumberStyle, toNumber } from '../charts/format.ts';
import { type Data, findRoles, type Point, toPoint } from '../charts/plot.ts';
import { h, labelButton, uniqueId } from '../dom.ts';
import type { FileFormat } from '../source.ts';
import { buildTable, type Table } from '../table.ts';
import { failureText, TEXTS } from '../texts.ts';
import type { Download } from './download-menu.ts';

/** The card of one visualization and its result. */
export interface Widget {
  element: HTMLElement;
  /** Dims the card until a new result arrives. */
  showWaiting(): void;
  showResult(result: ViewResult): void;
  /** Replaces the result by a message. */
  showFailure(message: string): void;
  /** Draws the result again in the other colour scheme. */
  repaint(): void;
  /** Shows all rows, drawn for paper, or again the rows of before. */
  print(isPrinted: boolean): void;
  /** Whether a part of its table is out of view. */
  isCut(): boolean;
}

/** Makes a file of a visualization's result, with the values that the page has. */
export type DownloadResult = (visualizationId: string, format: FileFormat) => Promise<File>;

/** A point of a chart, or a row of a table, that the viewer has chosen. */
export interface ChosenPoint {
  visualization: { id: string; name: string };
  /** The values by column. */
  values: Point;
}

/** The actions of the viewer on a card. */
export interface CardOptions {
  download?: DownloadResult | undefined;
  /** Called with a point that the viewer chooses. */
  onChoose?: ((point: ChosenPoint) => void) | undefined;
  /** Returns the function that resets the filters; undefined if all have their defaults. */
  reset?: () => (() => void) | undefined;
}

/** The message of a failed card. For a violated policy it is `FORBIDDEN`, which the viewer cannot change. */
const refusalText = (code: string): string =>
  failureText(code === 'SHARE_FILTER_POLICY_VIOLATION' ? 'FORBIDDEN' : code);

/** Makes the card of a visualization. `bare` leaves out its name, if the page names it already. */
export function buildWidget(
  { visualization_id: id, name, description, chart }: ViewChart,
  bare: boolean,
  { download, onChoose, reset }: CardOptions = {},
): Widget {
  let latest: ViewResult | undefined;
  let waits = 0;
  let drawing: Drawing | undefined;
  let asTable = false;
  let table: Table | undefined;
  let paint: (() => void) | undefined;

  const choose = onChoose && ((values: Point) => onChoose({ visualization: { id, name }, values }));
  const titleId = uniqueId('widget');
  const title = h('h2', { id: titleId, class: bare && 'unseen' }, name);
  const toggle = h('button', { type: 'button', hidden: true, onclick: toggleTable });
  const whole = h('button', { type: 'button', class: 'quiet icon whole', hidden: true, onclick: showWhole });
  labelButton(whole, TEXTS.wholeScreen);
  const save =
    download && h('button', { type: 'button', class: 'quiet icon download', hidden: true, onclick: openDownloads });
  if (save) labelButton(save, TEXTS.downloadOf(name), TEXTS.download);
  const saving = h('p', { class: 'note', role: 'status', hidden: true });
  const body = h('div', { class: 'body' });
  const note = h('p', { class: 'note', hidden: true });
  const element = h(
    'section',
    { class: `widget ${chart.type}`, 'aria-labelledby': titleId, 'aria-busy': 'true' },
    h(
      'header',
      {},
      h('div', {}, title, !bare && description !== '' && h('p', {}, description)),
      h('div', { class: 'tools' }, toggle, save, whole),
    ),
    body,
    note,
    save && saving,
  );

  function toggleTable(): void {
    asTable = !asTable;
    if (latest) void render(latest);
  }

  async function showWhole(): Promise<void> {
    const { toggleWhole } = await import('./whole-screen.ts');
    await toggleWhole(element, whole);
  }

  function setBody(...content: Node[]): void {
    const before = drawing;
    drawing = undefined;
    table = undefined;
    body.replaceChildren(...content);
    before?.end();
  }

  function setMessage(message: string, kind: 'empty' | 'error', undo?: () => void): void {
    toggle.hidden = note.hidden = whole.hidden = saving.hidden = true;
    if (save) save.hidden = true;
    paint = undefined;
    setBody(
      h(
        'div',
        { class: kind },
        h('p', { role: kind === 'error' && 'alert' }, message),
        undo && h('button', { type: 'button', class: 'quiet', onclick: undo }, TEXTS.reset),
      ),
    );
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
      body
        .querySelector<HTMLElement>('.points button, .numbers button, td button, .legend button')
        ?.focus({ preventScroll: true });
    }
  }

  async function fill(result: ViewResult): Promise<void> {
    const { columns = [], rows = [], error, truncated } = result;
    if (error) return setMessage(refusalText(error.error_code), 'error');
    if (rows.length === 0) {
      const undo = reset?.();
      return setMessage(undo ? TEXTS.noRows : TEXTS.noData, 'empty', undo);
    }
    paint = undefined;
    const data = { columns, rows };
    const drawable = chart.type === 'table' || findRoles(data, chart) !== undefined;
    const notes = [!drawable && TEXTS.missingColumn, truncated && TEXTS.truncated(rows.length)];
    setNote(notes.filter((each) => each !== false && each !== undefined).join(' '));
    whole.hidden = false;
    toggle.hidden = !drawable || chart.type === 'table' || chart.type === 'number';
    toggle.className = `quiet icon ${asTable ? 'as-chart' : 'as-table'}`;
    labelButton(toggle, asTable ? TEXTS.showChart : TEXTS.showTable);
    if (chart.type === 'table' || asTable || !drawable) {
      const before = table?.arranged();
      const made = buildTable(data, name, chart, choose);
      setBody(made.element);
      if (before) made.arrange(before);
      table = made;
    } else if (chart.type === 'number') setBody(buildNumbers(data, chart, choose));
    else await drawChart(result, data);
    if (save && latest === result) save.hidden = false;
    saving.hidden = true;
  }

  /** Opens the menu, which comes when it is wanted; from then on the browser opens it. */
  async function openDownloads(): Promise<void> {
    if (!save || save.popoverTargetElement) return;
    const { openMenu } = await import('./download-menu.ts');
    if (!save.popoverTargetElement) openMenu(save, saving, downloads);
  }

  function downloads(): Download[] {
    if (!download) return [];
    const drawn = drawing;
    const picture = async () =>
      new File([await (drawn as Drawing).picture()], fileName(name, 'png'), { type: 'image/png' });
    return [
      { label: 'CSV', make: () => download(id, 'csv') },
      { label: 'XLSX', make: () => download(id, 'xlsx') },
      ...(drawn ? [{ label: 'PNG', make: picture }] : []),
    ];
  }

  async function drawChart(result: ViewResult, data: Data): Promise<void> {
    const { draw } = await import('../charts/draw.ts');
    if (latest !== result || asTable) return;
    const said = note.textContent;
    paint = () => {
      const canvas = h('canvas', { role: 'img' });
      setBody(h('div', { class: 'plot' }, h('div', { class: 'canvas' }, canvas)));
      drawing = draw(canvas, data, chart, choose);
      drawing?.points?.setAttribute('aria-label', TEXTS.pointsOf(name));
      setNote([said, drawing?.note].filter(Boolean).join(' '));
      canvas.setAttribute('aria-label', TEXTS.chartOf(name, TEXTS.chartKinds[chart.type], drawing?.summary ?? ''));
    };
    paint();
  }

  return {
    element,
    showWaiting() {
      waits += 1;
      element.setAttribute('aria-busy', 'true');
    },
    showResult(next) {
      latest = next;
      const until = waits;
      // While the code that draws it is being loaded, the next result may be requested.
      void render(next).finally(() => {
        if (until === waits) element.setAttribute('aria-busy', 'false');
      });
    },
    showFailure(message) {
      latest = undefined;
      element.setAttribute('aria-busy', 'false');
      setMessage(message, 'error');
    },
    repaint: () => paint?.(),
    print(isPrinted) {
      table?.print(isPrinted);
      paint?.();
    },
    isCut: () => table?.isCut() ?? false,
  };
}

/** The numbers of the first row in large type, with their columns' names if there are several. */
function buildNumbers(data: Data, chart: ViewChart['chart'], choose?: (point: Point) => void): HTMLElement {
  const { y } = findRoles(data, chart) ?? { y: [] };
  const style = parseNumberStyle(chart.options);
  const [row = []] = data.rows;
  return h(
    'dl',
    { class: 'numbers', onclick: choose && (() => choose(toPoint(data.columns, row))) },
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
