import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { commit, countChangedRows } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { areSecretsEqual, computeSha256Hex, toBase64Url } from '../../platform/secrets.ts';
import { verifyKeyAndSecret } from '../service-accounts/service.ts';
import {
  ACCESS_TOKEN_SECONDS,
  makeValidity,
  prepareClaimedRotation,
  type RefreshToken,
  readAudience,
  signToken,
  verifyToken,
} from '../sign-in/service.ts';
import { CLIENT_RETENTION_MS } from './clients.ts';
import {
  authorizationPending,
  consentDenied,
  deviceExpired,
  invalidClient,
  invalidGrant,
  invalidTarget,
  slowDown,
  unsupportedTokenType,
} from './failures.ts';
import { prepareFirstUseMail } from './maintenance.ts';
import { narrowScopes, parseScopes } from './scopes.ts';
import {
  activateGrant,
  endGrant,
  extendClientRetention,
  type Grant,
  markCodeUsed,
  pollDevice,
  type Resource,
  rotateGrant,
  selectActiveGrant,
  selectDevice,
  selectFormerGrants,
  selectGrantByCode,
} from './store.ts';

/** The lifetime of a refresh token. */
const REFRESH_TOKEN_LIFETIME_MS = 30 * DAY_MS;

/** The claims of a grant's token: its user, company, grant and client. */
export interface GrantClaims {
  sub: string;
  company_id: string;
  sid: string;
  jti: string;
  client_id: string;
  resource: Resource;
  /** The scopes of an access token that allows less than its grant. */
  scope?: string;
}

/** The claims of a token that was issued for the key of a service account, which is the client. `sid` is the id of the key. */
export type ClientClaims = Omit<GrantClaims, 'jti'> & { scope: string };

/** The tokens issued to a client. `expiresIn` in seconds. */
export interface IssuedTokens {
  accessToken: string;
  tokenType: 'Bearer';
  expiresIn: number;
  refreshToken?: string;
  scope: string;
}

/** The parameters of a token request besides what is exchanged, by the names of the protocol. */
export type TokenRequest = {
  readonly [Name in 'client_id' | 'redirect_uri' | 'code_verifier' | 'scope' | 'resource']?: string;
};

/** Returns the protected resource that a client requests. @throws invalidTarget if there is no such resource */
export function findResource({ baseUrl }: Context, resourceUrl: string | undefined): Resource {
  if (resourceUrl === undefined || resourceUrl === baseUrl || resourceUrl === `${baseUrl}/`) return 'api';
  if (resourceUrl === `${baseUrl}/mcp` || resourceUrl === `${baseUrl}/mcp/`) return 'mcp';
  throw invalidTarget();
}

export const getResourceAddress = ({ baseUrl }: Context, resource: Resource): string =>
  resource === 'mcp' ? `${baseUrl}/mcp` : baseUrl;

/** Throws if the token request names a resource other than the one that the user consented to. */
function requireSameResource(ctx: Context, grantedResource: Resource, resourceUrl: string | undefined): void {
  if (resourceUrl !== undefined && findResource(ctx, resourceUrl) !== grantedResource) throw invalidTarget();
}

/** Exchanges an authorization code for tokens. A failed exchange ends the code; a second one of the same code ends the grant. */
export const exchangeCode = (ctx: Context, code: string, request: TokenRequest): Promise<IssuedTokens> =>
  exchangeGrantCode(ctx, code, async (grant) => {
    const challenge = await computeChallenge(request.code_verifier ?? '');
    const isVerified = grant.codeChallenge !== null && (await areSecretsEqual(challenge, grant.codeChallenge));
    // OAuth 2.1 took the redirect out of this request, as PKCE binds the code; clients of OAuth 2.0 send it.
    const isRedirectDifferent = request.redirect_uri !== undefined && request.redirect_uri !== grant.redirectUri;
    if (!isVerified || grant.clientId !== request.client_id || isRedirectDifferent) throw invalidGrant();
    requireSameResource(ctx, grant.resource, request.resource);
  });

/** Computes the PKCE challenge of a verifier (RFC 7636, S256); an empty string for a malformed verifier. */
const computeChallenge = async (verifier: string): Promise<string> =>
  /^[\w.~-]{43,128}$/.test(verifier)
    ? toBase64Url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
    : '';

