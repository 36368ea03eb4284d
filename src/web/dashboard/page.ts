import type { EmbedOptions, SharedItemView, ViewFilter } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { applyPrintBranding } from '../branding/apply.ts';
import { h } from '../dom.ts';
import { type FilterBar, filterBar } from '../filters/bar.ts';
import { problemPanel } from '../panel.ts';
import { onPrint } from '../print.ts';
import type { Executed, Source } from '../source.ts';
import { formatList, LOCALE, TEXTS } from '../texts.ts';
import {
  areEqual,
  initialValues,
  listBackwards,
  listMissing,
  type ParameterValues,
  toParameters,
  toQuery,
} from '../values.ts';
import { freshness } from './freshness.ts';
import { buildGrid } from './grid.ts';
import type { ChosenPoint, DownloadResult } from './widget.ts';

/** Delays before results are requested again while the database wakes, which takes a second or two. Milliseconds. */
const PAUSES = [1_000, 2_000, 4_000, 8_000];

/** The initial values of a page. */
export interface Start {
  /** The filters in the page's address. */
  query: URLSearchParams;
  /** Values that override those of the address. */
  values?: ParameterValues;
}

/** The events of a page. */
export interface PageEvents {
  /** Filter values were changed by the viewer, or by the host page. */
  onChange(query: URLSearchParams, parameters: ParameterValues): void;
  /** The first results are there, or the reason why there are none. */
  onReady?(parameters: ParameterValues): void;
  /** The access to it has ended. */
  onEnd?(problem: ApiProblem): void;
  /** The results cannot be shown. */
  onFailure?(problem: ApiProblem | undefined): void;
  /** The viewer has chosen a point of a chart. */
  onChoose?(point: ChosenPoint): void;
}

/** The page of a dashboard, or of a single visualization, with its filters. */
export interface ItemPage {
  element: HTMLElement;
  /** Sets values of filters from outside; slugs that are no filters of the page are ignored. */
  setParameters(parameters: ParameterValues): void;
  /** Draws the charts again in the other colour scheme. */
  repaint(): void;
  /** Aborts the requests under way. */
  end(): void;
}

