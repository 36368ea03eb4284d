import { sql } from 'drizzle-orm';
import { index, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { GroupRole } from '../../permissions/legacy.ts';
import {
  booleanColumn,
  companyId,
  deletedAtColumn,
  jsonColumn,
  ownedColumns,
  timestampColumn,
  timestampColumns,
} from '../columns.ts';

export const groups = sqliteTable(
  'groups',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull().default(''),
    /** True for the groups that every company is created with; they cannot be deleted. */
    isGlobal: booleanColumn('is_global').notNull().default(false),
    roles: jsonColumn<GroupRole[]>('roles').notNull(),
    /** Id of the group in the external directory that manages it. */
    externalId: text('external_id'),
    /** Time at which a user last entered or left the group; kept by triggers, as this does not change the group's version. */
    membersChangedAt: timestampColumn('members_changed_at'),
    ...timestampColumns(),
    deletedAt: deletedAtColumn(),
  },
  (table) => [
    uniqueIndex('groups_living_name').on(table.companyId, table.name).where(sql`deleted_at is null`),
    uniqueIndex('groups_living_slug').on(table.companyId, table.slug).where(sql`deleted_at is null`),
    uniqueIndex('groups_living_external_id')
      .on(table.companyId, table.externalId)
      .where(sql`external_id is not null and deleted_at is null`),
    index('groups_by_creation').on(table.companyId, table.createdAt, table.id, table.deletedAt),
    index('groups_by_update').on(table.companyId, table.updatedAt, table.id, table.deletedAt),
    index('groups_by_name').on(table.companyId, table.name, table.id, table.deletedAt),
  ],
);

/** A principal's membership in a group, within one account. */
export const groupBindings = sqliteTable(
  'group_bindings',
  {
    ...ownedColumns(),
    groupId: text('group_id').notNull(),
    principalType: text('principal_type', { enum: ['user', 'service_account'] }).notNull(),
    principalId: text('principal_id').notNull(),
    accountId: text('account_id').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('group_bindings_once').on(table.groupId, table.principalType, table.principalId, table.accountId),
    index('group_bindings_of_principal').on(table.principalId, table.accountId, table.groupId),
    // What is asked at each new membership: without it, of a group of thousands, all of the company's are read each time.
    index('group_bindings_of_member').on(table.companyId, table.principalId, table.principalType, table.groupId),
    index('group_bindings_by_creation').on(table.companyId, table.groupId, table.createdAt, table.id),
    index('group_bindings_of_account_by_creation').on(
      table.companyId,
      table.groupId,
      table.accountId,
      table.createdAt,
      table.id,
    ),
  ],
);

/** Policies attached to a group: a company's own, or a managed one (which lives in the code). */
export const groupPolicies = sqliteTable(
  'group_policies',
  { companyId: companyId(), groupId: text('group_id').notNull(), policyId: text('policy_id').notNull() },
  (table) => [
    primaryKey({ columns: [table.groupId, table.policyId] }),
    index('group_policies_of_policy').on(table.policyId, table.companyId),
  ],
);

/** Legacy permissions listed on a group. */
export const groupPermissions = sqliteTable(
  'group_permissions',
  { companyId: companyId(), groupId: text('group_id').notNull(), permissionId: text('permission_id').notNull() },
  (table) => [
    primaryKey({ columns: [table.groupId, table.permissionId] }),
    index('group_permissions_of_permission').on(table.permissionId),
  ],
);
