import type { EmbedOptions, SharedItemView, ViewFilter } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { applyPrintBranding } from '../branding/apply.ts';
import { h } from '../dom.ts';
import { createFilterBar, type FilterBar } from '../filters/filter-bar.ts';
import { buildProblemPanel } from '../panel.ts';
import { onPrint } from '../print.ts';
import type { ExecutionResult, Source } from '../source.ts';
import { formatList, LOCALE, TEXTS } from '../texts.ts';
import {
  areEqual,
  listBackwardsRanges,
  listMissing,
  type ParameterValues,
  readInitialValues,
  toParameters,
  toQuery,
} from '../values.ts';
import { buildFreshness } from './freshness.ts';
import { buildGrid } from './grid.ts';
import type { ChosenPoint, DownloadResult } from './widget.ts';

/** The delays before results are requested again while the database wakes, which takes a second or two. Milliseconds. */
const RENEWAL_DELAYS_MS = [1_000, 2_000, 4_000, 8_000];

/** The initial values of a page. */
export interface InitialState {
  /** The filters in the page's URL. */
  query: URLSearchParams;
  /** Values that override those of the URL. */
  values?: ParameterValues;
}

/** The events of a page. */
export interface PageEvents {
  /** Called when the viewer or the host page has changed filter values. */
  onChange(query: URLSearchParams, parameters: ParameterValues): void;
  /** Called when the first results are shown, or the reason why there are none. */
  onReady?(parameters: ParameterValues): void;
  /** Called when the access to the item has ended. */
  onEnd?(problem: ApiProblem): void;
  /** Called when the results cannot be shown. */
  onFailure?(problem: ApiProblem | undefined): void;
  /** Called when the viewer has chosen a point of a chart. */
  onChoose?(point: ChosenPoint): void;
}

/** The page of a dashboard, or of a single visualization, with its filters. */
export interface ItemPage {
  element: HTMLElement;
  /** Sets values of filters from outside; slugs that are no filters of the page are ignored. */
  setParameters(parameters: ParameterValues): void;
  /** Draws the charts again in the other colour scheme. */
  repaint(): void;
  /** Aborts the requests in progress. */
  end(): void;
}

