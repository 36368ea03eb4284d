import { errors } from 'jose';
import { z } from 'zod';
import { invalidToken } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { parseJsonWithTextNumbers } from '../../kernel/exact-json.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { readJwt, verifyJwt } from '../../platform/jwt.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { themeField } from '../../presentation/branding-fields.ts';
import { parseLocale } from '../../texts/locales.ts';
import {
  EMBED_ALGORITHM,
  EMBED_AUDIENCE,
  type EmbedClaims,
  MAX_LIFETIME_SECONDS,
  MAX_TOKEN_LENGTH,
  toInvalidTokenFailure,
} from './claims.ts';
import { embedFields, MAX_ID_LENGTH } from './fields.ts';
import { importVerifyingKey, parseCompanyId, type SigningKey } from './signing-keys.ts';
import { parseTarget } from './token-id.ts';

/** The maximum remaining lifetime of a host's token, in seconds. */
const MAX_LIFETIME_LEFT_SECONDS = 24 * 60 * 60;
/** The maximum number of seconds by which a host's clock may be ahead of ours. */
const MAX_CLOCK_SKEW_SECONDS = 60;

const targetId = z.string().regex(ID_PATTERN).optional();

/** The claims that a host may make; others are ignored. */
const hostClaims = z
  .object({
    ...embedFields,
    exp: z.number(),
    iat: z.number(),
    // A token of ours is revoked by whoever may share what its id says.
    jti: z
      .string()
      .min(1)
      .max(MAX_ID_LENGTH)
      .refine((id) => parseTarget(id) === undefined)
      .optional(),
    dashboard_id: targetId,
    visualization_id: targetId,
    theme: themeField.optional(),
    // Whatever the region: hosts sign the tag that they have of their own user.
    locale: z
      .string()
      .max(35)
      .refine((tag) => parseLocale(tag) !== undefined)
      .optional(),
  })
  .refine((claims) => (claims.dashboard_id === undefined) !== (claims.visualization_id === undefined));

/** A token signed by a host, before its signature is verified. */
export interface HostToken {
  token: string;
  keyId: string;
  claims: EmbedClaims;
}

/**
 * Reads a token signed by a host; undefined where its `kid` is not an id of a company's signing key. @throws invalidToken for
 * claims that no host may make
 */
export async function readHostToken(token: string): Promise<HostToken | undefined> {
  if (token.length > MAX_TOKEN_LENGTH) throw invalidToken();
  const { header, claims } = readJwtOrReject(token);
  const keyId = header.kid as unknown;
  const companyId = typeof keyId === 'string' ? parseCompanyId(keyId) : undefined;
  if (typeof keyId !== 'string' || companyId === undefined) return undefined;
  const parsedClaims = hostClaims.safeParse(claims);
  if (!parsedClaims.success) throw invalidToken();
  const { exp, iat, jti, dashboard_id, visualization_id = '', ...terms } = parsedClaims.data;
  const digest = await computeSha256Hex(token);
  return {
    token,
    keyId,
    claims: {
      id: jti ?? digest.slice(0, 24),
      countingId: digest,
      companyId,
      target:
        dashboard_id === undefined
          ? { type: 'visualization', id: visualization_id }
          : { type: 'dashboard', id: dashboard_id },
      terms: {
        fixedValues: terms.fixed_params,
        allowedSlugs: terms.allowed_params,
        requiredSlugs: terms.required_params,
      },
      allowedOrigins: terms.allowed_origins,
      allowDownloads: terms.allow_downloads,
      viewer: terms.viewer ?? null,
      theme: terms.theme,
      locale: parseLocale(terms.locale),
      signedWith: { keyId },
      issuedAt: Math.floor(iat * 1000),
      expiresAt: Math.floor(exp * 1000),
    },
  };
}

/**
 * Verifies that a token was signed with the key that it names, and lives no longer than a host's token may. @param key the
 * company's key of that id, if there is one @returns whether it has expired
 */
export async function verifyHostToken(
  ctx: Context,
  { token, claims }: HostToken,
  key: SigningKey | undefined,
): Promise<{ isExpired: boolean }> {
  if (!key) throw invalidToken();
  const now = ctx.now();
  try {
    await verifyJwt(token, await importVerifyingKey(ctx, key), {
      algorithms: [EMBED_ALGORITHM],
      audience: EMBED_AUDIENCE,
      currentDate: new Date(now),
      requiredClaims: ['exp', 'iat'],
    });
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { isExpired: true };
    throw toInvalidTokenFailure(error);
  }
  const { issuedAt, expiresAt } = claims;
  // Revocations are kept for as long as a token of ours can live.
  const isTooOld = issuedAt < now - MAX_LIFETIME_SECONDS * 1000;
  const isIssuedInFuture = issuedAt > now + MAX_CLOCK_SKEW_SECONDS * 1000;
  // By the host's clock where it is ahead.
  if (isTooOld || isIssuedInFuture || expiresAt > Math.max(issuedAt, now) + MAX_LIFETIME_LEFT_SECONDS * 1000)
    throw invalidToken();
  return { isExpired: false };
}

/** Reads a token like `readJwt`, but numbers of data that a double cannot hold are texts of their digits. @throws invalidToken */
function readJwtOrReject(token: string): ReturnType<typeof readJwt> {
  try {
    const { header, claims } = readJwt(token);
    const payload = Buffer.from(token.split('.')[1] as string, 'base64url').toString();
    const { viewer, fixed_params } = parseJsonWithTextNumbers(payload) as typeof claims;
    return { header, claims: { ...claims, viewer, fixed_params } };
  } catch (error) {
    throw toInvalidTokenFailure(error);
  }
}
