import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { isDenied } from '../../access/denials.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Metadata } from '../../db/columns.ts';
import type { SearchRequest } from '../../db/page.ts';
import { EVERYTHING_DENIED } from '../../permissions/denials.ts';
import { accountNotFound, isAccountHidden } from '../accounts/service.ts';
import { serviceAccountAlreadyDeleted, serviceAccountNotFound } from './failures.ts';
import {
  endServiceAccount,
  insertServiceAccount,
  type NewServiceAccount,
  readServiceAccounts,
  type ServiceAccount,
  type ServiceAccountChanges,
  type ServiceAccountFilter,
  type ServiceAccountPageRequest,
  selectServiceAccount,
  selectServiceAccountEvenDeleted,
  softDeleteServiceAccount,
  updateServiceAccount,
} from './store.ts';

export { serviceAccountNotFound } from './failures.ts';
export { verifyKeyAndSecret } from './key-and-secret.ts';
export {
  issueKey,
  listKeys,
  prepareApiKey,
  requireServiceAccountForKey,
  revokeKey,
} from './key-service.ts';
export { toKeyCredential } from './service-token.ts';
export { type ApiKey, selectServiceAccount } from './store.ts';
export type { ServiceAccount };

/** The fields of a service account that people set. Without an account, it belongs to the company's default account. */
interface ServiceAccountInput {
  name: string;
  description: string;
  accountId?: string;
  metadata: Metadata;
}

/** Prepares a new service account and the statement that stores it, if its account is not deleted. */
export function prepareServiceAccount<Input extends ServiceAccountInput>(
  ctx: Context,
  companyId: string,
  input: Input,
) {
  const now = ctx.now();
  const record = {
    ...input,
    id: ctx.newId(),
    companyId,
    isActive: true,
    lastUsedAt: null,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  } satisfies NewServiceAccount;
  return { record, statement: insertServiceAccount(ctx.db, record) };
}

/** Lists a page of the company's service accounts; an account that is hidden from the caller has none. */
export function listServiceAccounts(
  ctx: PrincipalContext,
  filter: ServiceAccountFilter,
  page: ServiceAccountPageRequest,
) {
  const denials = isAccountHidden(ctx, filter.accountId) ? EVERYTHING_DENIED : filter.denials;
  return readServiceAccounts(ctx.db, ctx.actor.companyId, { ...filter, denials }, page);
}

/** Lists a page of the service accounts whose name contains a text, sorted by name without regard to case or by creation time. */
export function searchServiceAccounts(
  ctx: PrincipalContext,
  filter: Omit<ServiceAccountFilter, 'lifecycle' | 'search'>,
  { search, ...page }: SearchRequest<'name' | 'created_at'>,
) {
  return listServiceAccounts(
    ctx,
    { ...filter, lifecycle: 'living', search },
    { ...page, by: page.by === 'name' ? 'name_in_any_case' : page.by },
  );
}

/** Returns the id if no Deny hides it. @param kind as the surface names it @throws serviceAccountNotFound */
export function requireNotDeniedServiceAccount(
  ctx: PrincipalContext,
  kind: 'service_account' | 'integration_user',
  id: string,
): string {
  if (isDenied(ctx.actor, kind, id)) throw serviceAccountNotFound();
  return id;
}

/** Returns a service account of the company that is not deleted. */
export async function getServiceAccount(ctx: PrincipalContext, id: string): Promise<ServiceAccount> {
  const [serviceAccount] = await selectServiceAccount(ctx.db, ctx.actor.companyId, id);
  if (!serviceAccount) throw serviceAccountNotFound();
  return serviceAccount;
}

/** Creates a service account in an account of the company, the default one where none is named. */
export async function createServiceAccount(ctx: PrincipalContext, input: ServiceAccountInput): Promise<ServiceAccount> {
  if (isAccountHidden(ctx, input.accountId)) throw accountNotFound('account_id');
  const { record, statement } = prepareServiceAccount(ctx, ctx.actor.companyId, input);
  const {
    inserted: [storedAccount],
  } = await commit(ctx.db, { inserted: statement });
  if (!storedAccount) throw accountNotFound('account_id');
  return { ...record, ...storedAccount };
}

/** Changes the fields that are sent. */
export async function changeServiceAccount(
  ctx: PrincipalContext,
  id: string,
  changes: ServiceAccountChanges,
): Promise<ServiceAccount> {
  const { companyId } = ctx.actor;
  const {
    updated: [changedAccount],
  } = await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
    updated: updateServiceAccount(ctx.db, companyId, id, ctx.now(), changes),
  });
  if (!changedAccount) throw serviceAccountNotFound();
  return changedAccount;
}

/** Deletes a service account, revokes its keys and removes its memberships. */
export async function deleteServiceAccount(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const {
    found: [found],
    deleted,
  } = await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
    found: selectServiceAccountEvenDeleted(ctx.db, companyId, id),
    deleted: softDeleteServiceAccount(ctx.db, companyId, id, now),
    ended: endServiceAccount(ctx.db, companyId, id, now),
  });
  if (deleted.length > 0) return;
  throw found ? serviceAccountAlreadyDeleted() : serviceAccountNotFound();
}
