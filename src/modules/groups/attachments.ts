import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { isDenied } from '../../access/denials.ts';
import { requireMayGrant, toDenialGrants } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether, type Statement } from '../../db/client.ts';
import { findManagedPolicyById } from '../../permissions/managed-policies.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';
import { type Permission, permissionNotFound, selectPermissions } from '../legacy-permissions/service.ts';
import { isHiddenPolicy, policyNotFound, selectPolicy, toOwnPolicy } from '../policies/service.ts';
import { findDeniedMembers, hideGroupParts } from './attached.ts';
import { groupNotFound, policyNotAttached } from './failures.ts';
import {
  deleteGroupPermissions,
  deleteOtherGroupPermissions,
  insertGroupPermissions,
  updateGroupChangedAt,
} from './permission-store.ts';
import {
  attachPolicy,
  detachPolicy,
  type GroupWithCounts,
  selectAttachment,
  selectGroup,
  selectGroupWithCounts,
} from './store.ts';

/** Attaches a managed policy, or a policy of the company, to a group. Attaching it twice changes nothing. */
export async function attachPolicyToGroup(ctx: PrincipalContext, groupId: string, policyId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const { group, document } = await readGroupAndPolicy(ctx, groupId, policyId);
  if (!group) throw groupNotFound();
  if (!document) throw policyNotFound('policy_id');
  requireMayGrant(ctx.actor, listPolicyGrants(companyId, groupId, policyId, document));
  const attachment = { companyId, groupId, policyId };
  const { attachments } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    attached: attachPolicy(ctx.db, attachment, findManagedPolicyById(policyId) !== undefined),
    attachments: selectAttachment(ctx.db, companyId, groupId, policyId),
  });
  if (attachments.length > 0) return;
  // One of them was deleted in between: say which.
  const { group: currentGroup } = await readGroupAndPolicy(ctx, groupId, policyId);
  throw currentGroup ? policyNotFound('policy_id') : groupNotFound();
}

/** Detaches a policy from a group. Nobody may thereby gain permissions that the caller lacks. */
export async function detachPolicyFromGroup(ctx: PrincipalContext, groupId: string, policyId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const { group, document } = await readGroupAndPolicy(ctx, groupId, policyId);
  if (!group) throw groupNotFound();
  if (!document) throw policyNotAttached();
  requireMayGrant(ctx.actor, toDenialGrants(listPolicyGrants(companyId, groupId, policyId, document)));
  const { detached } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    detached: detachPolicy(ctx.db, companyId, groupId, policyId),
  });
  if (detached.length === 0) throw policyNotAttached();
}

async function readGroupAndPolicy(ctx: PrincipalContext, groupId: string, policyId: string) {
  const { companyId } = ctx.actor;
  const {
    group: [group],
    own: [ownPolicy],
  } = await readTogether(ctx.db, {
    group: selectGroup(ctx.db, companyId, groupId),
    own: selectPolicy(ctx.db, companyId, policyId),
  });
  const policy = ownPolicy ? toOwnPolicy(ownPolicy) : findManagedPolicyById(policyId);
  return { group, document: policy && !isHiddenPolicy(ctx, policy.arn) ? policy.document : undefined };
}

const listPolicyGrants = (companyId: string, groupId: string, id: string, document: PolicyDocument) => ({
  companyId,
  groups: [{ id: groupId, policies: [{ id, document }], roles: [], permissions: [] }],
});

export function addGroupPermissions(ctx: PrincipalContext, groupId: string, ids: string[]): Promise<GroupWithCounts> {
  return changePermissions(ctx, groupId, ids, (newIds) => [
    insertGroupPermissions(ctx.db, ctx.actor.companyId, groupId, newIds),
  ]);
}

/** Sets exactly these permissions on a group, and keeps those that the caller may not see. */
export function replaceGroupPermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  return changePermissions(ctx, groupId, ids, (newIds, presentIds) => [
    insertGroupPermissions(ctx.db, companyId, groupId, newIds),
    deleteOtherGroupPermissions(ctx.db, companyId, groupId, [
      ...ids,
      ...presentIds.filter((id) => isPermissionHidden(ctx, id)),
    ]),
  ]);
}

/** Removes permissions from a group; permissions that it does not have are ignored. */
export async function removeGroupPermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const { group } = await readGroupAndPermissions(ctx, groupId, ids);
  return storePermissions(ctx, group.id, [deleteGroupPermissions(ctx.db, companyId, groupId, ids)]);
}

/**
 * Changes the permissions of a group by the statements that `makeStatements` makes.
 * @param makeStatements makes the statements from the ids that the group does not have yet (only these were checked,
 * and only these are added), and from the ids that the group has
 */
async function changePermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
  makeStatements: (newIds: string[], presentIds: string[]) => Statement[],
): Promise<GroupWithCounts> {
  const { group, permissions } = await readGroupAndPermissions(ctx, groupId, ids);
  const newPermissions = permissions.filter(({ id }) => !group.permissionIds.includes(id));
  requireMayGrant(ctx.actor, {
    companyId: ctx.actor.companyId,
    groups: [{ id: groupId, policies: [], roles: [], permissions: newPermissions }],
  });
  const addedIds = newPermissions.map(({ id }) => id);
  return storePermissions(ctx, groupId, makeStatements(addedIds, group.permissionIds));
}

async function readGroupAndPermissions(ctx: PrincipalContext, groupId: string, ids: string[]) {
  const { companyId } = ctx.actor;
  const {
    group: [group],
    permissions,
  } = await readTogether(ctx.db, {
    group: selectGroupWithCounts(ctx.db, companyId, groupId, findDeniedMembers(ctx)),
    permissions: selectPermissions(ctx.db, companyId, ids),
  });
  if (!group) throw groupNotFound();
  requireAllPermissionsFound(ctx, ids, permissions);
  return { group, permissions };
}

async function storePermissions(
  ctx: PrincipalContext,
  groupId: string,
  statements: Statement[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const { found } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    touched: updateGroupChangedAt(ctx.db, companyId, groupId, ctx.now()),
    changed: statements,
    found: selectGroupWithCounts(ctx.db, companyId, groupId, findDeniedMembers(ctx)),
  });
  const [group] = found;
  if (!group) throw groupNotFound();
  return hideGroupParts(ctx, group);
}

/** Tells whether a permission is hidden from the caller, so that it counts as absent. */
const isPermissionHidden = ({ actor }: PrincipalContext, id: string): boolean => isDenied(actor, 'permission', id);

export function requireAllPermissionsFound(ctx: PrincipalContext, ids: string[], foundPermissions: Permission[]): void {
  const unknownIds = ids.filter(
    (id) => isPermissionHidden(ctx, id) || !foundPermissions.some((permission) => permission.id === id),
  );
  if (unknownIds.length > 0) throw permissionNotFound('permissionIds', unknownIds);
}
