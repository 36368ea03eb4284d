import {
  type AffectedPrincipals,
  commitAccess,
  makeAffectedEverybody,
  makeAffectedPrincipals,
} from '../../access/commit-access.ts';
import { findReadDenials, isDenied } from '../../access/denials.ts';
import type { AccessSources } from '../../access/evaluation.ts';
import { requireMayGrant, toDenialGrants } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether, type Statement } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { type Condition, makeIdListSql } from '../../db/statements.ts';
import {
  listVisibleGroups,
  selectGroupsOfUser,
  selectUser,
  type UserInGroups,
  userNotFound,
} from '../users/service.ts';
import { groupNotFound, membersUnknown } from './failures.ts';
import { UNIQUE_NAME_FAILURES } from './service.ts';
import { type Group, makeNameUnlessTakenSql, selectGroup, updateGroup } from './store.ts';
import {
  deleteUserFromGroups,
  deleteUserMembers,
  insertMemberships,
  selectGivenAndUserGroupIds,
  selectKnownUsers,
  selectUserMembers,
  type UserMember,
} from './user-group-store.ts';

/** A change of a user's groups: groups to join, groups to leave, and the check of the resulting groups. */
interface GroupChangePlan {
  groupIdsToJoin: string[];
  groupIdsToLeave: string[];
  isExpectedResult(resultIds: string[]): boolean;
}

/** Adds a user to groups. No caller may add anyone, including oneself, to a group that is allowed more than the caller. */
export const addUserToGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  changeUserGroups(ctx, userId, ids, () => ({
    groupIdsToJoin: ids,
    groupIdsToLeave: [],
    isExpectedResult: (resultIds) => includesAllIds(resultIds, ids),
  }));

/** Adds a user to these groups, and removes them from all other groups, except those hidden from the caller. */
export const replaceUserGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  changeUserGroups(ctx, userId, ids, (currentGroupIds) => ({
    groupIdsToJoin: ids,
    groupIdsToLeave: currentGroupIds.filter((id) => !ids.includes(id) && !isGroupHidden(ctx, id)),
    isExpectedResult: (resultIds) =>
      includesAllIds(resultIds, ids) && resultIds.every((id) => ids.includes(id) || isGroupHidden(ctx, id)),
  }));

/** Removes a user from those of the groups that they are in. They may not thereby gain what the caller may not do. */
export const removeUserFromGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  changeUserGroups(ctx, userId, ids, (currentGroupIds) => ({
    groupIdsToJoin: [],
    groupIdsToLeave: currentGroupIds.filter((id) => ids.includes(id)),
    isExpectedResult: (resultIds) => !resultIds.some((id) => ids.includes(id)),
  }));

/**
 * Checks that the caller may add users to these groups. @returns a function that makes the statement adding a user while a condition
 * holds
 */
export async function prepareGroupJoin(
  ctx: PrincipalContext,
  ids: string[],
): Promise<(userId: string, condition: Condition) => Statement> {
  const { companyId } = ctx.actor;
  if (ids.length > 0) {
    const grantRows = await readTogether(ctx.db, selectGrants(ctx.db, companyId, makeIdListSql(ids)));
    const sources = toAccessSources(companyId, false, grantRows);
    requireKnownGroups(ctx, sources, ids);
    requireMayGrant(ctx.actor, sources);
  }
  return (userId, condition) => makeJoinStatement(ctx, [userId], ids, condition);
}

