import { commitAccess, makeAffectedEverybody, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireAdministrator } from '../../access/requirements.ts';
import type { PrincipalContext, UserContext } from '../../context.ts';
import { commit, countChangedRows } from '../../db/client.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { formatCompanyClientId } from './clients.ts';
import {
  consentDenied,
  oauthClientNotFound,
  oauthGrantNotFound,
  otherCompanysClient,
  requestEnded,
  tooManyClients,
} from './failures.ts';
import { buildErrorRedirect, buildResponseRedirect, verifyConsentRequest } from './requests.ts';
import {
  type CompanyClient,
  deleteClient,
  denyDevice,
  endGrantsOfClient,
  endUserGrant,
  type Grant,
  insertClient,
  insertGrant,
  selectClientOfCompany,
  selectClientsOfCompany,
  selectUserGrants,
} from './store.ts';

const CODE_LIFETIME_MS = MINUTE_MS;

/**
 * Grants or denies a client's authorization request, as the caller decided on the consent page. @returns the URL to redirect to;
 * null for a device, which has no redirect
 */
export async function decideRequest(
  ctx: UserContext,
  { request, allow }: { request: string; allow: boolean },
): Promise<string | null> {
  const consentRequest = await verifyConsentRequest(ctx, request);
  const { companyId, id: userId } = ctx.actor;
  const { redirect, device } = consentRequest;
  if (consentRequest.company_id !== '' && consentRequest.company_id !== companyId) throw otherCompanysClient();
  const now = ctx.now();
  if (!allow && device) {
    const { denied } = await commit(ctx.db, { denied: denyDevice(ctx.db, device.digest, now) });
    if (countChangedRows(denied) === 0) throw requestEnded();
    return null;
  }
  const code = newSecretToken();
  const codeExpiresAt = device?.expires_at ?? now + CODE_LIFETIME_MS;
  const record: Grant = {
    id: ctx.newId(),
    companyId,
    userId,
    clientId: consentRequest.sub,
    clientName: consentRequest.client.name,
    clientHost: consentRequest.client.host,
    scopes: consentRequest.scopes,
    resource: consentRequest.resource,
    requestId: consentRequest.jti,
    codeDigest: device?.digest ?? (await computeSha256Hex(code)),
    codeChallenge: redirect?.challenge ?? null,
    redirectUri: redirect?.uri ?? null,
    codeExpiresAt,
    codeUsedAt: null,
    begunAt: null,
    refreshDigest: null,
    previousDigest: null,
    previousUntil: null,
    lastUsedAt: null,
    createdAt: now,
    // Whoever answers the same request again finds it here, until that has expired.
    expiresAt: Math.max(codeExpiresAt, now + MIN_CODE_RETENTION_MS),
    // A refusal is a grant that has ended: so the request has its answer.
    endedAt: allow ? null : now,
  };
  const { inserted } = await commit(
    ctx.db,
    { inserted: insertGrant(ctx.db, record, { deviceDigest: device?.digest ?? null, now }) },
    { 'oauth_grants.request_id': requestEnded, 'oauth_grants.code_digest': requestEnded },
  );
  if (countChangedRows(inserted) === 0) throw requestEnded();
  if (!redirect) return null;
  return allow ? buildResponseRedirect(ctx, redirect, { code }) : buildErrorRedirect(ctx, redirect, consentDenied());
}

const MIN_CODE_RETENTION_MS = 60 * MINUTE_MS;

/** Returns the user whose grants are requested: the caller, or for administrators any user. A service account has no grants. */
function getGrantOwner({ actor }: PrincipalContext, userId: string | undefined) {
  if (userId !== undefined && userId !== actor.id) requireAdministrator(actor);
  return { companyId: actor.companyId, userId: userId ?? actor.id };
}

export const listGrants = async (ctx: PrincipalContext, userId: string | undefined): Promise<Grant[]> =>
  selectUserGrants(ctx.db, getGrantOwner(ctx, userId), ctx.now());

/** Revokes a grant: the client is rejected from its next request on. */
export async function removeGrant(ctx: PrincipalContext, id: string, userId: string | undefined): Promise<void> {
  const ownerId = getGrantOwner(ctx, userId);
  const { ended } = await commitAccess(ctx, makeAffectedPrincipals(ownerId.companyId, ownerId.userId), {
    ended: endUserGrant(ctx.db, ownerId, id, ctx.now()),
  });
  if (ended.length === 0) throw oauthGrantNotFound();
}

export const listClients = async (ctx: PrincipalContext): Promise<CompanyClient[]> =>
  selectClientsOfCompany(ctx.db, ctx.actor.companyId);

export async function getClient(ctx: PrincipalContext, id: string): Promise<CompanyClient> {
  const [client] = await selectClientOfCompany(ctx.db, ctx.actor.companyId, id);
  if (!client) throw oauthClientNotFound();
  return client;
}

export async function registerCompanyClient(
  ctx: PrincipalContext,
  input: Pick<CompanyClient, 'name' | 'redirectUris'>,
): Promise<CompanyClient> {
  const record = { ...input, id: ctx.newId(), companyId: ctx.actor.companyId, createdAt: ctx.now() };
  const { inserted } = await commit(ctx.db, { inserted: insertClient(ctx.db, record) });
  if (countChangedRows(inserted) === 0) throw tooManyClients();
  return record;
}

/** Deletes a client, and with it the users' grants to it. */
export async function removeClient(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const { deleted } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    deleted: deleteClient(ctx.db, companyId, id),
    ended: endGrantsOfClient(ctx.db, companyId, formatCompanyClientId(id), ctx.now()),
  });
  if (deleted.length === 0) throw oauthClientNotFound();
}
