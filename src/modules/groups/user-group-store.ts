import { and, inArray, sql } from 'drizzle-orm';
import { isMembershipOfUser } from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { makeIdListSql, matchesUndeletedId } from '../../db/statements.ts';

/** Selects the ids of the given groups and of the groups of a user, for `in`. */
export const selectGivenAndUserGroupIds = (companyId: string, userId: string, groupIds: string[]) =>
  sql`(select value from json_each(${JSON.stringify(groupIds)}) union select ${groupBindings.groupId} from ${groupBindings} where ${isMembershipOfUser(companyId, userId)})`;

/**
 * Adds a user to groups, within the company's default account; deleted users and groups are skipped. @param bindings the groups,
 * each with the id of the new binding
 */
export const insertUserInGroups = (
  db: ControlDb,
  { companyId, userId, now }: { companyId: string; userId: string; now: number },
  bindings: { id: string; groupId: string }[],
) =>
  db
    .insert(groupBindings)
    .select(
      sql`select joining.value ->> 'id', ${companyId}, ${groups.id}, 'user', ${users.id}, ${accounts.id}, ${now}
        from json_each(${JSON.stringify(bindings)}) joining
        cross join ${groups} on ${groups.id} = joining.value ->> 'groupId' and ${groups.companyId} = ${companyId} and ${groups.deletedAt} is null
        cross join ${users} on ${matchesUndeletedId(users, companyId, userId)}
        cross join ${accounts} on ${accounts.companyId} = ${companyId} and ${accounts.isDefault} = 1 and ${accounts.deletedAt} is null
        where true`,
    )
    .onConflictDoNothing();

/** Removes a user from groups; bindings in accounts other than the default account stay. */
export const deleteUserFromGroups = (db: ControlDb, companyId: string, userId: string, groupIds: string[]) =>
  db
    .delete(groupBindings)
    .where(and(isMembershipOfUser(companyId, userId), inArray(groupBindings.groupId, makeIdListSql(groupIds))));
