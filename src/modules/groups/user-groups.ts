import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { isDenied } from '../../access/denials.ts';
import type { AccessSources } from '../../access/evaluation.ts';
import { requireMayGrant, toDenialGrants } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether, type Statement } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { makeIdListSql } from '../../db/statements.ts';
import { listVisibleGroups, selectGroupsOfUser, selectUser, type User, userNotFound } from '../users/service.ts';
import { groupNotFound } from './failures.ts';
import { deleteUserFromGroups, insertUserInGroups, selectGivenAndUserGroupIds } from './user-group-store.ts';

/** A user with their groups on the console, without groups hidden from the caller. */
export interface UserWithGroupIds {
  user: User;
  groupIds: string[];
}

/** A change of a user's groups: groups to join, groups to leave, and the check of the resulting groups. */
interface GroupChangePlan {
  joinIds: string[];
  leaveIds: string[];
  isExpectedResult(resultIds: string[]): boolean;
}

/** Adds a user to groups. No caller may add anyone, including oneself, to a group that is allowed more than the caller. */
export const addUserToGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserWithGroupIds> =>
  changeUserGroups(ctx, userId, ids, () => ({
    joinIds: ids,
    leaveIds: [],
    isExpectedResult: (resultIds) => includesAllIds(resultIds, ids),
  }));

/** Adds a user to these groups, and removes them from all other groups, except those hidden from the caller. */
export const replaceUserGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserWithGroupIds> =>
  changeUserGroups(ctx, userId, ids, (currentGroupIds) => ({
    joinIds: ids,
    leaveIds: currentGroupIds.filter((id) => !ids.includes(id) && !isGroupHidden(ctx, id)),
    isExpectedResult: (resultIds) =>
      includesAllIds(resultIds, ids) && resultIds.every((id) => ids.includes(id) || isGroupHidden(ctx, id)),
  }));

/**
 * Removes a user from groups; groups that the user is not in are ignored. The user may not gain permissions that the
 * caller lacks.
 */
export const removeUserFromGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserWithGroupIds> =>
  changeUserGroups(ctx, userId, ids, (currentGroupIds) => ({
    joinIds: [],
    leaveIds: currentGroupIds.filter((id) => ids.includes(id)),
    isExpectedResult: (resultIds) => !resultIds.some((id) => ids.includes(id)),
  }));

/** Checks that the caller may add users to these groups. @returns a function that makes the statement adding a user */
export async function prepareGroupJoin(ctx: PrincipalContext, ids: string[]): Promise<(userId: string) => Statement> {
  const { companyId } = ctx.actor;
  if (ids.length > 0) {
    const grantRows = await readTogether(ctx.db, selectGrants(ctx.db, companyId, makeIdListSql(ids)));
    const sources = toAccessSources(companyId, false, grantRows);
    requireKnownGroups(ctx, sources, ids);
    requireMayGrant(ctx.actor, sources);
  }
  return (userId) => makeJoinStatement(ctx, userId, ids);
}

function changeUserGroups(
  ctx: PrincipalContext,
  userId: string,
  ids: string[],
  makePlan: (currentGroupIds: string[]) => GroupChangePlan,
): Promise<UserWithGroupIds> {
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
    const { joinIds, leaveIds, isExpectedResult } = makePlan(currentGroupIds);
    const newlyJoinedIds = joinIds.filter((id) => !currentGroupIds.includes(id));
    requireMayGrant(ctx.actor, filterGroupGrants(sources, newlyJoinedIds));
    requireMayGrant(ctx.actor, toDenialGrants(filterGroupGrants(sources, leaveIds)));
    // Exactly what was checked is written; what others changed meanwhile shows in what is found afterwards.
    // Leaving comes first: what reaches one principal is bounded at every step.
    const { found: membershipsAfter } = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
      left: deleteUserFromGroups(ctx.db, companyId, userId, leaveIds),
      entered: makeJoinStatement(ctx, userId, newlyJoinedIds),
      found: selectGroupsOfUser(ctx.db, companyId, userId),
    });
    const groupIds = membershipsAfter.map(({ groupId }) => groupId);
    return isExpectedResult(groupIds) ? { user, groupIds: listVisibleGroups(ctx, membershipsAfter) } : undefined;
  });
}

const makeJoinStatement = (ctx: PrincipalContext, userId: string, ids: string[]) =>
  insertUserInGroups(
    ctx.db,
    { companyId: ctx.actor.companyId, userId, now: ctx.now() },
    ids.map((groupId) => ({ id: ctx.newId(), groupId })),
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
