import { and, eq, getTableColumns, isNull, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../../db/schema/groups.ts';
import { policies } from '../../db/schema/policies.ts';
import { serviceAccounts } from '../../db/schema/service-accounts.ts';
import { users } from '../../db/schema/users.ts';
import { containsSql, equalsInAnyCase, ignoreCase } from '../../db/search.ts';
import { byId, exists, insertWhen, livingById, matchesDeletion } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

export type Group = typeof groups.$inferSelect;
export type GroupBinding = typeof groupBindings.$inferSelect;

/** A group with its attachments and the number of its members: distinct principals, without those that are denied. */
export interface GroupWithCounts extends Group {
  policyIds: string[];
  permissionIds: string[];
  memberCount: number;
}

/** The principals of each type that are denied. */
export type DeniedMembers = Record<GroupBinding['principalType'], Denials>;

/** The conditions of bindings of principals that are not denied. */
const areMembersNotDenied = (denied: DeniedMembers): (SQL | undefined)[] =>
  Object.entries(denied).map(([type, ofType]) => {
    const isNamed = isNotDenied(groupBindings.principalId, ofType);
    return isNamed && sql`(${groupBindings.principalType} <> ${type} or ${isNamed})`;
  });

const parseIds = (text: string): string[] => JSON.parse(text);

const selectCounts = (denied: DeniedMembers) => ({
  policyIds:
    sql`(select json_group_array(${groupPolicies.policyId}) from ${groupPolicies} where ${eq(groupPolicies.groupId, groups.id)})`
      .mapWith(parseIds)
      .as('policy_ids'),
  permissionIds:
    sql`(select json_group_array(${groupPermissions.permissionId}) from ${groupPermissions} where ${eq(groupPermissions.groupId, groups.id)})`
      .mapWith(parseIds)
      .as('permission_ids'),
  memberCount:
    sql<number>`(select count(*) from (select distinct ${groupBindings.principalType}, ${groupBindings.principalId} from ${groupBindings} where ${and(eq(groupBindings.groupId, groups.id), ...areMembersNotDenied(denied))}))`.as(
      'member_count',
    ),
});

/** SQL condition, true while the group of an id exists. */
export const isGroupLiving = (companyId: string, id: string) => exists(groups, livingById(groups, companyId, id));

/** The living group of an id. */
export const selectGroup = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(groups)
    .where(livingById(groups, companyId, id));

/** The living group of an id, with its attachments and the number of its members. */
export const selectGroupWithCounts = (db: ControlDb, companyId: string, id: string, denied: DeniedMembers) =>
  db
    .select({ ...getTableColumns(groups), ...selectCounts(denied) })
    .from(groups)
    .where(livingById(groups, companyId, id));

/** The group of an id, living or deleted. */
export const selectGroupEvenDeleted = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(groups)
    .where(byId(groups, companyId, id));

/** SQL: when a group, or who of the users is in it, last changed. */
export const CHANGED_WITH_MEMBERS_AT = sql<number>`max(${groups.updatedAt}, coalesce(${groups.membersChangedAt}, 0))`;

const ORDER_COLUMNS = {
  created_at: groups.createdAt,
  updated_at: groups.updatedAt,
  changed_with_members_at: CHANGED_WITH_MEMBERS_AT,
  name: groups.name,
  name_in_any_case: ignoreCase(groups.name),
  id: groups.id,
  external_id: groups.externalId,
};

/** The groups that a list leaves out. */
export interface GroupFilter {
  which: 'living' | 'all';
  /** Leaves out the groups that every company is born with. */
  withoutGlobal?: boolean;
  /** Part of the name. */
  search?: string;
  denied: Denials;
  /** The members that are not counted. */
  deniedMembers: DeniedMembers;
}

/** A page of a company's groups. */
export const readGroups = (
  db: ControlDb,
  companyId: string,
  { which, withoutGlobal, search = '', denied, deniedMembers }: GroupFilter,
  page: PageRequest<keyof typeof ORDER_COLUMNS>,
) =>
  readPage(
    db,
    {
      table: groups,
      filter: and(
        eq(groups.companyId, companyId),
        matchesDeletion(groups, which),
        withoutGlobal ? eq(groups.isGlobal, false) : undefined,
        containsSql([groups.name], search),
        isNotDenied(groups.id, denied),
      ) as SQL,
      extra: selectCounts(deniedMembers),
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

/** A page of the groups that meet a condition, without counts. */
export const readGroupsWhere = (
  db: ControlDb,
  companyId: string,
  { where, denied }: { where: SQL | undefined; denied: Denials },
  page: PageRequest<keyof typeof ORDER_COLUMNS>,
) =>
  readPage(
    db,
    {
      table: groups,
      filter: and(
        eq(groups.companyId, companyId),
        isNull(groups.deletedAt),
        isNotDenied(groups.id, denied),
        where,
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

/**
 * SQL value: the group's name; null, which the table rejects, if another group of the company that is not deleted has it in any
 * letter case. For directories, which compare names that way.
 */
export const nameUnlessTaken = ({ companyId, id, name }: Pick<Group, 'companyId' | 'id' | 'name'>): SQL => {
  const isSame = equalsInAnyCase(groups.name, name);
  const isTaken = exists(groups, eq(groups.companyId, companyId), isNull(groups.deletedAt), ne(groups.id, id), isSame);
  return sql`iif(${isTaken}, null, ${name})`;
};

/** Changes a living group that is not global. */
export const updateGroup = (
  db: ControlDb,
  companyId: string,
  id: string,
  now: number,
  changes: Partial<Pick<Group, 'slug' | 'description' | 'externalId'>> & { name?: string | SQL },
) =>
  db
    .update(groups)
    .set({ ...changes, updatedAt: now })
    .where(and(livingById(groups, companyId, id), eq(groups.isGlobal, false)))
    .returning({ id: groups.id });

/** Deletes a living group that is not global. */
export const softDeleteGroup = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ deletedAt: now, updatedAt: now })
    .where(and(livingById(groups, companyId, id), eq(groups.isGlobal, false)))
    .returning({ id: groups.id });

/**
 * The statements that delete the memberships and attachments of a group, in the batch that deletes it, so that a deleted group
 * keeps nothing in use.
 */
export const clearGroup = (db: ControlDb, companyId: string, id: string) => {
  const isDeleted = sql`not ${isGroupLiving(companyId, id)}`;
  return [
    db
      .delete(groupBindings)
      .where(and(eq(groupBindings.companyId, companyId), eq(groupBindings.groupId, id), isDeleted)),
    db
      .delete(groupPolicies)
      .where(and(eq(groupPolicies.companyId, companyId), eq(groupPolicies.groupId, id), isDeleted)),
    db
      .delete(groupPermissions)
      .where(and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.groupId, id), isDeleted)),
  ] as const;
};

const isPrincipalLiving = ({ companyId, principalType, principalId }: GroupBinding): SQL =>
  principalType === 'user'
    ? exists(users, livingById(users, companyId, principalId))
    : exists(serviceAccounts, livingById(serviceAccounts, companyId, principalId));

/** Stores a membership while group, principal and account live. */
export const insertBinding = (db: ControlDb, record: GroupBinding) =>
  insertWhen(
    db,
    groupBindings,
    record,
    and(
      isGroupLiving(record.companyId, record.groupId),
      isPrincipalLiving(record),
      exists(accounts, livingById(accounts, record.companyId, record.accountId)),
    ) as SQL,
  ).returning({ id: groupBindings.id });

/** The bindings of a group that a list shows: of one account or of all, without those of principals that are denied. */
interface BindingFilter {
  companyId: string;
  groupId: string;
  accountId?: string;
  denied: DeniedMembers;
}

const isListedBinding = (of: BindingFilter): SQL =>
  and(
    eq(groupBindings.companyId, of.companyId),
    eq(groupBindings.groupId, of.groupId),
    of.accountId === undefined ? undefined : eq(groupBindings.accountId, of.accountId),
    ...areMembersNotDenied(of.denied),
  ) as SQL;

/** A page of a group's bindings. */
export const readBindings = (db: ControlDb, of: BindingFilter, page: Omit<PageRequest, 'by'>) =>
  readPage(db, { table: groupBindings, filter: isListedBinding(of) }, { ...page, by: groupBindings.createdAt });

const isBoundPrincipal = (table: typeof users | typeof serviceAccounts): SQL =>
  byId(table, sql`${groupBindings.companyId}`, sql`${groupBindings.principalId}`);
const MEMBER_EMAIL = sql<string | null>`(select ${users.email} from ${users}
  where ${groupBindings.principalType} = 'user' and ${isBoundPrincipal(users)})`;
const MEMBER_NAME = sql<string>`case ${groupBindings.principalType}
  when 'user' then (select ${users.name} from ${users} where ${isBoundPrincipal(users)})
  else (select ${serviceAccounts.name} from ${serviceAccounts} where ${isBoundPrincipal(serviceAccounts)}) end`;

/** A page of a group's bindings with who is bound, by name, else by email. `search` is a part of either; empty for all. */
export const readMembersByName = (
  db: ControlDb,
  { search, ...of }: BindingFilter & { search: string },
  page: { page: number; perPage: number },
) =>
  readPage(
    db,
    {
      table: groupBindings,
      filter: and(isListedBinding(of), containsSql([MEMBER_NAME, MEMBER_EMAIL], search)) as SQL,
      extra: { name: MEMBER_NAME.as('name'), email: MEMBER_EMAIL.as('email') },
    },
    { ...page, by: ignoreCase(sql`coalesce(nullif(${MEMBER_NAME}, ''), ${MEMBER_EMAIL})`), descending: false },
  );

/** Removes a binding. A deleted group has none. */
export const deleteBinding = (db: ControlDb, companyId: string, groupId: string, id: string) =>
  db
    .delete(groupBindings)
    .where(and(eq(groupBindings.companyId, companyId), eq(groupBindings.groupId, groupId), eq(groupBindings.id, id)))
    .returning({ id: groupBindings.id });

/** Attaches a policy while the group lives, and the policy exists or is a managed one, which lives in the code. */
export const attachPolicy = (
  db: ControlDb,
  of: { companyId: string; groupId: string; policyId: string },
  isManaged: boolean,
) =>
  insertWhen(
    db,
    groupPolicies,
    of,
    and(
      isGroupLiving(of.companyId, of.groupId),
      isManaged ? undefined : exists(policies, byId(policies, of.companyId, of.policyId)),
    ) as SQL,
  ).onConflictDoNothing();

const isAttachment = (companyId: string, groupId: string, policyId: string) =>
  and(
    eq(groupPolicies.companyId, companyId),
    eq(groupPolicies.groupId, groupId),
    eq(groupPolicies.policyId, policyId),
  ) as SQL;

export const selectAttachment = (db: ControlDb, companyId: string, groupId: string, policyId: string) =>
  db
    .select({ policyId: groupPolicies.policyId })
    .from(groupPolicies)
    .where(isAttachment(companyId, groupId, policyId));

/** Detaches a policy from a group. A deleted one has none. */
export const detachPolicy = (db: ControlDb, companyId: string, groupId: string, policyId: string) =>
  db
    .delete(groupPolicies)
    .where(isAttachment(companyId, groupId, policyId))
    .returning({ policyId: groupPolicies.policyId });