/** Exchanges a device code for tokens, once a user has authorized the device. */
export async function exchangeDeviceCode(
  ctx: Context,
  deviceCode: string,
  request: TokenRequest,
): Promise<IssuedTokens> {
  const digest = await computeSha256Hex(deviceCode);
  const now = ctx.now();
  const {
    before: [device],
    answered: [answered],
  } = await commit(ctx.db, {
    before: selectDevice(ctx.db, digest),
    polled: pollDevice(ctx.db, digest, now),
    answered: selectGrantByCode(ctx.db, digest),
  });
  if (!device) throw invalidGrant();
  if (device.expiresAt <= now) throw deviceExpired();
  if (device.clientId !== request.client_id) throw invalidGrant();
  if (device.deniedAt !== null) throw consentDenied();
  if (device.pollableAt > now) throw slowDown();
  if (!answered) throw authorizationPending();
  return exchangeGrantCode(ctx, deviceCode, async (grant) =>
    requireSameResource(ctx, grant.resource, request.resource),
  );
}

/** Marks a code as used, and activates its grant. @param check throws if the exchange is invalid */
async function exchangeGrantCode(
  ctx: Context,
  code: string,
  check: (grant: Grant) => Promise<void>,
): Promise<IssuedTokens> {
  const now = ctx.now();
  const grant = await useGrantCode(ctx, code);
  if (!grant) throw invalidGrant();
  await check(grant);
  const { companyId, userId, clientId } = grant;
  const newRefreshToken = {
    sessionId: grant.id,
    jti: crypto.randomUUID(),
    issuedAt: now,
    expiresAt: now + REFRESH_TOKEN_LIFETIME_MS,
  };
  const formerGrants = await selectFormerGrants(ctx.db, grant);
  const mail = formerGrants.length === 0 ? await prepareFirstUseMail(ctx, grant) : null;
  const { begun } = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
    ...activateGrant(ctx.db, grant, {
      refreshDigest: await computeSha256Hex(newRefreshToken.jti),
      now,
      expiresAt: newRefreshToken.expiresAt,
    }),
    mail: mail?.statements ?? [],
    client: extendClientRetention(ctx.db, clientId, { now, expiresAt: now + CLIENT_RETENTION_MS }),
  });
  // It was ended since its code was taken.
  if (countChangedRows(begun) === 0) throw invalidGrant();
  mail?.send();
  return issueTokens(ctx, grant, newRefreshToken);
}

/**
 * Marks a code as used, so that it cannot be used again. While the company is suspended the code is refused, and kept. @returns
 * the grant that it was issued for; undefined if it is unknown, expired or was used before
 */
export async function useGrantCode(ctx: Context, code: string): Promise<Grant | undefined> {
  const digest = await computeSha256Hex(code);
  const {
    taken: [grant],
    known: [knownToken],
  } = await commit(ctx.db, {
    taken: markCodeUsed(ctx.db, digest, ctx.now()),
    known: selectGrantByCode(ctx.db, digest),
  });
  if (knownToken) {
    ctx.setOwner(knownToken.companyId, { type: 'user', id: knownToken.userId });
    requireActiveCompany(knownToken);
  }
  // Somebody has copied it: nobody is to have anything by it.
  if (!grant && knownToken) await makeEndGrantStatement(ctx, knownToken);
  return grant;
}

const makeEndGrantStatement = (ctx: Context, { companyId, userId, id }: Pick<Grant, 'companyId' | 'userId' | 'id'>) =>
  commitAccess(ctx, makeAffectedPrincipals(companyId, userId), { ended: endGrant(ctx.db, companyId, id, ctx.now()) });