function changeUserGroups(
  ctx: PrincipalContext,
  userId: string,
  ids: string[],
  makePlan: (currentGroupIds: string[]) => GroupChangePlan,
): Promise<UserInGroups> {
  const { companyId } = ctx.actor;
  return retryOnConcurrentChange(async () => {
    const {
      user: [user],
      memberships,
      grants,
    } = await readTogether(ctx.db, {
      user: selectUser(ctx.db, companyId, userId),
      memberships: selectGroupsOfUser(ctx.db, companyId, userId),
      grants: selectGrants(ctx.db, companyId, selectGivenAndUserGroupIds(companyId, userId, ids)),
    });
    if (!user) throw userNotFound();
    const sources = toAccessSources(companyId, false, grants);
    requireKnownGroups(ctx, sources, ids);
    const currentGroupIds = memberships.map(({ groupId }) => groupId);
    const { groupIdsToJoin, groupIdsToLeave, isExpectedResult } = makePlan(currentGroupIds);
    const newlyJoinedIds = groupIdsToJoin.filter((id) => !currentGroupIds.includes(id));
    requireMayGrant(ctx.actor, filterGroupGrants(sources, newlyJoinedIds));
    requireMayGrant(ctx.actor, toDenialGrants(filterGroupGrants(sources, groupIdsToLeave)));
    // Exactly what was checked is written; what others changed meanwhile shows in what is found afterwards.
    // Leaving comes first: what reaches one principal is bounded at every step.
    const { found: membershipsAfter } = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
      left: deleteUserFromGroups(ctx.db, companyId, userId, groupIdsToLeave),
      entered: makeJoinStatement(ctx, [userId], newlyJoinedIds),
      found: selectGroupsOfUser(ctx.db, companyId, userId),
    });
    const groupIds = membershipsAfter.map(({ groupId }) => groupId);
    return isExpectedResult(groupIds) ? { user, groupIds: listVisibleGroups(ctx, membershipsAfter) } : undefined;
  });
}

/** Makes the statement that adds all these users to all these groups, while `condition` holds. */
export const makeJoinStatement = (
  ctx: PrincipalContext,
  userIds: string[],
  groupIds: string[],
  condition?: Condition,
) =>
  insertMemberships(
    ctx.db,
    { companyId: ctx.actor.companyId, now: ctx.now() },
    userIds.flatMap((userId) => groupIds.map((groupId): [string, string, string] => [ctx.newId(), groupId, userId])),
    condition,
  );

/** Tells whether a group is hidden from the caller, so that it counts as absent. */
const isGroupHidden = ({ actor }: PrincipalContext, id: string): boolean => isDenied(actor, 'group', id);

function requireKnownGroups(ctx: PrincipalContext, { groups }: AccessSources, ids: string[]): void {
  const unknownIds = ids.filter((id) => isGroupHidden(ctx, id) || !groups.some((group) => group.id === id));
  if (unknownIds.length > 0) throw groupNotFound('group_ids', unknownIds);
}

const filterGroupGrants = (sources: AccessSources, ids: string[]): AccessSources => ({
  ...sources,
  groups: sources.groups.filter(({ id }) => ids.includes(id)),
});

const includesAllIds = (ids: string[], requiredIds: string[]): boolean => requiredIds.every((id) => ids.includes(id));

/** A group with its users on the console, by id, without users hidden from the caller. */
export interface GroupOfUsers {
  group: Group;
  members: UserMember[];
}

/** The changes of a group: omitted fields stay. */
interface GroupChanges {
  name?: string;
  externalId?: string | null;
  /** Ids of all users that the group will have. */
  userIds?: ReadonlySet<string>;
}

const NO_LIMIT = 1_000_000;

const readMembers = (ctx: PrincipalContext, groupIds: string[], limit = NO_LIMIT) =>
  selectUserMembers(ctx.db, ctx.actor.companyId, { groupIds, denials: findReadDenials(ctx.actor, 'user') }, limit);

/** Lists the users in some groups that the caller may see, by group and id; at most `limit`. */
export const listUserMembers = async (ctx: PrincipalContext, groupIds: string[], limit: number) =>
  readMembers(ctx, groupIds, limit);

/** Returns a group with at most `limit` of its users. */
export async function getGroupOfUsers(ctx: PrincipalContext, id: string, limit?: number): Promise<GroupOfUsers> {
  const {
    group: [group],
    members,
  } = await readTogether(ctx.db, {
    group: selectGroup(ctx.db, ctx.actor.companyId, id),
    members: readMembers(ctx, [id], limit),
  });
  if (!group) throw groupNotFound();
  return { group, members };
}

