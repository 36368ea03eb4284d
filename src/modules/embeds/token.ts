import type { ViewerActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, VerifyViewerToken } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { Failure } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { Branding } from '../../presentation/branding.ts';
import type { FrameAncestors } from '../../presentation/viewing.ts';
import { findEmbedProblems } from '../../sharing/filter-policy.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import type { Locale } from '../../texts/locales.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import { recordShareEvent, runRecordingRefusal } from '../share-activity/service.ts';
import {
  type ExecutionQuery,
  executeForViewer,
  listFilterOptions,
  listFrameAncestors,
  listInputs,
  makeRules,
  requireAllowedOrigin,
  type SharedItem,
  selectSharedDashboard,
  selectSharedVisualization,
  toSharedDashboard,
  toSharedVisualization,
} from '../viewing/service.ts';
import { type EmbedClaims, verifyEmbed } from './claims.ts';
import { type HostToken, readHostToken, verifyHostToken } from './host-token.ts';
import { listSubjects } from './revocation.ts';
import { selectRevokedAt, selectRotations, selectSigningKey } from './store.ts';

/** The data of an embed token: its claims, the item it shows, and the company. */
export interface OpenedEmbed<E extends SharedItem = SharedItem> {
  claims: EmbedClaims;
  item: E;
  company: Company;
}

/** The caller who holds an embed token. */
export type EmbedViewer<E extends SharedItem = SharedItem> = ViewerActor<OpenedEmbed<E>>;

/**
 * Opens an embed token. The token itself is not stored: one batch reads its target, how often the company's key was rotated, the
 * key that a host signed it with, and the revocations since.
 */
export const makeEmbedTokenVerifier =
  (type: TargetType): VerifyViewerToken =>
  async (ctx, token, count): Promise<EmbedViewer> => {
    const hostToken = await readHostToken(token);
    return hostToken ? readHostViewer(ctx, type, hostToken, count) : readOwnViewer(ctx, type, token, count);
  };

type CountRequest = Parameters<VerifyViewerToken>[2];

async function readOwnViewer(ctx: Context, type: TargetType, token: string, count: CountRequest): Promise<EmbedViewer> {
  const { claims, isExpired } = await verifyEmbed(ctx, token);
  if (claims.target.type !== type || !ID_PATTERN.test(claims.target.id)) throw invalidToken();
  const readViewer = async () => {
    const [counted, read] = await Promise.allSettled([
      count?.(claims.countingId),
      isExpired ? null : readTokenState(ctx, claims),
    ]);
    if (counted.status === 'rejected') throw counted.reason;
    if (read.status === 'rejected') throw read.reason;
    if (read.value === null) throw invalidToken();
    return toViewer(ctx, claims, read.value);
  };
  return count ? recordRefusals(ctx, claims, readViewer) : readViewer();
}

/** Opens a host's token. Its signature is verified after its key is read, in one batch with all other data. */
async function readHostViewer(
  ctx: Context,
  type: TargetType,
  token: HostToken,
  count: CountRequest,
): Promise<EmbedViewer> {
  const { claims, keyId } = token;
  if (claims.target.type !== type) throw invalidToken();
  const tokenState = await readTokenState(ctx, claims, keyId);
  const { isExpired } = await verifyHostToken(ctx, token, tokenState.signingKey[0]);
  const readViewer = async () => {
    await count?.(claims.countingId);
    if (isExpired) throw invalidToken();
    const viewer = toViewer(ctx, claims, tokenState);
    // A token that we would not have made.
    if (findEmbedProblems(listInputs(viewer.tokenRecord.item), claims.terms).length > 0) throw invalidToken();
    return viewer;
  };
  return count ? recordRefusals(ctx, claims, readViewer) : readViewer();
}

/** Reads the target of a token, and whether the token was revoked. */
async function readTokenState({ db }: Context, claims: EmbedClaims, keyId = '') {
  const { companyId, target } = claims;
  const validity = {
    signingKey: selectSigningKey(db, companyId, keyId),
    rotations: selectRotations(db, companyId),
    revoked: selectRevokedAt(db, companyId, await listSubjects(companyId, claims)),
    company: selectCompany(db, companyId),
  };
  if (target.type === 'visualization') {
    const tokenState = await readTogether(db, {
      ...validity,
      item: selectSharedVisualization(db, companyId, target.id),
    });
    return { ...tokenState, item: (): SharedItem => toSharedVisualization(tokenState.item, invalidToken) };
  }
  const tokenState = await readTogether(db, { ...validity, item: selectSharedDashboard(db, companyId, target.id) });
  return { ...tokenState, item: (): SharedItem => toSharedDashboard(tokenState.item, invalidToken) };
}

