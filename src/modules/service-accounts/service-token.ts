import type { Principal, ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { recordLastUse } from '../../access/last-uses.ts';
import { signedRequestsOnly } from '../../access/signature-failures.ts';
import type { Authenticate, Context, IncomingRequest } from '../../context.ts';
import { type AuthenticateToken, byAudience, signToken, validFor, verifyToken } from '../sign-in/service.ts';
import { credentialOf, type KeyProof, knownOf } from './known-key.ts';
import { authenticateSignature } from './signature.ts';
import { readKeyAndAccess } from './store.ts';

/** How long a service token works: at least, and at most and where nothing is said. In seconds. */
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

/** Authenticates a service token. It lives no longer than its key, which is read or remembered as that of a signature. */
export const authenticateServiceToken: AuthenticateToken = async (ctx, token) => {
  const claims = await verifyToken<Claims>(ctx, 'machine', token, 'access');
  const { sub, company_id, sid, access_key: accessKey } = claims;
  const isOf = (actor: Principal) =>
    actor.kind === 'service_account' && actor.companyId === company_id && actor.id === sub && actor.keyId === sid;
  return {
    credential: credentialOf(accessKey),
    claims: { companyId: company_id, type: 'service_account', principalId: sub, credentialId: sid },
    fits: async ({ actor }) => isOf(actor),
    async read() {
      const { key, access } = await readKeyAndAccess(ctx.db, accessKey, ctx.now());
      const known = key && knownOf(key, access);
      if (!known || !isOf(known.actor)) throw invalidToken();
      return known;
    },
    recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
  };
};

const hasToken = (request: IncomingRequest): boolean => /^Bearer\b/i.test(request.header('authorization') ?? '');

/** Authenticates a service account by a service token, or else by a signature. */
export const authenticateMachine: Authenticate = (ctx, request) =>
  (hasToken(request) ? byAudience({ machine: authenticateServiceToken }) : authenticateSignature)(ctx, request);

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
