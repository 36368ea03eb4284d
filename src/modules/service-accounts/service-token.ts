import type { Principal, ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { PresentedCredential } from '../../access/known-principals.ts';
import { recordLastUse } from '../../access/last-uses.ts';
import { serviceAccountsOnly, signedRequestsOnly } from '../../access/signature-failures.ts';
import type { Authenticate, Context, IncomingRequest } from '../../context.ts';
import { type AuthenticateToken, makeValidity, signToken, verifyToken } from '../sign-in/service.ts';
import { formatKeyCacheName, type KeyProof, toCachedPrincipal } from './key-cache.ts';
import { authenticateSignature } from './signature.ts';
import { readKeyAndAccess } from './store.ts';

/** The bounds of a service token's lifetime; the longest is the default. In seconds. */
export const TOKEN_LIFETIME_SECONDS = { min: 60, max: 600 } as const;

interface ServiceTokenClaims {
  /** The service account's id. */
  sub: string;
  company_id: string;
  /** The id of the key that was exchanged. */
  sid: string;
  access_key: string;
}

/** Issues a token, valid for `seconds`, that authenticates the caller wherever a session token is accepted. */
export function issueServiceToken(ctx: Context<ServiceAccountActor>, seconds: number): Promise<string> {
  const { id: sub, companyId: company_id, keyId: sid, accessKey: access_key } = ctx.actor;
  const claims: ServiceTokenClaims = { sub, company_id, sid, access_key };
  return signToken(ctx, 'machine', { ...claims, jti: ctx.newId(), token_type: 'access' }, makeValidity(ctx, seconds));
}

/** The claims of a token about the key that it was made for. */
export interface KeyClaims {
  companyId: string;
  serviceAccountId: string;
  keyId: string;
  accessKey: string;
}

/**
 * Makes the credential of a token that was issued for an API key. It is not valid longer than the key, which is read from the
 * database or the isolate's cache as for a signature. @param as the name of the credential, its id in the audit trail and
 * the actor to use, if an OAuth client acts for the service account
 */
export function toKeyCredential(
  ctx: Context,
  { companyId, serviceAccountId, keyId, accessKey }: KeyClaims,
  as: { credential: string; credentialId: string; makeActor(keyActor: ServiceAccountActor): ServiceAccountActor } = {
    credential: formatKeyCacheName(accessKey),
    credentialId: keyId,
    makeActor: (foundActor) => foundActor,
  },
): PresentedCredential {
  const isKeyActor = (actor: Principal): actor is ServiceAccountActor =>
    actor.kind === 'service_account' &&
    actor.companyId === companyId &&
    actor.id === serviceAccountId &&
    actor.keyId === keyId;
  return {
    credential: as.credential,
    claims: { companyId, type: 'service_account', principalId: serviceAccountId, credentialId: as.credentialId },
    matchesPrincipal: async ({ actor }) => isKeyActor(actor),
    async readPrincipal() {
      const { key, access } = await readKeyAndAccess(ctx.db, accessKey, ctx.now());
      const cachedPrincipal = key && toCachedPrincipal(ctx, key, access, as.credentialId);
      if (!cachedPrincipal || !isKeyActor(cachedPrincipal.actor)) throw invalidToken();
      return { ...cachedPrincipal, actor: as.makeActor(cachedPrincipal.actor) };
    },
    recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
  };
}

/** Authenticates a service token. */
export const authenticateServiceToken: AuthenticateToken = async (ctx, token) => {
  const claims = await verifyToken<ServiceTokenClaims>(ctx, 'machine', token, 'access');
  const { sub: serviceAccountId, company_id: companyId, sid: keyId, access_key: accessKey } = claims;
  return toKeyCredential(ctx, { companyId, serviceAccountId, keyId, accessKey });
};

/** Rejects a user's token, which is not verified, with an error that says what the route accepts. */
export const rejectUserToken: AuthenticateToken = async () => {
  throw serviceAccountsOnly();
};

const hasToken = (request: IncomingRequest): boolean => /^Bearer\b/i.test(request.header('authorization') ?? '');

/** Authenticates a service account by a token, or else by a signature. */
export const authenticateByTokenOrSignature =
  (authenticateToken: Authenticate): Authenticate =>
  (ctx, request) =>
    (hasToken(request) ? authenticateToken : authenticateSignature)(ctx, request);

/**
 * Authenticates a service account by a signature alone. A request with a token is rejected before the token is verified, with an
 * error that names the route that accepts tokens. @param findTokenRoute returns the route that accepts tokens for the subject of
 * a path, or null
 */
export const authenticateSignatureAlone =
  (findTokenRoute: (path: string) => string | null): Authenticate =>
  async (ctx, request) => {
    if (hasToken(request)) throw signedRequestsOnly(findTokenRoute(new URL(request.url).pathname));
    return authenticateSignature(ctx, request);
  };
