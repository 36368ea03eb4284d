import { compileAccess, limitToScopes } from '../../access/evaluation.ts';
import { invalidToken } from '../../access/failures.ts';
import { formatClientCredential, type KnownPrincipal } from '../../access/known-principals.ts';
import { type LastUse, recordLastUse } from '../../access/last-uses.ts';
import { selectAccess, toAccessSources } from '../../access/sources.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { toKeyCredential } from '../service-accounts/service.ts';
import { type AuthenticateToken, verifyToken } from '../sign-in/service.ts';
import { type Resource, selectActiveGrant } from './store.ts';
import type { ClientClaims, GrantClaims } from './tokens.ts';

/** Authenticates a client that a user authorized, by its token for a resource. The cached principal does not outlive the grant. */
export const authenticateGrant =
  (resource: Resource): AuthenticateToken =>
  async (ctx, token) => {
    const claims = await verifyToken<GrantClaims>(ctx, 'oauth', token, 'access');
    if (claims.resource !== resource) throw invalidToken();
    const { company_id: companyId, sub: userId, sid: grantId, client_id: clientId, scope = '' } = claims;
    return {
      // Tokens of one grant may have different scopes.
      credential: `grant ${companyId} ${userId} ${grantId} ${scope}`,
      claims: { companyId, type: 'user', principalId: userId, credentialId: formatClientCredential(grantId, clientId) },
      matchesPrincipal: async () => true,
      readPrincipal: () => readGrant(ctx, claims),
      recordUse: ({ proof }) => recordLastUse(ctx, proof as LastUse),
    };
  };

/**
 * Reads the user of a grant and their access in one batch: the OAuth client loses each permission that the user loses, and all of
 * them when the grant ends.
 */
async function readGrant(ctx: Context, claims: GrantClaims): Promise<KnownPrincipal<LastUse>> {
  const { company_id: companyId, sub: userId, sid: grantId } = claims;
  const {
    grant: [live],
    access,
  } = await readTogether(ctx.db, {
    grant: selectActiveGrant(ctx.db, { companyId, userId, grantId }, ctx.now()),
    access: selectAccess(ctx.db, { companyId, principalType: 'user', principalId: userId }),
  });
  if (!live || live.resource !== claims.resource || live.clientId !== claims.client_id) throw invalidToken();
  const credential = formatClientCredential(grantId, claims.client_id);
  requireActiveCompany(live, () => ctx.setOwner(companyId, { type: 'user', id: userId, credential }));
  const { user, companySlug, expiresAt, lastUsedAt } = live;
  return {
    actor: {
      kind: 'user',
      id: user.id,
      companyId,
      companySlug,
      email: user.email,
      name: user.name,
      isOwner: user.isOwner,
      sessionId: grantId,
      client: { id: live.clientId, grantId },
      access: limitToScopes(
        compileAccess(toAccessSources(companyId, user.isOwner, access)),
        claims.scope?.split(' ') ?? live.scopes,
      ),
    },
    expiresAt,
    proof: {
      usedCredentials: [{ kind: 'grant', companyId, id: grantId }],
      recordedAt: lastUsedAt,
      isRecordedHere: false,
    },
  };
}

/**
 * Authenticates an OAuth client by an access token that was issued for a service account's API key (client credentials). The
 * token expires with the key at the latest.
 */
export const authenticateClient =
  (resource: Resource): AuthenticateToken =>
  async (ctx, token) => {
    const claims = await verifyToken<ClientClaims>(ctx, 'oauth-machine', token, 'access');
    if (claims.resource !== resource) throw invalidToken();
    const { sub: serviceAccountId, company_id: companyId, sid: keyId, client_id: accessKey, scope } = claims;
    return toKeyCredential(
      ctx,
      { companyId, serviceAccountId, keyId, accessKey },
      {
        credential: `client ${accessKey} ${scope}`,
        credentialId: formatClientCredential(keyId, accessKey),
        makeActor: (account) => ({
          ...account,
          client: { id: accessKey, grantId: null },
          access: limitToScopes(account.access, scope.split(' ')),
        }),
      },
    );
  };
