import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { isUnrestricted } from '../../access/evaluation.ts';
import { requireMayGrant } from '../../access/grants.ts';
import { selectAccess, toAccessSources } from '../../access/sources.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { type Denials, NOTHING_DENIED } from '../../permissions/denials.ts';
import { expiryInPast, keyAlreadyRevoked, keyNotFound, serviceAccountNotFound } from './failures.ts';
import { KEY_LIFETIME_MS, mintKey } from './keys.ts';
import { getServiceAccount } from './service.ts';
import {
  type ApiKey,
  deactivateKey,
  insertApiKey,
  type KeyPageRequest,
  readKeys,
  type ServiceAccount,
  selectKey,
  selectServiceAccount,
} from './store.ts';

/**
 * Prepares an API key, its secret, and the statement that stores it if its service account is not deleted. `expiresAt` in ms; a
 * year from now by default.
 */
export async function prepareApiKey(
  ctx: Context,
  company: { id: string; slug: string },
  serviceAccount: Pick<ServiceAccount, 'id' | 'accountId'>,
  input: { description: string; expiresAt?: number },
) {
  const now = ctx.now();
  const { derivationData, secretKey } = await mintKey(
    ctx.config.KEY_DERIVATION_SECRETS,
    company.slug,
    serviceAccount.accountId,
  );
  const record: ApiKey = {
    ...derivationData,
    id: ctx.newId(),
    companyId: company.id,
    serviceAccountId: serviceAccount.id,
    description: input.description,
    expiresAt: input.expiresAt ?? now + KEY_LIFETIME_MS,
    isActive: true,
    lastUsedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  return { record, secretKey, statement: insertApiKey(ctx.db, record) };
}

/** Issues a key that signs as a service account. Its secret is returned only this once. */
export async function issueKey(
  ctx: PrincipalContext,
  serviceAccountId: string,
  input: { description: string; expiresAt?: number },
): Promise<{ key: ApiKey; secretKey: string }> {
  const { companyId: id, companySlug: slug } = ctx.actor;
  const serviceAccount = await requireServiceAccountForKey(ctx, serviceAccountId);
  if (input.expiresAt !== undefined && input.expiresAt <= ctx.now()) throw expiryInPast();
  const { record, secretKey, statement } = await prepareApiKey(ctx, { id, slug }, serviceAccount, input);
  const { inserted } = await commit(ctx.db, { inserted: statement });
  if (inserted.length === 0) throw serviceAccountNotFound();
  return { key: record, secretKey };
}

/** Returns a service account for which the caller may issue a key: one that may do no more than the caller. */
export async function requireServiceAccountForKey(ctx: PrincipalContext, id: string): Promise<ServiceAccount> {
  const serviceAccount = await getServiceAccount(ctx, id);
  await requireNoWiderAccess(ctx, serviceAccount);
  return serviceAccount;
}

/** Lists a page of a service account's keys, revoked ones included, without those that `denials` match. */
export async function listKeys(
  ctx: PrincipalContext,
  serviceAccountId: string,
  page: KeyPageRequest,
  denials: Denials = NOTHING_DENIED,
) {
  await getServiceAccount(ctx, serviceAccountId);
  return readKeys(ctx.db, ctx.actor.companyId, { serviceAccountId, denials }, page);
}

/** Revokes a key: the next request signed with it is refused. The key stays listed. */
export async function revokeKey(ctx: PrincipalContext, serviceAccountId: string, keyId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const {
    owner: [serviceAccount],
    found: [key],
    revoked,
  } = await commitAccess(ctx, makeAffectedPrincipals(companyId, serviceAccountId), {
    owner: selectServiceAccount(ctx.db, companyId, serviceAccountId),
    found: selectKey(ctx.db, companyId, serviceAccountId, keyId),
    revoked: deactivateKey(ctx.db, companyId, serviceAccountId, keyId, ctx.now()),
  });
  if (revoked.length > 0) return;
  if (!serviceAccount) throw serviceAccountNotFound();
  throw key ? keyAlreadyRevoked() : keyNotFound();
}

/** Throws unless the caller may do everything that the service account may: whoever holds its key can. */
async function requireNoWiderAccess(ctx: PrincipalContext, { id, accountId }: ServiceAccount): Promise<void> {
  const { companyId, access, id: callerId } = ctx.actor;
  const isOwnAccess = id === callerId && access.scopes === null;
  if (isOwnAccess || isUnrestricted(access)) return;
  const reads = selectAccess(ctx.db, { companyId, principalType: 'service_account', principalId: id, accountId });
  requireMayGrant(ctx.actor, toAccessSources(companyId, false, await readTogether(ctx.db, reads)));
}
