import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { idList } from '../../db/id-list.ts';
import { groupBindings } from '../../db/schema/groups.ts';

const ofUser = (companyId: string, userId: string) =>
  and(
    eq(groupBindings.companyId, companyId),
    eq(groupBindings.principalType, 'user'),
    eq(groupBindings.principalId, userId),
  ) as SQL;

/** The groups a user is in, whatever the account. */
export const selectGroupsOfUser = (db: ControlDb, companyId: string, userId: string) =>
  db
    .selectDistinct({ groupId: groupBindings.groupId })
    .from(groupBindings)
    .where(ofUser(companyId, userId))
    .orderBy(asc(groupBindings.groupId));

/** Some groups and those a user is in, for `in`. */
export const thoseAndGroupsOfUser = (companyId: string, userId: string, groupIds: string[]) =>
  sql`(select value from json_each(${JSON.stringify(groupIds)}) union select group_id from group_bindings where ${ofUser(companyId, userId)})`;

/** A group for a user to be in. */
export interface Joining {
  /** Id of the new binding. */
  id: string;
  groupId: string;
  /** Whether the user may join it. Otherwise a binding is only added to one there is, in another account. */
  joins: boolean;
}

/** Puts a living user into living groups, within the company's default account. */
export const joinGroups = (
  db: ControlDb,
  { companyId, userId, now }: { companyId: string; userId: string; now: number },
  joinings: Joining[],
) =>
  db
    .insert(groupBindings)
    .select(
      sql`select joining.value ->> 'id', ${companyId}, groups.id, 'user', users.id, accounts.id, ${now}
        from json_each(${JSON.stringify(joinings)}) joining
        join groups on groups.id = joining.value ->> 'groupId' and groups.company_id = ${companyId} and groups.deleted_at is null
        join users on users.id = ${userId} and users.company_id = ${companyId} and users.deleted_at is null
        join accounts on accounts.company_id = ${companyId} and accounts.is_default = 1 and accounts.deleted_at is null
        where joining.value ->> 'joins' or exists (
          select 1 from group_bindings known where known.company_id = ${companyId} and known.group_id = groups.id
            and known.principal_type = 'user' and known.principal_id = users.id)`,
    )
    .onConflictDoNothing();

/** Takes a user out of groups, in every account. */
export const leaveGroups = (db: ControlDb, companyId: string, userId: string, groupIds: string[]) =>
  db.delete(groupBindings).where(and(ofUser(companyId, userId), sql`${groupBindings.groupId} in ${idList(groupIds)}`));
