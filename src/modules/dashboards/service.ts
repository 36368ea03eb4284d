import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, UserContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/concurrent-change.ts';
import { invalid } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { BoundValues } from '../../kernel/parameters.ts';
import { boundValues, viewerRules } from '../../kernel/sharing-rules.ts';
import { slugFrom } from '../../kernel/slug.ts';
import {
  denials,
  type Execution,
  execute,
  mayShareAll,
  type Refusals,
  requireSharingAll,
  selectVisualizations,
  type Visualization,
  visualizationNotFound,
} from '../visualizations/service.ts';
import { type DashboardChanges, filterProblems, type NewDashboard, widgetIds } from './definition.ts';
import { dashboardDimensions, optionsSql, valuesFor } from './dimensions.ts';
import { dashboardNotFound, dashboardSlugTaken } from './failures.ts';
import {
  type Dashboard,
  deleteDashboard as deleteRow,
  insertDashboard,
  readDashboards,
  relink,
  selectDashboard,
  selectDashboardVisualizations,
  selectShown,
  unlink,
  updateDashboard,
} from './store.ts';

export type { Filter, FilterOption, Widget } from '../../db/schema/dashboards.ts';
export { dashboardDimensions } from './dimensions.ts';
export { dashboardNotFound } from './failures.ts';
export { filterOptions, usedInOptions } from './options.ts';
export {
  dashboardsAre,
  type Id,
  noteEmbedded,
  selectDashboard,
  selectDashboardVisualizations,
  type Versions,
} from './store.ts';
export type { Dashboard };

const SLUG_IS_UNIQUE = { 'dashboards.slug': dashboardSlugTaken };

/** A dashboard with what stands on it. */
export interface LoadedDashboard {
  dashboard: Dashboard;
  visualizations: Visualization[];
}

/** A page of the company's dashboards, newest first. */
export function listDashboards(ctx: CompanyContext, part: { page: number; perPage: number; search: string }) {
  return readDashboards(ctx.db, ctx.actor.companyId, { ...part, search: part.search.toLowerCase() });
}

export async function getDashboard(ctx: CompanyContext, id: string): Promise<Dashboard> {
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  const [dashboard] = await selectDashboard(ctx.db, ctx.actor.companyId, id);
  if (!dashboard) throw dashboardNotFound();
  return dashboard;
}

/** The dashboard and its visualizations, as of one moment. */
export async function loadDashboard(ctx: CompanyContext, id: string): Promise<LoadedDashboard> {
  if (!ID_PATTERN.test(id)) throw dashboardNotFound();
  const { companyId } = ctx.actor;
  const [[dashboard], visualizations] = await ctx.db.batch([
    selectDashboard(ctx.db, companyId, id),
    selectDashboardVisualizations(ctx.db, companyId, id),
  ]);
  if (!dashboard) throw dashboardNotFound();
  return { dashboard, visualizations };
}

