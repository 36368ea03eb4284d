import type { CompanyContext, Context, UserContext } from '../../context.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { TargetType } from '../../kernel/share-event.ts';
import {
  type Dimension,
  type Terms,
  usableFilters,
  type ViewerRules,
  viewerRules,
} from '../../kernel/sharing-rules.ts';
import {
  type Dashboard,
  dashboardDimensions,
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
  visualizationDimensions,
  visualizationNotFound,
} from '../visualizations/service.ts';

/** What viewers are shown: a dashboard with what stands on it, or a visualization alone. */
export type Exhibit =
  | ({ type: 'dashboard' } & LoadedDashboard)
  | { type: 'visualization'; visualization: Visualization };

/** The reads that a dashboard is made of, for a batch with others. The ids may be subqueries. */
export const dashboardReads = (db: Context['db'], companyId: Id, id: Id) =>
  [selectDashboard(db, companyId, id), selectDashboardVisualizations(db, companyId, id)] as const;

/** What those reads gave. */
export function dashboardExhibit(
  [dashboard]: readonly Dashboard[],
  visualizations: Visualization[],
): Exhibit & { type: 'dashboard' } {
  if (!dashboard) throw dashboardNotFound();
  return { type: 'dashboard', dashboard, visualizations };
}

/** The read that a visualization is made of. */
export const visualizationRead = selectVisualization;

/** What that read gave. */
export function visualizationExhibit([visualization]: readonly Visualization[]): Exhibit & { type: 'visualization' } {
  if (!visualization) throw visualizationNotFound();
  return { type: 'visualization', visualization };
}

/** Something that can be shared, of the context's company. */
export async function loadExhibit(ctx: CompanyContext, type: TargetType, id: string): Promise<Exhibit> {
  const { companyId } = ctx.actor;
  if (type === 'visualization') {
    return visualizationExhibit(ID_PATTERN.test(id) ? await visualizationRead(ctx.db, companyId, id) : []);
  }
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  return dashboardExhibit(...(await ctx.db.batch(dashboardReads(ctx.db, companyId, id))));
}

/** The dashboard or visualization itself. */
export const subjectOf = (exhibit: Exhibit): Dashboard | Visualization =>
  exhibit.type === 'dashboard' ? exhibit.dashboard : exhibit.visualization;

/** What stands in it. */
export const chartsOf = (exhibit: Exhibit): readonly Visualization[] =>
  exhibit.type === 'dashboard' ? exhibit.visualizations : [exhibit.visualization];

/** Who shares a dashboard must be allowed to share what stands on it. */
export const requireSharingOf = (ctx: UserContext, exhibit: Exhibit): void =>
  requireSharingAll(
    ctx,
    chartsOf(exhibit).map(({ id }) => id),
  );

/** What of it can be given a value. */
export function dimensionsOf(exhibit: Exhibit): Dimension[] {
  return exhibit.type === 'dashboard'
    ? dashboardDimensions(exhibit.dashboard, exhibit.visualizations)
    : visualizationDimensions(exhibit.visualization);
}

/** What a viewer under these terms may do with it. */
export const rulesOf = (exhibit: Exhibit, terms: Terms): ViewerRules => viewerRules(dimensionsOf(exhibit), terms);

const NO_COLUMNS = { x: null, y: [], series: null, options: {} };

/** What is told of it to a viewer under these rules, as the API has it. */
export function viewSubject(exhibit: Exhibit, rules: ViewerRules) {
  const { id, name, slug, description } = subjectOf(exhibit);
  const charts = chartsOf(exhibit);
  const whole = charts.map((chart) => ({ visualization_id: chart.id, x: 0, y: 0, w: 12, h: 8 }));
  return {
    id,
    name,
    slug,
    description,
    layout: exhibit.type === 'dashboard' ? exhibit.dashboard.layout : whole,
    filters: usableFilters(rules).map((filter) => ({
      slug: filter.dimension.slug,
      label: filter.dimension.label,
      kind: filter.dimension.kind,
      default: filter.default,
      required: filter.required,
    })),
    charts: charts.map((chart) => ({
      visualization_id: chart.id,
      name: chart.name,
      description: chart.description,
      // What is not shown has no columns to name either.
      chart: rules.refused.has(chart.id) ? { ...chart.chart, ...NO_COLUMNS } : chart.chart,
    })),
  };
}

/** Where the options of a dimension come from; null where it has none. */
export function optionsSource(exhibit: Exhibit, slug: string): 'static' | 'dynamic' | null {
  if (exhibit.type !== 'dashboard') return null;
  const options = exhibit.dashboard.filters.find((filter) => filter.slug === slug)?.options ?? null;
  if (options === null) return null;
  return Array.isArray(options) ? 'static' : 'dynamic';
}
