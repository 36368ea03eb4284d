import type { PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { ExactNumber } from '../../kernel/exact-json.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { findEmbedProblems } from '../../sharing/filter-policy.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import type { ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { prepareShareEvent } from '../share-activity/service.ts';
import {
  getSharedRecord,
  listInputs,
  loadSharedItem,
  requireMayShareItem,
  type SharedItem,
} from '../viewing/service.ts';
import { recordEmbedding } from '../visualizations/queries.ts';
import { type EmbedClaims, MAX_TOKEN_LENGTH, signEmbed } from './claims.ts';
import { listSubjects, makeRevokeAllStatements, requireMayRevokeEverything } from './revocation.ts';
import { incrementRotations, selectRevokedAt, selectRotations } from './store.ts';
import { makeTokenId } from './token-id.ts';

export { hideRevokedIds, purgeRevocations } from './revocation.ts';
export { reencryptSigningSecrets } from './signing-keys.ts';
export { readEmbedPage } from './token.ts';

/** The terms of a new embed, and the lifetime of its token in seconds. */
export type NewEmbed = Pick<
  EmbedClaims,
  'terms' | 'allowedOrigins' | 'viewer' | 'allowDownloads' | 'theme' | 'locale'
> & { expiresIn: number };

/** Returns the dashboard or visualization that a token will show. @throws unless the caller may share all of it */
export async function readItemToEmbed(ctx: PrincipalContext, type: TargetType, id: string): Promise<SharedItem> {
  const item = await loadSharedItem(ctx, type, id);
  requireMayShareItem(ctx, item);
  return item;
}

/**
 * Creates a token that shows a dashboard or visualization to whoever holds it. Tries again if that was changed after it was read:
 * the change may have added visualizations or parameters.
 * @returns the token with its id, the page to show in a frame, and when both expire (ms)
 */
export const generateEmbed = (
  ctx: PrincipalContext,
  type: TargetType,
  id: string,
  { expiresIn, ...newEmbed }: NewEmbed,
) =>
  retryOnConcurrentChange(async () => {
    const { companyId } = ctx.actor;
    const item = await readItemToEmbed(ctx, type, id);
    const terms = { ...newEmbed.terms, fixedValues: toText(newEmbed.terms.fixedValues) };
    const viewer = newEmbed.viewer && {
      id: newEmbed.viewer.id,
      attributes: toText(newEmbed.viewer.attributes) as ViewerAttributes,
    };
    const problems = findEmbedProblems(listInputs(item), terms);
    if (problems.length > 0) throw invalidInput(problems);
    const target = { type, id };
    const tokenId = makeTokenId(target, ctx.newId());
    const {
      key: [key],
      revoked: [revoked],
    } = await readTogether(ctx.db, {
      key: selectRotations(ctx.db, companyId),
      revoked: selectRevokedAt(ctx.db, companyId, await listSubjects(companyId, { id: tokenId, target, viewer })),
    });
    const expiresAt = (Math.floor(ctx.now() / 1000) + expiresIn) * 1000;
    const token = await signEmbed(ctx, {
      ...newEmbed,
      id: tokenId,
      countingId: tokenId,
      companyId,
      target,
      terms,
      viewer,
      signedWith: { rotationCount: key?.rotations ?? 0 },
      // A token issued after a revocation is valid, whatever this machine's clock says.
      issuedAt: Math.max(ctx.now(), (revoked?.revokedAt ?? 0) + 1),
      expiresAt,
    });
    if (token.length > MAX_TOKEN_LENGTH) {
      const field = findLongestField({ ...newEmbed, terms, viewer });
      throw invalidInput([{ field, message: 'are too long: the token would not fit into a URL' }]);
    }
    const event = prepareShareEvent(ctx, {
      type: 'embed.generated',
      target,
      details: {
        token_id: tokenId,
        ...(viewer && { viewer_id: viewer.id }),
        expires_in: expiresIn,
        allowed_origins: newEmbed.allowedOrigins,
      },
    });
    const { recorded, told } = await commit(ctx.db, {
      recorded: recordEmbedding(ctx.db, type, getSharedRecord(item), expiresAt),
      told: event.statement,
    });
    if (recorded.length === 0) return undefined;
    event.send(told);
    return { id: tokenId, token, url: `${ctx.baseUrl}/embed/${type === 'dashboard' ? 'd' : 'v'}/${token}`, expiresAt };
  });

/** Revokes all embed tokens of the company, from the next request on, including those that hosts signed. */
export async function rotateEmbedKey(ctx: PrincipalContext): Promise<void> {
  requireMayRevokeEverything(ctx);
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const event = prepareShareEvent(ctx, { type: 'embed.key_rotated' });
  const { told } = await commit(ctx.db, {
    rotated: incrementRotations(ctx.db, companyId),
    told: event.statement,
    ...makeRevokeAllStatements(ctx.db, companyId, now),
  });
  event.send(told);
}

/** Returns the field of the request that takes up most of the token: only these can be long. */
function findLongestField({
  terms,
  allowedOrigins,
  viewer,
}: Pick<NewEmbed, 'terms' | 'allowedOrigins' | 'viewer'>): string {
  const values = {
    fixed_params: terms.fixedValues,
    allowed_params: terms.allowedSlugs,
    required_params: terms.requiredSlugs,
    allowed_origins: allowedOrigins,
    'viewer.attributes': viewer?.attributes ?? {},
  };
  const fields = Object.entries(values).map(([field, value]) => ({ field, length: JSON.stringify(value).length }));
  return fields.reduce((longest, field) => (field.length > longest.length ? field : longest)).field;
}

/** Converts numbers that a double cannot hold to texts, which every kind of parameter with numbers accepts. */
function toText(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const convertValue = (value: unknown): unknown => {
    if (value instanceof ExactNumber) return value.digits;
    return Array.isArray(value) ? value.map(convertValue) : value;
  };
  return Object.fromEntries(Object.entries(values).map(([slug, value]) => [slug, convertValue(value)]));
}
