import type { ViewerActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { Context, OpenToken } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { Failure } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { TargetType } from '../../kernel/share-event.ts';
import type { ViewerRules } from '../../kernel/sharing-rules.ts';
import type { FrameAncestors } from '../../kernel/viewing.ts';
import { recordShareEvent } from '../share-activity/service.ts';
import {
  dashboardReads,
  executeFor,
  framesFor,
  optionsFor,
  requireOrigin,
  rulesOf,
  type SharedItem,
  sharedDashboard,
  sharedVisualization,
} from '../viewing/service.ts';
import { selectVisualization } from '../visualizations/service.ts';
import { type EmbedClaims, verifyEmbed } from './claims.ts';
import { subjectsOf } from './revocation.ts';
import { selectRevokedAt, selectRotations } from './store.ts';

/** What an embed token opens. */
export interface OpenedEmbed<E extends SharedItem = SharedItem> {
  claims: EmbedClaims;
  item: E;
}

/** Whoever holds an embed token. */
export type EmbedViewer<E extends SharedItem = SharedItem> = ViewerActor<OpenedEmbed<E>>;

/**
 * Opens an embed token. The token itself is stored nowhere: one batch reads what it shows, how often the company's key
 * was rotated, and what was ended since.
 */
export const openEmbedToken =
  (type: TargetType): OpenToken =>
  async (ctx, token, count): Promise<EmbedViewer> => {
    const { claims, expired } = await verifyEmbed(ctx, token);
    const { companyId, target, allowedOrigins, id: tokenId } = claims;
    if (target.type !== type || !ID_PATTERN.test(target.id)) throw invalidToken();
    try {
      const [counted, read] = await Promise.allSettled([count?.(tokenId), expired ? null : readItem(ctx, claims)]);
      if (counted.status === 'rejected') throw counted.reason;
      if (read.status === 'rejected') throw read.reason;
      const item = read.value;
      if (item === null) throw invalidToken();
      requireOrigin(ctx, allowedOrigins);
      return { kind: 'viewer', companyId, tokenId, allowedOrigins, opened: { claims, item } };
    } catch (error) {
      throw count ? recordRefusal(ctx, claims, error) : error;
    }
  };

async function readItem({ db }: Context, claims: EmbedClaims): Promise<SharedItem> {
  const { companyId, target } = claims;
  const validity = {
    key: selectRotations(db, companyId),
    revoked: selectRevokedAt(db, companyId, subjectsOf(claims)),
  };
  if (target.type === 'visualization') {
    const found = await readTogether(db, { ...validity, visualization: selectVisualization(db, companyId, target.id) });
    requireCurrent(claims, found);
    return sharedVisualization(found.visualization);
  }
  const found = await readTogether(db, { ...validity, dashboard: dashboardReads(db, companyId, target.id) });
  requireCurrent(claims, found);
  return sharedDashboard(found.dashboard);
}

/** Refuses a token of a key that was rotated since, and one that was ended. */
function requireCurrent(
  { rotations, madeAt }: EmbedClaims,
  { key: [key], revoked: [revoked] }: { key: { rotations: number }[]; revoked: { revokedAt: number | null }[] },
): void {
  const isRevoked = madeAt <= (revoked?.revokedAt ?? Number.NEGATIVE_INFINITY);
  if ((key?.rotations ?? 0) !== rotations || isRevoked) throw invalidToken();
}

/** What the viewer may do. */
export const rulesOfEmbed = ({ claims, item }: OpenedEmbed): ViewerRules => rulesOf(item, { embed: claims.terms });

export const embedOptions = (
  ctx: Context<EmbedViewer<SharedItem & { type: 'dashboard' }>>,
  slug: string,
  search: string,
) => {
  const { opened } = ctx.actor;
  return recordRefusals(ctx, () => optionsFor(ctx, opened.item, rulesOfEmbed(opened), slug, search));
};

export const executeEmbed = (ctx: Context<EmbedViewer>, parameters: Readonly<Record<string, unknown>>) =>
  recordRefusals(ctx, async () => {
    const { opened } = ctx.actor;
    const answer = await executeFor(ctx, opened.item, rulesOfEmbed(opened), parameters);
    recordEvent(ctx, 'embed.executed', opened.claims);
    return answer;
  });

/** Who may show the page of an embed in a frame: nobody when the token is invalid. */
export async function frameAncestorsOf(ctx: Context, token: string): Promise<FrameAncestors> {
  try {
    const { claims } = await verifyEmbed(ctx, token);
    return framesFor(claims.allowedOrigins);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

async function recordRefusals<T>(ctx: Context<EmbedViewer>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw recordRefusal(ctx, ctx.actor.opened.claims, error);
  }
}

/** Records that a viewer was denied something, and returns the error to throw. */
function recordRefusal(ctx: Context, claims: EmbedClaims, error: unknown): unknown {
  if (error instanceof Failure && (error.kind === 'forbidden' || error.kind === 'unauthenticated')) {
    recordEvent(
      ctx,
      'embed.denied',
      claims,
      { reason: error.reason },
      invalidToken.matches(error) ? claims.id : undefined,
    );
  }
  return error;
}

function recordEvent(
  ctx: Context,
  type: 'embed.executed' | 'embed.denied',
  { companyId, target, id }: EmbedClaims,
  details: Record<string, unknown> = {},
  onceAMinute?: string,
): void {
  const actor = { kind: 'viewer', id: null, email: null } as const;
  recordShareEvent(ctx, { type, onceAMinute, companyId, actor, target, details: { token_id: id, ...details } });
}
