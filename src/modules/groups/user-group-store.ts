import { and, asc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import { isMembershipOfUser, selectDefaultAccount } from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { type Condition, makeIdListSql } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

/** Selects the ids of the given groups and of the groups of a user, for `in`. */
export const selectGivenAndUserGroupIds = (companyId: string, userId: string, groupIds: string[]) =>
  sql`(select value from json_each(${JSON.stringify(groupIds)}) union select ${groupBindings.groupId} from ${groupBindings} where ${isMembershipOfUser(companyId, userId)})`;

/**
 * Adds users to groups, within the company's default account; deleted users and groups are skipped. `cross join` makes SQLite look
 * up each listed group and user, instead of scanning all of the company.
 * @param memberships id of the membership, of the group, of the user: short, as D1 binds no text over 2 MB, and a directory sends
 *   20,000 members at once
 */
export const insertMemberships = (
  db: ControlDb,
  { companyId, now }: { companyId: string; now: number },
  memberships: [id: string, groupId: string, userId: string][],
  condition: Condition = sql`true`,
) =>
  db
    .insert(groupBindings)
    .select(
      sql`select joining.value ->> 0, ${companyId}, ${groups.id}, 'user', ${users.id}, ${accounts.id}, ${now}
        from json_each(${JSON.stringify(memberships)}) joining
        cross join ${groups} on ${groups.id} = joining.value ->> 1 and ${groups.companyId} = ${companyId} and ${groups.deletedAt} is null
        cross join ${users} on ${users.id} = joining.value ->> 2 and ${users.companyId} = ${companyId} and ${users.deletedAt} is null
        cross join ${accounts} on ${accounts.companyId} = ${companyId} and ${accounts.isDefault} = 1 and ${accounts.deletedAt} is null
        where ${condition}`,
    )
    .onConflictDoNothing();

/** Removes a user from groups; bindings in accounts other than the default account stay. */
export const deleteUserFromGroups = (db: ControlDb, companyId: string, userId: string, groupIds: string[]) =>
  db
    .delete(groupBindings)
    .where(and(isMembershipOfUser(companyId, userId), inArray(groupBindings.groupId, makeIdListSql(groupIds))));

/** A user in a group on the console. */
export interface UserMember {
  groupId: string;
  id: string;
  name: string;
}

/** Returns the condition for memberships on the console: those in the company's default account. */
const isUserMembership = (companyId: string, groupIds: string[]): SQL =>
  and(
    eq(groupBindings.companyId, companyId),
    eq(groupBindings.accountId, selectDefaultAccount(companyId)),
    inArray(groupBindings.groupId, makeIdListSql(groupIds)),
    eq(groupBindings.principalType, 'user'),
  ) as SQL;

/** Selects the users in some groups, without denied users; at most `limit`. */
export const selectUserMembers = (
  db: ControlDb,
  companyId: string,
  { groupIds, denials }: { groupIds: string[]; denials: Denials },
  limit: number,
) =>
  db
    .select({ groupId: groupBindings.groupId, id: users.id, name: users.name })
    .from(groupBindings)
    .innerJoin(users, eq(users.id, groupBindings.principalId))
    .where(and(isUserMembership(companyId, groupIds), isNull(users.deletedAt), isNotDenied(users.id, denials)))
    .orderBy(asc(groupBindings.groupId), asc(users.id))
    .limit(limit);

/** Selects which of these ids are current users, without denied users. */
export const selectKnownUsers = (db: ControlDb, companyId: string, ids: string[], denials: Denials) =>
  db
    .select({ id: users.id })
    .from(users)
    .where(
      and(
        eq(users.companyId, companyId),
        inArray(users.id, makeIdListSql(ids)),
        isNull(users.deletedAt),
        isNotDenied(users.id, denials),
      ),
    );

/** Removes users from a group; bindings in accounts other than the default account stay. */
export const deleteUserMembers = (db: ControlDb, companyId: string, groupId: string, userIds: string[]) =>
  db
    .delete(groupBindings)
    .where(and(isUserMembership(companyId, [groupId]), inArray(groupBindings.principalId, makeIdListSql(userIds))));
