import type { CompanyContext, Context, PrincipalContext } from '../../context.ts';
import { type Results, readTogether } from '../../db/client.ts';
import type { Failure } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { Input, ViewerTerms } from '../../sharing/filter-policy.ts';
import { listUsableFilters } from '../../sharing/filters.ts';
import { makeViewerRules, type ViewerRules } from '../../sharing/rules.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import {
  type Dashboard,
  type Id,
  type LoadedDashboard,
  listDashboardInputs,
  selectDashboard,
  selectDashboardVisualizations,
} from '../dashboards/service.ts';
import { type DataState, selectDataState } from '../managed-database/service.ts';
import { visualizationNotFound } from '../visualizations/failures.ts';
import {
  type AccessFailures,
  listVisualizationInputs,
  requireMayShareAll,
  requireNotDenied,
  selectVisualization,
  type Visualization,
} from '../visualizations/service.ts';
import { viewChart } from '../visualizations/views.ts';

/**
 * A shared dashboard with its visualizations, or a single shared visualization; `dataState` is the state of the company's data when
 * it was loaded.
 */
export type SharedItem = { dataState: DataState | undefined } & (
  | ({ type: 'dashboard' } & LoadedDashboard)
  | { type: 'visualization'; visualization: Visualization }
);

/** Makes the queries for a dashboard, to be run in a batch with others. The ids may be subqueries. */
export const selectSharedDashboard = (db: Context['db'], companyId: Id, id: Id) => ({
  data: selectDataState(db, companyId),
  dashboard: selectDashboard(db, companyId, id),
  visualizations: selectDashboardVisualizations(db, companyId, id),
});

/** Makes the queries for a single visualization. */
export const selectSharedVisualization = (db: Context['db'], companyId: string, id: string) => ({
  data: selectDataState(db, companyId),
  visualization: selectVisualization(db, companyId, id),
});

/** Makes the shared item from the results of `selectSharedDashboard`. @param makeNotFound the failure where there is none */
export function toSharedDashboard(
  { data: [data], dashboard: [dashboard], visualizations }: Results<ReturnType<typeof selectSharedDashboard>>,
  makeNotFound: () => Failure = dashboardNotFound,
): SharedItem & { type: 'dashboard' } {
  if (!dashboard) throw makeNotFound();
  return { type: 'dashboard', dataState: data, dashboard, visualizations };
}

/** Makes the shared item from the results of `selectSharedVisualization`. @param makeNotFound the failure where there is none */
export function toSharedVisualization(
  { data: [data], visualization: [visualization] }: Results<ReturnType<typeof selectSharedVisualization>>,
  makeNotFound: () => Failure = visualizationNotFound,
): SharedItem & { type: 'visualization' } {
  if (!visualization) throw makeNotFound();
  return { type: 'visualization', dataState: data, visualization };
}

/** Loads a dashboard or visualization of the context's company. */
export async function loadSharedItem(ctx: CompanyContext, type: TargetType, id: string): Promise<SharedItem> {
  const { companyId } = ctx.actor;
  if (!ID_PATTERN.test(id)) throw type === 'visualization' ? visualizationNotFound() : dashboardNotFound();
  if (type === 'visualization') {
    return toSharedVisualization(await readTogether(ctx.db, selectSharedVisualization(ctx.db, companyId, id)));
  }
  return toSharedDashboard(await readTogether(ctx.db, selectSharedDashboard(ctx.db, companyId, id)));
}

export const getSharedRecord = (item: SharedItem): Dashboard | Visualization =>
  item.type === 'dashboard' ? item.dashboard : item.visualization;

export const listVisualizations = (item: SharedItem): readonly Visualization[] =>
  item.type === 'dashboard' ? item.visualizations : [item.visualization];

/** Requires the permission to share all of the item's visualizations, and that no Deny applies to them or to the dashboard. */
export function requireMayShareItem(ctx: PrincipalContext, item: SharedItem): void {
  if (item.type === 'dashboard') requireNotDenied(ctx, [item.dashboard.id], ['dashboards:get']);
  requireMayShareAll(
    ctx,
    listVisualizations(item).map(({ id }) => id),
  );
}

/**
 * Lists the inputs of an item that accept a value. @param hiddenIds ids of the visualizations on a dashboard that the caller is
 * denied
 */
export function listInputs(item: SharedItem, hiddenIds: Pick<AccessFailures, 'has'> = NO_IDS): Input[] {
  return item.type === 'dashboard'
    ? listDashboardInputs(item.dashboard, item.visualizations, hiddenIds)
    : listVisualizationInputs(item.visualization);
}

/**
 * Returns the rules for a viewer under these terms. The viewer cannot use parameters of hidden visualizations, but enforced
 * values are those of the whole item.
 */
export function makeRules(item: SharedItem, terms: ViewerTerms, hiddenIds?: AccessFailures): ViewerRules {
  const wholeRules = makeViewerRules(listInputs(item), terms);
  return hiddenIds?.size
    ? { ...wholeRules, inputRules: makeViewerRules(listInputs(item, hiddenIds), terms).inputRules }
    : wholeRules;
}

const NO_COLUMNS = { x: null, y: [], series: null, options: {} };
const NO_IDS: ReadonlySet<string> = new Set();

/** Makes the API's view of an item for its viewer. @param hiddenIds ids of the visualizations that the viewer is denied */
export function viewSharedItem(item: SharedItem, rules: ViewerRules, hiddenIds: Pick<AccessFailures, 'has'> = NO_IDS) {
  const { id, name, slug, description } = getSharedRecord(item);
  const visualizations = listVisualizations(item);
  const wholePageLayout = visualizations.map((chart) => ({ visualization_id: chart.id, x: 0, y: 0, w: 12, h: 8 }));
  return {
    id,
    name,
    slug,
    description,
    layout: item.type === 'dashboard' ? item.dashboard.layout : wholePageLayout,
    filters: listUsableFilters(rules),
    charts: visualizations.map((chart) =>
      hiddenIds.has(chart.id)
        ? { visualization_id: chart.id, name: '', description: '', chart: { type: 'table', ...NO_COLUMNS } }
        : // A refused visualization does not reveal its columns.
          viewChart(rules.refusedIds.has(chart.id) ? { ...chart, chart: { ...chart.chart, ...NO_COLUMNS } } : chart),
    ),
  };
}

/** Tells the source of an input's options; null if it has none. */
export function getOptionsSource(item: SharedItem, slug: string): 'static' | 'dynamic' | null {
  if (item.type !== 'dashboard') return null;
  const options = item.dashboard.filters.find((filter) => filter.slug === slug)?.options ?? null;
  if (options === null) return null;
  return Array.isArray(options) ? 'static' : 'dynamic';
}
