import { createRemoteJWKSet, customFetch, errors, type JWTPayload } from 'jose';
import type { Context } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { readJwt, verifyJwt } from '../../platform/jwt.ts';
import { logError } from '../../platform/log.ts';
import { discoverProvider, isDomainOwnerVerified, isEmailVerified } from '../../platform/openid.ts';
import { createOutboundFetch } from '../../platform/outbound.ts';
import { invalidSocialToken, providerKeysUnreadable } from './failures.ts';
import type { SocialProvider } from './store.ts';

/** The accepted algorithms, all asymmetric: with HS256 the public key could be used as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const CLOCK_TOLERANCE_SECONDS = 30;
/** The maximum age of an accepted token, which must prove a recent sign-in. */
export const MAX_TOKEN_AGE_SECONDS = 600;
const MAX_SUBJECT_LENGTH = 255;
const MAX_KEY_SETS = 200;

/** The codes of jose's errors about the provider's key set; all its other errors are about the token. */
const PROVIDER_ERROR_CODES = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT']);

type KeySet = ReturnType<typeof createRemoteJWKSet>;

/** Key sets by URL: jose reads a set again when it is ten minutes old or a key is missing, at most twice a minute. */
const keySets = new RecentlyUsed<string, KeySet>(MAX_KEY_SETS);

export interface IdTokenClaims {
  issuer: string;
  subject: string;
  /** The email address that the provider gives, not validated. */
  email: unknown;
  isEmailVerified: boolean;
}

/** Verifies an ID token that one of the providers issued to the client we expect, and returns its claims. */
export async function verifyIdToken(ctx: Context, providers: SocialProvider[], token: string): Promise<IdTokenClaims> {
  try {
    const provider = findIssuingProvider(providers, readJwt(token).claims);
    if (!provider) throw new errors.JWTClaimValidationFailed('no provider of this issuer and audience', {});
    const { payload, protectedHeader } = await verifyJwt(
      token,
      await fetchKeySet(provider, ctx.config.ALLOW_PRIVATE_ISSUERS),
      {
        algorithms: ALGORITHMS,
        issuer: provider.issuer,
        audience: provider.audience,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(ctx.now()),
        requiredClaims: ['sub', 'exp', 'iat', 'email'],
        // The tolerance is for clocks ahead of ours, not for older tokens.
        maxTokenAge: MAX_TOKEN_AGE_SECONDS - CLOCK_TOLERANCE_SECONDS,
      },
    );
    // An access token of the same provider may have the same claims.
    if ((protectedHeader.typ ?? 'JWT').toUpperCase() !== 'JWT') throw new errors.JWTInvalid('not an ID token');
    const { aud, azp } = payload;
    if (Array.isArray(aud) && aud.length > 1 && azp !== provider.audience) throw new errors.JWTInvalid('azp differs');
    return toClaims(payload, provider);
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof errors.JOSEError && !PROVIDER_ERROR_CODES.has(error.code)) throw invalidSocialToken();
    logError('social_keys_failed', error, { issuer: readJwt(token).claims.iss });
    throw providerKeysUnreadable();
  }
}

function toClaims(payload: JWTPayload, { issuer, trustEmail = false }: SocialProvider): IdTokenClaims {
  const { sub, email } = payload;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH)
    throw new errors.JWTInvalid('no subject');
  return {
    issuer,
    subject: sub,
    email,
    isEmailVerified: isEmailVerified(payload) ?? isDomainOwnerVerified(payload) ?? trustEmail,
  };
}

function findIssuingProvider(providers: SocialProvider[], { iss, aud }: JWTPayload): SocialProvider | undefined {
  const audiences = Array.isArray(aud) ? aud : [aud];
  return providers.find(({ issuer, audience }) => issuer === iss && audiences.includes(audience));
}

async function fetchKeySet({ issuer, jwksUri }: SocialProvider, allowPrivateHosts: boolean): Promise<KeySet> {
  const keySetUrl = jwksUri ?? (await discoverProvider(issuer, allowPrivateHosts)).jwks_uri;
  if (!keySetUrl) throw new errors.JWKSInvalid('The provider names no jwks_uri.');
  const key = `${allowPrivateHosts} ${keySetUrl}`;
  const cachedKeySet = keySets.get(key);
  if (cachedKeySet) return cachedKeySet;
  const keySet = createRemoteJWKSet(new URL(keySetUrl), { [customFetch]: createOutboundFetch(allowPrivateHosts) });
  keySets.set(key, keySet);
  return keySet;
}
