import type { CompanyContext, Context, UserContext } from '../../context.ts';
import { type Results, readTogether } from '../../db/client.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { TargetType } from '../../kernel/share-event.ts';
import { usableFilters } from '../../kernel/sharing-filters.ts';
import { type ViewerRules, viewerRules } from '../../kernel/sharing-rules.ts';
import type { Input, Terms } from '../../kernel/sharing-terms.ts';
import {
  type Dashboard,
  dashboardInputs,
  dashboardNotFound,
  type Id,
  type LoadedDashboard,
  selectDashboard,
  selectDashboardVisualizations,
} from '../dashboards/service.ts';
import {
  requireSharingAll,
  selectVisualization,
  type Visualization,
  visualizationInputs,
  visualizationNotFound,
} from '../visualizations/service.ts';

/** What is shared: a dashboard with its visualizations, or a visualization alone. */
export type SharedItem =
  | ({ type: 'dashboard' } & LoadedDashboard)
  | { type: 'visualization'; visualization: Visualization };

/** Reads a dashboard, together with others. The ids may be subqueries. */
export const dashboardReads = (db: Context['db'], companyId: Id, id: Id) => ({
  dashboard: selectDashboard(db, companyId, id),
  visualizations: selectDashboardVisualizations(db, companyId, id),
});

/** What the reads found, as it is shared. */
export function sharedDashboard({
  dashboard: [dashboard],
  visualizations,
}: Results<ReturnType<typeof dashboardReads>>): SharedItem & { type: 'dashboard' } {
  if (!dashboard) throw dashboardNotFound();
  return { type: 'dashboard', dashboard, visualizations };
}

export function sharedVisualization([visualization]: readonly Visualization[]): SharedItem & { type: 'visualization' } {
  if (!visualization) throw visualizationNotFound();
  return { type: 'visualization', visualization };
}

/** A dashboard or visualization of the context's company. */
export async function loadSharedItem(ctx: CompanyContext, type: TargetType, id: string): Promise<SharedItem> {
  const { companyId } = ctx.actor;
  if (type === 'visualization') {
    return sharedVisualization(ID_PATTERN.test(id) ? await selectVisualization(ctx.db, companyId, id) : []);
  }
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  return sharedDashboard(await readTogether(ctx.db, dashboardReads(ctx.db, companyId, id)));
}

/** The dashboard or visualization itself. */
export const recordOf = (item: SharedItem): Dashboard | Visualization =>
  item.type === 'dashboard' ? item.dashboard : item.visualization;

/** Its visualizations. */
export const visualizationsOf = (item: SharedItem): readonly Visualization[] =>
  item.type === 'dashboard' ? item.visualizations : [item.visualization];

/** Who shares a dashboard must be allowed to share the visualizations on it. */
export const requireSharingOf = (ctx: UserContext, item: SharedItem): void =>
  requireSharingAll(
    ctx,
    visualizationsOf(item).map(({ id }) => id),
  );

/** The inputs that can be given a value. */
export function inputsOf(item: SharedItem): Input[] {
  return item.type === 'dashboard'
    ? dashboardInputs(item.dashboard, item.visualizations)
    : visualizationInputs(item.visualization);
}

/** What these terms let a viewer do with it. */
export const rulesOf = (item: SharedItem, terms: Terms): ViewerRules => viewerRules(inputsOf(item), terms);

const NO_COLUMNS = { x: null, y: [], series: null, options: {} };

/** The item as its viewer sees it, as the API has it. */
export function viewSharedItem(item: SharedItem, rules: ViewerRules) {
  const { id, name, slug, description } = recordOf(item);
  const visualizations = visualizationsOf(item);
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
    charts: visualizations.map((chart) => ({
      visualization_id: chart.id,
      name: chart.name,
      description: chart.description,
      // What is not shown names no columns either.
      chart: rules.refused.has(chart.id) ? { ...chart.chart, ...NO_COLUMNS } : chart.chart,
    })),
  };
}

/** Where the options of an input come from; null for none. */
export function optionsSource(item: SharedItem, slug: string): 'static' | 'dynamic' | null {
  if (item.type !== 'dashboard') return null;
  const options = item.dashboard.filters.find((filter) => filter.slug === slug)?.options ?? null;
  if (options === null) return null;
  return Array.isArray(options) ? 'static' : 'dynamic';
}