/** Exchanges a refresh token for new tokens, like the refresh token of a session. */
export async function refreshTokens(ctx: Context, refreshToken: string, request: TokenRequest): Promise<IssuedTokens> {
  const claims = await verifyToken<GrantClaims>(ctx, 'oauth', refreshToken, 'refresh').catch((error) => {
    throw invalidToken.matches(error) ? invalidGrant() : error;
  });
  const { company_id: companyId, sub: userId, sid: grantId, client_id: clientId } = claims;
  ctx.setOwner(companyId, { type: 'user', id: userId });
  if (clientId !== request.client_id) throw invalidGrant();
  requireSameResource(ctx, claims.resource, request.resource);
  const now = ctx.now();
  const selectCurrentGrant = () => selectActiveGrant(ctx.db, { companyId, userId, grantId }, now);
  // What asks for too much is refused before the token is used up.
  const [grantBefore] = await selectCurrentGrant();
  if (!grantBefore) throw invalidGrant();
  requireActiveCompany(grantBefore);
  const scopes = narrowScopes(grantBefore.scopes, request.scope);
  const rotation = await prepareClaimedRotation(ctx, claims, {
    rotate: (key, digests, times) =>
      rotateGrant(ctx.db, key, digests, { ...times, expiresAt: now + REFRESH_TOKEN_LIFETIME_MS }),
    end: (company, id, at) => endGrant(ctx.db, company, id, at),
  });
  const {
    live: [grantAfter],
  } = await commit(ctx.db, {
    rotation: rotation.rotate,
    live: selectCurrentGrant(),
    client: extendClientRetention(ctx.db, clientId, { now, expiresAt: now + CLIENT_RETENTION_MS }),
  });
  if (!grantAfter) throw invalidGrant();
  requireActiveCompany(grantAfter);
  if (!rotation.isDone(grantAfter)) {
    await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), { ended: rotation.endCopied });
    throw invalidGrant();
  }
  const grant = { id: grantId, companyId, userId, clientId, resource: claims.resource, scopes: grantAfter.scopes };
  return issueTokens(ctx, grant, rotation.makeToken(grantAfter), scopes);
}

async function issueTokens(
  ctx: Context,
  grant: Pick<Grant, 'id' | 'companyId' | 'userId' | 'clientId' | 'resource' | 'scopes'>,
  refreshTokenData: RefreshToken,
  scopes: readonly string[] = grant.scopes,
): Promise<IssuedTokens> {
  const claims = {
    sub: grant.userId,
    company_id: grant.companyId,
    sid: grant.id,
    client_id: grant.clientId,
    resource: grant.resource,
  };
  const scope = scopes.join(' ');
  const isNarrowed = scope !== grant.scopes.join(' ');
  const [accessToken, refreshToken] = await Promise.all([
    signToken(
      ctx,
      'oauth',
      { ...claims, jti: ctx.newId(), token_type: 'access', ...(isNarrowed && { scope }) },
      makeValidity(ctx, ACCESS_TOKEN_SECONDS),
    ),
    signToken(ctx, 'oauth', { ...claims, jti: refreshTokenData.jti, token_type: 'refresh' }, refreshTokenData),
  ]);
  return { accessToken, tokenType: 'Bearer', expiresIn: ACCESS_TOKEN_SECONDS, refreshToken, scope };
}

/** Issues tokens to a client that authenticates with a service account's key and secret (client credentials). */
export async function issueServiceAccountTokens(
  ctx: Context,
  { id: key, secret }: { id: string; secret: string },
  request: TokenRequest,
): Promise<IssuedTokens> {
  const resource = findResource(ctx, request.resource);
  const account = await verifyKeyAndSecret(ctx, key, secret).catch((error) => {
    throw invalidToken.matches(error) ? invalidClient() : error;
  });
  ctx.setOwner(account.companyId, { type: 'service_account', id: account.id, credential: account.keyId });
  const scope = parseScopes(request.scope).join(' ');
  const claims: ClientClaims = {
    sub: account.id,
    company_id: account.companyId,
    sid: account.keyId,
    client_id: account.accessKey,
    resource,
    scope,
  };
  const accessToken = await signToken(
    ctx,
    'oauth-machine',
    { ...claims, jti: ctx.newId(), token_type: 'access' },
    makeValidity(ctx, ACCESS_TOKEN_SECONDS),
  );
  return { accessToken, tokenType: 'Bearer', expiresIn: ACCESS_TOKEN_SECONDS, scope };
}

/** Ends the grant of a token. A token that this service did not issue is ignored. */
export async function revokeToken(ctx: Context, token: string, clientId: string | undefined): Promise<void> {
  const audience = readAudience(token);
  if (audience === 'oauth-machine') throw unsupportedTokenType();
  if (audience !== 'oauth') return;
  const claims = await verifyToken<GrantClaims>(ctx, 'oauth', token, 'refresh')
    .catch(() => verifyToken<GrantClaims>(ctx, 'oauth', token, 'access'))
    .catch((error) => {
      if (invalidToken.matches(error)) return null;
      throw error;
    });
  if (claims === null) return;
  if (claims.client_id !== clientId) throw invalidGrant();
  ctx.setOwner(claims.company_id, { type: 'user', id: claims.sub });
  await makeEndGrantStatement(ctx, { companyId: claims.company_id, userId: claims.sub, id: claims.sid });
}
