import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { commit, countChangedRows } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { sameSecret, sha256Hex, toBase64Url } from '../../platform/secrets.ts';
import { verifyKeyAndSecret } from '../service-accounts/service.ts';
import {
  ACCESS_SECONDS,
  audienceOf,
  prepareRotationOf,
  type RefreshToken,
  signToken,
  validFor,
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
  beginGrant,
  endGrant,
  type Grant,
  pollDevice,
  type Resource,
  rememberClient,
  rotateGrant,
  selectByCode,
  selectCompanyOfCode,
  selectDevice,
  selectFormerGrants,
  selectLiveGrant,
  takeCode,
} from './store.ts';

/** The time for which a refresh token works. */
const REFRESH_MS = 30 * DAY_MS;

/** The claims of a grant's token: its person, company, grant and client. */
export interface GrantClaims {
  sub: string;
  company_id: string;
  sid: string;
  jti: string;
  client_id: string;
  resource: Resource;
  /** The scopes of an access token that may do less than its grant. */
  scope?: string;
}

/** The claims of a token that was made for the key of a service account, which is the client. */
export interface ClientClaims {
  sub: string;
  company_id: string;
  /** The session id claim: here, the id of the service account's API key. */
  sid: string;
  client_id: string;
  resource: Resource;
  scope: string;
}

/** The tokens issued to a client. `expiresIn` in seconds. */
export interface Tokens {
  accessToken: string;
  expiresIn: number;
  refreshToken?: string;
  scopes: readonly string[];
}

/**
 * The protected resource that a client requests.
 * @throws invalidTarget if there is no such resource
 */
export function findResource({ baseUrl }: Context, sent: string | undefined): Resource {
  if (sent === undefined || sent === baseUrl || sent === `${baseUrl}/`) return 'api';
  if (sent === `${baseUrl}/mcp` || sent === `${baseUrl}/mcp/`) return 'mcp';
  throw invalidTarget();
}

export const getResourceAddress = ({ baseUrl }: Context, resource: Resource): string =>
  resource === 'mcp' ? `${baseUrl}/mcp` : baseUrl;

/** Throws if the token request names another resource than the one that the user consented to. */
function requireSameResource(ctx: Context, granted: Resource, sent: string | undefined): void {
  if (sent !== undefined && findResource(ctx, sent) !== granted) throw invalidTarget();
}

/** The parameters with which a client exchanges an authorization code. */
export interface CodeExchange {
  code: string;
  clientId: string | undefined;
  redirectUri: string | undefined;
  verifier: string | undefined;
  resource: string | undefined;
}

/**
 * Exchanges an authorization code for tokens. A failed exchange invalidates the code; a second exchange of the same code ends
 * the grant.
 */
export const exchangeCode = (ctx: Context, sent: CodeExchange): Promise<Tokens> =>
  exchangeGrantCode(ctx, sent.code, async (grant) => {
    const challenge = await computeChallenge(sent.verifier ?? '');
    const isVerified = grant.codeChallenge !== null && (await sameSecret(challenge, grant.codeChallenge));
    // OAuth 2.1 took the redirect out of this request, as PKCE binds the code; clients of OAuth 2.0 send it.
    const isOtherRedirect = sent.redirectUri !== undefined && sent.redirectUri !== grant.redirectUri;
    if (!isVerified || grant.clientId !== sent.clientId || isOtherRedirect) throw invalidGrant();
    requireSameResource(ctx, grant.resource, sent.resource);
  });

/** Computes the PKCE challenge of a verifier (RFC 7636, S256); an empty string for a malformed verifier. */
const computeChallenge = async (verifier: string): Promise<string> =>
  /^[\w.~-]{43,128}$/.test(verifier)
    ? toBase64Url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
    : '';

