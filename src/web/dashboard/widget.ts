import { makeFileName } from '../../kernel/files.ts';
import type { ViewChart, ViewResult } from '../../presentation/viewing.ts';
import type { Drawing } from '../charts/draw.ts';
import { formatNumber, parseNumberStyle, toNumber } from '../charts/format.ts';
import { type DataPoint, findChartProblem, findRoles, type ResultData, toPoint } from '../charts/plot.ts';
import { createUniqueId, h, labelButton } from '../dom.ts';
import type { FileFormat } from '../source.ts';
import { buildTable, type ResultTable } from '../table.ts';
import { getFailureText, TEXTS } from '../texts.ts';
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
  /** Shows all rows, drawn for paper, or restores the previous rows. */
  setPrinted(isPrinted: boolean): void;
  /** Returns true if a part of the card's table is out of view. */
  isCut(): boolean;
}

/** A function that makes a file of a visualization's result, with the page's current filter values. */
export type DownloadResult = (visualizationId: string, format: FileFormat) => Promise<File>;

/** A point of a chart, or a row of a table, that the viewer has chosen. */
export interface ChosenPoint {
  visualization: { id: string; name: string };
  /** The values of the point by column. */
  values: DataPoint;
}

/** The actions of the viewer on a card. */
export interface CardOptions {
  download?: DownloadResult | undefined;
  /** Called with a point that the viewer has chosen. */
  onChoose?: ((point: ChosenPoint) => void) | undefined;
  /** Returns the function that resets the filters; undefined if all have their defaults. */
  reset?: () => (() => void) | undefined;
}

/** Makes the message of a failed card. For a violated policy it is that of `FORBIDDEN`, which the viewer cannot change. */
const makeFailureText = (code: string): string =>
  getFailureText(code === 'SHARE_FILTER_POLICY_VIOLATION' ? 'FORBIDDEN' : code);

