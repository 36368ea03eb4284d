import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { findListDenials } from '../../access/denials.ts';
import { isUnrestricted } from '../../access/evaluation.ts';
import { requireMayGrant, toDenialGrants } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import type { SearchRequest } from '../../db/page.ts';
import { makeSlug } from '../../kernel/text.ts';
import type { GroupRole } from '../../permissions/legacy.ts';
import { getManagedPolicyByName } from '../../permissions/managed-policies.ts';
import { permissionNotFound, selectPermissions } from '../legacy-permissions/service.ts';
import { findDeniedMembers, hideAttachments, hideGroupParts } from './attached.ts';
import { requireAllPermissionsFound } from './attachments.ts';
import {
  globalGroupNotDeletable,
  globalGroupNotModifiable,
  groupAlreadyDeleted,
  groupExternalIdTaken,
  groupNameTaken,
  groupNotFound,
  groupSlugTaken,
} from './failures.ts';
import { insertGroup, insertGroupPermissions } from './permission-store.ts';
import {
  attachPolicy,
  type Group,
  type GroupBinding,
  type GroupFilter,
  type GroupWithCounts,
  insertBinding,
  makeClearGroupStatements,
  readGroups,
  readGroupsWhere,
  selectGroupEvenDeleted,
  selectGroupWithCounts,
  softDeleteGroup,
  updateGroup,
} from './store.ts';
import { makeJoinStatement, requireKnownUsers, toAffectedPrincipals } from './user-groups.ts';

export { groupNotFound } from './failures.ts';
export { CHANGED_WITH_MEMBERS_AT } from './store.ts';
export {
  addUserToGroups,
  changeGroupOfUsers,
  type GroupOfUsers,
  getGroupOfUsers,
  listUserMembers,
  prepareGroupJoin,
  removeUserFromGroups,
  replaceUserGroups,
} from './user-groups.ts';
export type { Group, GroupBinding, GroupWithCounts };

export const UNIQUE_NAME_FAILURES = {
  'groups.name': groupNameTaken,
  'groups.slug': groupSlugTaken,
  'groups.external_id': groupExternalIdTaken,
};

const GLOBAL_GROUPS = {
  administrators: { policy: 'FullAdmin', description: 'May do everything in the company.' },
  viewers: { policy: 'ReadOnly', description: 'May see everything in the company, and change nothing.' },
} as const;

/** The fields of a new group. The slug is made from the name when not given. */
interface GroupInput {
  name: string;
  description: string;
  slug?: string;
  roles?: GroupRole[];
  externalId?: string | null;
}

/** Makes one of the groups that every new company has, and the statements that store it with its policy. */
export function prepareGlobalGroup(ctx: Context, companyId: string, name: keyof typeof GLOBAL_GROUPS) {
  const { policy, description } = GLOBAL_GROUPS[name];
  const record: Group = { ...makeGroup(ctx, companyId, { name, description }), isGlobal: true };
  const attachment = { companyId, groupId: record.id, policyId: getManagedPolicyByName(policy).id };
  return { record, statements: [insertGroup(ctx.db, record), attachPolicy(ctx.db, attachment, true)] as const };
}

