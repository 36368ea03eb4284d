import { commitAccess, makeAffectedEverybody, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { findReadDenials, isDenied } from '../../access/denials.ts';
import { isUnrestricted } from '../../access/evaluation.ts';
import { requireMayGrant } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { EVERYTHING_DENIED } from '../../permissions/denials.ts';
import { accountNotFound, isAccountHidden, selectAccount } from '../accounts/service.ts';
import { selectServiceAccount, serviceAccountNotFound } from '../service-accounts/service.ts';
import { selectUser, userNotFound } from '../users/service.ts';
import { findDeniedMembers } from './attached.ts';
import { bindingExists, bindingNotFound, groupNotFound, makeOutsideAccountFailure } from './failures.ts';
import { prepareBinding, requireMayRemoveDenials } from './service.ts';
import { deleteBinding, type GroupBinding, readBindings, readMembersByName, selectGroup } from './store.ts';

/** A principal to be bound to a group within an account. */
export type GroupMember = Pick<GroupBinding, 'principalType' | 'principalId' | 'accountId'>;

/**
 * Adds a principal to a group within an account; a service account only within its own account. No caller may add anyone,
 * including oneself, to a group that is allowed more than the caller.
 */
export async function addMember(ctx: PrincipalContext, groupId: string, member: GroupMember): Promise<GroupBinding> {
  const { companyId } = ctx.actor;
  await requireBindable(ctx, groupId, member);
  if (!isUnrestricted(ctx.actor.access)) {
    const grantRows = await readTogether(ctx.db, selectGrants(ctx.db, companyId, [groupId]));
    requireMayGrant(ctx.actor, toAccessSources(companyId, false, grantRows));
  }
  const { record, statement } = prepareBinding(ctx, { ...member, companyId, groupId });
  const { inserted } = await commitAccess(
    ctx,
    makeAffectedPrincipals(companyId, member.principalId),
    { inserted: statement },
    { 'group_bindings.group_id': bindingExists },
  );
  if (inserted.length > 0) return record;
  // One of them was deleted in between: say which.
  await requireBindable(ctx, groupId, member);
  throw groupNotFound();
}

/** Throws unless group, principal and account exist and may be bound together; reads them in one batch. */
async function requireBindable(ctx: PrincipalContext, groupId: string, member: GroupMember): Promise<void> {
  const { companyId } = ctx.actor;
  const { principalId, accountId } = member;
  const {
    group: [group],
    user: [user],
    serviceAccount: [serviceAccount],
    account: [account],
  } = await readTogether(ctx.db, {
    group: selectGroup(ctx.db, companyId, groupId),
    user: selectUser(ctx.db, companyId, principalId),
    serviceAccount: selectServiceAccount(ctx.db, companyId, principalId),
    account: selectAccount(ctx.db, companyId, accountId),
  });
  if (!group) throw groupNotFound();
  const kind = member.principalType === 'user' ? 'organization_user' : 'service_account';
  const isHidden = isDenied(ctx.actor, kind, principalId);
  if (member.principalType === 'user' && (!user || isHidden)) throw userNotFound('principal_id');
  if (member.principalType === 'service_account' && (!serviceAccount || isHidden))
    throw serviceAccountNotFound('principal_id');
  if (!account || isAccountHidden(ctx, accountId)) throw accountNotFound('account_id');
  if (member.principalType === 'service_account' && serviceAccount?.accountId !== accountId)
    throw makeOutsideAccountFailure();
}

/** Returns a page of a group's bindings, without principals hidden from the caller; none within an account that is hidden. */
export async function listMembers(
  ctx: PrincipalContext,
  groupId: string,
  accountId: string | undefined,
  page: Parameters<typeof readBindings>[2],
) {
  const { companyId } = ctx.actor;
  const [group] = await selectGroup(ctx.db, companyId, groupId);
  if (!group) throw groupNotFound();
  const deniedMembers = isAccountHidden(ctx, accountId)
    ? { user: EVERYTHING_DENIED, service_account: EVERYTHING_DENIED }
    : findDeniedMembers(ctx);
  return readBindings(ctx.db, { companyId, groupId, accountId, deniedMembers }, page);
}

/** Returns a page of a group's members by name, without members hidden from the caller. */
export async function listMembersByName(
  ctx: PrincipalContext,
  groupId: string,
  { search, ...page }: { page: number; perPage: number; search: string },
) {
  const { companyId } = ctx.actor;
  const [group] = await selectGroup(ctx.db, companyId, groupId);
  if (!group) throw groupNotFound();
  const deniedMembers = {
    user: findReadDenials(ctx.actor, 'user'),
    service_account: findReadDenials(ctx.actor, 'named_service_account'),
  };
  return readMembersByName(ctx.db, { companyId, groupId, search, deniedMembers }, page);
}

/** Removes a principal from a group. Fails if it is hidden from the caller, or would gain what the caller may not do. */
export async function removeMember(ctx: PrincipalContext, groupId: string, bindingId: string): Promise<void> {
  const { companyId } = ctx.actor;
  await requireMayRemoveDenials(ctx, groupId);
  const { found, removed } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    found: selectGroup(ctx.db, companyId, groupId),
    removed: deleteBinding(ctx.db, { companyId, groupId, deniedMembers: findDeniedMembers(ctx) }, bindingId),
  });
  if (found.length === 0) throw groupNotFound();
  if (removed.length === 0) throw bindingNotFound();
}
