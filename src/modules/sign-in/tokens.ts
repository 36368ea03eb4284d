import { CompactSign, errors, importJWK, type JWK, SignJWT } from 'jose';
import { invalidToken } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { readJwt, verifyJwt } from '../../platform/jwt.ts';

const ISSUER = 'data-console-api';
const AUDIENCES = [
  'console',
  'machine',
  'share-portal',
  'data-result',
  'company-export',
  'oauth',
  'oauth-machine',
  'oauth-request',
] as const;
/**
 * The audience of a token, which names its use: the session of a user, a service account, an outsider in the portal, the download
 * of a result or an export, an OAuth client authorized by a user or by a service account, or a consent request to a user.
 */
export type Audience = (typeof AUDIENCES)[number];
const ALGORITHM = 'EdDSA';

export const ACCESS_TOKEN_SECONDS = 10 * 60;

export interface AccessClaims {
  user_id: string;
  company_id: string;
  team_id: string | null;
  email: string;
  is_owner: boolean;
  sid: string;
}

export interface RefreshClaims {
  sub: string;
  company_id: string;
  sid: string;
  jti: string;
}

interface SigningKeys {
  signingKey: { kid: string; key: CryptoKey };
  verifyingKeys: Map<string, CryptoKey>;
  publicKeys: JWK[];
}

const keysByConfiguration = new Map<string, Promise<SigningKeys>>();

/** Returns the keys of the configuration, imported once per isolate. */
function loadSigningKeys(ctx: Context): Promise<SigningKeys> {
  const configuredKeys = ctx.config.JWT_PRIVATE_KEYS;
  const signingKeys = keysByConfiguration.get(configuredKeys) ?? importKeys(configuredKeys);
  keysByConfiguration.set(configuredKeys, signingKeys);
  return signingKeys;
}

async function importKeys(configuredKeys: string): Promise<SigningKeys> {
  const privateKeys = JSON.parse(configuredKeys) as (JWK & { kid: string })[];
  const publicKeys = privateKeys.map(({ d: _private, ...open }) => ({ ...open, alg: ALGORITHM, use: 'sig' }));
  const [newest] = privateKeys;
  if (!newest) throw new Error('JWT_PRIVATE_KEYS must hold at least one key.');
  const verifyingKeys = new Map<string, CryptoKey>();
  for (const jwk of publicKeys) verifyingKeys.set(jwk.kid, (await importJWK(jwk, ALGORITHM)) as CryptoKey);
  return {
    signingKey: { kid: newest.kid, key: (await importJWK(newest, ALGORITHM)) as CryptoKey },
    verifyingKeys,
    publicKeys,
  };
}

/** Returns the public keys that verify our tokens, as a JWK set. */
export async function getPublicKeySet(ctx: Context): Promise<{ keys: JWK[] }> {
  return { keys: (await loadSigningKeys(ctx)).publicKeys };
}

export const signAccessToken = (ctx: Context, claims: AccessClaims): Promise<string> =>
  signToken(
    ctx,
    'console',
    { ...claims, sub: claims.user_id, jti: ctx.newId(), token_type: 'access' },
    makeValidity(ctx, ACCESS_TOKEN_SECONDS),
  );

export const signRefreshToken = (ctx: Context, claims: RefreshClaims, validity: Validity): Promise<string> =>
  signToken(ctx, 'console', { ...claims, token_type: 'refresh' }, validity);

export const verifyAccessToken = (ctx: Context, token: string): Promise<AccessClaims> =>
  verifyToken(ctx, 'console', token, 'access');

export const verifyRefreshToken = (ctx: Context, token: string): Promise<RefreshClaims> =>
  verifyToken(ctx, 'console', token, 'refresh');

/** Reads the audience that a token claims, without verification: it only chooses how the token is then verified. */
export function readAudience(token: string): Audience | undefined {
  try {
    const { aud } = readJwt(token).claims;
    return AUDIENCES.find((audience) => audience === aud);
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** The period in which a token is valid, in milliseconds since the epoch. */
export interface Validity {
  issuedAt: number;
  expiresAt: number;
}

export const makeValidity = (ctx: Context, seconds: number): Validity => ({
  issuedAt: ctx.now(),
  expiresAt: ctx.now() + seconds * 1000,
});

export const countSecondsUntil = (ctx: Context, time: number): number => Math.ceil((time - ctx.now()) / 1000);

/** Signs a token. The same claims and validity give the same token. */
export async function signToken(
  ctx: Context,
  audience: Audience,
  claims: Record<string, unknown>,
  { issuedAt, expiresAt }: Validity,
): Promise<string> {
  const { signingKey } = await loadSigningKeys(ctx);
  return new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, kid: signingKey.kid, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(audience)
    .setIssuedAt(Math.floor(issuedAt / 1000))
    .setExpirationTime(Math.floor(expiresAt / 1000))
    .sign(signingKey.key);
}

/**
 * Signs a statement as a JWS that our public keys verify. It cannot be used as a token: its type differs, and it has none of a
 * token's claims. @param type such as `erasure-certificate`
 */
export async function signStatement(ctx: Context, type: string, payload: object): Promise<string> {
  const { signingKey } = await loadSigningKeys(ctx);
  return new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: ALGORITHM, kid: signingKey.kid, typ: type })
    .sign(signingKey.key);
}

/** Returns the claims of a token if it is valid and of this audience and type. */
export async function verifyToken<Claims>(
  ctx: Context,
  audience: Audience,
  token: string,
  type: 'access' | 'refresh',
): Promise<Claims> {
  const { verifyingKeys } = await loadSigningKeys(ctx);
  try {
    const { payload } = await verifyJwt(
      token,
      ({ kid }) => {
        const key = verifyingKeys.get(kid ?? '');
        if (!key) throw new errors.JWKSNoMatchingKey();
        return key;
      },
      {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience,
        currentDate: new Date(ctx.now()),
        requiredClaims: ['sub', 'company_id', 'sid', 'jti', 'exp', 'token_type'],
      },
    );
    if (payload.token_type === type) return payload as Claims;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
  }
  throw invalidToken();
}
