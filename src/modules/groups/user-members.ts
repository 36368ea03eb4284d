import {
  type AffectedPrincipals,
  commitAccess,
  makeAffectedEverybody,
  makeAffectedPrincipals,
} from '../../access/commit-access.ts';
import { findReadDenials } from '../../access/denials.ts';
import { requireMayGrant, toDenialGrants } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { groupNotFound, membersUnknown } from './failures.ts';
import { UNIQUE_NAME_FAILURES } from './service.ts';
import { type Group, makeNameUnlessTakenSql, selectGroup, updateGroup } from './store.ts';
import {
  deleteUserMembers,
  insertUserMembers,
  selectKnownUsers,
  selectUserMembers,
  type UserMember,
} from './user-member-store.ts';

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
        entered: addedIds.length === 0 ? [] : [makeAddUsersStatement(ctx, id, addedIds)],
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

/**
 * Throws unless all ids are those of users whom the caller may see.
 * @throws membersUnknown naming the ids that are not current users of the company, or that the caller may not see
 */
export async function requireKnownUsers(ctx: PrincipalContext, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const foundUsers = await selectKnownUsers(ctx.db, ctx.actor.companyId, ids, findReadDenials(ctx.actor, 'user'));
  const foundIds = new Set(foundUsers.map(({ id }) => id));
  const unknownIds = ids.filter((id) => !foundIds.has(id));
  if (unknownIds.length > 0) throw membersUnknown(unknownIds.slice(0, MAX_NAMED_MEMBERS));
}

const MAX_NAMED_MEMBERS = 10;

/**
 * The maximum number of principals that a change of access names. A change of more principals is announced as a change of
 * everybody in the company.
 */
const MAX_ANNOUNCED_PRINCIPALS = 100;

export const toAffectedPrincipals = (companyId: string, userIds: string[]): AffectedPrincipals =>
  userIds.length > MAX_ANNOUNCED_PRINCIPALS
    ? makeAffectedEverybody(companyId)
    : makeAffectedPrincipals(companyId, ...userIds);

export const makeAddUsersStatement = (ctx: PrincipalContext, groupId: string, userIds: string[]) =>
  insertUserMembers(
    ctx.db,
    { companyId: ctx.actor.companyId, groupId, now: ctx.now() },
    userIds.map((userId) => ({ id: ctx.newId(), userId })),
  );
