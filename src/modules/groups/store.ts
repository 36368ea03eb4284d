import { and, eq, getTableColumns, isNull, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../../db/schema/groups.ts';
import { policies } from '../../db/schema/policies.ts';
import { serviceAccounts } from '../../db/schema/service-accounts.ts';
import { users } from '../../db/schema/users.ts';
import { makeContainsSql, makeEqualsSql, makeNocaseSql } from '../../db/search.ts';
import { existsSql, insertWhen, matchesDeletion, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

export type Group = typeof groups.$inferSelect;
export type GroupBinding = typeof groupBindings.$inferSelect;

/** A group with its attachments and the number of its members: distinct principals, without denied ones. */
export interface GroupWithCounts extends Group {
  policyIds: string[];
  permissionIds: string[];
  memberCount: number;
}

/** The denied principals of each type. */
export type DeniedMembers = Record<GroupBinding['principalType'], Denials>;

/** Returns the conditions for bindings of principals that are not denied. */
const makeMembersNotDeniedConditions = (deniedMembers: DeniedMembers): (SQL | undefined)[] =>
  Object.entries(deniedMembers).map(([type, ofType]) => {
    const isPrincipalNotDenied = isNotDenied(groupBindings.principalId, ofType);
    return isPrincipalNotDenied && sql`(${groupBindings.principalType} <> ${type} or ${isPrincipalNotDenied})`;
  });

const parseIds = (text: string): string[] => JSON.parse(text);

const selectCounts = (deniedMembers: DeniedMembers) => ({
  policyIds:
    sql`(select json_group_array(${groupPolicies.policyId}) from ${groupPolicies} where ${eq(groupPolicies.groupId, groups.id)})`
      .mapWith(parseIds)
      .as('policy_ids'),
  permissionIds:
    sql`(select json_group_array(${groupPermissions.permissionId}) from ${groupPermissions} where ${eq(groupPermissions.groupId, groups.id)})`
      .mapWith(parseIds)
      .as('permission_ids'),
  memberCount:
    sql<number>`(select count(*) from (select distinct ${groupBindings.principalType}, ${groupBindings.principalId} from ${groupBindings} where ${and(eq(groupBindings.groupId, groups.id), ...makeMembersNotDeniedConditions(deniedMembers))}))`.as(
      'member_count',
    ),
});

/** Returns the SQL condition that the group of an id exists and is not deleted. */
export const isGroupNotDeleted = (companyId: string, id: string) =>
  existsSql(groups, matchesUndeletedId(groups, companyId, id));

/** Selects the group of an id unless it is deleted. */
export const selectGroup = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(groups)
    .where(matchesUndeletedId(groups, companyId, id));

/** Selects the group of an id unless it is deleted, with its attachments and the number of its members. */
export const selectGroupWithCounts = (db: ControlDb, companyId: string, id: string, deniedMembers: DeniedMembers) =>
  db
    .select({ ...getTableColumns(groups), ...selectCounts(deniedMembers) })
    .from(groups)
    .where(matchesUndeletedId(groups, companyId, id));

/** Selects the group of an id, deleted or not. */
export const selectGroupEvenDeleted = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(groups)
    .where(matchesId(groups, companyId, id));

/** SQL for the last time at which a group, or its user members, changed. */
export const CHANGED_WITH_MEMBERS_AT = sql<number>`max(${groups.updatedAt}, coalesce(${groups.membersChangedAt}, 0))`;

const ORDER_COLUMNS = {
  created_at: groups.createdAt,
  updated_at: groups.updatedAt,
  changed_with_members_at: CHANGED_WITH_MEMBERS_AT,
  name: groups.name,
  name_in_any_case: makeNocaseSql(groups.name),
  id: groups.id,
  external_id: groups.externalId,
};

/** The selection of groups for a list. */
export interface GroupFilter {
  deletionFilter: 'living' | 'all';
  /** Whether to leave out the groups that every new company has. */
  excludesGlobalGroups?: boolean;
  /** A part of the name. */
  search?: string;
  denials: Denials;
  /** The members that are not counted. */
  deniedMembers: DeniedMembers;
}

/** Reads a page of a company's groups. */
export const readGroups = (
  db: ControlDb,
  companyId: string,
  { deletionFilter, excludesGlobalGroups, search = '', denials, deniedMembers }: GroupFilter,
  page: PageRequest<keyof typeof ORDER_COLUMNS>,
) =>
  readPage(
    db,
    {
      table: groups,
      filter: and(
        eq(groups.companyId, companyId),
        matchesDeletion(groups, deletionFilter),
        excludesGlobalGroups ? eq(groups.isGlobal, false) : undefined,
        makeContainsSql([groups.name], search),
        isNotDenied(groups.id, denials),
      ) as SQL,
      extra: selectCounts(deniedMembers),
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

/** Reads a page of the groups that meet a condition, without counts. */
export const readGroupsWhere = (
  db: ControlDb,
  companyId: string,
  { condition, denials }: { condition: SQL | undefined; denials: Denials },
  page: PageRequest<keyof typeof ORDER_COLUMNS>,
) =>
  readPage(
    db,
    {
      table: groups,
      filter: and(
        eq(groups.companyId, companyId),
        isNull(groups.deletedAt),
        isNotDenied(groups.id, denials),
        condition,
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

/**
 * Returns the SQL value of the group's name; null, which the table rejects, if another group of the company that is not deleted
 * has it in any letter case. For directories, which compare names that way.
 */
export const makeNameUnlessTakenSql = ({ companyId, id, name }: Pick<Group, 'companyId' | 'id' | 'name'>): SQL => {
  const isSameName = makeEqualsSql(groups.name, name);
  const isTaken = existsSql(
    groups,
    eq(groups.companyId, companyId),
    isNull(groups.deletedAt),
    ne(groups.id, id),
    isSameName,
  );
  return sql`iif(${isTaken}, null, ${name})`;
};

/** Changes a group that is neither deleted nor global. */
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
    .where(and(matchesUndeletedId(groups, companyId, id), eq(groups.isGlobal, false)))
    .returning({ id: groups.id });

/** Deletes a group that is neither deleted nor global. */
export const softDeleteGroup = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ deletedAt: now, updatedAt: now })
    .where(and(matchesUndeletedId(groups, companyId, id), eq(groups.isGlobal, false)))
    .returning({ id: groups.id });

/**
 * Makes the statements that delete a group's memberships and attachments, in the batch that deletes it, so that a deleted group
 * keeps nothing in use.
 */
export const makeClearGroupStatements = (db: ControlDb, companyId: string, id: string) => {
  const isDeleted = sql`not ${isGroupNotDeleted(companyId, id)}`;
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

const isPrincipalNotDeleted = ({ companyId, principalType, principalId }: GroupBinding): SQL =>
  principalType === 'user'
    ? existsSql(users, matchesUndeletedId(users, companyId, principalId))
    : existsSql(serviceAccounts, matchesUndeletedId(serviceAccounts, companyId, principalId));

/** Stores a membership while group, principal and account are not deleted. */
export const insertBinding = (db: ControlDb, record: GroupBinding) =>
  insertWhen(
    db,
    groupBindings,
    record,
    and(
      isGroupNotDeleted(record.companyId, record.groupId),
      isPrincipalNotDeleted(record),
      existsSql(accounts, matchesUndeletedId(accounts, record.companyId, record.accountId)),
    ) as SQL,
  ).returning({ id: groupBindings.id });

/** The selection of a group's bindings for a list: of one account or of all, without denied principals. */
interface BindingFilter {
  companyId: string;
  groupId: string;
  accountId?: string;
  deniedMembers: DeniedMembers;
}

const isListedBinding = (filter: BindingFilter): SQL =>
  and(
    eq(groupBindings.companyId, filter.companyId),
    eq(groupBindings.groupId, filter.groupId),
    filter.accountId === undefined ? undefined : eq(groupBindings.accountId, filter.accountId),
    ...makeMembersNotDeniedConditions(filter.deniedMembers),
  ) as SQL;

/** Reads a page of a group's bindings. */
export const readBindings = (db: ControlDb, filter: BindingFilter, page: Omit<PageRequest, 'by'>) =>
  readPage(db, { table: groupBindings, filter: isListedBinding(filter) }, { ...page, by: groupBindings.createdAt });

const isBoundPrincipal = (table: typeof users | typeof serviceAccounts): SQL =>
  matchesId(table, sql`${groupBindings.companyId}`, sql`${groupBindings.principalId}`);
const MEMBER_EMAIL = sql<string | null>`(select ${users.email} from ${users}
  where ${groupBindings.principalType} = 'user' and ${isBoundPrincipal(users)})`;
const MEMBER_NAME = sql<string>`case ${groupBindings.principalType}
  when 'user' then (select ${users.name} from ${users} where ${isBoundPrincipal(users)})
  else (select ${serviceAccounts.name} from ${serviceAccounts} where ${isBoundPrincipal(serviceAccounts)}) end`;

/** Reads a page of a group's bindings with the principals, by name, else email. `search`: a part of either; empty for all. */
export const readMembersByName = (
  db: ControlDb,
  { search, ...filter }: BindingFilter & { search: string },
  page: { page: number; perPage: number },
) =>
  readPage(
    db,
    {
      table: groupBindings,
      filter: and(isListedBinding(filter), makeContainsSql([MEMBER_NAME, MEMBER_EMAIL], search)) as SQL,
      extra: { name: MEMBER_NAME.as('name'), email: MEMBER_EMAIL.as('email') },
    },
    { ...page, by: makeNocaseSql(sql`coalesce(nullif(${MEMBER_NAME}, ''), ${MEMBER_EMAIL})`), descending: false },
  );

/** Removes a binding that a list would show. A deleted group has no bindings. */
export const deleteBinding = (db: ControlDb, filter: BindingFilter, id: string) =>
  db
    .delete(groupBindings)
    .where(and(isListedBinding(filter), eq(groupBindings.id, id)))
    .returning({ id: groupBindings.id });

/** Attaches a policy while the group is not deleted, and the policy exists or is a managed one, which is defined in the code. */
export const attachPolicy = (
  db: ControlDb,
  attachment: { companyId: string; groupId: string; policyId: string },
  isManaged: boolean,
) =>
  insertWhen(
    db,
    groupPolicies,
    attachment,
    and(
      isGroupNotDeleted(attachment.companyId, attachment.groupId),
      isManaged ? undefined : existsSql(policies, matchesId(policies, attachment.companyId, attachment.policyId)),
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

/** Detaches a policy from a group. A deleted group has no policies. */
export const detachPolicy = (db: ControlDb, companyId: string, groupId: string, policyId: string) =>
  db
    .delete(groupPolicies)
    .where(isAttachment(companyId, groupId, policyId))
    .returning({ policyId: groupPolicies.policyId });
