import { findReadDenials } from '../../access/denials.ts';
import { requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import type { Page } from '../../db/page.ts';
import type { EmbedOptions } from '../../db/schema/shares.ts';
import type { Condition } from '../../db/statements.ts';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { type FilterPolicy, findPolicyProblems, type Input } from '../../sharing/filter-policy.ts';
import { isChoiceKind } from '../../sql-templates/parameters.ts';
import { getDashboard } from '../dashboards/service.ts';
import { prepareShareEvent, readViews } from '../share-activity/service.ts';
import { findContext, shareContextNotFound } from '../share-contexts/service.ts';
import {
  getOptionsSource,
  listInputs,
  listVisualizations,
  loadSharedItem,
  requireMayShareItem,
  type SharedItem,
} from '../viewing/service.ts';
import { findAccessFailures, requireNotDenied } from '../visualizations/service.ts';
import { shareNotFound, shareRevoked } from './failures.ts';
import {
  type DashboardShare,
  hasDashboard,
  insertShare,
  markShareRevoked,
  readShare,
  readShares,
  type ShareSearch,
  updateShare,
} from './store.ts';

export { selectActiveShares } from './store.ts';
export type { EmbedOptions };

/** A share, how often it was executed, and when it was last opened (ms). */
export interface ShareWithViews {
  share: DashboardShare;
  viewCount: number;
  lastAccessedAt: number | null;
}

/** The terms of a share that people set. */
export interface ShareTerms {
  name: string;
  shareType: DashboardShare['shareType'];
  shareContextId: string | null;
  /** When the share expires, in milliseconds since the epoch; null for never. */
  expiresAt: number | null;
  embedOptions: Partial<EmbedOptions>;
  filterPolicies: FilterPolicy[];
}

/** Returns the status of a share. A share whose dashboard is deleted counts as revoked. */
export function getShareStatus(share: DashboardShare, now: number): 'active' | 'revoked' | 'expired' {
  if (share.revokedAt !== null || !share.dashboardExists) return 'revoked';
  return share.expiresAt !== null && share.expiresAt <= now ? 'expired' : 'active';
}

/** Lists a page of a dashboard's shares. */
export async function listDashboardShares(
  ctx: PrincipalContext,
  dashboardId: string,
  shareSearch: ShareSearch,
): Promise<Page<ShareWithViews>> {
  requireNotDenied(ctx, [dashboardId], ['dashboards:get']);
  await getDashboard(ctx, dashboardId);
  return listShares(ctx, { ...shareSearch, dashboardId });
}

/** Lists a page of the company's shares, or of one dashboard's. */
export async function listShares(
  ctx: PrincipalContext,
  shareSearch: ShareSearch & { dashboardId?: string },
): Promise<Page<ShareWithViews>> {
  const denials = findReadDenials(ctx.actor, 'shared_dashboard');
  const page = await readShares(ctx.db, ctx.actor.companyId, { ...shareSearch, denials });
  return { ...page, records: await addViews(ctx, page.records) };
}

/** Makes a token of the company's id, which locates the share's data, and a secret. Only the token's digest is stored. */
const makeShareToken = (companyId: string): string => `${companyId}-${newSecretToken()}`;

/** Returns a dashboard if the caller may share it and every visualization on it. */
export async function requireDashboardToShare(
  ctx: PrincipalContext,
  id: string,
): Promise<SharedItem & { type: 'dashboard' }> {
  const item = (await loadSharedItem(ctx, 'dashboard', id)) as SharedItem & { type: 'dashboard' };
  requireMayShareItem(ctx, item);
  return item;
}

/**
 * Shares a dashboard and the visualizations on it. Tries again when the dashboard changed since it was read, as other
 * visualizations may be on it now. The token is returned only here.
 */
export const createShare = (
  ctx: PrincipalContext,
  dashboardId: string,
  { name, ...terms }: Omit<ShareTerms, 'name'> & { name?: string },
): Promise<ShareWithViews & { token: string }> =>
  retryOnConcurrentChange(async () => {
    const item = await requireDashboardToShare(ctx, dashboardId);
    validateTerms(ctx, item, terms);
    const token = makeShareToken(ctx.actor.companyId);
    const now = ctx.now();
    const share: DashboardShare = {
      ...terms,
      id: ctx.newId(),
      companyId: ctx.actor.companyId,
      dashboardId,
      name: name ?? item.dashboard.name,
      embedOptions: { ...DEFAULT_OPTIONS, ...terms.embedOptions },
      tokenDigest: await computeSha256Hex(token),
      createdByUserId: ctx.actor.id,
      createdAt: now,
      updatedAt: now,
      revokedAt: null,
      dashboardExists: true,
    };
    const event = makeShareEvent(ctx, 'share.created', share, { share_type: share.shareType });
    const { made, told } = await commit(ctx.db, {
      made: insertShare(ctx.db, share, item.dashboard.version),
      told: event.statement,
    });
    if (made.length === 0) {
      const { shareContextId } = share;
      if (shareContextId !== null && !(await findContext(ctx, shareContextId))) throw shareContextNotFound();
      return undefined;
    }
    event.send(told);
    return { share, token, viewCount: 0, lastAccessedAt: null };
  });

const DEFAULT_OPTIONS: EmbedOptions = {
  allowed_origins: [],
  hide_header: false,
  hide_controls: false,
  allow_downloads: false,
};

/** Changes only the fields that are sent: concurrent changes of other fields stay. */
export async function changeShare(
  ctx: PrincipalContext,
  id: string,
  changes: Partial<ShareTerms>,
): Promise<ShareWithViews> {
  const { name: _newName, ...more } = changes;
  const storedShare = await retryOnConcurrentChange(async () => {
    const share = await requireVisibleShare(ctx, id);
    if (share.revokedAt !== null) throw shareRevoked();
    const item = (await loadSharedItem(ctx, 'dashboard', share.dashboardId)) as SharedItem & { type: 'dashboard' };
    // A new name shows nobody more.
    const mayShowMore = Object.keys(more).length > 0;
    if (mayShowMore) requireMayShareItem(ctx, item);
    validateTerms(ctx, item, changes, share.expiresAt);
    const { embedOptions, ...rest } = changes;
    const newValues = {
      ...rest,
      ...(embedOptions && { embedOptions: { ...share.embedOptions, ...embedOptions } }),
      updatedAt: ctx.now(),
    };
    const event = makeShareEvent(ctx, 'share.updated', { ...share, ...newValues });
    const { updated, told } = await commit(ctx.db, {
      updated: updateShare(ctx.db, share, newValues, mayShowMore ? [item.dashboard] : []),
      told: event.statement,
    });
    event.send(told);
    const [changedShare] = updated;
    if (changedShare) return { ...changedShare, dashboardExists: true };
    const contextId = changes.shareContextId ?? null;
    if (contextId !== null && !(await findContext(ctx, contextId))) throw shareContextNotFound();
    return undefined;
  });
  const [result] = await addViews(ctx, [storedShare]);
  return result as ShareWithViews;
}

/** Returns a share, whatever its state. */
export async function getShare(ctx: PrincipalContext, id: string): Promise<ShareWithViews> {
  const [share] = await addViews(ctx, [await requireVisibleShare(ctx, id)]);
  return share as ShareWithViews;
}

/** Revokes a share: its token opens nothing from then on. It stays in the lists. */
export async function revokeShare(ctx: PrincipalContext, id: string): Promise<void> {
  const share = await requireSharableShare(ctx, id);
  // The deletion of its dashboard has recorded it.
  const event = makeShareEvent(ctx, 'share.revoked', share, {}, hasDashboard(share));
  const { recorded } = await commit(ctx.db, {
    revoked: markShareRevoked(ctx.db, share.companyId, id, ctx.now()),
    recorded: event.statement,
  });
  event.send(recorded);
}

/** Returns a share of a dashboard that the caller may share. */
export async function requireSharableShare(ctx: PrincipalContext, id: string): Promise<DashboardShare> {
  const share = await readShare(ctx.db, ctx.actor.companyId, id);
  requireAction(ctx.actor, 'dashboards:share', share?.dashboardId ?? '*');
  if (!share) throw shareNotFound();
  return share;
}

/** Returns a share if the caller may share and see its dashboard; shares of one that is denied can only be revoked. */
export async function requireVisibleShare(ctx: PrincipalContext, id: string): Promise<DashboardShare> {
  const share = await requireSharableShare(ctx, id);
  requireNotDenied(ctx, [share.dashboardId], ['dashboards:get']);
  return share;
}

/** Throws if a policy does not fit, or the expiry is past. @param storedExpiry may be sent again even if it is past */
function validateTerms(
  ctx: PrincipalContext,
  item: SharedItem,
  terms: Partial<ShareTerms>,
  storedExpiry?: number | null,
): void {
  const problems: FieldProblem[] = findPolicyProblems(
    listInputs(item),
    terms.filterPolicies ?? [],
    'share_filter_policies',
  );
  if (terms.expiresAt != null && terms.expiresAt !== storedExpiry && terms.expiresAt <= ctx.now()) {
    problems.push({ field: 'expires_at', message: 'must be in the future' });
  }
  if (problems.length > 0) throw invalidInput(problems);
}

async function addViews(ctx: PrincipalContext, shares: readonly DashboardShare[]): Promise<ShareWithViews[]> {
  const ids = shares.map(({ id }) => id);
  const views = await readViews(ctx, ids);
  return shares.map((share) => ({
    share,
    viewCount: views.get(share.id)?.viewCount ?? 0,
    lastAccessedAt: views.get(share.id)?.lastAccessedAt ?? null,
  }));
}

const makeShareEvent = (
  ctx: PrincipalContext,
  type: 'share.created' | 'share.updated' | 'share.revoked',
  share: Pick<DashboardShare, 'id' | 'name' | 'dashboardId' | 'shareContextId'>,
  details: Record<string, unknown> = {},
  condition?: Condition,
) =>
  prepareShareEvent(
    ctx,
    {
      type,
      target: { type: 'dashboard', id: share.dashboardId },
      shareId: share.id,
      shareContextId: share.shareContextId,
      details: { name: share.name, ...details },
    },
    condition,
  );

/** Lists the filters that a policy may be about. */
export const listFilterCandidates = (ctx: PrincipalContext, dashboardId: string) =>
  listCandidates(ctx, dashboardId, ({ origin, kind }) => origin === 'filter' && isChoiceKind(kind));

/** Lists the filters and parameters that an embed may fix or allow: not those that an attribute of the viewer decides. */
export const listEmbedCandidates = (ctx: PrincipalContext, dashboardId: string) =>
  listCandidates(ctx, dashboardId, ({ viewerAttributes }) => viewerAttributes.length === 0);

async function listCandidates(ctx: PrincipalContext, dashboardId: string, isCandidate: (input: Input) => boolean) {
  requireNotDenied(ctx, [dashboardId], ['dashboards:get']);
  const item: SharedItem = await loadSharedItem(ctx, 'dashboard', dashboardId);
  const accessFailures = findAccessFailures(
    ctx,
    listVisualizations(item).map(({ id }) => id),
  );
  return listInputs(item, accessFailures)
    .filter(isCandidate)
    .map(({ slug, label, kind }) => ({ slug, label, kind, options_source: getOptionsSource(item, slug) }));
}
