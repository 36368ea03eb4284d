import { and, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../../db/schema/groups.ts';

export type Group = typeof groups.$inferSelect;
export type GroupBinding = typeof groupBindings.$inferSelect;

/** A group with what is attached to it. `memberCount` counts distinct principals. */
export interface GroupWithCounts extends Group {
  policyIds: string[];
  permissionIds: string[];
  memberCount: number;
}

const ids = (text: string): string[] => JSON.parse(text);

const COUNTS = {
  policyIds: sql`(select json_group_array(policy_id) from group_policies where group_id = groups.id)`
    .mapWith(ids)
    .as('policy_ids'),
  permissionIds: sql`(select json_group_array(permission_id) from group_permissions where group_id = groups.id)`
    .mapWith(ids)
    .as('permission_ids'),
  memberCount:
    sql<number>`(select count(*) from (select distinct principal_type, principal_id from group_bindings where group_id = groups.id))`.as(
      'member_count',
    ),
};

const one = (companyId: string, id: string) => and(eq(groups.companyId, companyId), eq(groups.id, id)) as SQL;
const living = (companyId: string, id: string) => and(one(companyId, id), isNull(groups.deletedAt)) as SQL;

/** Holds while the group of an id lives. */
export const groupLives = (companyId: string, id: string) =>
  sql`exists (select 1 from groups where id = ${id} and company_id = ${companyId} and deleted_at is null)`;

export const insertGroup = (db: ControlDb, record: Group) => db.insert(groups).values(record);

/** Stores a group; its slug gets `suffix` when it is taken at that moment. */
export const insertGroupWithFreeSlug = (db: ControlDb, record: Group, suffix: string) => {
  const { companyId, slug } = record;
  const taken = sql`exists (select 1 from groups where company_id = ${companyId} and slug = ${slug} and deleted_at is null)`;
  return insertWhen(
    db,
    groups,
    { ...record, slug: sql`iif(${taken}, ${slug + suffix}, ${slug})` },
    sql`true`,
  ).returning();
};

/** The living group of an id. */
export const selectGroup = (db: ControlDb, companyId: string, id: string) =>
  db.select().from(groups).where(living(companyId, id));

/** The same with what is attached to it. */
export const selectGroupWithCounts = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({ ...getTableColumns(groups), ...COUNTS })
    .from(groups)
    .where(living(companyId, id));

/** The group of an id, living or deleted. */
export const selectGroupEvenDeleted = (db: ControlDb, companyId: string, id: string) =>
  db.select().from(groups).where(one(companyId, id));

const ORDER = { created_at: groups.createdAt, updated_at: groups.updatedAt, name: groups.name };

/** What a list of groups leaves out. */
export interface GroupFilter {
  which: 'living' | 'all';
  /** Leaves out the groups that every company is born with. */
  withoutGlobal?: boolean;
}

/** A page of a company's groups. */
export const readGroups = (
  db: ControlDb,
  companyId: string,
  { which, withoutGlobal }: GroupFilter,
  page: PageRequest<keyof typeof ORDER>,
) =>
  readPage(
    db,
    {
      table: groups,
      filter: and(
        eq(groups.companyId, companyId),
        which === 'all' ? undefined : isNull(groups.deletedAt),
        withoutGlobal ? eq(groups.isGlobal, false) : undefined,
      ) as SQL,
      extra: COUNTS,
    },
    { ...page, by: ORDER[page.by] },
  );

/** Changes a living group that is not global. */
export const updateGroup = (
  db: ControlDb,
  companyId: string,
  id: string,
  now: number,
  changes: Partial<Pick<Group, 'name' | 'slug' | 'description'>>,
) =>
  db
    .update(groups)
    .set({ ...changes, updatedAt: now })
    .where(and(living(companyId, id), eq(groups.isGlobal, false)))
    .returning({ id: groups.id });

/** Deletes a living group that is not global. */
export const softDeleteGroup = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ deletedAt: now, updatedAt: now })
    .where(and(living(companyId, id), eq(groups.isGlobal, false)))
    .returning({ id: groups.id });

/** What goes with a group in the batch that deletes it: memberships and attachments, so that nothing stays in use by it. */
export const clearGroup = (db: ControlDb, companyId: string, id: string) => {
  const isDeleted = sql`not ${groupLives(companyId, id)}`;
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

const principalLives = ({ companyId, principalType, principalId }: GroupBinding): SQL =>
  principalType === 'user'
    ? sql`exists (select 1 from users where id = ${principalId} and company_id = ${companyId} and deleted_at is null)`
    : sql`exists (select 1 from service_accounts where id = ${principalId} and company_id = ${companyId} and deleted_at is null)`;

/** Stores a membership while group, principal and account live. */
export const insertBinding = (db: ControlDb, record: GroupBinding) =>
  insertWhen(
    db,
    groupBindings,
    record,
    sql`${groupLives(record.companyId, record.groupId)} and ${principalLives(record)} and exists (select 1 from accounts where id = ${record.accountId} and company_id = ${record.companyId} and deleted_at is null)`,
  ).returning({ id: groupBindings.id });

/** A page of a group's bindings, of one account or of all. */
export const readBindings = (
  db: ControlDb,
  of: { companyId: string; groupId: string; accountId?: string },
  page: Omit<PageRequest, 'by'>,
) =>
  readPage(
    db,
    {
      table: groupBindings,
      filter: and(
        eq(groupBindings.companyId, of.companyId),
        eq(groupBindings.groupId, of.groupId),
        of.accountId === undefined ? undefined : eq(groupBindings.accountId, of.accountId),
      ) as SQL,
    },
    { ...page, by: groupBindings.createdAt },
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
) => {
  const exists = isManaged
    ? sql`true`
    : sql`exists (select 1 from policies where id = ${of.policyId} and company_id = ${of.companyId})`;
  return insertWhen(
    db,
    groupPolicies,
    of,
    sql`${groupLives(of.companyId, of.groupId)} and ${exists}`,
  ).onConflictDoNothing();
};

const attachment = (companyId: string, groupId: string, policyId: string) =>
  and(
    eq(groupPolicies.companyId, companyId),
    eq(groupPolicies.groupId, groupId),
    eq(groupPolicies.policyId, policyId),
  ) as SQL;

export const selectAttachment = (db: ControlDb, companyId: string, groupId: string, policyId: string) =>
  db
    .select({ policyId: groupPolicies.policyId })
    .from(groupPolicies)
    .where(attachment(companyId, groupId, policyId));

/** Detaches a policy from a group. A deleted one has none. */
export const detachPolicy = (db: ControlDb, companyId: string, groupId: string, policyId: string) =>
  db
    .delete(groupPolicies)
    .where(attachment(companyId, groupId, policyId))
    .returning({ policyId: groupPolicies.policyId });
