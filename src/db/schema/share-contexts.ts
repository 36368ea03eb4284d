import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { FilterPolicy } from '../../sharing/filter-policy.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import type { ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { companyId, jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

/** Share contexts: shared content of a company, with the people inside and outside who may see it. */
export const shareContexts = sqliteTable(
  'share_contexts',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull(),
    /** Number of changes to the grants: a change is applied only to the version for which the caller was authorized. */
    version: integer('version').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('share_contexts_slug').on(table.companyId, table.slug),
    index('share_contexts_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);

/** Dashboards and visualizations that a context shows, or showed when they were deleted. */
export const shareGrants = sqliteTable(
  'share_grants',
  {
    companyId: companyId(),
    contextId: text('context_id').notNull(),
    targetType: text('target_type').$type<TargetType>().notNull(),
    targetId: text('target_id').notNull(),
    /** Position among the context's grants. */
    position: integer('position').notNull(),
    filterPolicies: jsonColumn<FilterPolicy[]>('filter_policies').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.contextId, table.targetType, table.targetId] }),
    index('share_grants_of_target').on(table.companyId, table.targetType, table.targetId),
  ],
);

/** Members of contexts: users, groups and addresses to whom a context is shown. */
export const shareMembers = sqliteTable(
  'share_members',
  {
    ...ownedColumns(),
    contextId: text('context_id').notNull(),
    memberType: text('member_type', { enum: ['internal_user', 'group', 'external_email'] }).notNull(),
    /** Id of the user or group, or the email address in lower case. */
    subject: text('subject').notNull(),
    /** Attributes that decide which rows the member sees. */
    attributes: jsonColumn<ViewerAttributes>('attributes'),
    createdAt: timestampColumn('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('share_members_once').on(table.contextId, table.memberType, table.subject),
    index('share_members_of_subject').on(table.companyId, table.memberType, table.subject, table.contextId),
    index('share_members_by_creation').on(table.companyId, table.contextId, table.createdAt, table.id),
  ],
);

/** Outsiders: people who have signed in to the portal. Their sessions are stored with those of users. */
export const outsiders = sqliteTable(
  'outsiders',
  {
    ...ownedColumns(),
    /** Email address in lower case. */
    email: text('email').notNull(),
    status: text('status', { enum: ['active'] }).notNull(),
    createdAt: timestampColumn('created_at').notNull(),
    lastLoginAt: timestampColumn('last_login_at').notNull(),
  },
  (table) => [
    uniqueIndex('outsiders_email').on(table.companyId, table.email),
    index('outsiders_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);