/** Builds the page and runs its queries. */
export function buildItemPage(
  item: SharedItemView,
  { hide_header, hide_controls, allow_downloads }: EmbedOptions,
  source: Source,
  initialState: InitialState,
  { onChange, onReady, onEnd, onFailure, onChoose }: PageEvents,
): ItemPage {
  const { name, description, filters, charts, layout } = item;
  let values = {
    ...readInitialValues(filters, initialState.query),
    ...pickFilterParameters(initialState.values ?? {}),
  };
  let currentRequest = new AbortController();
  let hasEnded = false;

  const isSingleNamedCard = charts.length === 1 && charts[0]?.name === name;
  const download: DownloadResult | undefined = allow_downloads
    ? (id, format) => source.download(id, format, toParameters(filters, values))
    : undefined;
  const hasChosenFilters = () =>
    !hide_controls && !filters.every(({ slug, default: initial }) => areEqual(values[slug], initial));
  const grid = buildGrid(layout, charts, isSingleNamedCard, {
    download,
    onChoose,
    reset: () => (hasChosenFilters() ? resetFilters : undefined),
  });
  const status = h('p', { class: 'unseen', role: 'status' });
  const freshnessDisplay = buildFreshness(() => void runQueries({ isFresh: true }), parent === window);
  const chosenFilters = h('ul', { class: 'chosen', 'aria-label': TEXTS.filters });
  const ageNote = h('p', { class: 'age', role: 'status' });
  const problemElement = h('div', { class: 'trouble' });
  const bar: FilterBar | undefined =
    filters.length > 0 ? createFilterBar(filters, source, chooseValue, resetFilters) : undefined;
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
      charts.length > 0 && freshnessDisplay.element,
    ),
    chosenFilters,
    !hide_controls && bar?.element,
    problemElement,
    ageNote,
    charts.length === 0
      ? h('div', { class: 'empty' }, h('p', {}, TEXTS.emptyDashboard), h('p', {}, TEXTS.emptyDashboardHint))
      : grid.element,
    status,
  );

  /** Picks the parameters that belong to filters of the page. */
  function pickFilterParameters(parameters: ParameterValues): ParameterValues {
    const slugs = filters.map(({ slug }) => slug).filter((slug) => Object.hasOwn(parameters, slug));
    return Object.fromEntries(slugs.map((slug) => [slug, parameters[slug] ?? null]));
  }

  function chooseValue(slug: string, value: unknown): void {
    values = { ...values, [slug]: value };
    applyFilters();
  }

  function resetFilters(): void {
    values = readInitialValues(filters, new URLSearchParams());
    bar?.setValues(values);
    applyFilters();
  }

  function applyFilters(): void {
    // What was typed last is chosen a moment later, when the address may be that of another page.
    if (hasEnded) return;
    onChange(toQuery(filters, values), toParameters(filters, values));
    void runQueries();
  }

  async function runQueries({ isFresh = false } = {}): Promise<void> {
    currentRequest.abort();
    currentRequest = new AbortController();
    const { signal } = currentRequest;
    bar?.markMissing(values);
    problemElement.replaceChildren();
    ageNote.textContent = '';
    grid.element.hidden = false;
    const [missingFilter] = listMissing(filters, values);
    if (missingFilter) return showFailureOnCards(TEXTS.required(missingFilter.label));
    const [wrong] = listBackwardsRanges(filters, values);
    if (wrong) return showFailureOnCards(TEXTS.backwards(wrong.label));
    for (const { widget } of grid.cards) widget.showWaiting();
    status.textContent = TEXTS.loading;
    try {
      const execution = await source.execute(toParameters(filters, values), signal, isFresh).catch(makeEmptyExecution);
      if (signal.aborted) return;
      showResults(execution);
      status.textContent = '';
      if (execution.isWaking) void renewResults(signal);
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof ApiProblem ? error : undefined;
      if (onEnd && (problem?.status === 401 || problem?.status === 404)) {
        hasEnded = true;
        return onEnd(problem);
      }
      onFailure?.(problem);
      showFailureOnCards('');
      grid.element.hidden = true;
      problemElement.replaceChildren(buildProblemPanel(toFilterProblem(error, filters), () => void runQueries()));
    }
  }

  /**
   * Makes results without rows of a failed execution, if it failed because the company has no database yet; a failed query
   * fails only its own card. @throws any other failure
   */
  function makeEmptyExecution(failure: unknown): ExecutionResult {
    if (!(failure instanceof ApiProblem) || failure.code !== 'DB_QUERY_ERROR') throw failure;
    const results = charts.map(({ visualization_id }) => ({ visualization_id }));
    return { results, ageMs: 0, isWaking: false };
  }

  function showResults({ results, ageMs: milliseconds, isWaking }: ExecutionResult): void {
    const resultsById = new Map(results.map((result) => [result.visualization_id, result]));
    for (const { visualizationId, widget } of grid.cards) {
      const result = resultsById.get(visualizationId);
      if (result) widget.showResult(result);
      else widget.showFailure(TEXTS.broken);
    }
    ageNote.textContent = isWaking ? TEXTS.wakingSince(new Date(Date.now() - milliseconds).toLocaleString(LOCALE)) : '';
    freshnessDisplay.showAge(milliseconds);
  }

  /** Requests results again until they are current. Until then, and if that fails, the outdated results stay on the page. */
  async function renewResults(signal: AbortSignal): Promise<void> {
    for (const delayMs of RENEWAL_DELAYS_MS) {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      if (signal.aborted) return;
      const execution = await source.execute(toParameters(filters, values), signal).catch(() => undefined);
      if (signal.aborted) return;
      if (execution) showResults(execution);
      if (execution?.isWaking === false) return;
    }
  }

  function showFailureOnCards(message: string): void {
    freshnessDisplay.showAge(undefined);
    status.textContent = message;
    for (const { widget } of grid.cards) widget.showFailure(message);
  }

  function arrangeForPrint(isPrinted: boolean): void {
    chosenFilters.replaceChildren(...(bar?.listTexts() ?? []).map((text) => h('li', {}, text)));
    applyPrintBranding(isPrinted);
    grid.setPrinted(isPrinted);
  }

  bar?.setValues(values);
  freshnessDisplay.showAge(undefined);
  const stopPrinting = onPrint(arrangeForPrint);
  const firstRun = charts.length > 0 ? runQueries() : Promise.resolve();
  void firstRun.then(() => onReady?.(toParameters(filters, values)));
  return {
    element,
    setParameters(parameters) {
      const newValues = { ...values, ...pickFilterParameters(parameters) };
      // Otherwise two pages that send each other their filters would never end.
      if (filters.every(({ slug }) => areEqual(newValues[slug], values[slug]))) return;
      values = newValues;
      bar?.setValues(values);
      applyFilters();
    },
    repaint() {
      for (const { widget } of grid.cards) widget.repaint();
    },
    end() {
      hasEnded = true;
      currentRequest.abort();
      stopPrinting();
    },
  };
}

/** Makes the problem of an execution, which names the filters whose values are wrong. */
function toFilterProblem(error: unknown, filters: readonly ViewFilter[]): ApiProblem | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const wrongFilters = filters.filter(({ slug }) => error.details.some(({ field }) => field.split('.').includes(slug)));
  if (wrongFilters.length === 0) return error;
  return new ApiProblem(
    error.status,
    error.code,
    TEXTS.invalidValues(formatList(wrongFilters.map(({ label }) => label))),
  );
}
