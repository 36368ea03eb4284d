import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { isDenied } from '../../access/denials.ts';
import { requireMayGrant } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether, type Statement } from '../../db/client.ts';
import { type Permission, permissionNotFound, selectPermissions } from '../legacy-permissions/service.ts';
import { findDeniedMembers, hideGroupParts } from './attached.ts';
import { groupNotFound } from './failures.ts';
import {
  deleteGroupPermissions,
  deleteOtherGroupPermissions,
  insertGroupPermissions,
  touchGroup,
} from './permission-store.ts';
import { type GroupWithCounts, selectGroupWithCounts } from './store.ts';

export function addGroupPermissions(ctx: PrincipalContext, groupId: string, ids: string[]): Promise<GroupWithCounts> {
  return changePermissions(ctx, groupId, ids, (fresh) => [
    insertGroupPermissions(ctx.db, ctx.actor.companyId, groupId, fresh),
  ]);
}

/** Puts exactly these permissions on a group, and leaves those that the caller may not see. */
export function replaceGroupPermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  return changePermissions(ctx, groupId, ids, (fresh, present) => [
    insertGroupPermissions(ctx.db, companyId, groupId, fresh),
    deleteOtherGroupPermissions(ctx.db, companyId, groupId, [...ids, ...present.filter((id) => isHidden(ctx, id))]),
  ]);
}

/** Removes permissions from a group; not all of them need be on it. */
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
 * @param statements made from the ids that the group does not list yet (only those were checked, and only those are added), and
 *   from those that it lists
 */
async function changePermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
  statements: (fresh: string[], present: string[]) => Statement[],
): Promise<GroupWithCounts> {
  const { group, permissions } = await readGroupAndPermissions(ctx, groupId, ids);
  const fresh = permissions.filter(({ id }) => !group.permissionIds.includes(id));
  requireMayGrant(ctx.actor, {
    companyId: ctx.actor.companyId,
    groups: [{ id: groupId, policies: [], roles: [], permissions: fresh }],
  });
  const added = fresh.map(({ id }) => id);
  return storePermissions(ctx, groupId, statements(added, group.permissionIds));
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
  requireAllFound(ctx, ids, permissions);
  return { group, permissions };
}

async function storePermissions(
  ctx: PrincipalContext,
  groupId: string,
  statements: Statement[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const { found } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    touched: touchGroup(ctx.db, companyId, groupId, ctx.now()),
    changed: statements,
    found: selectGroupWithCounts(ctx.db, companyId, groupId, findDeniedMembers(ctx)),
  });
  const [group] = found;
  if (!group) throw groupNotFound();
  return hideGroupParts(ctx, group);
}

/** Whether the caller may not see a permission, which then counts as absent. */
const isHidden = ({ actor }: PrincipalContext, id: string): boolean => isDenied(actor, 'permission', id);

export function requireAllFound(ctx: PrincipalContext, ids: string[], found: Permission[]): void {
  const unknown = ids.filter((id) => isHidden(ctx, id) || !found.some((permission) => permission.id === id));
  if (unknown.length > 0) throw permissionNotFound('permissionIds', unknown);
}