/** Builds the card of a visualization. `isBare` leaves out its name, as the page shows it already. */
export function buildWidget(
  { visualization_id: id, name, description, chart }: ViewChart,
  isBare: boolean,
  { download, onChoose, reset }: CardOptions = {},
): Widget {
  let latestResult: ViewResult | undefined;
  let waitCount = 0;
  let drawing: Drawing | undefined;
  let isShownAsTable = false;
  let table: ResultTable | undefined;
  let paintChart: (() => void) | undefined;
  const hiddenLabels = new Set<string>();

  const choosePoint = onChoose && ((values: DataPoint) => onChoose({ visualization: { id, name }, values }));
  const titleId = createUniqueId('widget');
  const title = h('h2', { id: titleId, class: isBare && 'unseen' }, name);
  const toggleButton = h('button', { type: 'button', hidden: true, onclick: toggleTable });
  const fullScreenButton = h('button', {
    type: 'button',
    class: 'quiet icon whole',
    hidden: true,
    onclick: showFullScreen,
  });
  labelButton(fullScreenButton, TEXTS.wholeScreen);
  const downloadButton =
    download && h('button', { type: 'button', class: 'quiet icon download', hidden: true, onclick: openDownloads });
  if (downloadButton) labelButton(downloadButton, TEXTS.downloadOf(name), TEXTS.download);
  const status = h('p', { class: 'note', role: 'status', hidden: true });
  const body = h('div', { class: 'body' });
  const noteElement = h('p', { class: 'note', hidden: true });
  const element = h(
    'section',
    { class: `widget ${chart.type}`, 'aria-labelledby': titleId, 'aria-busy': 'true' },
    h(
      'header',
      {},
      h('div', {}, title, !isBare && description !== '' && h('p', {}, description)),
      h('div', { class: 'tools' }, toggleButton, downloadButton, fullScreenButton),
    ),
    body,
    noteElement,
    status,
  );

  function toggleTable(): void {
    isShownAsTable = !isShownAsTable;
    if (latestResult) void renderKeepingFocus(latestResult);
  }

  async function showFullScreen(): Promise<void> {
    const { toggleFullScreen: toggleWhole } = await import('./full-screen.ts').catch(showMissingCode);
    showStatus('');
    await toggleWhole(element, fullScreenButton);
  }

  function setBody(...content: Node[]): void {
    const previousDrawing = drawing;
    drawing = undefined;
    table = undefined;
    body.replaceChildren(...content);
    previousDrawing?.end();
  }

  function setMessage(message: string, kind: 'empty' | 'error', button?: HTMLElement): void {
    toggleButton.hidden = noteElement.hidden = fullScreenButton.hidden = status.hidden = true;
    if (downloadButton) downloadButton.hidden = true;
    paintChart = undefined;
    setBody(h('div', { class: kind }, h('p', { role: kind === 'error' && 'alert' }, message), button));
  }

  function setNote(text: string): void {
    noteElement.textContent = text;
    noteElement.hidden = text === '';
  }

  function showStatus(text: string, isProblem = false): void {
    status.textContent = text;
    status.classList.toggle('error', isProblem);
    status.hidden = text === '';
  }

  /** Says that code which is loaded on demand is gone after a deployment, or that the connection is lost. */
  function showMissingCode(error: unknown): never {
    showStatus(TEXTS.broken, true);
    status.append(' ', buildReloadButton());
    throw error;
  }

  async function renderKeepingFocus(result: ViewResult): Promise<void> {
    // A point that is chosen by the keyboard may change the filters: the focus stays at the card.
    const hadFocus = document.hasFocus() && body.contains(document.activeElement);
    await fillCard(result).catch((error: unknown) => {
      // The code that draws charts cannot be loaded. A table needs none of it: the button that shows it stays.
      if (latestResult === result && !isShownAsTable) {
        const { hidden } = toggleButton;
        setMessage(TEXTS.broken, 'error', buildReloadButton());
        toggleButton.hidden = hidden;
      }
      throw error;
    });
    if (hadFocus && document.activeElement === document.body) {
      body
        .querySelector<HTMLElement>('.points button, .numbers button, td button, .legend button')
        ?.focus({ preventScroll: true });
    }
  }

  async function fillCard(result: ViewResult): Promise<void> {
    const { columns = [], rows = [], error, truncated } = result;
    if (error) return setMessage(makeFailureText(error.error_code), 'error');
    if (rows.length === 0) {
      const resetFilters = reset?.();
      if (!resetFilters) return setMessage(TEXTS.noData, 'empty');
      return setMessage(TEXTS.noRows, 'empty', buildButton(TEXTS.reset, resetFilters));
    }
    paintChart = undefined;
    const data = { columns, rows };
    const chartProblem = findChartProblem(data, chart);
    setNote([chartProblem, truncated && TEXTS.truncated(rows.length)].filter(Boolean).join(' '));
    fullScreenButton.hidden = false;
    toggleButton.hidden = chartProblem !== undefined || chart.type === 'table' || chart.type === 'number';
    toggleButton.className = `quiet icon ${isShownAsTable ? 'as-chart' : 'as-table'}`;
    labelButton(toggleButton, isShownAsTable ? TEXTS.showChart : TEXTS.showTable);
    if (chart.type === 'table' || isShownAsTable || chartProblem) {
      const previousArrangement = table?.getArrangement();
      const newTable = buildTable(data, name, chart, { isCut: truncated, onChoose: choosePoint });
      setBody(newTable.element);
      if (previousArrangement) newTable.applyArrangement(previousArrangement);
      table = newTable;
    } else if (chart.type === 'number') setBody(buildNumbers(data, chart, choosePoint));
    else await drawChart(result, data);
    if (downloadButton && latestResult === result) downloadButton.hidden = false;
    status.hidden = true;
  }

  /** Opens the menu, whose code is loaded on demand; from then on the browser opens it. */
  async function openDownloads(): Promise<void> {
    if (!downloadButton || downloadButton.popoverTargetElement) return;
    const { openMenu } = await import('./download-menu.ts').catch(showMissingCode);
    showStatus('');
    if (!downloadButton.popoverTargetElement) openMenu(downloadButton, showStatus, listDownloads);
  }

  function listDownloads(): Download[] {
    if (!download) return [];
    const currentDrawing = drawing;
    const makePicture = async () =>
      new File([await (currentDrawing as Drawing).makePicture()], makeFileName(name, 'png'), { type: 'image/png' });
    return [
      { label: 'CSV', makeFile: () => download(id, 'csv') },
      { label: 'XLSX', makeFile: () => download(id, 'xlsx') },
      ...(currentDrawing ? [{ label: 'PNG', makeFile: makePicture }] : []),
    ];
  }

  async function drawChart(result: ViewResult, data: ResultData): Promise<void> {
    const { drawOnCanvas: draw } = await import('../charts/draw.ts');
    if (latestResult !== result || isShownAsTable) return;
    const currentNote = noteElement.textContent;
    paintChart = () => {
      const canvas = h('canvas', { role: 'img' });
      setBody(h('div', { class: 'plot' }, h('div', { class: 'canvas' }, canvas)));
      drawing = draw(canvas, data, chart, hiddenLabels, choosePoint);
      drawing?.pointsElement?.setAttribute('aria-label', TEXTS.pointsOf(name));
      setNote([currentNote, drawing?.note].filter(Boolean).join(' '));
      canvas.setAttribute('aria-label', TEXTS.chartOf(name, TEXTS.chartKinds[chart.type], drawing?.summary ?? ''));
    };
    paintChart();
  }

  return {
    element,
    showWaiting() {
      waitCount += 1;
      element.setAttribute('aria-busy', 'true');
    },
    showResult(nextResult) {
      latestResult = nextResult;
      const waitCountBefore = waitCount;
      // While the code that draws it is being loaded, the next result may be requested.
      void renderKeepingFocus(nextResult).finally(() => {
        if (waitCountBefore === waitCount) element.setAttribute('aria-busy', 'false');
      });
    },
    showFailure(message) {
      latestResult = undefined;
      element.setAttribute('aria-busy', 'false');
      setMessage(message, 'error');
    },
    repaint: () => paintChart?.(),
    setPrinted(isPrinted) {
      table?.setPrinted(isPrinted);
      paintChart?.();
    },
    isCut: () => table?.isPartlyHidden() ?? false,
  };
}