/** Makes the record of a new group. */
function makeGroup(
  ctx: Context,
  companyId: string,
  { name, description, slug = makeSlug(name, 'group'), roles = [], externalId = null }: GroupInput,
): Group {
  const now = ctx.now();
  return {
    id: ctx.newId(),
    companyId,
    name,
    slug,
    description,
    isGlobal: false,
    externalId,
    roles,
    membersChangedAt: null,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}

/** Makes a membership and the statement that stores it while group, principal and account are not deleted. */
export function prepareBinding(ctx: Context, member: Omit<GroupBinding, 'id' | 'createdAt'>) {
  const record: GroupBinding = { ...member, id: ctx.newId(), createdAt: ctx.now() };
  return { record, statement: insertBinding(ctx.db, record) };
}

/** Returns a page of the company's current groups whose names contain a text, without groups hidden from the caller. */
export function searchGroups(
  ctx: PrincipalContext,
  { excludesGlobalGroups }: { excludesGlobalGroups: boolean },
  { search, ...page }: SearchRequest<'name' | 'created_at'>,
) {
  const denials = findListDenials(ctx.actor, 'group');
  return listGroups(
    ctx,
    { deletionFilter: 'living', excludesGlobalGroups, search, denials },
    { ...page, by: page.by === 'name' ? 'name_in_any_case' : page.by },
  );
}

/** Returns a page of the company's current groups that meet a condition, without groups hidden from the caller. */
export function listGroupsWhere(
  ctx: PrincipalContext,
  condition: Parameters<typeof readGroupsWhere>[2]['condition'],
  page: Parameters<typeof readGroupsWhere>[3],
) {
  const deniedGroups = findListDenials(ctx.actor, 'group');
  return readGroupsWhere(ctx.db, ctx.actor.companyId, { condition, denials: deniedGroups }, page);
}

/** Returns a page of the company's groups. */
export async function listGroups(
  ctx: PrincipalContext,
  filter: Omit<GroupFilter, 'deniedMembers'>,
  page: Parameters<typeof readGroups>[3],
) {
  const deniedMembers = findDeniedMembers(ctx);
  const groupPage = await readGroups(ctx.db, ctx.actor.companyId, { ...filter, deniedMembers }, page);
  return { ...groupPage, records: await hideAttachments(ctx, groupPage.records) };
}

export async function getGroup(ctx: PrincipalContext, id: string): Promise<GroupWithCounts> {
  const [group] = await selectGroupWithCounts(ctx.db, ctx.actor.companyId, id, findDeniedMembers(ctx));
  if (!group) throw groupNotFound();
  return hideGroupParts(ctx, group);
}

/** Changes the fields that are sent; a new name does not change the slug. */
export async function changeGroup(
  ctx: PrincipalContext,
  id: string,
  changes: { name?: string; slug?: string; description?: string },
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const updateStatement = updateGroup(ctx.db, companyId, id, ctx.now(), changes);
  const { changed, found } = await commit(
    ctx.db,
    { changed: updateStatement, found: selectGroupWithCounts(ctx.db, companyId, id, findDeniedMembers(ctx)) },
    UNIQUE_NAME_FAILURES,
  );
  const [group] = found;
  if (!group) throw groupNotFound();
  if (changed.length === 0) throw globalGroupNotModifiable();
  return hideGroupParts(ctx, group);
}

/** Deletes a group with its memberships and attachments: what it denied is allowed where other groups allow it. */
export async function deleteGroup(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  await requireMayRemoveDenials(ctx, id);
  const { found, deleted } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    found: selectGroupEvenDeleted(ctx.db, companyId, id),
    deleted: softDeleteGroup(ctx.db, companyId, id, ctx.now()),
    cleared: makeClearGroupStatements(ctx.db, companyId, id),
  });
  if (deleted.length > 0) return;
  const [group] = found;
  if (!group) throw groupNotFound();
  throw group.deletedAt === null ? globalGroupNotDeletable() : groupAlreadyDeleted();
}

/** Throws unless the caller may do all that the group denies: only then may its members be freed of it. */
export async function requireMayRemoveDenials(ctx: PrincipalContext, groupId: string): Promise<void> {
  const { companyId, access } = ctx.actor;
  if (isUnrestricted(access)) return;
  const grantRows = await readTogether(ctx.db, selectGrants(ctx.db, companyId, [groupId]));
  requireMayGrant(ctx.actor, toDenialGrants(toAccessSources(companyId, false, grantRows)));
}

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
      entered: userIds.length === 0 ? [] : [makeJoinStatement(ctx, userIds, [id])],
    },
    UNIQUE_NAME_FAILURES,
  );
  const [group] = inserted as Group[];
  // A permission was deleted in between.
  if (!group) throw permissionNotFound('permissionIds');
  return { ...record, slug: group.slug, policyIds: [], permissionIds: ids.toSorted(), memberCount: userIds.length };
}
