import { and, eq, inArray, sql } from 'drizzle-orm';
import { isBindingOfPrincipal } from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { exists, idList, livingById } from '../../db/statements.ts';

const ofUser = (companyId: string, userId: string) =>
  isBindingOfPrincipal({ companyId, principalType: 'user', principalId: userId });

/** The ids of some groups and of those that a user is in, for `in`. */
export const thoseAndGroupsOfUser = (companyId: string, userId: string, groupIds: string[]) =>
  sql`(select value from json_each(${JSON.stringify(groupIds)}) union select ${groupBindings.groupId} from ${groupBindings} where ${ofUser(companyId, userId)})`;

/** A group for a user to be in. */
export interface Joining {
  /** Id of the new binding. */
  id: string;
  groupId: string;
  /** Whether the user may join it. Otherwise a binding is only added to one there is, in another account. */
  joins: boolean;
}

/** Adds a living user to living groups, within the company's default account. */
export const joinGroups = (
  db: ControlDb,
  { companyId, userId, now }: { companyId: string; userId: string; now: number },
  joinings: Joining[],
) =>
  db
    .insert(groupBindings)
    .select(
      sql`select joining.value ->> 'id', ${companyId}, ${groups.id}, 'user', ${users.id}, ${accounts.id}, ${now}
        from json_each(${JSON.stringify(joinings)}) joining
        cross join ${groups} on ${groups.id} = joining.value ->> 'groupId' and ${groups.companyId} = ${companyId} and ${groups.deletedAt} is null
        cross join ${users} on ${livingById(users, companyId, userId)}
        cross join ${accounts} on ${accounts.companyId} = ${companyId} and ${accounts.isDefault} = 1 and ${accounts.deletedAt} is null
        where joining.value ->> 'joins'
          or ${exists(groupBindings, ofUser(companyId, userId), eq(groupBindings.groupId, groups.id))}`,
    )
    .onConflictDoNothing();

/** Removes a user from groups, in every account. */
export const leaveGroups = (db: ControlDb, companyId: string, userId: string, groupIds: string[]) =>
  db.delete(groupBindings).where(and(ofUser(companyId, userId), inArray(groupBindings.groupId, idList(groupIds))));
