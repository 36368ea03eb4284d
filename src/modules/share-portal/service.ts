import type { Context } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { PreparedResponse } from '../../kernel/files.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { companyNotFound } from '../companies/service.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { countView, findRefusalReason, recordShareEvent } from '../share-activity/service.ts';
import { selectActiveShares } from '../shares/service.ts';
import {
  type ExecutionQuery,
  executeForViewer,
  listFilterOptions,
  type SharedItem,
  selectSharedDashboard,
  toSharedDashboard,
} from '../viewing/service.ts';
import { type AccessFailures, findAccessFailures, requireNotDenied } from '../visualizations/service.ts';
import { invalidContextId } from './failures.ts';
import { makeMemberRules } from './member-rules.ts';
import {
  type PortalActor,
  type PortalEntry,
  readOwnContexts,
  readOwnDashboards,
  selectDashboardIdBySlug,
  selectGrant,
  selectOwnAttributes,
  selectOwnContext,
} from './store.ts';

export { makeAddressRules } from './member-rules.ts';
export type { PortalEntry };

type PortalContext = Context<PortalActor>;
type PageRequest = { page: number; perPage: number };

export function requireCompanyOfCaller({ actor }: PortalContext, slug: string): void {
  if (slug !== actor.companySlug) throw companyNotFound();
}

/** Lists a page of the contexts of which the caller is a member. */
export const listOwnContexts = (ctx: PortalContext, pageRequest: PageRequest) =>
  readOwnContexts(ctx.db, ctx.actor, pageRequest);

/** Lists a page of the dashboards of all contexts of the caller. */
export const listOwnDashboards = (ctx: PortalContext, pageRequest: PageRequest) =>
  readOwnDashboards(ctx.db, ctx.actor, pageRequest);

/** Lists a page of the dashboards of one context. */
export async function listContextDashboards(ctx: PortalContext, contextId: unknown, pageRequest: PageRequest) {
  const id = parseContextId(contextId);
  const [context] = await selectOwnContext(ctx, id);
  if (!context) throw invalidContextId();
  return readOwnDashboards(ctx.db, ctx.actor, { ...pageRequest, contextId: id });
}

/** The requested dashboard, and the context that grants it. */
export interface DashboardRequest {
  contextId: unknown;
  dashboard: { id: string } | { slug: string };
}

/** A dashboard that a context grants, with the rules for the caller. */
export interface PortalDashboard {
  contextId: string;
  item: SharedItem & { type: 'dashboard' };
  rules: ViewerRules;
  /** The visualizations on the dashboard that the caller is denied. */
  accessFailures: AccessFailures;
  /** The active shares whose policies narrow the data, in addition to the policies of the grant. */
  shareIds: string[];
}

export async function getPortalDashboard(ctx: PortalContext, request: DashboardRequest): Promise<PortalDashboard> {
  const dashboard = await requireDashboard(ctx, request);
  recordEvent(ctx, 'share.resolved', dashboard);
  countViews(ctx, dashboard, 0);
  return dashboard;
}

export async function readPortalOptions(ctx: PortalContext, request: DashboardRequest, slug: string, search: string) {
  const dashboard = await requireDashboard(ctx, request);
  return runRecordingRefusal(ctx, dashboard, () =>
    listFilterOptions(ctx, dashboard.item, dashboard.rules, slug, search),
  );
}

/** Executes a dashboard, which counts as a view of the context's shares, or downloads the result of one visualization. */
export async function executeInPortal(
  ctx: PortalContext,
  request: DashboardRequest,
  parameters: Readonly<Record<string, unknown>>,
  query: ExecutionQuery,
): Promise<PreparedResponse> {
  const dashboard = await requireDashboard(ctx, request);
  const { answer, download: downloaded } = await runRecordingRefusal(ctx, dashboard, () =>
    executeForViewer(ctx, dashboard.item, dashboard.rules, parameters, query),
  );
  if (downloaded) {
    recordEvent(ctx, 'share.downloaded', dashboard, downloaded);
    return answer;
  }
  countViews(ctx, dashboard, 1);
  recordEvent(ctx, 'share.executed', dashboard);
  return answer;
}

/** Counts a view of each share where there are several; a single share is named in the event of the view, which counts it. */
function countViews(ctx: PortalContext, { shareIds }: PortalDashboard, executionCount: 0 | 1): void {
  if (shareIds.length < 2) return;
  for (const id of shareIds) countView(ctx, { id, companyId: ctx.actor.companyId }, executionCount);
}

/**
 * Opens a dashboard for the caller. Every request reads all data that decides on access, so that a removal takes effect at the
 * next one.
 */
async function requireDashboard(ctx: PortalContext, request: DashboardRequest): Promise<PortalDashboard> {
  const { companyId } = ctx.actor;
  const contextId = parseContextId(request.contextId);
  const dashboardId =
    'slug' in request.dashboard
      ? selectDashboardIdBySlug(companyId, request.dashboard.slug)
      : ID_PATTERN.test(request.dashboard.id)
        ? request.dashboard.id
        : '';
  const {
    context: [context],
    grant: [grant],
    shares,
    dashboard,
    own,
  } = await readTogether(ctx.db, {
    context: selectOwnContext(ctx, contextId),
    grant: selectGrant(ctx.db, companyId, contextId, dashboardId),
    shares: selectActiveShares(ctx.db, { companyId, contextId, dashboardId }, ctx.now()),
    dashboard: selectSharedDashboard(ctx.db, companyId, dashboardId),
    own: selectOwnAttributes(ctx, contextId),
  });
  if (!context) throw invalidContextId();
  if (!grant) throw dashboardNotFound();
  const item = toSharedDashboard(dashboard);
  requireNotDenied(ctx, [item.dashboard.id], ['dashboards:get']);
  const accessFailures = findAccessFailures(
    ctx,
    item.visualizations.map(({ id }) => id),
  );
  return {
    contextId,
    item,
    rules: makeMemberRules(item, grant, shares, own, accessFailures),
    accessFailures,
    shareIds: shares.map(({ id }) => id),
  };
}

function parseContextId(sentId: unknown): string {
  if (typeof sentId !== 'string' || !ID_PATTERN.test(sentId)) throw invalidContextId();
  return sentId;
}

/** Runs `work` and records it if the caller is denied something. */
async function runRecordingRefusal<T>(
  ctx: PortalContext,
  dashboard: PortalDashboard,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = findRefusalReason(error);
    if (reason !== undefined) recordEvent(ctx, 'share.denied', dashboard, { reason });
    throw error;
  }
}

function recordEvent(
  ctx: PortalContext,
  type: 'share.resolved' | 'share.executed' | 'share.downloaded' | 'share.denied',
  { contextId, item, shareIds }: PortalDashboard,
  details: Record<string, unknown> = {},
): void {
  const [only, ...others] = shareIds;
  recordShareEvent(ctx, {
    type,
    target: { type: 'dashboard', id: item.dashboard.id },
    shareContextId: contextId,
    shareId: others.length === 0 ? (only ?? null) : null,
    details,
  });
}