const buildButton = (text: string, onclick: () => void): HTMLElement =>
  h('button', { type: 'button', class: 'quiet', onclick }, text);

/** A browser does not ask again for code that it could not load once, until the page is loaded anew. */
const buildReloadButton = (): HTMLElement => buildButton(TEXTS.retry, () => location.reload());

/** Builds the numbers of the first row in large type, with their columns' names if there are several. */
function buildNumbers(
  data: ResultData,
  chart: ViewChart['chart'],
  choosePoint?: (point: DataPoint) => void,
): HTMLElement {
  const { y } = findRoles(data, chart) ?? { y: [] };
  const style = parseNumberStyle(chart.options);
  const [row = []] = data.rows;
  return h(
    'dl',
    { class: 'numbers', onclick: choosePoint && (() => choosePoint(toPoint(data.columns, row))) },
    ...y.map((at) => {
      const cell = row[at] ?? null;
      const label = data.columns[at]?.name ?? '';
      const text = toNumber(cell) === null ? String(cell ?? '–') : formatNumber(cell as number | string, style);
      // The same by the keyboard.
      const numberElement = h('dd', {}, choosePoint ? h('button', { type: 'button' }, text) : text);
      // A long number is written smaller, so that it fits on one line.
      numberElement.style.setProperty('--length', String(text.length));
      return h('div', {}, h('dt', { class: y.length === 1 && 'unseen' }, label), numberElement);
    }),
  );
}
