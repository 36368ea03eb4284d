import { findListDenials } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import type { Filter } from '../../db/schema/dashboards.ts';
import { Failure, invalidInput } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { makeSlug } from '../../kernel/text.ts';
import { makeViewerRules, type ViewerRules } from '../../sharing/rules.ts';
import { computeBoundValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { getDatabaseMessage } from '../../tenant-sql/failures.ts';
import { prepareRevocations } from '../share-activity/service.ts';
import { executionFailed, visualizationNotFound } from '../visualizations/failures.ts';
import {
  type AccessFailures,
  type ExecutedVisualization,
  type Execution,
  executeRuns,
  findAccessFailures,
  requireMayShareAll,
  requireMayShareIfSeen,
  requireNotDenied,
  selectVisualizations,
  type Visualization,
} from '../visualizations/service.ts';
import {
  type DashboardChanges,
  type DashboardDefinition,
  findFilterProblems,
  listWidgetIds,
  type NewDashboard,
  restrictFilters,
} from './definition.ts';
import { dashboardNotFound, dashboardSlugTaken } from './failures.ts';
import { getOptionsSql, listDashboardInputs, selectApplicableValues } from './inputs.ts';
import { type OptionsQuery, readAllowedOptions } from './options.ts';
import {
  type Dashboard,
  deleteLinks,
  deleteDashboard as deleteRow,
  insertDashboard,
  readDashboards,
  replaceLinks,
  selectDashboard,
  selectDashboardVisualizations,
  updateDashboard,
} from './store.ts';

export type { Filter, FilterOption, Widget } from '../../db/schema/dashboards.ts';
export { listDashboardInputs } from './inputs.ts';
export { readAllowedOptions } from './options.ts';
export {
  areDashboardsUnchanged,
  type DashboardVersions,
  type Id,
  selectDashboard,
  selectDashboardVisualizations,
} from './store.ts';
export type { Dashboard };

const UNIQUE_SLUG_FAILURES = { 'dashboards.slug': dashboardSlugTaken };

/** A dashboard with its visualizations. */
export interface LoadedDashboard {
  dashboard: Dashboard;
  visualizations: Visualization[];
}

/** Returns a page of the company's dashboards, newest first. */
export function listDashboards(ctx: CompanyContext, pageRequest: { page: number; perPage: number; search: string }) {
  const search = pageRequest.search.toLowerCase();
  const denials = findListDenials(ctx.actor, 'dashboard');
  return readDashboards(ctx.db, ctx.actor.companyId, { ...pageRequest, search, denials });
}

export async function getDashboard(ctx: CompanyContext, id: string): Promise<Dashboard> {
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  const [dashboard] = await selectDashboard(ctx.db, ctx.actor.companyId, id);
  if (!dashboard) throw dashboardNotFound();
  return dashboard;
}

/** Reads a dashboard and its visualizations at once. */
export async function loadDashboard(ctx: CompanyContext, id: string): Promise<LoadedDashboard> {
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  const { companyId } = ctx.actor;
  const {
    dashboard: [dashboard],
    visualizations,
  } = await readTogether(ctx.db, {
    dashboard: selectDashboard(ctx.db, companyId, id),
    visualizations: selectDashboardVisualizations(ctx.db, companyId, id),
  });
  if (!dashboard) throw dashboardNotFound();
  return { dashboard, visualizations };
}

/** Returns the dashboard with the visualizations on its layout, in order, without those that the caller is denied. */
export async function getDashboardWithCharts(
  ctx: CompanyContext,
  id: string,
): Promise<{ dashboard: Dashboard; charts: Visualization[] }> {
  const loadedDashboard = await loadDashboard(ctx, id);
  const deniedVisualizations = findDeniedVisualizations(ctx, loadedDashboard);
  const charts = listPlacedVisualizations(loadedDashboard).filter((chart) => !deniedVisualizations.has(chart.id));
  return { dashboard: loadedDashboard.dashboard, charts };
}

/** Returns the visualizations on a dashboard that the caller is denied. */
const findDeniedVisualizations = (ctx: CompanyContext, { visualizations }: LoadedDashboard): AccessFailures =>
  findAccessFailures(
    ctx,
    visualizations.map(({ id }) => id),
  );

/** Returns the rules for a member of the company, to whom parameters of denied visualizations are unknown. */
const makeInsiderRules = (
  { dashboard, visualizations }: LoadedDashboard,
  deniedVisualizations: AccessFailures,
): ViewerRules =>
  makeViewerRules(listDashboardInputs(dashboard, visualizations, deniedVisualizations), { isInsider: true });

/**
 * Reads the options of a filter for a member of the company, who may choose any of them. Only callers who may update the
 * dashboard receive the database's message about invalid SQL.
 */
export async function readDashboardOptions(ctx: PrincipalContext, id: string, optionsQuery: OptionsQuery) {
  const loadedDashboard = await loadDashboard(ctx, id);
  try {
    return await readAllowedOptions(
      ctx,
      loadedDashboard.dashboard,
      makeInsiderRules(loadedDashboard, findDeniedVisualizations(ctx, loadedDashboard)),
      optionsQuery,
    );
  } catch (error) {
    const message = error instanceof Failure ? getDatabaseMessage(error) : undefined;
    const canSeeMessage = message !== undefined && isAllowed(ctx.actor, 'dashboards:update', id);
    throw canSeeMessage ? executionFailed(message).addCause(error) : error;
  }
}

export async function createDashboard(ctx: PrincipalContext, input: NewDashboard): Promise<Dashboard> {
  const filters = await validateDefinition(ctx, input);
  const { cache_seconds: cacheSeconds, ...rest } = input;
  const now = ctx.now();
  const record: Dashboard = {
    ...rest,
    filters,
    cacheSeconds,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    slug: input.slug ?? makeSlug(input.name, 'dashboard'),
    embeddedUntil: null,
    version: 1,
    createdByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const insertStatement = insertDashboard(ctx.db, record, { canChangeSlug: input.slug === undefined });
  const statements = { inserted: insertStatement, links: replaceLinks(ctx.db, record.companyId, record.id) };
  const [createdDashboard] = (await commit(ctx.db, statements, UNIQUE_SLUG_FAILURES)).inserted;
  if (!createdDashboard) throw visualizationNotFound();
  return createdDashboard;
}

/**
 * Changes the fields that are sent. Filters must fit the visualizations after the change. A caller who changes layout or filters
 * where others see the dashboard must be allowed to share it, and newly placed visualizations.
 */
export function changeDashboard(ctx: PrincipalContext, id: string, changes: DashboardChanges): Promise<Dashboard> {
  const { cache_seconds: cacheSeconds, ...rest } = changes;
  return retryOnConcurrentChange(async () => {
    const storedDashboard = await getDashboard(ctx, id);
    const changedDashboard = {
      ...storedDashboard,
      ...rest,
      ...(cacheSeconds !== undefined && { cacheSeconds }),
      updatedAt: ctx.now(),
    };
    if (changes.layout || changes.filters)
      changedDashboard.filters = await validateDefinition(ctx, changedDashboard, storedDashboard);
    const unsharedCheckTime =
      formatShownParts(changedDashboard) === formatShownParts(storedDashboard)
        ? undefined
        : await requireMayShareIfSeen(ctx, { type: 'dashboard', id }, () =>
            requireMayShareChanges(ctx, changedDashboard, storedDashboard),
          );
    const statements = {
      updated: updateDashboard(ctx.db, changedDashboard, unsharedCheckTime),
      links: replaceLinks(ctx.db, changedDashboard.companyId, id),
    };
    return (await commit(ctx.db, statements, UNIQUE_SLUG_FAILURES)).updated[0];
  });
}

/** Deletes a dashboard. Its shares count as revoked from then on. */
export async function deleteDashboard(ctx: CompanyContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const revocations = prepareRevocations(ctx, { dashboardId: id });
  const { revoked, deleted } = await commit(ctx.db, {
    revoked: revocations.statement,
    links: deleteLinks(ctx.db, companyId, id),
    deleted: deleteRow(ctx.db, companyId, id),
  });
  if (deleted.length === 0) throw dashboardNotFound();
  revocations.send(revoked);
}

/** The restrictions of an execution. */
export interface ExecutionLimits {
  /** The failures by which some visualizations are not run. */
  refusals: AccessFailures;
  /** The slugs whose values are enforced. */
  enforced: ReadonlySet<string>;
  /** The only visualization to run. */
  onlyVisualization?: Visualization;
}

/** Runs the visualizations of a dashboard with `values`. @returns an execution of each, in the order of the layout */
export async function runDashboard(
  ctx: CompanyContext,
  { dashboard, visualizations }: LoadedDashboard,
  values: BoundValues,
  {
    refusals = new Map(),
    enforced,
    onlyVisualization,
    maxConnections,
  }: Partial<ExecutionLimits> & { maxConnections?: number } = {},
): Promise<Execution[]> {
  const placedVisualizations = onlyVisualization
    ? [onlyVisualization]
    : listPlacedVisualizations({ dashboard, visualizations });
  const runs = placedVisualizations
    .filter(({ id }) => !refusals.has(id))
    .map((visualization) => ({
      visualization,
      values: selectApplicableValues(dashboard, visualization.id, values),
      enforced,
    }));
  const executionIterator = (await executeRuns(ctx, runs, maxConnections)).values();
  return placedVisualizations.map(({ id }) => {
    const failure = refusals.get(id);
    if (failure) return { visualizationId: id, durationMs: 0, isCached: false, failure };
    return executionIterator.next().value as Execution;
  });
}

/** Returns the visualizations on the layout, in order. */
function listPlacedVisualizations({ dashboard, visualizations }: LoadedDashboard): Visualization[] {
  const visualizationsById = new Map(visualizations.map((visualization) => [visualization.id, visualization]));
  return listWidgetIds(dashboard.layout).flatMap((id) => visualizationsById.get(id) ?? []);
}

/** Returns the visualization of a dashboard that a request names. */
export function findWidget(loadedDashboard: LoadedDashboard, visualizationId: string | undefined): Visualization {
  const placedVisualization = listPlacedVisualizations(loadedDashboard).find(({ id }) => id === visualizationId);
  if (placedVisualization) return placedVisualization;
  const message = visualizationId === undefined ? 'is required with format' : 'must be on the dashboard';
  throw invalidInput([{ field: 'visualization_id', message }]);
}

/**
 * Runs a dashboard for a member of the company, who may set its filters and the parameters that no filter sets. A denied
 * visualization returns the denial as its result.
 */
export const executeDashboard = async (ctx: CompanyContext, id: string, parameters: Record<string, unknown>) =>
  executeLoadedDashboard(ctx, await loadDashboard(ctx, id), parameters);

/** Runs one visualization of a dashboard, with the same values and rules as the whole dashboard. */
export async function executeWidget(
  ctx: CompanyContext,
  id: string,
  visualizationId: string | undefined,
  parameters: Record<string, unknown>,
): Promise<ExecutedVisualization> {
  const loadedDashboard = await loadDashboard(ctx, id);
  const visualization = findWidget(loadedDashboard, visualizationId);
  const [execution] = await executeLoadedDashboard(ctx, loadedDashboard, parameters, visualization);
  return { visualization, execution: execution as Execution };
}

function executeLoadedDashboard(
  ctx: CompanyContext,
  loadedDashboard: LoadedDashboard,
  parameters: Record<string, unknown>,
  onlyVisualization?: Visualization,
): Promise<Execution[]> {
  const refusals = findDeniedVisualizations(ctx, loadedDashboard);
  const values = computeBoundValues(makeInsiderRules(loadedDashboard, refusals), parameters);
  return runDashboard(ctx, loadedDashboard, values, { refusals, onlyVisualization });
}

/**
 * Throws unless all visualizations are the company's. Whoever places one must be allowed to execute it, and whoever writes SQL
 * for options must be allowed to create visualizations. Parts that the dashboard has already are not checked again. @returns the
 * filters to be stored
 */
async function validateDefinition(
  ctx: PrincipalContext,
  newDefinition: DashboardDefinition,
  storedDefinition: DashboardDefinition = EMPTY_DEFINITION,
): Promise<Filter[]> {
  const ids = listWidgetIds(newDefinition.layout);
  const foundVisualizations = ids.length === 0 ? [] : await selectVisualizations(ctx.db, ctx.actor.companyId, ids);
  if (foundVisualizations.length < ids.length) throw visualizationNotFound();
  for (const id of findNewWidgetIds(newDefinition, storedDefinition))
    requireAction(ctx.actor, 'visualizations:execute', id);
  const storedSql = listOptionsSql(storedDefinition);
  if (listOptionsSql(newDefinition).some((sql) => !storedSql.includes(sql)))
    requireAction(ctx.actor, 'visualizations:create', '*');
  const deniedVisualizations = findAccessFailures(ctx, ids);
  const filters = restrictFilters(newDefinition, storedDefinition, deniedVisualizations);
  const problems = findFilterProblems(filters, foundVisualizations, deniedVisualizations);
  if (problems.length > 0) throw invalidInput(problems);
  return filters;
}

/** Throws unless the caller may share the dashboard as changed. Placing a visualization on a shared dashboard shares it. */
function requireMayShareChanges(ctx: PrincipalContext, changedDashboard: Dashboard, storedDashboard: Dashboard): void {
  requireAction(ctx.actor, 'dashboards:share', changedDashboard.id);
  requireNotDenied(ctx, [changedDashboard.id], ['dashboards:get']);
  requireMayShareAll(ctx, findNewWidgetIds(changedDashboard, storedDashboard));
}

/** Returns the parts of a dashboard that decide what it shows, as text. */
const formatShownParts = ({ layout, filters }: DashboardDefinition): string => JSON.stringify([layout, filters]);

const EMPTY_DEFINITION: DashboardDefinition = { layout: [], filters: [] };

const listOptionsSql = ({ filters }: DashboardDefinition): string[] =>
  filters.flatMap(({ options }) => getOptionsSql(options) ?? []);

function findNewWidgetIds(newDefinition: DashboardDefinition, storedDefinition: DashboardDefinition): string[] {
  const placedIds = new Set(listWidgetIds(storedDefinition.layout));
  return listWidgetIds(newDefinition.layout).filter((id) => !placedIds.has(id));
}
