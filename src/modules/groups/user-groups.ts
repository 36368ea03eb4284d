import type { AccessSources } from '../../access/evaluation.ts';
import { accessFreedByRemoving, requireMayGrant } from '../../access/grants.ts';
import { accessSources, grantReads } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit, type Statement } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/concurrent-change.ts';
import { idList } from '../../db/id-list.ts';
import { selectUser, type User, userNotFound } from '../users/service.ts';
import { groupNotFound } from './failures.ts';
import { joinGroups, leaveGroups, selectGroupsOfUser, thoseAndGroupsOfUser } from './user-group-store.ts';

/** A user with the groups they are in, whatever the account. */
export interface UserInGroups {
  user: User;
  groupIds: string[];
}

/** What becomes of a user's groups: those to be in, those to leave, and whether the groups found afterwards fit. */
interface Plan {
  enter: string[];
  leave: string[];
  fits(after: string[]): boolean;
}

/**
 * Puts a user into more groups. Nobody puts anyone, oneself included, into a group that may do more than they.
 * @throws Failure `user.not_found`, `group.not_found`, `access.grant_exceeds`
 */
export const addUserToGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  change(ctx, userId, ids, () => ({ enter: ids, leave: [], fits: (after) => holdsAll(after, ids) }));

/** Puts a user into these groups, and takes them out of all others. @throws Failure as the two beside it */
export const replaceUserGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  change(ctx, userId, ids, (current) => ({
    enter: ids,
    leave: current.filter((id) => !ids.includes(id)),
    fits: (after) => holdsAll(after, ids) && holdsAll(ids, after),
  }));

/**
 * Takes a user out of groups; they need not be in all of them. What a group denied is lifted thereby.
 * @throws Failure `user.not_found`, `group.not_found`, `access.grant_exceeds`
 */
export const removeUserFromGroups = (ctx: PrincipalContext, userId: string, ids: string[]): Promise<UserInGroups> =>
  change(ctx, userId, ids, (current) => ({
    enter: [],
    leave: current.filter((id) => ids.includes(id)),
    fits: (after) => !after.some((id) => ids.includes(id)),
  }));

/**
 * Checks that the caller may put people into these groups.
 * @returns the statement that puts a user into them
 * @throws Failure `group.not_found`, `access.grant_exceeds`
 */
export async function prepareJoining(ctx: PrincipalContext, ids: string[]): Promise<(userId: string) => Statement> {
  const { companyId } = ctx.actor;
  if (ids.length > 0) {
    const found = await ctx.db.batch(grantReads(ctx.db, companyId, idList(ids)));
    const sources = accessSources(companyId, false, found);
    requireKnown(sources, ids);
    requireMayGrant(ctx.actor, sources);
  }
  return (userId) => enterStatement(ctx, userId, ids, []);
}

function change(
  ctx: PrincipalContext,
  userId: string,
  ids: string[],
  planOf: (current: string[]) => Plan,
): Promise<UserInGroups> {
  const { companyId } = ctx.actor;
  return retryOnConcurrentChange(async () => {
    const [[user], memberships, ...found] = await ctx.db.batch([
      selectUser(ctx.db, companyId, userId),
      selectGroupsOfUser(ctx.db, companyId, userId),
      ...grantReads(ctx.db, companyId, thoseAndGroupsOfUser(companyId, userId, ids)),
    ]);
    if (!user) throw userNotFound();
    const sources = accessSources(companyId, false, found);
    requireKnown(sources, ids);
    const current = memberships.map(({ groupId }) => groupId);
    const { enter, leave, fits } = planOf(current);
    const joined = enter.filter((id) => !current.includes(id));
    requireMayGrant(ctx.actor, only(sources, joined));
    requireMayGrant(ctx.actor, accessFreedByRemoving(only(sources, leave)));
    // Exactly what was checked is written; what others changed meanwhile shows in what is found afterwards.
    // Leaving comes first: what reaches one principal is bounded at every step.
    const [, , after] = await commit(ctx.db, [
      leaveGroups(ctx.db, companyId, userId, leave),
      enterStatement(ctx, userId, enter, current),
      selectGroupsOfUser(ctx.db, companyId, userId),
    ]);
    const groupIds = after.map(({ groupId }) => groupId);
    return fits(groupIds) ? { user, groupIds } : undefined;
  });
}

/** Those of `ids` that are among `current` only get a binding of the default account beside the one they have. */
function enterStatement(ctx: PrincipalContext, userId: string, ids: string[], current: string[]) {
  const { companyId } = ctx.actor;
  const joinings = ids.map((groupId) => ({ id: ctx.newId(), groupId, joins: !current.includes(groupId) }));
  return joinGroups(ctx.db, { companyId, userId, now: ctx.now() }, joinings);
}

function requireKnown({ groups }: AccessSources, ids: string[]): void {
  const unknown = ids.filter((id) => !groups.some((group) => group.id === id));
  if (unknown.length > 0) throw groupNotFound('group_ids', unknown);
}

const only = (sources: AccessSources, ids: string[]): AccessSources => ({
  ...sources,
  groups: sources.groups.filter(({ id }) => ids.includes(id)),
});

const holdsAll = (ids: string[], wanted: string[]): boolean => wanted.every((id) => ids.includes(id));