/** Makes the page and runs its queries. */
export function buildItemPage(
  item: SharedItemView,
  { hide_header, hide_controls, allow_downloads }: EmbedOptions,
  source: Source,
  start: Start,
  { onChange, onReady, onEnd, onFailure, onChoose }: PageEvents,
): ItemPage {
  const { name, description, filters, charts, layout } = item;
  let values = { ...initialValues(filters, start.query), ...ofFilters(start.values ?? {}) };
  let running = new AbortController();

  const alone = charts.length === 1 && charts[0]?.name === name;
  const download: DownloadResult | undefined = allow_downloads
    ? (id, format) => source.download(id, format, toParameters(filters, values))
    : undefined;
  const isChosen = () => bar && !filters.every(({ slug, default: initial }) => areEqual(values[slug], initial));
  const grid = buildGrid(layout, charts, alone, { download, onChoose, reset: () => (isChosen() ? reset : undefined) });
  const status = h('p', { class: 'unseen', role: 'status' });
  const fresh = freshness(() => void run({ isFresh: true }), parent === window);
  const chosen = h('ul', { class: 'chosen', 'aria-label': TEXTS.filters });
  const age = h('p', { class: 'age', role: 'status' });
  const trouble = h('div', { class: 'trouble' });
  const bar: FilterBar | undefined =
    filters.length > 0 && !hide_controls ? filterBar(filters, source, choose, reset) : undefined;
  const element = h(
    'main',
    { class: 'item' },
    h(
      'div',
      { class: 'top' },
      h(
        'header',
        { class: hide_header ? 'unseen' : 'title' },
        h('h1', {}, name),
        description !== '' && h('p', {}, description),
      ),
      charts.length > 0 && fresh.element,
    ),
    chosen,
    bar?.element,
    trouble,
    age,
    charts.length === 0
      ? h('div', { class: 'empty' }, h('p', {}, TEXTS.emptyDashboard), h('p', {}, TEXTS.emptyDashboardHint))
      : grid.element,
    status,
  );

  /** The parameters that belong to filters of the page. */
  function ofFilters(parameters: ParameterValues): ParameterValues {
    const slugs = filters.map(({ slug }) => slug).filter((slug) => Object.hasOwn(parameters, slug));
    return Object.fromEntries(slugs.map((slug) => [slug, parameters[slug] ?? null]));
  }

  function choose(slug: string, value: unknown): void {
    values = { ...values, [slug]: value };
    apply();
  }

  function reset(): void {
    values = initialValues(filters, new URLSearchParams());
    bar?.set(values);
    apply();
  }

  function apply(): void {
    onChange(toQuery(filters, values), toParameters(filters, values));
    void run();
  }

  async function run({ isFresh = false } = {}): Promise<void> {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    bar?.markMissing(values);
    trouble.replaceChildren();
    age.textContent = '';
    grid.element.hidden = false;
    const [missing] = listMissing(filters, values);
    if (missing) return failAll(TEXTS.required(missing.label));
    const [wrong] = listBackwards(filters, values);
    if (wrong) return failAll(TEXTS.backwards(wrong.label));
    for (const { widget } of grid.cards) widget.showWaiting();
    status.textContent = TEXTS.loading;
    try {
      const executed = await source.execute(toParameters(filters, values), signal, isFresh);
      if (signal.aborted) return;
      show(executed);
      status.textContent = '';
      if (executed.waking) void renew(signal);
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof ApiProblem ? error : undefined;
      if (onEnd && (problem?.status === 401 || problem?.status === 404)) return onEnd(problem);
      onFailure?.(problem);
      failAll('');
      grid.element.hidden = true;
      trouble.replaceChildren(problemPanel(problemWith(error, filters), () => void run()));
    }
  }

  function show({ results, age: milliseconds, waking }: Executed): void {
    const byId = new Map(results.map((result) => [result.visualization_id, result]));
    for (const { visualizationId, widget } of grid.cards) {
      const result = byId.get(visualizationId);
      if (result) widget.showResult(result);
      else widget.showFailure(TEXTS.broken);
    }
    age.textContent = waking ? TEXTS.wakingSince(new Date(Date.now() - milliseconds).toLocaleString(LOCALE)) : '';
    fresh.showAge(milliseconds);
  }

  /** Requests results again until they are up to date. Until then, and if that fails, the outdated results stay on the page. */
  async function renew(signal: AbortSignal): Promise<void> {
    for (const pause of PAUSES) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (signal.aborted) return;
      const executed = await source.execute(toParameters(filters, values), signal).catch(() => undefined);
      if (signal.aborted) return;
      if (executed) show(executed);
      if (executed?.waking === false) return;
    }
  }

  function failAll(message: string): void {
    fresh.showAge(undefined);
    status.textContent = message;
    for (const { widget } of grid.cards) widget.showFailure(message);
  }

  function print(isPrinted: boolean): void {
    chosen.replaceChildren(...(bar?.listTexts() ?? []).map((each) => h('li', {}, each)));
    applyPrintBranding(isPrinted);
    grid.print(isPrinted);
  }

  bar?.set(values);
  fresh.showAge(undefined);
  const stopPrinting = onPrint(print);
  const began = charts.length > 0 ? run() : Promise.resolve();
  void began.then(() => onReady?.(toParameters(filters, values)));
  return {
    element,
    setParameters(parameters) {
      const next = { ...values, ...ofFilters(parameters) };
      // Otherwise two pages that send each other their filters would never end.
      if (filters.every(({ slug }) => areEqual(next[slug], values[slug]))) return;
      values = next;
      bar?.set(values);
      apply();
    },
    repaint() {
      for (const { widget } of grid.cards) widget.repaint();
    },
    end() {
      running.abort();
      stopPrinting();
    },
  };
}

/** The problem of an execution, which names the filters whose values are wrong. */
function problemWith(error: unknown, filters: readonly ViewFilter[]): ApiProblem | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const wrong = filters.filter(({ slug }) => error.details.some(({ field }) => field.split('.').includes(slug)));
  if (wrong.length === 0) return error;
  return new ApiProblem(error.status, error.code, TEXTS.invalidValues(formatList(wrong.map(({ label }) => label))));
}
