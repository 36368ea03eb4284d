import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { isDenied } from '../../access/denials.ts';
import type { AccessSources } from '../../access/evaluation.ts';
import { requireMayGrant, toGrantsOfDenials } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether, type Statement } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { idListSql } from '../../db/statements.ts';
import { selectGroupsOfUser, selectUser, shownGroups, type User, userNotFound } from '../users/service.ts';
import { groupNotFound } from './failures.ts';
import { joinGroups, leaveGroups, selectGroupsOrThoseOfUser } from './user-group-store.ts';

/** A user with the groups they are in on the console, without those that the caller may not see. */
export interface UserInGroups {
  user: User;
  groupIds: string[];
}

/** A change of a user's groups: those to enter, those to leave, and whether the groups found afterwards are as wanted. */
interface GroupChangePlan {
  enter: string[];
  leave: string[];
  fits(after: string[]): boolean;
}

/** Adds a user to groups. Nobody adds anyone, oneself included, to a group that is allowed more than they are. */
export const addUserToGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  changeUserGroups(ctx, userId, ids, () => ({ enter: ids, leave: [], fits: (after) => includesAll(after, ids) }));

/** Adds a user to these groups, and removes them from all others, but for those that the caller may not see. */
export const replaceUserGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  changeUserGroups(ctx, userId, ids, (current) => ({
    enter: ids,
    leave: current.filter((id) => !ids.includes(id) && !isHidden(ctx, id)),
    fits: (after) => includesAll(after, ids) && after.every((id) => ids.includes(id) || isHidden(ctx, id)),
  }));

/** Removes a user from groups; they need not be in all. The user may not gain permissions that the caller lacks. */
export const removeUserFromGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  changeUserGroups(ctx, userId, ids, (current) => ({
    enter: [],
    leave: current.filter((id) => ids.includes(id)),
    fits: (after) => !after.some((id) => ids.includes(id)),
  }));

/**
 * Checks that the caller may put people into these groups.
 * @returns the statement that puts a user into them
 */
export async function prepareJoining(ctx: PrincipalContext, ids: string[]): Promise<(userId: string) => Statement> {
  const { companyId } = ctx.actor;
  if (ids.length > 0) {
    const found = await readTogether(ctx.db, selectGrants(ctx.db, companyId, idListSql(ids)));
    const sources = toAccessSources(companyId, false, found);
    requireKnown(ctx, sources, ids);
    requireMayGrant(ctx.actor, sources);
  }
  return (userId) => prepareJoinStatement(ctx, userId, ids);
}

function changeUserGroups(
  ctx: PrincipalContext,
  userId: string,
  ids: string[],
  planOf: (current: string[]) => GroupChangePlan,
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
      grants: selectGrants(ctx.db, companyId, selectGroupsOrThoseOfUser(companyId, userId, ids)),
    });
    if (!user) throw userNotFound();
    const sources = toAccessSources(companyId, false, grants);
    requireKnown(ctx, sources, ids);
    const current = memberships.map(({ groupId }) => groupId);
    const { enter, leave, fits } = planOf(current);
    const joined = enter.filter((id) => !current.includes(id));
    requireMayGrant(ctx.actor, listGroupGrants(sources, joined));
    requireMayGrant(ctx.actor, toGrantsOfDenials(listGroupGrants(sources, leave)));
    // Exactly what was checked is written; what others changed meanwhile shows in what is found afterwards.
    // Leaving comes first: what reaches one principal is bounded at every step.
    const { found: after } = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
      left: leaveGroups(ctx.db, companyId, userId, leave),
      entered: prepareJoinStatement(ctx, userId, joined),
      found: selectGroupsOfUser(ctx.db, companyId, userId),
    });
    const groupIds = after.map(({ groupId }) => groupId);
    return fits(groupIds) ? { user, groupIds: shownGroups(ctx, after) } : undefined;
  });
}

const prepareJoinStatement = (ctx: PrincipalContext, userId: string, ids: string[]) =>
  joinGroups(
    ctx.db,
    { companyId: ctx.actor.companyId, userId, now: ctx.now() },
    ids.map((groupId) => ({ id: ctx.newId(), groupId })),
  );

/** Whether the caller may not see a group, which then counts as absent. */
const isHidden = ({ actor }: PrincipalContext, id: string): boolean => isDenied(actor, 'group', id);

function requireKnown(ctx: PrincipalContext, { groups }: AccessSources, ids: string[]): void {
  const unknown = ids.filter((id) => isHidden(ctx, id) || !groups.some((group) => group.id === id));
  if (unknown.length > 0) throw groupNotFound('group_ids', unknown);
}

const listGroupGrants = (sources: AccessSources, ids: string[]): AccessSources => ({
  ...sources,
  groups: sources.groups.filter(({ id }) => ids.includes(id)),
});

const includesAll = (ids: string[], wanted: string[]): boolean => wanted.every((id) => ids.includes(id));
