import { isAdministrator } from '../../access/evaluation.ts';
import { accessFreedByRemoving, requireMayGrant } from '../../access/grants.ts';
import { accessSources, grantReads } from '../../access/sources.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Role } from '../../kernel/legacy.ts';
import { managedPolicyNamed } from '../../kernel/managed-policies.ts';
import {
  globalGroupNotDeletable,
  globalGroupNotModifiable,
  groupAlreadyDeleted,
  groupNameTaken,
  groupNotFound,
  groupSlugTaken,
} from './failures.ts';
import { slugOf } from './slug.ts';
import {
  attachPolicy,
  clearGroup,
  type Group,
  type GroupBinding,
  type GroupFilter,
  type GroupWithCounts,
  insertBinding,
  insertGroup,
  insertGroupWithFreeSlug,
  readGroups,
  selectGroupEvenDeleted,
  selectGroupWithCounts,
  softDeleteGroup,
  updateGroup,
} from './store.ts';

export { groupNotFound } from './failures.ts';
export { addUserToGroups, prepareJoining, removeUserFromGroups, replaceUserGroups } from './user-groups.ts';
export type { Group, GroupBinding, GroupWithCounts };

const NAMES_ARE_UNIQUE = { 'groups.name': groupNameTaken, 'groups.slug': groupSlugTaken };

const GLOBAL_GROUPS = {
  administrators: { policy: 'FullAdmin', description: 'May do everything in the company.' },
  viewers: { policy: 'ReadOnly', description: 'May see everything in the company, and change nothing.' },
} as const;

/** What a group is made of. The slug comes from the name when not given. */
export interface GroupInput {
  name: string;
  description: string;
  slug?: string;
  roles?: Role[];
}

/** One of the groups every company is born with, and the statements that store it with its policy. */
export function prepareGlobalGroup(ctx: Context, companyId: string, name: keyof typeof GLOBAL_GROUPS) {
  const { policy, description } = GLOBAL_GROUPS[name];
  const record: Group = { ...newGroup(ctx, companyId, { name, description }), isGlobal: true };
  const attachment = { companyId, groupId: record.id, policyId: managedPolicyNamed(policy).id };
  return { record, statements: [insertGroup(ctx.db, record), attachPolicy(ctx.db, attachment, true)] as const };
}

/** A group that nothing is stored of yet. */
export function newGroup(
  ctx: Context,
  companyId: string,
  { name, description, slug = slugOf(name), roles = [] }: GroupInput,
): Group {
  const now = ctx.now();
  return {
    id: ctx.newId(),
    companyId,
    name,
    slug,
    description,
    isGlobal: false,
    roles,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}

/** A membership and the statement that stores it while group, principal and account live. */
export function prepareBinding(ctx: Context, member: Omit<GroupBinding, 'id' | 'createdAt'>) {
  const record: GroupBinding = { ...member, id: ctx.newId(), createdAt: ctx.now() };
  return { record, statement: insertBinding(ctx.db, record) };
}

/** A page of the company's groups. */
export function listGroups(ctx: PrincipalContext, filter: GroupFilter, page: Parameters<typeof readGroups>[3]) {
  return readGroups(ctx.db, ctx.actor.companyId, filter, page);
}

/** A living group of the company. @throws Failure `group.not_found` */
export async function getGroup(ctx: PrincipalContext, id: string): Promise<GroupWithCounts> {
  const [group] = await selectGroupWithCounts(ctx.db, ctx.actor.companyId, id);
  if (!group) throw groupNotFound();
  return group;
}

/** Makes a group with nobody in it. Its slug comes from its name, suffixed when taken. @throws Failure `group.name_taken` */
export async function createGroup(
  ctx: PrincipalContext,
  input: { name: string; description: string },
): Promise<GroupWithCounts> {
  const record = newGroup(ctx, ctx.actor.companyId, input);
  const insert = insertGroupWithFreeSlug(ctx.db, record, `-${record.id.slice(-8)}`);
  const [[group]] = await commit(ctx.db, [insert], NAMES_ARE_UNIQUE);
  return { ...(group as Group), policyIds: [], permissionIds: [], memberCount: 0 };
}

/**
 * Changes what is sent; a new name leaves the slug as it is.
 * @throws Failure `group.not_found`, `group.name_taken`, `group.slug_taken`, `group.global_not_modifiable`
 */
export async function changeGroup(
  ctx: PrincipalContext,
  id: string,
  changes: { name?: string; slug?: string; description?: string },
): Promise<GroupWithCounts> {
  const { companyId } = ctx.actor;
  const update = updateGroup(ctx.db, companyId, id, ctx.now(), changes);
  const [changed, [group]] = await commit(
    ctx.db,
    [update, selectGroupWithCounts(ctx.db, companyId, id)],
    NAMES_ARE_UNIQUE,
  );
  if (!group) throw groupNotFound();
  if (changed.length === 0) throw globalGroupNotModifiable();
  return group;
}

/**
 * Deletes a group with its memberships and attachments. What it denied its members is lifted thereby.
 * @throws Failure `group.not_found`, `group.already_deleted`, `group.global_not_deletable`, `access.grant_exceeds`
 */
export async function deleteGroup(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  await requireMayRemoveDenials(ctx, id);
  const [[group], deleted] = await commit(ctx.db, [
    selectGroupEvenDeleted(ctx.db, companyId, id),
    softDeleteGroup(ctx.db, companyId, id, ctx.now()),
    ...clearGroup(ctx.db, companyId, id),
  ]);
  if (deleted.length > 0) return;
  if (!group) throw groupNotFound();
  throw group.deletedAt === null ? globalGroupNotDeletable() : groupAlreadyDeleted();
}

/** Refuses to free anyone from what a group denies, unless the caller may do all that is denied. */
export async function requireMayRemoveDenials(ctx: PrincipalContext, groupId: string): Promise<void> {
  const { companyId, access } = ctx.actor;
  if (isAdministrator(access)) return;
  const found = await ctx.db.batch(grantReads(ctx.db, companyId, [groupId]));
  requireMayGrant(ctx.actor, accessFreedByRemoving(accessSources(companyId, false, found)));
}
