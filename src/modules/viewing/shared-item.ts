import type { CompanyContext, Context, PrincipalContext } from '../../context.ts';
import { type Results, readTogether } from '../../db/client.ts';
import type { Failure } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { usableFilters } from '../../sharing/filters.ts';
import { type ViewerRules, viewerRules } from '../../sharing/rules.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import type { Input, ViewerTerms } from '../../sharing/terms.ts';
import {
  type Dashboard,
  dashboardNotFound,
  type Id,
  type LoadedDashboard,
  listDashboardInputs,
  selectDashboard,
  selectDashboardVisualizations,
} from '../dashboards/service.ts';
import { type DataState, selectDataState } from '../managed-database/service.ts';
import {
  type AccessFailures,
  requireNotDenied,
  requireSharingAll,
  selectVisualization,
  type Visualization,
  visualizationInputs,
  visualizationNotFound,
} from '../visualizations/service.ts';
import { viewChart } from '../visualizations/views.ts';

/**
 * A shared dashboard with its visualizations, or a single shared visualization; `data` is the state of the company's data when
 * it was loaded.
 */
export type SharedItem = { data: DataState | undefined } & (
  | ({ type: 'dashboard' } & LoadedDashboard)
  | { type: 'visualization'; visualization: Visualization }
);

/** The queries for a dashboard, to be run in a batch with others. The ids may be subqueries. */
export const dashboardReads = (db: Context['db'], companyId: Id, id: Id) => ({
  data: selectDataState(db, companyId),
  dashboard: selectDashboard(db, companyId, id),
  visualizations: selectDashboardVisualizations(db, companyId, id),
});

/** The queries for a single visualization. */
export const visualizationReads = (db: Context['db'], companyId: string, id: string) => ({
  data: selectDataState(db, companyId),
  visualization: selectVisualization(db, companyId, id),
});

/** The shared item from the results of `dashboardReads`. @param missing the failure where there is none */
export function sharedDashboard(
  { data: [data], dashboard: [dashboard], visualizations }: Results<ReturnType<typeof dashboardReads>>,
  missing: () => Failure = dashboardNotFound,
): SharedItem & { type: 'dashboard' } {
  if (!dashboard) throw missing();
  return { type: 'dashboard', data, dashboard, visualizations };
}

/** The single shared visualization from the results of `visualizationReads`. @param missing the failure where there is none */
export function sharedVisualization(
  { data: [data], visualization: [visualization] }: Results<ReturnType<typeof visualizationReads>>,
  missing: () => Failure = visualizationNotFound,
): SharedItem & { type: 'visualization' } {
  if (!visualization) throw missing();
  return { type: 'visualization', data, visualization };
}

/** Loads a dashboard or visualization of the context's company. */
export async function loadSharedItem(ctx: CompanyContext, type: TargetType, id: string): Promise<SharedItem> {
  const { companyId } = ctx.actor;
  if (!ID_PATTERN.test(id)) throw type === 'visualization' ? visualizationNotFound() : dashboardNotFound();
  if (type === 'visualization') {
    return sharedVisualization(await readTogether(ctx.db, visualizationReads(ctx.db, companyId, id)));
  }
  return sharedDashboard(await readTogether(ctx.db, dashboardReads(ctx.db, companyId, id)));
}

export const getRecord = (item: SharedItem): Dashboard | Visualization =>
  item.type === 'dashboard' ? item.dashboard : item.visualization;

export const listVisualizations = (item: SharedItem): readonly Visualization[] =>
  item.type === 'dashboard' ? item.visualizations : [item.visualization];

/** Requires the permission to share all of the item's visualizations, and that no Deny applies to them or to the dashboard. */
export function requireSharingOf(ctx: PrincipalContext, item: SharedItem): void {
  if (item.type === 'dashboard') requireNotDenied(ctx, [item.dashboard.id], ['dashboards:get']);
  requireSharingAll(
    ctx,
    listVisualizations(item).map(({ id }) => id),
  );
}

/**
 * The inputs that accept a value.
 * @param hidden ids of the visualizations on a dashboard that the caller is denied
 */
export function listInputs(item: SharedItem, hidden: Pick<AccessFailures, 'has'> = NONE): Input[] {
  return item.type === 'dashboard'
    ? listDashboardInputs(item.dashboard, item.visualizations, hidden)
    : visualizationInputs(item.visualization);
}

/**
 * Returns the rules for a viewer under these terms. The viewer cannot use parameters of hidden visualizations, but enforced
 * values are those of the whole item.
 */
export function makeRules(item: SharedItem, terms: ViewerTerms, hidden?: AccessFailures): ViewerRules {
  const whole = viewerRules(listInputs(item), terms);
  return hidden?.size ? { ...whole, rules: viewerRules(listInputs(item, hidden), terms).rules } : whole;
}

const NO_COLUMNS = { x: null, y: [], series: null, options: {} };
const NONE: ReadonlySet<string> = new Set();

/**
 * The item for its viewer, in the API's format.
 * @param hidden ids of the visualizations that the viewer is denied
 */
export function viewSharedItem(item: SharedItem, rules: ViewerRules, hidden: Pick<AccessFailures, 'has'> = NONE) {
  const { id, name, slug, description } = getRecord(item);
  const visualizations = listVisualizations(item);
  const whole = visualizations.map((chart) => ({ visualization_id: chart.id, x: 0, y: 0, w: 12, h: 8 }));
  return {
    id,
    name,
    slug,
    description,
    layout: item.type === 'dashboard' ? item.dashboard.layout : whole,
    filters: usableFilters(rules).map((filter) => ({
      slug: filter.input.slug,
      label: filter.input.label,
      kind: filter.input.kind,
      default: filter.default,
      required: filter.required,
    })),
    charts: visualizations.map((chart) =>
      hidden.has(chart.id)
        ? { visualization_id: chart.id, name: '', description: '', chart: { type: 'table', ...NO_COLUMNS } }
        : // A refused visualization does not reveal its columns.
          viewChart(rules.refused.has(chart.id) ? { ...chart, chart: { ...chart.chart, ...NO_COLUMNS } } : chart),
    ),
  };
}

/** The source of an input's options; null if it has none. */
export function optionsSource(item: SharedItem, slug: string): 'static' | 'dynamic' | null {
  if (item.type !== 'dashboard') return null;
  const options = item.dashboard.filters.find((filter) => filter.slug === slug)?.options ?? null;
  if (options === null) return null;
  return Array.isArray(options) ? 'static' : 'dynamic';
}
