import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, id, json, moment, timestamps } from '../../../db/columns.ts';
import { CHANGES, type Content, RESOURCE_TYPES, STATUSES, type ValidationError } from './definition.ts';

/** Everything a company's knowledge consists of. What is particular to a type lies in `content`. */
export const resources = sqliteTable(
  'knowledge_resources',
  {
    id: id(),
    companyId: companyId(),
    resourceType: text('resource_type', { enum: RESOURCE_TYPES }).notNull(),
    /** What may exist once among the living of its type: see `Definition.keyOf`. */
    uniqueKey: text('unique_key').notNull(),
    /** What lists filter by: type of a concept, kind of a semantic item, type of a node, predicate of a relation. */
    facet: text('facet').notNull(),
    /** Nodes that a relation connects. */
    subjectId: text('subject_id'),
    objectId: text('object_id'),
    status: text('status', { enum: STATUSES }).notNull(),
    /** The members that people and models write. */
    content: json<Content>('content').notNull(),
    /** Text that `search` looks into: see `searchable`. */
    searchText: text('search_text').notNull(),
    validationErrors: json<ValidationError[]>('validation_errors').notNull(),
    /** Counts the changes that people made or accepted; 1 when new. */
    version: integer('version').notNull(),
    /** The suggestion that the present version came from. */
    suggestionId: text('suggestion_id'),
    createdByUserId: text('created_by_user_id').notNull(),
    updatedByUserId: text('updated_by_user_id').notNull(),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('knowledge_resources_living_key')
      .on(table.companyId, table.resourceType, table.uniqueKey)
      .where(sql`status <> 'archived'`),
    index('knowledge_resources_by_creation').on(
      table.companyId,
      table.resourceType,
      table.createdAt,
      table.id,
      table.status,
      table.facet,
    ),
    index('knowledge_resources_by_subject').on(table.companyId, table.subjectId),
    index('knowledge_resources_by_object').on(table.companyId, table.objectId),
  ],
);

/** Every version that a resource ever had, the present one included. */
export const versions = sqliteTable(
  'knowledge_versions',
  {
    id: id(),
    companyId: companyId(),
    resourceId: text('resource_id').notNull(),
    version: integer('version').notNull(),
    change: text('change', { enum: CHANGES }).notNull(),
    status: text('status', { enum: STATUSES }).notNull(),
    content: json<Content>('content').notNull(),
    changedByUserId: text('changed_by_user_id').notNull(),
    suggestionId: text('suggestion_id'),
    changedAt: moment('changed_at').notNull(),
  },
  (table) => [uniqueIndex('knowledge_versions_of_resource').on(table.companyId, table.resourceId, table.version)],
);
