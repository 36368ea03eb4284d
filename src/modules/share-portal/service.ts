import type { Context } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { ViewerRules } from '../../kernel/sharing-rules.ts';
import { companyNotFound } from '../companies/service.ts';
import { dashboardNotFound } from '../dashboards/service.ts';
import { countView, recordHappening } from '../share-activity/service.ts';
import { selectActiveShares } from '../shares/service.ts';
import { dashboardExhibit, dashboardReads, type Exhibit, executeFor, optionsFor, rulesOf } from '../viewing/service.ts';
import { invalidContextId } from './failures.ts';
import {
  dashboardOfSlug,
  type Listed,
  type PortalActor,
  readOwnContexts,
  readOwnDashboards,
  selectGrant,
  selectOwnContext,
} from './store.ts';

export type { Listed, PortalActor };

type PortalContext = Context<PortalActor>;
type PageRequest = { page: number; perPage: number };

export function requireOwnCompany({ actor }: PortalContext, slug: string): void {
  if (slug !== actor.companySlug) throw companyNotFound();
}

/** A page of the contexts of which the caller is a member. */
export const ownContexts = (ctx: PortalContext, part: PageRequest) => readOwnContexts(ctx.db, ctx.actor, part);

/** A page of the dashboards of all contexts of the caller. */
export const ownDashboards = (ctx: PortalContext, part: PageRequest) => readOwnDashboards(ctx.db, ctx.actor, part);

/** A page of the dashboards of one context. */
export async function contextDashboards(ctx: PortalContext, contextId: unknown, part: PageRequest) {
  const id = contextIdOf(contextId);
  const [context] = await selectOwnContext(ctx, id);
  if (!context) throw invalidContextId();
  return readOwnDashboards(ctx.db, ctx.actor, { ...part, contextId: id });
}

/** Which dashboard is meant, and through which context. */
export interface Wanted {
  contextId: unknown;
  dashboard: { id: string } | { slug: string };
}

/** A dashboard as a context shows it to the caller. */
export interface PortalDashboard {
  contextId: string;
  exhibit: Exhibit & { type: 'dashboard' };
  rules: ViewerRules;
  /** The shares that narrow it. */
  shareIds: string[];
}

/** What the caller is told of a dashboard. */
export async function portalDashboard(ctx: PortalContext, wanted: Wanted): Promise<PortalDashboard> {
  const shown = await open(ctx, wanted);
  happened(ctx, 'share.resolved', shown);
  for (const id of shown.shareIds) countView(ctx, { id, companyId: ctx.actor.companyId }, 0);
  return shown;
}

export async function portalOptions(ctx: PortalContext, wanted: Wanted, slug: string, search: string) {
  const shown = await open(ctx, wanted);
  return noting(ctx, shown, () => optionsFor(ctx, shown.exhibit, shown.rules, slug, search));
}

/** Counts as a view of the shares of that context. */
export async function executeInPortal(
  ctx: PortalContext,
  wanted: Wanted,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const shown = await open(ctx, wanted);
  const answer = await noting(ctx, shown, () => executeFor(ctx, shown.exhibit, shown.rules, parameters));
  for (const id of shown.shareIds) countView(ctx, { id, companyId: ctx.actor.companyId }, 1);
  happened(ctx, 'share.executed', shown);
  return answer;
}

/** Everything that decides is read at once, at every request: removals take effect on the next. */
async function open(ctx: PortalContext, wanted: Wanted): Promise<PortalDashboard> {
  const { companyId } = ctx.actor;
  const contextId = contextIdOf(wanted.contextId);
  const dashboardId =
    'slug' in wanted.dashboard
      ? dashboardOfSlug(companyId, wanted.dashboard.slug)
      : ID_PATTERN.test(wanted.dashboard.id)
        ? wanted.dashboard.id
        : '';
  const [[context], [grant], shares, ...reads] = await ctx.db.batch([
    selectOwnContext(ctx, contextId),
    selectGrant(ctx.db, companyId, contextId, dashboardId),
    selectActiveShares(ctx.db, { companyId, contextId, dashboardId }, ctx.now()),
    ...dashboardReads(ctx.db, companyId, dashboardId),
  ]);
  if (!context) throw invalidContextId();
  if (!grant) throw dashboardNotFound();
  const exhibit = dashboardExhibit(...reads);
  const policies = [...grant.filterPolicies, ...shares.flatMap(({ filterPolicies }) => filterPolicies)];
  return { contextId, exhibit, rules: rulesOf(exhibit, { policies }), shareIds: shares.map(({ id }) => id) };
}

function contextIdOf(given: unknown): string {
  if (typeof given !== 'string' || !ID_PATTERN.test(given)) throw invalidContextId();
  return given;
}

/** Records a refusal. */
async function noting<T>(ctx: PortalContext, shown: PortalDashboard, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure && error.kind === 'forbidden') {
      happened(ctx, 'share.denied', shown, { reason: error.reason });
    }
    throw error;
  }
}

function happened(
  ctx: PortalContext,
  type: 'share.resolved' | 'share.executed' | 'share.denied',
  { contextId, exhibit, shareIds }: PortalDashboard,
  details: Record<string, unknown> = {},
): void {
  const [only, ...others] = shareIds;
  recordHappening(ctx, {
    type,
    target: { type: 'dashboard', id: exhibit.dashboard.id },
    shareContextId: contextId,
    shareId: others.length === 0 ? (only ?? null) : null,
    details,
  });
}
