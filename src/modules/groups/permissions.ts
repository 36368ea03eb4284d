import { requireMayGrant } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit, type Statement } from '../../db/client.ts';
import { type Permission, permissionNotFound, selectPermissions } from '../legacy-permissions/service.ts';
import { groupNameTaken, groupNotFound, groupSlugTaken } from './failures.ts';
import {
  addPermissions,
  insertGroupWithPermissions,
  keepPermissions,
  removePermissions,
  touchGroup,
} from './permission-store.ts';
import { type GroupInput, type GroupWithCounts, newGroup } from './service.ts';
import { selectGroupWithCounts } from './store.ts';

/**
 * Makes a group with roles and legacy permissions, and nobody in it.
 * @throws Failure `permission.not_found`, `group.name_taken`, `group.slug_taken`, `access.grant_exceeds`
 */
export async function createGroupWithPermissions(
  ctx: PrincipalContext,
  { permissionIds, ...input }: Required<GroupInput> & { permissionIds: string[] },
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const record = newGroup(ctx, companyId, input);
  const wanted = [...new Set(permissionIds)];
  const permissions = known(wanted, await selectPermissions(ctx.db, companyId, wanted));
  const { id, roles } = record;
  requireMayGrant(ctx.actor, { companyId, groups: [{ id, policies: [], roles, permissions }] });
  const [inserted] = await commit(
    ctx.db,
    [insertGroupWithPermissions(ctx.db, record, wanted), addPermissions(ctx.db, companyId, id, wanted)],
    { 'groups.name': groupNameTaken, 'groups.slug': groupSlugTaken },
  );
  if (inserted.length === 0) throw permissionNotFound('permissionIds');
  return { ...record, policyIds: [], permissionIds: wanted.toSorted(), memberCount: 0 };
}

/** Lists more permissions on a group. @throws Failure `group.not_found`, `permission.not_found`, `access.grant_exceeds` */
export function addGroupPermissions(ctx: PrincipalContext, groupId: string, ids: string[]): Promise<GroupWithCounts> {
  return change(ctx, groupId, ids, (fresh) => [addPermissions(ctx.db, ctx.actor.companyId, groupId, fresh)]);
}

/** Lists these permissions on a group and no others. @throws Failure as `addGroupPermissions` */
export function replaceGroupPermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  return change(ctx, groupId, ids, (fresh) => [
    addPermissions(ctx.db, companyId, groupId, fresh),
    keepPermissions(ctx.db, companyId, groupId, ids),
  ]);
}

/** Takes permissions from a group; not all of them need be on it. @throws Failure `group.not_found`, `permission.not_found` */
export async function removeGroupPermissions(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const { group } = await read(ctx, groupId, ids);
  return store(ctx, group.id, [removePermissions(ctx.db, companyId, groupId, ids)]);
}

/** `fresh` are those that the group does not list yet. Only they are added: another may have been taken away meanwhile. */
async function change(
  ctx: PrincipalContext,
  groupId: string,
  ids: string[],
  statements: (fresh: string[]) => Statement[],
): Promise<GroupWithCounts> {
  const { group, permissions } = await read(ctx, groupId, ids);
  const fresh = permissions.filter(({ id }) => !group.permissionIds.includes(id));
  requireMayGrant(ctx.actor, {
    companyId: ctx.actor.companyId,
    groups: [{ id: groupId, policies: [], roles: [], permissions: fresh }],
  });
  return store(ctx, groupId, statements(fresh.map(({ id }) => id)));
}

async function read(ctx: PrincipalContext, groupId: string, ids: string[]) {
  const { companyId } = ctx.actor;
  const [[group], found] = await ctx.db.batch([
    selectGroupWithCounts(ctx.db, companyId, groupId),
    selectPermissions(ctx.db, companyId, ids),
  ]);
  if (!group) throw groupNotFound();
  return { group, permissions: known(ids, found) };
}

async function store(ctx: PrincipalContext, groupId: string, statements: Statement[]): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const results = await commit(ctx.db, [
    touchGroup(ctx.db, companyId, groupId, ctx.now()),
    ...statements,
    selectGroupWithCounts(ctx.db, companyId, groupId),
  ]);
  const [group] = results.at(-1) as GroupWithCounts[];
  if (!group) throw groupNotFound();
  return group;
}

function known(ids: string[], found: Permission[]): Permission[] {
  const unknown = ids.filter((id) => !found.some((permission) => permission.id === id));
  if (unknown.length > 0) throw permissionNotFound('permissionIds', unknown);
  return found;
}
