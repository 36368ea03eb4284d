import type { CompanyContext, Context } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { PreparedResponse } from '../../kernel/files.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { FilterPolicy } from '../../sharing/filter-policy.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { combineAttributes, type ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { companyNotFound } from '../companies/service.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { countView, recordShareEvent, runRecordingRefusal } from '../share-activity/service.ts';
import { type EmbedOptions, selectActiveShares } from '../shares/service.ts';
import {
  type ExecutionQuery,
  executeForViewer,
  getSharedRecord,
  listFilterOptions,
  makeRules,
  type SharedItem,
  selectSharedDashboard,
  toSharedDashboard,
} from '../viewing/service.ts';
import { type AccessFailures, findAccessFailures, requireNotDenied } from '../visualizations/service.ts';
import { invalidContextId } from './failures.ts';
import {
  type PortalActor,
  readOwnContexts,
  readOwnDashboards,
  selectDashboardIdBySlug,
  selectGrant,
  selectGrantsToAddress,
  selectOwnAttributes,
  selectOwnContext,
} from './store.ts';

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
  return recordRefusals(ctx, dashboard, () => listFilterOptions(ctx, dashboard.item, dashboard.rules, slug, search));
}

/** Executes a dashboard, which counts as a view of the context's shares, or downloads the result of one visualization. */
export async function executeInPortal(
  ctx: PortalContext,
  request: DashboardRequest,
  parameters: Readonly<Record<string, unknown>>,
  query: ExecutionQuery,
): Promise<PreparedResponse> {
  const dashboard = await requireDashboard(ctx, request);
  const { answer, download } = await recordRefusals(ctx, dashboard, () =>
    executeForViewer(ctx, dashboard.item, dashboard.rules, parameters, query),
  );
  if (!download) countViews(ctx, dashboard, 1);
  recordEvent(ctx, download ? 'share.downloaded' : 'share.executed', dashboard, download);
  return answer;
}

/** Counts a view of each share where there are several; a single share is named in the event of the view, which counts it. */
function countViews(ctx: PortalContext, { shareIds }: PortalDashboard, executionCount: 0 | 1): void {
  if (shareIds.length < 2) return;
  for (const id of shareIds) countView(ctx, { id, companyId: ctx.actor.companyId }, executionCount);
}

/** Opens a dashboard for the caller. Each request reads all that decides on access: a removal takes effect at the next. */
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
const recordRefusals = <T>(ctx: PortalContext, dashboard: PortalDashboard, work: () => Promise<T>): Promise<T> =>
  runRecordingRefusal(work, (reason) => recordEvent(ctx, 'share.denied', dashboard, { reason }));

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

/**
 * Makes the rules of a context's member for a target that it grants, from the grant's policies, the policies of active shares and
 * the member's attributes. @param accessFailures the visualizations that the member is denied
 */
function makeMemberRules(
  item: SharedItem,
  grant: { filterPolicies: FilterPolicy[] },
  shares: readonly { filterPolicies: FilterPolicy[]; embedOptions: EmbedOptions }[],
  memberships: readonly { attributes: ViewerAttributes | null }[],
  accessFailures?: AccessFailures,
): ViewerRules {
  const viewerTerms = {
    policies: [...grant.filterPolicies, ...shares.flatMap(({ filterPolicies }) => filterPolicies)],
    attributes: combineAttributes(memberships.map(({ attributes }) => attributes ?? {})),
    downloads: shares.map(({ embedOptions }) => embedOptions.allow_downloads === true),
  };
  return makeRules(item, viewerTerms, accessFailures);
}

/**
 * Makes the rules under which an address sees an item, from the context that grants the item and has had the address as a member
 * for longest; undefined if no context does.
 */
export async function makeAddressRules(
  { db, actor: { companyId }, now }: CompanyContext,
  item: SharedItem,
  email: string,
): Promise<ViewerRules | undefined> {
  const { id } = getSharedRecord(item);
  const [grant] = await selectGrantsToAddress(db, companyId, { type: item.type, id }, email);
  if (!grant) return undefined;
  const { contextId } = grant;
  const shares =
    item.type === 'dashboard' ? await selectActiveShares(db, { companyId, contextId, dashboardId: id }, now()) : [];
  return makeMemberRules(item, grant, shares, [grant]);
}
