import { commitAccess } from '../../access/commit-access.ts';
import { requireMayGrant } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { permissionNotFound, selectPermissions } from '../legacy-permissions/service.ts';
import { insertGroup, insertGroupPermissions } from './permission-store.ts';
import { requireAllPermissionsFound } from './permissions.ts';
import { type GroupInput, type GroupWithCounts, makeGroup, UNIQUE_NAME_FAILURES } from './service.ts';
import type { Group } from './store.ts';
import { makeAddUsersStatement, requireKnownUsers, toAffectedPrincipals } from './user-members.ts';

/**
 * Creates a group with the members `userIds`. The group may not allow more than the caller may do. A taken slug made
 * from the name gets a suffix.
 * @param isUniqueInAnyCase whether a name that another group has in any letter case is rejected
 */
export async function createGroup(
  ctx: PrincipalContext,
  {
    permissionIds = [],
    userIds = [],
    isUniqueInAnyCase = false,
    ...input
  }: GroupInput & { permissionIds?: string[]; userIds?: string[]; isUniqueInAnyCase?: boolean },
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const record = makeGroup(ctx, companyId, input);
  const { id, roles } = record;
  const ids = [...new Set(permissionIds)];
  const permissions = ids.length === 0 ? [] : await selectPermissions(ctx.db, companyId, ids);
  requireAllPermissionsFound(ctx, ids, permissions);
  requireMayGrant(ctx.actor, { companyId, groups: [{ id, policies: [], roles, permissions }] });
  await requireKnownUsers(ctx, userIds);
  const { inserted } = await commitAccess(
    ctx,
    toAffectedPrincipals(companyId, userIds),
    {
      inserted: insertGroup(ctx.db, record, {
        permissionIds: ids,
        canChangeSlug: input.slug === undefined,
        isUniqueInAnyCase,
      }),
      listed: ids.length === 0 ? [] : [insertGroupPermissions(ctx.db, companyId, id, ids)],
      entered: userIds.length === 0 ? [] : [makeAddUsersStatement(ctx, id, userIds)],
    },
    UNIQUE_NAME_FAILURES,
  );
  const [group] = inserted as Group[];
  // A permission was deleted in between.
  if (!group) throw permissionNotFound('permissionIds');
  return { ...record, slug: group.slug, policyIds: [], permissionIds: ids.toSorted(), memberCount: userIds.length };
}