/** Returns the viewer of a verified token. @throws if the token was revoked, or is used from an origin that is not allowed */
function toViewer(
  ctx: Context,
  claims: EmbedClaims,
  { rotations: [key], revoked: [revoked], company: [company], item }: Awaited<ReturnType<typeof readTokenState>>,
): EmbedViewer {
  const { companyId, countingId: tokenId, allowedOrigins, issuedAt, signedWith } = claims;
  if (company) requireActiveCompany(company, () => ctx.setOwner(companyId));
  const isRotated = 'rotationCount' in signedWith && (key?.rotations ?? 0) !== signedWith.rotationCount;
  const isRevoked = issuedAt <= (revoked?.revokedAt ?? Number.NEGATIVE_INFINITY);
  if (isRotated || isRevoked || !company) throw invalidToken();
  const openedEmbed = { claims, item: item(), company };
  requireAllowedOrigin(ctx, allowedOrigins);
  return { kind: 'viewer', companyId, tokenId, allowedOrigins, tokenRecord: openedEmbed };
}

/** Returns the viewer's rules: their values, filters and downloads. */
export const makeEmbedRules = ({ claims, item }: OpenedEmbed): ViewerRules =>
  makeRules(item, {
    embed: claims.terms,
    attributes: claims.viewer?.attributes ?? {},
    downloads: [claims.allowDownloads],
  });

export const readEmbedOptions = (
  ctx: Context<EmbedViewer<SharedItem & { type: 'dashboard' }>>,
  slug: string,
  search: string,
) => {
  const { tokenRecord } = ctx.actor;
  return recordRefusals(ctx, tokenRecord.claims, () =>
    listFilterOptions(ctx, tokenRecord.item, makeEmbedRules(tokenRecord), slug, search),
  );
};

/** Executes the embedded dashboard or visualization, or downloads the result of one visualization. */
export const executeEmbed = (
  ctx: Context<EmbedViewer>,
  parameters: Readonly<Record<string, unknown>>,
  query: ExecutionQuery,
) =>
  recordRefusals(ctx, ctx.actor.tokenRecord.claims, async () => {
    const { tokenRecord } = ctx.actor;
    const { answer, download } = await executeForViewer(
      ctx,
      tokenRecord.item,
      makeEmbedRules(tokenRecord),
      parameters,
      query,
    );
    recordEvent(ctx, download ? 'embed.downloaded' : 'embed.executed', tokenRecord.claims, download);
    return answer;
  });

/** Returns the settings of an embed's page from its token. No site may show the page in a frame when the token is invalid. */
export async function readEmbedPage(
  ctx: Context,
  token: string,
): Promise<{ frameAncestors: FrameAncestors; locale?: Locale; branding?: Branding }> {
  try {
    const hostToken = await readHostToken(token);
    if (!hostToken) return toPage((await verifyEmbed(ctx, token)).claims);
    const { claims, keyId } = hostToken;
    const [key] = await selectSigningKey(ctx.db, claims.companyId, keyId);
    await verifyHostToken(ctx, hostToken, key);
    return toPage(claims);
  } catch (error) {
    if (error instanceof Failure) return { frameAncestors: [] };
    throw error;
  }
}

const toPage = ({ allowedOrigins, locale, theme }: EmbedClaims) => ({
  frameAncestors: listFrameAncestors(allowedOrigins),
  locale,
  branding: theme,
});

/** Runs `work`, and records it when the viewer is denied something. */
const recordRefusals = <T>(ctx: Context, claims: EmbedClaims, work: () => Promise<T>): Promise<T> =>
  runRecordingRefusal(work, (reason, error) =>
    recordEvent(ctx, 'embed.denied', claims, { reason }, invalidToken.matches(error) ? claims.id : undefined),
  );

function recordEvent(
  ctx: Context,
  type: 'embed.executed' | 'embed.downloaded' | 'embed.denied',
  { companyId, target, id, viewer }: EmbedClaims,
  details: Record<string, unknown> = {},
  minuteKey?: string,
): void {
  const actor = { kind: 'viewer', id: viewer?.id ?? null, email: null } as const;
  recordShareEvent(ctx, {
    type,
    minuteKey,
    companyId,
    actor,
    target,
    details: { token_id: id, ...details },
  });
}