/** Exchanges a device code for tokens, once a user has authorized the device. */
export async function exchangeDeviceCode(
  ctx: Context,
  sent: { deviceCode: string; clientId: string | undefined; resource: string | undefined },
): Promise<Tokens> {
  const digest = await sha256Hex(sent.deviceCode);
  const now = ctx.now();
  const {
    before: [device],
    answered: [grant],
  } = await commit(ctx.db, {
    before: selectDevice(ctx.db, digest),
    polled: pollDevice(ctx.db, digest, now),
    answered: selectByCode(ctx.db, digest),
  });
  if (!device) throw invalidGrant();
  if (device.expiresAt <= now) throw deviceExpired();
  if (device.clientId !== sent.clientId) throw invalidGrant();
  if (device.deniedAt !== null) throw consentDenied();
  if (device.pollableAt > now) throw slowDown();
  if (!grant) throw authorizationPending();
  return exchangeGrantCode(ctx, sent.deviceCode, async () => requireSameResource(ctx, grant.resource, sent.resource));
}

/**
 * Marks a code as used, and activates its grant if `check` accepts the exchange.
 * @param check throws if the exchange is invalid
 */
async function exchangeGrantCode(ctx: Context, code: string, check: (grant: Grant) => Promise<void>): Promise<Tokens> {
  const now = ctx.now();
  const grant = await takeGrant(ctx, code);
  if (!grant) throw invalidGrant();
  await check(grant);
  const { companyId, userId, clientId } = grant;
  const refresh = {
    sessionId: grant.id,
    jti: crypto.randomUUID(),
    issuedAt: now,
    expiresAt: now + REFRESH_MS,
  };
  const former = await selectFormerGrants(ctx.db, grant);
  const mail = former.length === 0 ? await prepareFirstUseMail(ctx, grant) : null;
  const { begun } = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
    ...beginGrant(ctx.db, grant, { refreshDigest: await sha256Hex(refresh.jti), now, expiresAt: refresh.expiresAt }),
    mail: mail ? [mail.statement] : [],
    client: rememberClient(ctx.db, clientId, { now, until: now + CLIENT_RETENTION_MS }),
  });
  // It was ended since its code was taken.
  if (countChangedRows(begun) === 0) throw invalidGrant();
  mail?.send();
  return issueTokens(ctx, grant, refresh);
}

/**
 * Marks a code as used, so that it cannot be used again. While the company is suspended it is refused, and kept.
 * @returns the grant that it was made for; undefined if it is unknown, expired or was used before
 */
export async function takeGrant(ctx: Context, code: string): Promise<Grant | undefined> {
  const digest = await sha256Hex(code);
  const {
    taken: [grant],
    known: [known],
    companies: [company],
  } = await commit(ctx.db, {
    taken: takeCode(ctx.db, digest, ctx.now()),
    known: selectByCode(ctx.db, digest),
    companies: selectCompanyOfCode(ctx.db, digest),
  });
  if (known) ctx.setOwner(known.companyId, { type: 'user', id: known.userId });
  if (company) requireActiveCompany(company);
  // Somebody has copied it: nobody is to have anything by it.
  if (!grant && known) await endTokenGrant(ctx, known);
  return grant;
}

const endTokenGrant = (ctx: Context, { companyId, userId, id }: Pick<Grant, 'companyId' | 'userId' | 'id'>) =>
  commitAccess(ctx, makeAffectedPrincipals(companyId, userId), { ended: endGrant(ctx.db, companyId, id, ctx.now()) });