/**
 * Changes a group and its users, in one commit; nothing is written where nothing changes. No caller may add anyone to a group
 * that is allowed more than the caller, nor remove anyone from a group that denies something which the caller may not do. A new
 * name is refused where another group has it in any case. @param makeChanges called again where the group changed concurrently
 */
export function changeGroupOfUsers(
  ctx: PrincipalContext,
  id: string,
  makeChanges: (currentGroup: GroupOfUsers) => GroupChanges,
): Promise<GroupOfUsers> {
  const { companyId } = ctx.actor;
  return retryOnConcurrentChange(async () => {
    const {
      group: [group],
      members,
      grants,
    } = await readTogether(ctx.db, {
      group: selectGroup(ctx.db, companyId, id),
      members: readMembers(ctx, [id]),
      grants: selectGrants(ctx.db, companyId, [id]),
    });
    if (!group) throw groupNotFound();
    const currentIds = new Set(members.map((member) => member.id));
    const { userIds = currentIds, ...named } = makeChanges({ group, members });
    const addedIds = [...userIds].filter((userId) => !currentIds.has(userId));
    const removedIds = [...currentIds].filter((userId) => !userIds.has(userId));
    const isRenamed = Object.entries(named).some(([field, value]) => group[field as keyof typeof named] !== value);
    if (addedIds.length + removedIds.length === 0 && !isRenamed) return { group, members };

    const { name } = named;
    const changes =
      name === undefined || name === group.name
        ? named
        : { ...named, name: makeNameUnlessTakenSql({ companyId, id, name }) };
    await requireKnownUsers(ctx, addedIds);
    const sources = toAccessSources(companyId, false, grants);
    if (addedIds.length > 0) requireMayGrant(ctx.actor, sources);
    if (removedIds.length > 0) requireMayGrant(ctx.actor, toDenialGrants(sources));
    const { renamed, found, after } = await commitAccess(
      ctx,
      toAffectedPrincipals(companyId, [...addedIds, ...removedIds]),
      {
        renamed: isRenamed ? [updateGroup(ctx.db, companyId, id, ctx.now(), changes)] : [],
        // Leaving comes first: what reaches one principal is bounded at every step.
        left: removedIds.length === 0 ? [] : [deleteUserMembers(ctx.db, companyId, id, removedIds)],
        entered: addedIds.length === 0 ? [] : [makeJoinStatement(ctx, addedIds, [id])],
        found: selectGroup(ctx.db, companyId, id),
        after: readMembers(ctx, [id]),
      },
      UNIQUE_NAME_FAILURES,
    );
    const isAsRequested =
      after.length === userIds.size &&
      after.every((member) => userIds.has(member.id)) &&
      renamed.every((rows) => rows.length > 0);
    return isAsRequested && found[0] ? { group: found[0], members: after } : undefined;
  });
}

/** Throws unless all are users whom the caller may see. @throws membersUnknown naming those that are no users, or are hidden */
export async function requireKnownUsers(ctx: PrincipalContext, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const foundUsers = await selectKnownUsers(ctx.db, ctx.actor.companyId, ids, findReadDenials(ctx.actor, 'user'));
  const foundIds = new Set(foundUsers.map(({ id }) => id));
  const unknownIds = ids.filter((id) => !foundIds.has(id));
  if (unknownIds.length > 0) throw membersUnknown(unknownIds.slice(0, MAX_NAMED_MEMBERS));
}

const MAX_NAMED_MEMBERS = 10;

/** The maximum number of principals that a change of access names: one of more is announced as one of everybody. */
const MAX_ANNOUNCED_PRINCIPALS = 100;

export const toAffectedPrincipals = (companyId: string, userIds: string[]): AffectedPrincipals =>
  userIds.length > MAX_ANNOUNCED_PRINCIPALS
    ? makeAffectedEverybody(companyId)
    : makeAffectedPrincipals(companyId, ...userIds);
