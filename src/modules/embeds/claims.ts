import { errors, SignJWT } from 'jose';
import { invalidToken } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { readJwt, verifyJwt } from '../../platform/jwt.ts';
import { computeHmacSha256, findSecret, getNewestSecret } from '../../platform/secrets.ts';
import type { Branding } from '../../presentation/branding.ts';
import type { EmbedTerms } from '../../sharing/filter-policy.ts';
import type { EmbedViewer, ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import type { Locale } from '../../texts/locales.ts';
import type { EmbedTarget } from './token-id.ts';

const TOKEN_ISSUER = 'data-console-api';
/** The audience of every embed token, whoever signs it. */
export const EMBED_AUDIENCE = 'embed';
export const EMBED_ALGORITHM = 'HS256';

/** The maximum length of a token: some browsers and servers do not accept longer URLs. */
export const MAX_TOKEN_LENGTH = 6000;

/** The longest lifetime of a token. */
export const MAX_LIFETIME_SECONDS = 31_536_000;

/** The claims of an embed token. */
export interface EmbedClaims {
  /** The token's id, by which it is revoked. */
  id: string;
  /** The id under which the token's requests are counted. */
  countingId: string;
  companyId: string;
  target: EmbedTarget;
  terms: EmbedTerms;
  /** The viewer of the embed, where known. */
  viewer: EmbedViewer | null;
  /** Origins whose pages may use the token; empty where all origins may. */
  allowedOrigins: readonly string[];
  allowDownloads: boolean;
  /** The theme that overrides the company's branding, field by field. */
  theme?: Branding | undefined;
  /** The language of the embedded page. */
  locale?: Locale | undefined;
  /** Our key of the company after that many rotations, or one of the company's own signing keys. */
  signedWith: { rotationCount: number } | { keyId: string };
  /** When the token was issued, in milliseconds since the epoch. */
  issuedAt: number;
  /** When the token expires, in milliseconds since the epoch. */
  expiresAt: number;
}

/** The claims as encoded in the token: with short names, because the token is part of URLs. */
interface TokenPayload {
  /** The token's id. */
  jti: string;
  /** The company's id. */
  com: string;
  /** The type of the target: `d` for a dashboard, `v` for a visualization. */
  typ: 'd' | 'v';
  /** The id of the target. */
  sub: string;
  /** The number of rotations of the company's key. */
  rot: number;
  /** The fixed values, by slug. */
  fix?: Record<string, unknown>;
  /** The allowed slugs. */
  alw?: string[];
  /** The required slugs. */
  req?: string[];
  /** The allowed origins. */
  org?: string[];
  /** The viewer, with the viewer's attributes. */
  vwr?: { id: string; atr: ViewerAttributes };
  /** Set if downloads are allowed. */
  dwn?: true;
  /** The theme. */
  thm?: Branding;
  /** The locale: the language of the embedded page. */
  loc?: Locale;
  /** In fractional seconds: a revocation covers only tokens issued before it, even within the same second. */
  iat: number;
  exp: number;
}

/** The claims of a token that we sign. */
export type OwnClaims = EmbedClaims & { signedWith: { rotationCount: number } };

/** The company whose derived key signs a token, and how often the company had rotated it when the token was created. */
type KeyName = { companyId: string; rotationCount: number };

/** Derived keys that have verified a signature, by master secret and name: invalid tokens cannot fill the cache. */
const derivedKeys = new RecentlyUsed<string, CryptoKey>(1000);

const formatKeyName = (secret: string, { companyId, rotationCount: rotations }: KeyName): string =>
  `${secret}/${companyId}/${rotations}`;

/**
 * Returns the HMAC key of a company, derived from a master secret and the number of rotations: signatures are checked without
 * reading the database, and no two companies share a key.
 */
async function getEmbedKey(secret: string, key: KeyName): Promise<CryptoKey> {
  const cachedKey = derivedKeys.get(formatKeyName(secret, key));
  if (cachedKey) return cachedKey;
  const bytes = await computeHmacSha256(secret, `data-console embed: ${key.companyId}/${key.rotationCount}`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}

/** Signs a token with these claims, with the company's key. */
export async function signEmbed(ctx: Context, claims: OwnClaims): Promise<string> {
  const { version, secret } = getNewestSecret(ctx.config.EMBED_SECRETS);
  const { companyId, target, terms, allowedOrigins, allowDownloads, viewer, theme, locale } = claims;
  const { rotationCount: rotations } = claims.signedWith;
  const key = await getEmbedKey(secret, { companyId, rotationCount: rotations });
  const payload: Omit<TokenPayload, 'iat' | 'exp'> = {
    jti: claims.id,
    com: companyId,
    typ: target.type === 'dashboard' ? 'd' : 'v',
    sub: target.id,
    rot: rotations,
    ...(Object.keys(terms.fixedValues).length > 0 && { fix: terms.fixedValues }),
    ...(terms.allowedSlugs.length > 0 && { alw: [...terms.allowedSlugs] }),
    ...(terms.requiredSlugs.length > 0 && { req: [...terms.requiredSlugs] }),
    ...(allowedOrigins.length > 0 && { org: [...allowedOrigins] }),
    ...(viewer && { vwr: { id: viewer.id, atr: viewer.attributes } }),
    ...(allowDownloads && { dwn: true }),
    ...(theme && { thm: theme }),
    ...(locale && { loc: locale }),
  };
  return new SignJWT({ ...payload })
    .setProtectedHeader({ alg: EMBED_ALGORITHM, kid: String(version), typ: 'JWT' })
    .setIssuer(TOKEN_ISSUER)
    .setAudience(EMBED_AUDIENCE)
    .setIssuedAt(claims.issuedAt / 1000)
    .setExpirationTime(Math.floor(claims.expiresAt / 1000))
    .sign(key);
}

/**
 * Verifies the signature of a token without reading the database. The caller has to check whether the key was rotated since.
 * @returns the claims, and whether the token has expired
 */
export async function verifyEmbed(ctx: Context, token: string): Promise<{ claims: OwnClaims; isExpired: boolean }> {
  try {
    const { version, name } = parseKeyId(token);
    const secret = findSecret(ctx.config.EMBED_SECRETS, version);
    if (secret === undefined) throw invalidToken();
    const key = await getEmbedKey(secret, name);
    const { payload } = await verifyJwt<TokenPayload>(token, key, {
      algorithms: [EMBED_ALGORITHM],
      issuer: TOKEN_ISSUER,
      audience: EMBED_AUDIENCE,
      // Expiry is checked below: an expired token still tells which company made it.
      currentDate: new Date(0),
      requiredClaims: ['jti', 'com', 'typ', 'sub', 'rot', 'iat', 'exp'],
    });
    derivedKeys.set(formatKeyName(secret, name), key);
    return { claims: toClaims(payload), isExpired: payload.exp * 1000 <= ctx.now() };
  } catch (error) {
    throw toInvalidTokenFailure(error);
  }
}

/** Converts an error of reading or verifying a token: a wrong token becomes `invalidToken`. */
export const toInvalidTokenFailure = (error: unknown): unknown =>
  error instanceof errors.JOSEError || error instanceof TypeError ? invalidToken() : error;

/** Returns the key that a token names as its signing key, and its version of the master secret. */
function parseKeyId(token: string): { version: string; name: KeyName } {
  if (token.length > MAX_TOKEN_LENGTH) throw invalidToken();
  const { header, claims } = readJwt<Partial<TokenPayload>>(token);
  const { kid } = header;
  const { com, rot } = claims;
  const isValidPayload =
    typeof kid === 'string' && typeof com === 'string' && ID_PATTERN.test(com) && Number.isSafeInteger(rot);
  if (!isValidPayload) throw invalidToken();
  return { version: kid, name: { companyId: com, rotationCount: rot as number } };
}

const toClaims = (payload: TokenPayload): OwnClaims => ({
  id: payload.jti,
  countingId: payload.jti,
  companyId: payload.com,
  target: { type: payload.typ === 'd' ? 'dashboard' : 'visualization', id: payload.sub },
  terms: { fixedValues: payload.fix ?? {}, allowedSlugs: payload.alw ?? [], requiredSlugs: payload.req ?? [] },
  allowedOrigins: payload.org ?? [],
  allowDownloads: payload.dwn === true,
  viewer: payload.vwr ? { id: payload.vwr.id, attributes: payload.vwr.atr } : null,
  theme: payload.thm,
  locale: payload.loc,
  signedWith: { rotationCount: payload.rot },
  issuedAt: Math.round(payload.iat * 1000),
  expiresAt: payload.exp * 1000,
});
