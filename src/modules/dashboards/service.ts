import { findDeniedInLists } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import type { Filter } from '../../db/schema/dashboards.ts';
import { Failure, invalid } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { slugFrom } from '../../kernel/text.ts';
import { type ViewerRules, viewerRules } from '../../sharing/rules.ts';
import { boundValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { databaseMessage } from '../../tenant-sql/failures.ts';
import { prepareRevocations } from '../share-activity/service.ts';
import { executionFailed } from '../visualizations/failures.ts';
import {
  type AccessFailures,
  type Executed,
  type Execution,
  execute,
  findAccessFailures,
  requireNotDenied,
  requireSharingAll,
  requireSharingIfSeen,
  selectVisualizations,
  type Visualization,
  visualizationNotFound,
} from '../visualizations/service.ts';
import {
  type DashboardChanges,
  findFilterProblems,
  limitFilters,
  listWidgetIds,
  type NewDashboard,
} from './definition.ts';
import { dashboardNotFound, dashboardSlugTaken } from './failures.ts';
import { getOptionsSql, listDashboardInputs, selectApplicableValues } from './inputs.ts';
import { type OptionsWanted, readAllowedOptions } from './options.ts';
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
export { dashboardNotFound } from './failures.ts';
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

const SLUG_IS_UNIQUE = { 'dashboards.slug': dashboardSlugTaken };

/** A dashboard with its visualizations. */
export interface LoadedDashboard {
  dashboard: Dashboard;
  visualizations: Visualization[];
}

/** A page of the company's dashboards, newest first. */
export function listDashboards(ctx: CompanyContext, part: { page: number; perPage: number; search: string }) {
  const denied = findDeniedInLists(ctx.actor, 'dashboard');
  return readDashboards(ctx.db, ctx.actor.companyId, { ...part, search: part.search.toLowerCase(), denied });
}

export async function getDashboard(ctx: CompanyContext, id: string): Promise<Dashboard> {
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  const [dashboard] = await selectDashboard(ctx.db, ctx.actor.companyId, id);
  if (!dashboard) throw dashboardNotFound();
  return dashboard;
}

/** The dashboard and its visualizations, read at once. */
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

/** The dashboard with the visualizations on its layout, in its order, without those that the caller is denied. */
export async function getDashboardWithCharts(
  ctx: CompanyContext,
  id: string,
): Promise<{ dashboard: Dashboard; charts: Visualization[] }> {
  const loaded = await loadDashboard(ctx, id);
  const denied = findDenied(ctx, loaded);
  const charts = listPlacedVisualizations(loaded).filter((chart) => !denied.has(chart.id));
  return { dashboard: loaded.dashboard, charts };
}

/** The visualizations on a dashboard that the caller is denied. */
const findDenied = (ctx: CompanyContext, { visualizations }: LoadedDashboard): AccessFailures =>
  findAccessFailures(
    ctx,
    visualizations.map(({ id }) => id),
  );

/** The rules for a member of the company, to whom parameters of denied visualizations are unknown. */
const makeInsiderRules = ({ dashboard, visualizations }: LoadedDashboard, denied: AccessFailures): ViewerRules =>
  viewerRules(listDashboardInputs(dashboard, visualizations, denied), { isInsider: true });

/**
 * The options of a filter for a member of the company, who may choose any of them. Only callers who may update the dashboard
 * receive the database's message about invalid SQL.
 */
export async function readDashboardOptions(ctx: PrincipalContext, id: string, wanted: OptionsWanted) {
  const loaded = await loadDashboard(ctx, id);
  try {
    return await readAllowedOptions(ctx, loaded.dashboard, makeInsiderRules(loaded, findDenied(ctx, loaded)), wanted);
  } catch (error) {
    const message = error instanceof Failure ? databaseMessage(error) : undefined;
    const isTold = message !== undefined && isAllowed(ctx.actor, 'dashboards:update', id);
    throw isTold ? executionFailed(message).because(error) : error;
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
    slug: input.slug ?? slugFrom(input.name, 'dashboard'),
    embeddedUntil: null,
    version: 1,
    createdByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const insert = insertDashboard(ctx.db, record, { canChangeSlug: input.slug === undefined });
  const unit = { inserted: insert, links: replaceLinks(ctx.db, record.companyId, record.id) };
  const [made] = (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).inserted;
  if (!made) throw visualizationNotFound();
  return made;
}

/**
 * Changes the fields that are sent. Filters must fit the visualizations after the change. Who changes layout or filters where
 * others see the dashboard must be allowed to share it, and newly placed visualizations.
 */
export function changeDashboard(ctx: PrincipalContext, id: string, changes: DashboardChanges): Promise<Dashboard> {
  const { cache_seconds: cacheSeconds, ...rest } = changes;
  return retryOnConcurrentChange(async () => {
    const present = await getDashboard(ctx, id);
    const next = { ...present, ...rest, ...(cacheSeconds !== undefined && { cacheSeconds }), updatedAt: ctx.now() };
    if (changes.layout || changes.filters) next.filters = await validateDefinition(ctx, next, present);
    const unseen =
      getShownParts(next) === getShownParts(present)
        ? undefined
        : await requireSharingIfSeen(ctx, { type: 'dashboard', id }, () => requireSharing(ctx, next, present));
    const unit = { updated: updateDashboard(ctx.db, next, unseen), links: replaceLinks(ctx.db, next.companyId, id) };
    return (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).updated[0];
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

/**
 * Runs the visualizations of a dashboard with values of `boundValues`.
 * @param limits the visualizations not to run, and why; the slugs with enforced values; the number of connections it may use at
 * once; the only one to run
 * @returns one execution for each visualization, in the order of the layout
 */
export async function runDashboard(
  ctx: CompanyContext,
  { dashboard, visualizations }: LoadedDashboard,
  values: BoundValues,
  {
    refusals = new Map(),
    enforced,
    maxConnections,
    only,
  }: {
    refusals?: AccessFailures;
    enforced?: ReadonlySet<string> | undefined;
    maxConnections?: number;
    only?: Visualization | undefined;
  } = {},
): Promise<Execution[]> {
  const placed = only ? [only] : listPlacedVisualizations({ dashboard, visualizations });
  const runs = placed
    .filter(({ id }) => !refusals.has(id))
    .map((visualization) => ({
      visualization,
      values: selectApplicableValues(dashboard, visualization.id, values),
      enforced,
    }));
  const executed = (await execute(ctx, runs, maxConnections)).values();
  return placed.map(({ id }) => {
    const failure = refusals.get(id);
    if (failure) return { visualizationId: id, durationMs: 0, cached: false, failure };
    return executed.next().value as Execution;
  });
}

/** The visualizations on the layout, in its order. */
function listPlacedVisualizations({ dashboard, visualizations }: LoadedDashboard): Visualization[] {
  const byId = new Map(visualizations.map((visualization) => [visualization.id, visualization]));
  return listWidgetIds(dashboard.layout).flatMap((id) => byId.get(id) ?? []);
}

/** The visualization that a request names of a dashboard. */
export function findWidget(loaded: LoadedDashboard, visualizationId: string | undefined): Visualization {
  const placed = listPlacedVisualizations(loaded).find(({ id }) => id === visualizationId);
  if (placed) return placed;
  const message = visualizationId === undefined ? 'is required with format' : 'must be on the dashboard';
  throw invalid([{ field: 'visualization_id', message }]);
}

/**
 * Runs a dashboard for a member of the company, who may set its filters and the parameters that no filter sets. A
 * visualization that the caller is denied says so in its result.
 */
export async function executeDashboard(
  ctx: CompanyContext,
  id: string,
  parameters: Record<string, unknown>,
): Promise<Execution[]> {
  const loaded = await loadDashboard(ctx, id);
  return executeLoadedDashboard(ctx, loaded, parameters);
}

/** Runs one visualization of a dashboard, with the same values and rules. */
export async function executeWidget(
  ctx: CompanyContext,
  id: string,
  visualizationId: string | undefined,
  parameters: Record<string, unknown>,
): Promise<Executed> {
  const loaded = await loadDashboard(ctx, id);
  const visualization = findWidget(loaded, visualizationId);
  const [execution] = await executeLoadedDashboard(ctx, loaded, parameters, visualization);
  return { visualization, execution: execution as Execution };
}

function executeLoadedDashboard(
  ctx: CompanyContext,
  loaded: LoadedDashboard,
  parameters: Record<string, unknown>,
  only?: Visualization,
): Promise<Execution[]> {
  const refusals = findDenied(ctx, loaded);
  const values = boundValues(makeInsiderRules(loaded, refusals), parameters);
  return runDashboard(ctx, loaded, values, { refusals, only });
}

/**
 * Throws unless all visualizations are the company's. Who places one must be allowed to execute it, and who writes SQL for
 * options must be allowed to create visualizations. Parts that the dashboard has already are not checked again.
 * @returns the filters to be stored
 */
async function validateDefinition(
  ctx: PrincipalContext,
  next: Definition,
  present: Definition = EMPTY_DEFINITION,
): Promise<Filter[]> {
  const ids = listWidgetIds(next.layout);
  const found = ids.length === 0 ? [] : await selectVisualizations(ctx.db, ctx.actor.companyId, ids);
  if (found.length < ids.length) throw visualizationNotFound();
  for (const id of findNewWidgetIds(next, present)) requireAction(ctx.actor, 'visualizations:execute', id);
  const known = listSql(present);
  if (listSql(next).some((sql) => !known.includes(sql))) requireAction(ctx.actor, 'visualizations:create', '*');
  const denied = findAccessFailures(ctx, ids);
  const filters = limitFilters(next, present, denied);
  const problems = findFilterProblems(filters, found, denied);
  if (problems.length > 0) throw invalid(problems);
  return filters;
}

/** Throws unless the caller may share the dashboard as changed. Placing a visualization on a shared dashboard shares it. */
function requireSharing(ctx: PrincipalContext, next: Dashboard, present: Dashboard): void {
  requireAction(ctx.actor, 'dashboards:share', next.id);
  requireNotDenied(ctx, [next.id], ['dashboards:get']);
  requireSharingAll(ctx, findNewWidgetIds(next, present));
}

/** The parts of a dashboard that decide what it shows, as text. */
const getShownParts = ({ layout, filters }: Definition): string => JSON.stringify([layout, filters]);

type Definition = Pick<Dashboard, 'layout' | 'filters'>;

const EMPTY_DEFINITION: Definition = { layout: [], filters: [] };

const listSql = ({ filters }: Definition): string[] => filters.flatMap(({ options }) => getOptionsSql(options) ?? []);

function findNewWidgetIds(next: Definition, present: Definition): string[] {
  const placed = new Set(listWidgetIds(present.layout));
  return listWidgetIds(next.layout).filter((id) => !placed.has(id));
}