export async function createDashboard(ctx: UserContext, input: NewDashboard): Promise<Dashboard> {
  await requireSound(ctx, input);
  const { cache_seconds: cacheSeconds, ...rest } = input;
  const now = ctx.now();
  const record: Dashboard = {
    ...rest,
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
  const insert = insertDashboard(ctx.db, record, input.slug === undefined ? `-${record.id.slice(-8)}` : undefined);
  const unit = { inserted: insert, links: relink(ctx.db, record.companyId, record.id) };
  const [made] = (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).inserted;
  if (!made) throw visualizationNotFound();
  return made;
}

/** Changes what is sent. Filters must fit the visualizations after the change. */
export function changeDashboard(ctx: UserContext, id: string, changes: DashboardChanges): Promise<Dashboard> {
  const { cache_seconds: cacheSeconds, ...rest } = changes;
  return retryOnConcurrentChange(async () => {
    const present = await getDashboard(ctx, id);
    const next = { ...present, ...rest, ...(cacheSeconds !== undefined && { cacheSeconds }), updatedAt: ctx.now() };
    if (changes.layout || changes.filters) await requireSound(ctx, next, present);
    const unshownAt = await mustBeUnshown(ctx, next, present);
    const update = updateDashboard(ctx.db, next, unshownAt);
    const unit = { updated: update, links: relink(ctx.db, next.companyId, id) };
    return (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).updated[0];
  });
}

export async function deleteDashboard(ctx: CompanyContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const { deleted } = await commit(ctx.db, {
    links: unlink(ctx.db, companyId, id),
    deleted: deleteRow(ctx.db, companyId, id),
  });
  if (deleted.length === 0) throw dashboardNotFound();
}

/**
 * Runs what stands on a dashboard, with values that `boundValues` gave for its dimensions.
 * @param limits what is not run, and why; and what a viewer is held to
 * @returns how each visualization ended, in the order of the layout, each once
 */
export async function executeLoaded(
  ctx: CompanyContext,
  { dashboard, visualizations }: LoadedDashboard,
  values: BoundValues,
  { refusals = new Map(), held }: { refusals?: Refusals; held?: ReadonlySet<string> } = {},
): Promise<Execution[]> {
  const byId = new Map(visualizations.map((visualization) => [visualization.id, visualization]));
  const placed = widgetIds(dashboard.layout).flatMap((id) => byId.get(id) ?? []);
  const runs = placed
    .filter(({ id }) => !refusals.has(id))
    .map((visualization) => ({ visualization, values: valuesFor(dashboard, visualization.id, values), held }));
  const executed = (await execute(ctx, runs)).values();
  return placed.map(({ id }) => {
    const failure = refusals.get(id);
    if (failure) return { visualizationId: id, durationMs: 0, cached: false, failure };
    return executed.next().value as Execution;
  });
}

/**
 * Runs a dashboard for someone of the company, who may set its filters and the parameters that no filter stands for. What
 * they are denied is told in its result.
 */
export async function executeDashboard(
  ctx: CompanyContext,
  id: string,
  parameters: Record<string, unknown>,
): Promise<Execution[]> {
  const loaded = await loadDashboard(ctx, id);
  const rules = viewerRules(dashboardDimensions(loaded.dashboard, loaded.visualizations), { parametersOpen: true });
  const ids = loaded.visualizations.map((visualization) => visualization.id);
  return executeLoaded(ctx, loaded, boundValues(rules, parameters), { refusals: denials(ctx, ids) });
}

/**
 * What a dashboard shows must be the company's and the author's to show: who places a visualization may execute it, and who
 * writes SQL for options may write SQL at all. What stands there already is left alone.
 */
async function requireSound(ctx: UserContext, next: Definition, present: Definition = NOTHING): Promise<void> {
  const ids = widgetIds(next.layout);
  const found = ids.length === 0 ? [] : await selectVisualizations(ctx.db, ctx.actor.companyId, ids);
  if (found.length < ids.length) throw visualizationNotFound();
  for (const id of placedAnew(next, present)) requireAction(ctx.actor, 'visualizations:execute', id);
  const written = sqlOf(present);
  if (sqlOf(next).some((sql) => !written.includes(sql))) requireAction(ctx.actor, 'visualizations:create', '*');
  const problems = filterProblems(next.filters, found);
  if (problems.length > 0) throw invalid(problems);
}

/**
 * What is placed on a dashboard that others see already is shared with it.
 * @returns the moment at which nobody else may see it, for those who may not share what they place
 */
async function mustBeUnshown(ctx: UserContext, next: Dashboard, present: Dashboard): Promise<number | undefined> {
  const placed = placedAnew(next, present);
  if (mayShareAll(ctx, placed)) return undefined;
  const now = ctx.now();
  const [found] = await selectShown(ctx.db, next.companyId, next.id, now);
  if (found?.shown) requireSharingAll(ctx, placed);
  return now;
}

type Definition = Pick<Dashboard, 'layout' | 'filters'>;

const NOTHING: Definition = { layout: [], filters: [] };

const sqlOf = ({ filters }: Definition): string[] => filters.flatMap(({ options }) => optionsSql(options) ?? []);

function placedAnew(next: Definition, present: Definition): string[] {
  const placed = new Set(widgetIds(present.layout));
  return widgetIds(next.layout).filter((id) => !placed.has(id));
}
