import { and, inArray, sql } from 'drizzle-orm';
import { isMembershipOfUser } from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { idListSql, livingById } from '../../db/statements.ts';

/** The ids of some groups and of those that a user is in, for `in`. */
export const selectGroupsOrThoseOfUser = (companyId: string, userId: string, groupIds: string[]) =>
  sql`(select value from json_each(${JSON.stringify(groupIds)}) union select ${groupBindings.groupId} from ${groupBindings} where ${isMembershipOfUser(companyId, userId)})`;

/**
 * Adds a living user to living groups, within the company's default account.
 * @param joinings the groups, each with the id of the new binding
 */
export const joinGroups = (
  db: ControlDb,
  { companyId, userId, now }: { companyId: string; userId: string; now: number },
  joinings: { id: string; groupId: string }[],
) =>
  db
    .insert(groupBindings)
    .select(
      sql`select joining.value ->> 'id', ${companyId}, ${groups.id}, 'user', ${users.id}, ${accounts.id}, ${now}
        from json_each(${JSON.stringify(joinings)}) joining
        cross join ${groups} on ${groups.id} = joining.value ->> 'groupId' and ${groups.companyId} = ${companyId} and ${groups.deletedAt} is null
        cross join ${users} on ${livingById(users, companyId, userId)}
        cross join ${accounts} on ${accounts.companyId} = ${companyId} and ${accounts.isDefault} = 1 and ${accounts.deletedAt} is null
        where true`,
    )
    .onConflictDoNothing();

/** Removes a user from groups; bindings in other accounts than the default one stay. */
export const leaveGroups = (db: ControlDb, companyId: string, userId: string, groupIds: string[]) =>
  db
    .delete(groupBindings)
    .where(and(isMembershipOfUser(companyId, userId), inArray(groupBindings.groupId, idListSql(groupIds))));