/** Exchanges a refresh token for new ones, as a session's is. */
export async function refreshTokens(
  ctx: Context,
  sent: {
    refreshToken: string;
    clientId: string | undefined;
    scope: string | undefined;
    resource: string | undefined;
  },
): Promise<Tokens> {
  const claims = await verifyToken<GrantClaims>(ctx, 'oauth', sent.refreshToken, 'refresh').catch(toInvalidGrant);
  const { company_id: companyId, sub: userId, sid: grantId, client_id: clientId } = claims;
  ctx.setOwner(companyId, { type: 'user', id: userId });
  if (clientId !== sent.clientId) throw invalidGrant();
  requireSameResource(ctx, claims.resource, sent.resource);
  const now = ctx.now();
  const live = () => selectLiveGrant(ctx.db, { companyId, userId, grantId }, now);
  // What asks for too much is refused before the token is used up.
  const [before] = await live();
  if (!before) throw invalidGrant();
  requireActiveCompany(before);
  const scopes = narrowScopes(before.scopes, sent.scope);
  const rotation = await prepareRotationOf(ctx, claims, {
    rotate: (key, digests, times) => rotateGrant(ctx.db, key, digests, { ...times, expiresAt: now + REFRESH_MS }),
    end: (company, id, at) => endGrant(ctx.db, company, id, at),
  });
  const {
    live: [after],
  } = await commit(ctx.db, {
    rotation: rotation.rotate,
    live: live(),
    client: rememberClient(ctx.db, clientId, { now, until: now + CLIENT_RETENTION_MS }),
  });
  if (!after) throw invalidGrant();
  requireActiveCompany(after);
  if (!rotation.isDone(after)) {
    await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), { ended: rotation.endCopied });
    throw invalidGrant();
  }
  const grant = { id: grantId, companyId, userId, clientId, resource: claims.resource, scopes: after.scopes };
  return issueTokens(ctx, grant, rotation.tokenOf(after), scopes);
}

const toInvalidGrant = (error: unknown): never => {
  throw invalidToken.matches(error) ? invalidGrant() : error;
};

async function issueTokens(
  ctx: Context,
  grant: Pick<Grant, 'id' | 'companyId' | 'userId' | 'clientId' | 'resource' | 'scopes'>,
  refresh: RefreshToken,
  scopes: readonly string[] = grant.scopes,
): Promise<Tokens> {
  const claims = {
    sub: grant.userId,
    company_id: grant.companyId,
    sid: grant.id,
    client_id: grant.clientId,
    resource: grant.resource,
  };
  const isLess = scopes.join(' ') !== grant.scopes.join(' ');
  const [accessToken, refreshToken] = await Promise.all([
    signToken(
      ctx,
      'oauth',
      { ...claims, jti: ctx.newId(), token_type: 'access', ...(isLess && { scope: scopes.join(' ') }) },
      validFor(ctx, ACCESS_SECONDS),
    ),
    signToken(ctx, 'oauth', { ...claims, jti: refresh.jti, token_type: 'refresh' }, refresh),
  ]);
  return { accessToken, expiresIn: ACCESS_SECONDS, refreshToken, scopes };
}

/** Issues tokens to a client that authenticates with a service account's key and secret (client credentials). */
export async function issueServiceAccountTokens(
  ctx: Context,
  sent: { key: string; secret: string; scope: string | undefined; resource: string | undefined },
): Promise<Tokens> {
  const resource = findResource(ctx, sent.resource);
  const account = await verifyKeyAndSecret(ctx, sent.key, sent.secret).catch((error) => {
    throw invalidToken.matches(error) ? invalidClient() : error;
  });
  ctx.setOwner(account.companyId, { type: 'service_account', id: account.id, credential: account.keyId });
  const scopes = parseScopes(sent.scope);
  const claims: ClientClaims = {
    sub: account.id,
    company_id: account.companyId,
    sid: account.keyId,
    client_id: account.accessKey,
    resource,
    scope: scopes.join(' '),
  };
  const accessToken = await signToken(
    ctx,
    'oauth-machine',
    { ...claims, jti: ctx.newId(), token_type: 'access' },
    validFor(ctx, ACCESS_SECONDS),
  );
  return { accessToken, expiresIn: ACCESS_SECONDS, scopes };
}

/** Ends the grant of a token. A token that is none of ours is ignored. */
export async function revokeToken(ctx: Context, token: string, clientId: string | undefined): Promise<void> {
  const audience = audienceOf(token);
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
  await endTokenGrant(ctx, { companyId: claims.company_id, userId: claims.sub, id: claims.sid });
}
