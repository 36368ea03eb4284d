import type { Principal, ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { PresentedCredential } from '../../access/known-principals.ts';
import { recordLastUse } from '../../access/last-uses.ts';
import { machinesOnly, signedRequestsOnly } from '../../access/signature-failures.ts';
import type { Authenticate, Context, IncomingRequest } from '../../context.ts';
import { type AuthenticateToken, signToken, validFor, verifyToken } from '../sign-in/service.ts';
import { formatCredential, type KeyProof, toKnown } from './known-key.ts';
import { authenticateSignature } from './signature.ts';
import { readKeyAndAccess } from './store.ts';

/** The shortest life of a service token, and the longest, which is the default. In seconds. */
export const TOKEN_SECONDS = { min: 60, max: 600 } as const;

interface Claims {
  /** The service account's id. */
  sub: string;
  company_id: string;
  /** The id of the key that was exchanged. */
  sid: string;
  access_key: string;
}

/** A token with which the caller is taken wherever a person's session token is, for `seconds`. */
export function issueServiceToken(ctx: Context<ServiceAccountActor>, seconds: number): Promise<string> {
  const { id: sub, companyId: company_id, keyId: sid, accessKey: access_key } = ctx.actor;
  const claims: Claims = { sub, company_id, sid, access_key };
  return signToken(ctx, 'machine', { ...claims, jti: ctx.newId(), token_type: 'access' }, validFor(ctx, seconds));
}

/** The claims of a token about the key that it was made for. */
export interface KeyClaims {
  companyId: string;
  serviceAccountId: string;
  keyId: string;
  accessKey: string;
}

/**
 * The bearer of a token that was made for a key. It lives no longer than the key, which is read or remembered as that of a
 * signature.
 * @param as the name of the credential and what becomes of the actor, where a program comes in their place
 */
export function presentKey(
  ctx: Context,
  { companyId, serviceAccountId, keyId, accessKey }: KeyClaims,
  as: { credential: string; actor(known: ServiceAccountActor): ServiceAccountActor } = {
    credential: formatCredential(accessKey),
    actor: (known) => known,
  },
): PresentedCredential {
  const isOf = (actor: Principal): actor is ServiceAccountActor =>
    actor.kind === 'service_account' &&
    actor.companyId === companyId &&
    actor.id === serviceAccountId &&
    actor.keyId === keyId;
  return {
    credential: as.credential,
    claims: { companyId, type: 'service_account', principalId: serviceAccountId, credentialId: keyId },
    fits: async ({ actor }) => isOf(actor),
    async read() {
      const { key, access } = await readKeyAndAccess(ctx.db, accessKey, ctx.now());
      const known = key && toKnown(key, access);
      if (!known || !isOf(known.actor)) throw invalidToken();
      return { ...known, actor: as.actor(known.actor) };
    },
    recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
  };
}

/** Authenticates a service token. */
export const authenticateServiceToken: AuthenticateToken = async (ctx, token) => {
  const claims = await verifyToken<Claims>(ctx, 'machine', token, 'access');
  const { sub: serviceAccountId, company_id: companyId, sid: keyId, access_key: accessKey } = claims;
  return presentKey(ctx, { companyId, serviceAccountId, keyId, accessKey });
};

/** Tells people whose token a machine's route does not take what it takes, before anybody looks whether it is good. */
export const refusePerson: AuthenticateToken = async () => {
  throw machinesOnly();
};

const hasToken = (request: IncomingRequest): boolean => /^Bearer\b/i.test(request.header('authorization') ?? '');

/** Authenticates a service account by a token, or else by a signature. */
export const authenticateMachine =
  (byToken: Authenticate): Authenticate =>
  (ctx, request) =>
    (hasToken(request) ? byToken : authenticateSignature)(ctx, request);

/**
 * Authenticates a service account by a signature alone. Whoever sends a token is told where tokens are taken, before anybody
 * looks whether it is good.
 * @param counterpartOf the route that takes tokens for what a path is about, or null
 */
export const authenticateSignatureAlone =
  (counterpartOf: (path: string) => string | null): Authenticate =>
  async (ctx, request) => {
    if (hasToken(request)) throw signedRequestsOnly(counterpartOf(new URL(request.url).pathname));
    return authenticateSignature(ctx, request);
  };
