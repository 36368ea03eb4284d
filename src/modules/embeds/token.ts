import type { ViewerActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { Context, OpenToken } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { TargetType } from '../../kernel/share-event.ts';
import type { ViewerRules } from '../../kernel/sharing-rules.ts';
import type { FrameAncestors } from '../../kernel/viewing.ts';
import { recordHappening } from '../share-activity/service.ts';
import {
  dashboardExhibit,
  dashboardReads,
  type Exhibit,
  executeFor,
  framesFor,
  optionsFor,
  requireOrigin,
  rulesOf,
  visualizationExhibit,
  visualizationRead,
} from '../viewing/service.ts';
import { type EmbedClaims, verifyEmbed } from './claims.ts';
import { selectRotations } from './store.ts';

/** What an embed token opens. */
export interface Embedded<E extends Exhibit = Exhibit> {
  claims: EmbedClaims;
  exhibit: E;
}

/** Whoever holds an embed token. */
export type EmbedViewer<E extends Exhibit = Exhibit> = ViewerActor<Embedded<E>>;

/**
 * What an embed token opens. Only what is shown is read, and together with it how often the company's key was rotated: the
 * token itself needs no look-up.
 */
export const openEmbedToken =
  (type: TargetType): OpenToken =>
  async (ctx, token, count): Promise<EmbedViewer> => {
    const { claims, expired } = await verifyEmbed(ctx, token);
    const { companyId, target, allowedOrigins, id: tokenId } = claims;
    if (target.type !== type || !ID_PATTERN.test(target.id)) throw invalidToken();
    try {
      const [counted, read] = await Promise.allSettled([count?.(tokenId), expired ? null : readExhibit(ctx, claims)]);
      if (counted.status === 'rejected') throw counted.reason;
      if (read.status === 'rejected') throw read.reason;
      const exhibit = read.value;
      if (exhibit === null) throw invalidToken();
      requireOrigin(ctx, allowedOrigins);
      return { kind: 'viewer', companyId, tokenId, allowedOrigins, shown: { claims, exhibit } };
    } catch (error) {
      throw count ? noted(ctx, claims, error) : error;
    }
  };

async function readExhibit({ db }: Context, { companyId, target, rotations }: EmbedClaims): Promise<Exhibit> {
  const key = selectRotations(db, companyId);
  const current = ([row]: { rotations: number }[]) => {
    if ((row?.rotations ?? 0) !== rotations) throw invalidToken();
  };
  if (target.type === 'visualization') {
    const [rotated, found] = await db.batch([key, visualizationRead(db, companyId, target.id)]);
    current(rotated);
    return visualizationExhibit(found);
  }
  const [rotated, ...found] = await db.batch([key, ...dashboardReads(db, companyId, target.id)]);
  current(rotated);
  return dashboardExhibit(...found);
}

/** What the viewer may do. */
export const rulesOfEmbed = ({ claims, exhibit }: Embedded): ViewerRules => rulesOf(exhibit, { embed: claims.terms });

export const embedOptions = (
  ctx: Context<EmbedViewer<Exhibit & { type: 'dashboard' }>>,
  slug: string,
  search: string,
) => {
  const { shown } = ctx.actor;
  return noting(ctx, () => optionsFor(ctx, shown.exhibit, rulesOfEmbed(shown), slug, search));
};

export const executeEmbed = (ctx: Context<EmbedViewer>, parameters: Readonly<Record<string, unknown>>) =>
  noting(ctx, async () => {
    const { shown } = ctx.actor;
    const answer = await executeFor(ctx, shown.exhibit, rulesOfEmbed(shown), parameters);
    happened(ctx, 'embed.executed', shown.claims);
    return answer;
  });

/** Who may show the page of an embed in a frame: nobody, where the token is not one of ours. */
export async function frameAncestorsOf(ctx: Context, token: string): Promise<FrameAncestors> {
  try {
    const { claims } = await verifyEmbed(ctx, token);
    return framesFor(claims.allowedOrigins);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

async function noting<T>(ctx: Context<EmbedViewer>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw noted(ctx, ctx.actor.shown.claims, error);
  }
}

/** Records a refusal; other failures are none. */
function noted(ctx: Context, claims: EmbedClaims, error: unknown): unknown {
  if (error instanceof Failure && (error.kind === 'forbidden' || error.kind === 'unauthenticated')) {
    happened(
      ctx,
      'embed.denied',
      claims,
      { reason: error.reason },
      invalidToken.matches(error) ? claims.id : undefined,
    );
  }
  return error;
}

function happened(
  ctx: Context,
  type: 'embed.executed' | 'embed.denied',
  { companyId, target, id }: EmbedClaims,
  details: Record<string, unknown> = {},
  onceAMinute?: string,
): void {
  const actor = { kind: 'viewer', id: null, email: null } as const;
  recordHappening(ctx, { type, onceAMinute, companyId, actor, target, details: { token_id: id, ...details } });
}
