import {
  type AffectedPrincipals,
  commitAccess,
  makeAffectedEverybody,
  makeAffectedPrincipals,
} from '../../access/commit-access.ts';
import { findDeniedEverywhere } from '../../access/denials.ts';
import { requireMayGrant, toGrantsOfDenials } from '../../access/grants.ts';
import { selectGrants, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { groupNotFound, membersUnknown } from './failures.ts';
import { NAMES_ARE_UNIQUE } from './service.ts';
import { type Group, nameUnlessTaken, selectGroup, updateGroup } from './store.ts';
import {
  deleteUserMembers,
  insertUserMembers,
  selectKnownUsers,
  selectUserMembers,
  type UserMember,
} from './user-member-store.ts';

/** A group with the users in it on the console, by id, without those that the caller may not see. */
export interface GroupOfUsers {
  group: Group;
  members: UserMember[];
}

/** The changes of a group: fields that are left out stay. */
interface GroupChanges {
  name?: string;
  externalId?: string | null;
  /** Ids of all users who are to be in it. */
  userIds?: ReadonlySet<string>;
}

const NO_LIMIT = 1_000_000;

const readMembers = (ctx: PrincipalContext, groupIds: string[], most = NO_LIMIT) =>
  selectUserMembers(ctx.db, ctx.actor.companyId, { groupIds, denied: findDeniedEverywhere(ctx.actor, 'user') }, most);

/** The users in some groups that the caller may see, by group and id; at most `most`. */
export const listUserMembers = async (ctx: PrincipalContext, groupIds: string[], most: number) =>
  readMembers(ctx, groupIds, most);

/** A group with at most `most` of its users. */
export async function getGroupOfUsers(ctx: PrincipalContext, id: string, most?: number): Promise<GroupOfUsers> {
  const {
    group: [group],
    members,
  } = await readTogether(ctx.db, {
    group: selectGroup(ctx.db, ctx.actor.companyId, id),
    members: readMembers(ctx, [id], most),
  });
  if (!group) throw groupNotFound();
  return { group, members };
}

/**
 * Changes a group and its users, in one commit; nothing is written where nothing changes. Nobody adds anyone to a group that is
 * allowed more than they are, nor takes anyone from one that denies more. A new name is refused where another group has it in any
 * case.
 * @param changesOf asked again where others changed the group meanwhile
 */
export function changeGroupOfUsers(
  ctx: PrincipalContext,
  id: string,
  changesOf: (present: GroupOfUsers) => GroupChanges,
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
    const current = new Set(members.map((member) => member.id));
    const { userIds = current, ...named } = changesOf({ group, members });
    const entering = [...userIds].filter((each) => !current.has(each));
    const leaving = [...current].filter((each) => !userIds.has(each));
    const isRenamed = Object.entries(named).some(([field, value]) => group[field as keyof typeof named] !== value);
    if (entering.length + leaving.length === 0 && !isRenamed) return { group, members };

    const { name } = named;
    const changes =
      name === undefined || name === group.name ? named : { ...named, name: nameUnlessTaken({ companyId, id, name }) };
    await requireKnownUsers(ctx, entering);
    const sources = toAccessSources(companyId, false, grants);
    if (entering.length > 0) requireMayGrant(ctx.actor, sources);
    if (leaving.length > 0) requireMayGrant(ctx.actor, toGrantsOfDenials(sources));
    const { renamed, found, after } = await commitAccess(
      ctx,
      toAffectedPrincipals(companyId, [...entering, ...leaving]),
      {
        renamed: isRenamed ? [updateGroup(ctx.db, companyId, id, ctx.now(), changes)] : [],
        // Leaving comes first: what reaches one principal is bounded at every step.
        left: leaving.length === 0 ? [] : [deleteUserMembers(ctx.db, companyId, id, leaving)],
        entered: entering.length === 0 ? [] : [enterUsersStatement(ctx, id, entering)],
        found: selectGroup(ctx.db, companyId, id),
        after: readMembers(ctx, [id]),
      },
      NAMES_ARE_UNIQUE,
    );
    const isAsWanted =
      after.length === userIds.size &&
      after.every((member) => userIds.has(member.id)) &&
      renamed.every((rows) => rows.length > 0);
    return isAsWanted && found[0] ? { group: found[0], members: after } : undefined;
  });
}

/** @throws membersUnknown naming those that are no living users of the company, or that the caller may not see */
export async function requireKnownUsers(ctx: PrincipalContext, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const found = await selectKnownUsers(ctx.db, ctx.actor.companyId, ids, findDeniedEverywhere(ctx.actor, 'user'));
  const known = new Set(found.map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) throw membersUnknown(unknown.slice(0, MAX_NAMED_MEMBERS));
}

const MAX_NAMED_MEMBERS = 10;

/**
 * The maximum number of principals that a change of access names. A change of more is announced as one of everybody in the
 * company.
 */
const MAX_ANNOUNCED_PRINCIPALS = 100;

export const toAffectedPrincipals = (companyId: string, userIds: string[]): AffectedPrincipals =>
  userIds.length > MAX_ANNOUNCED_PRINCIPALS
    ? makeAffectedEverybody(companyId)
    : makeAffectedPrincipals(companyId, ...userIds);

export const enterUsersStatement = (ctx: PrincipalContext, groupId: string, userIds: string[]) =>
  insertUserMembers(
    ctx.db,
    { companyId: ctx.actor.companyId, groupId, now: ctx.now() },
    userIds.map((userId) => ({ id: ctx.newId(), userId })),
  );
