import type { ViewerActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, VerifyViewerToken } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { dashboardShares } from '../../db/schema/shares.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import type { FrameAncestors, ViewBranding } from '../../presentation/viewing.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { type Brand, viewPageBranding } from '../companies/service.ts';
import { recordShareEvent, runRecordingRefusal } from '../share-activity/service.ts';
import {
  type ExecutionQuery,
  executeForViewer,
  listFilterOptions,
  listFrameAncestors,
  makeRules,
  requireAllowedOrigin,
  type SharedItem,
  selectSharedDashboard,
  toSharedDashboard,
} from '../viewing/service.ts';
import { signInNeeded } from './failures.ts';
import { selectCompanyIdOfToken, selectDashboardIdOfToken, selectShareOfToken } from './store.ts';

/** The data behind the token of a share. */
export interface OpenedShare {
  share: typeof dashboardShares.$inferSelect;
  companySlug: string;
  brand: Brand & { name: string };
  item: SharedItem & { type: 'dashboard' };
}

/** The caller who holds the token of a share. */
export type ShareViewer = ViewerActor<OpenedShare>;

/** The form of `makeShareToken`, and a former one without the company's id. Texts of other forms are not looked up. */
const SHARE_TOKEN_PATTERN = /^(?:[a-f0-9]{24}-)?[A-Za-z0-9_-]{43}$/;

/** Verifies the token of a share, and reads the share and its dashboard in one batch. */
export const verifyShareToken: VerifyViewerToken = async (ctx, token, count): Promise<ShareViewer> => {
  if (!SHARE_TOKEN_PATTERN.test(token)) throw invalidToken();
  const digest = await computeSha256Hex(token);
  const {
    share: [found],
    dashboard,
  } = await readTogether(ctx.db, {
    share: selectShareOfToken(ctx.db, digest),
    dashboard: selectSharedDashboard(ctx.db, selectCompanyIdOfToken(digest), selectDashboardIdOfToken(digest)),
  });
  if (!found) throw invalidToken();
  const { share, companySlug, name, branding, logo } = found;
  await count?.(share.id);
  const openShare = async (): Promise<ShareViewer> => {
    const { companyId, id: tokenId } = share;
    requireActiveCompany(found, () => ctx.setOwner(companyId));
    if (share.revokedAt !== null || (share.expiresAt !== null && share.expiresAt <= ctx.now())) throw invalidToken();
    const allowedOrigins = share.embedOptions.allowed_origins;
    requireAllowedOrigin(ctx, allowedOrigins);
    const brand = { id: companyId, name, branding, logo };
    const openedShare = { share, companySlug, brand, item: toSharedDashboard(dashboard, invalidToken) };
    return { kind: 'viewer', companyId, tokenId, allowedOrigins, tokenRecord: openedShare };
  };
  return count ? recordRefusals(ctx, share, openShare) : openShare();
};

/** Returns what a viewer is shown before anything is executed; for a share in a context, only that a sign-in is needed. */
export function resolveShare(ctx: Context<ShareViewer>) {
  const { share, companySlug, brand, item } = ctx.actor.tokenRecord;
  recordEvent(ctx, 'share.resolved', share);
  if (share.shareContextId !== null) return { requiresAuth: true as const, companySlug };
  const branding = viewPageBranding(ctx.baseUrl, brand);
  return { requiresAuth: false as const, branding, share, item, rules: makeShareRules(ctx.actor.tokenRecord) };
}

export const readShareOptions = (ctx: Context<ShareViewer>, slug: string, search: string) =>
  runForViewer(ctx, ({ item }, rules) => listFilterOptions(ctx, item, rules, slug, search));

/** Executes the dashboard, which counts as a view, or downloads the result of a visualization on it. */
export const executeShare = (
  ctx: Context<ShareViewer>,
  parameters: Readonly<Record<string, unknown>>,
  query: ExecutionQuery,
) =>
  runForViewer(ctx, async ({ share, item }, rules) => {
    const { answer, download } = await executeForViewer(ctx, item, rules, parameters, query);
    recordEvent(ctx, download ? 'share.downloaded' : 'share.executed', share, download);
    return answer;
  });

/** Reads the brand of a share's page, and the sites that may show the page in a frame: none, unless the share allows it. */
export async function readSharePage(
  ctx: Context,
  token: string,
): Promise<{ frameAncestors: FrameAncestors; branding?: ViewBranding }> {
  if (!SHARE_TOKEN_PATTERN.test(token)) return { frameAncestors: [] };
  const [found] = await selectShareOfToken(ctx.db, await computeSha256Hex(token));
  if (!found || found.share.revokedAt !== null || found.suspendedAt !== null) return { frameAncestors: [] };
  const { companyId: id, shareType, embedOptions } = found.share;
  const isFramingDenied = shareType === 'link' && embedOptions.allowed_origins.length === 0;
  return {
    frameAncestors: isFramingDenied ? [] : listFrameAncestors(embedOptions.allowed_origins),
    branding: viewPageBranding(ctx.baseUrl, { ...found, id }),
  };
}

const makeShareRules = ({ share, item }: OpenedShare): ViewerRules =>
  makeRules(item, {
    policies: share.filterPolicies,
    downloads: [share.embedOptions.allow_downloads === true],
  });

function runForViewer<T>(
  ctx: Context<ShareViewer>,
  work: (openedShare: OpenedShare, rules: ViewerRules) => Promise<T>,
): Promise<T> {
  const { tokenRecord } = ctx.actor;
  return recordRefusals(ctx, tokenRecord.share, async () => {
    if (tokenRecord.share.shareContextId !== null) throw signInNeeded();
    return work(tokenRecord, makeShareRules(tokenRecord));
  });
}

/** Runs `work`, and records it when the viewer is denied something. */
const recordRefusals = <T>(ctx: Context, share: OpenedShare['share'], work: () => Promise<T>): Promise<T> =>
  runRecordingRefusal(work, (reason, error) =>
    recordEvent(ctx, 'share.denied', share, { reason }, invalidToken.matches(error) ? share.id : undefined),
  );

function recordEvent(
  ctx: Context,
  type: 'share.resolved' | 'share.executed' | 'share.downloaded' | 'share.denied',
  share: OpenedShare['share'],
  details: Record<string, unknown> = {},
  minuteKey?: string,
): void {
  recordShareEvent(ctx, {
    type,
    minuteKey,
    companyId: share.companyId,
    actor: { kind: 'viewer', id: null, email: null },
    target: { type: 'dashboard', id: share.dashboardId },
    shareId: share.id,
    shareContextId: share.shareContextId,
    details,
  });
}
