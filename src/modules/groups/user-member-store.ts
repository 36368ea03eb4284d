import { and, asc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import { selectDefaultAccount } from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { makeIdListSql, matchesUndeletedId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

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

/**
 * Adds users to a group within the company's default account, unless they are deleted. `cross join` makes SQLite look up each
 * listed user, instead of scanning all users of the company.
 */
export const insertUserMembers = (
  db: ControlDb,
  { companyId, groupId, now }: { companyId: string; groupId: string; now: number },
  bindings: { id: string; userId: string }[],
) =>
  db
    .insert(groupBindings)
    .select(
      sql`select joining.value ->> 'id', ${companyId}, ${groups.id}, 'user', ${users.id}, ${accounts.id}, ${now}
        from json_each(${JSON.stringify(bindings)}) joining
        cross join ${groups} on ${matchesUndeletedId(groups, companyId, groupId)}
        cross join ${users} on ${users.id} = joining.value ->> 'userId' and ${users.companyId} = ${companyId} and ${users.deletedAt} is null
        cross join ${accounts} on ${accounts.companyId} = ${companyId} and ${accounts.isDefault} = 1 and ${accounts.deletedAt} is null
        where true`,
    )
    .onConflictDoNothing();

/** Removes users from a group; bindings in accounts other than the default account stay. */
export const deleteUserMembers = (db: ControlDb, companyId: string, groupId: string, userIds: string[]) =>
  db
    .delete(groupBindings)
    .where(and(isUserMembership(companyId, [groupId]), inArray(groupBindings.principalId, makeIdListSql(userIds))));
