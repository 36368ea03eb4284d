import type { ViewerActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { Context, OpenToken } from '../../context.ts';
import type { dashboardShares } from '../../db/schema/shares.ts';
import { Failure } from '../../kernel/failure.ts';
import type { ViewerRules } from '../../kernel/sharing-rules.ts';
import type { FrameAncestors } from '../../kernel/viewing.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { countView, recordHappening } from '../share-activity/service.ts';
import {
  dashboardExhibit,
  dashboardReads,
  type Exhibit,
  executeFor,
  framesFor,
  optionsFor,
  requireOrigin,
  rulesOf,
} from '../viewing/service.ts';
import { signInNeeded } from './failures.ts';
import { companyOfToken, dashboardOfToken, selectShareOfToken } from './store.ts';

/** What the token of a share opens. */
export interface SharedDashboard {
  share: typeof dashboardShares.$inferSelect;
  companySlug: string;
  exhibit: Exhibit & { type: 'dashboard' };
}

/** Whoever holds the token of a share. */
export type ShareViewer = ViewerActor<SharedDashboard>;

/** Tokens as `newSecretToken` makes them: nothing else is worth a look-up. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** What the token of a share opens: one batch. */
export const openShareToken: OpenToken = async (ctx, token, count): Promise<ShareViewer> => {
  if (!TOKEN.test(token)) throw invalidToken();
  const digest = await sha256Hex(token);
  const [[found], ...reads] = await ctx.db.batch([
    selectShareOfToken(ctx.db, digest),
    ...dashboardReads(ctx.db, companyOfToken(digest), dashboardOfToken(digest)),
  ]);
  if (!found) throw invalidToken();
  const { share, companySlug } = found;
  await count?.(share.id);
  try {
    if (share.revokedAt !== null || (share.expiresAt !== null && share.expiresAt <= ctx.now())) throw invalidToken();
    requireOrigin(ctx, share.embedOptions.allowed_origins);
    const shown = { share, companySlug, exhibit: dashboardExhibit(...reads) };
    const { companyId, id: tokenId } = share;
    return { kind: 'viewer', companyId, tokenId, allowedOrigins: share.embedOptions.allowed_origins, shown };
  } catch (error) {
    throw count ? noted(ctx, share, error) : error;
  }
};

/** What the share tells before anything is executed. */
export function resolveShare(ctx: Context<ShareViewer>) {
  const { share, companySlug, exhibit } = ctx.actor.shown;
  happened(ctx, 'share.resolved', share);
  countView(ctx, share, 0);
  if (share.shareContextId !== null) return { requiresAuth: true as const, companySlug };
  return { requiresAuth: false as const, share, exhibit, rules: rulesOfShare(ctx.actor.shown) };
}

export const shareOptions = (ctx: Context<ShareViewer>, slug: string, search: string) =>
  asViewer(ctx, ({ exhibit }, rules) => optionsFor(ctx, exhibit, rules, slug, search));

/** Counts as a view. */
export const executeShare = (ctx: Context<ShareViewer>, parameters: Readonly<Record<string, unknown>>) =>
  asViewer(ctx, async ({ share, exhibit }, rules) => {
    const answer = await executeFor(ctx, exhibit, rules, parameters);
    countView(ctx, share, 1);
    happened(ctx, 'share.executed', share);
    return answer;
  });

/** Who may show the page of a share in a frame: nobody, unless it is shared for that. */
export async function frameAncestorsOf(ctx: Context, token: string): Promise<FrameAncestors> {
  if (!TOKEN.test(token)) return [];
  const [found] = await selectShareOfToken(ctx.db, await sha256Hex(token));
  if (!found || found.share.revokedAt !== null) return [];
  const { shareType, embedOptions } = found.share;
  return shareType === 'link' && embedOptions.allowed_origins.length === 0
    ? []
    : framesFor(embedOptions.allowed_origins);
}

const rulesOfShare = ({ share, exhibit }: SharedDashboard): ViewerRules =>
  rulesOf(exhibit, { policies: share.filterPolicies });

async function asViewer<T>(
  ctx: Context<ShareViewer>,
  work: (shown: SharedDashboard, rules: ViewerRules) => Promise<T>,
): Promise<T> {
  const { shown } = ctx.actor;
  try {
    if (shown.share.shareContextId !== null) throw signInNeeded();
    return await work(shown, rulesOfShare(shown));
  } catch (error) {
    throw noted(ctx, shown.share, error);
  }
}

/** Records a refusal; other failures are none. */
function noted(ctx: Context, share: SharedDashboard['share'], error: unknown): unknown {
  if (error instanceof Failure && (error.kind === 'forbidden' || error.kind === 'unauthenticated')) {
    happened(ctx, 'share.denied', share, { reason: error.reason }, invalidToken.matches(error) ? share.id : undefined);
  }
  return error;
}

function happened(
  ctx: Context,
  type: 'share.resolved' | 'share.executed' | 'share.denied',
  share: SharedDashboard['share'],
  details: Record<string, unknown> = {},
  onceAMinute?: string,
): void {
  recordHappening(ctx, {
    type,
    onceAMinute,
    companyId: share.companyId,
    actor: { kind: 'viewer', id: null, email: null },
    target: { type: 'dashboard', id: share.dashboardId },
    shareId: share.id,
    shareContextId: share.shareContextId,
    details,
  });
}
