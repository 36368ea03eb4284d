import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

export const RESOURCE_TYPES = ['concept', 'semantic', 'ontology_node', 'ontology_relation'] as const;
export type ResourceType = (typeof RESOURCE_TYPES)[number];

export const STATUSES = ['draft', 'active', 'archived'] as const;
export type Status = (typeof STATUSES)[number];

/** Kinds of change that create a version. */
export const CHANGES = ['created', 'updated', 'archived', 'restored'] as const;
export type Change = (typeof CHANGES)[number];

/** Fields of a resource that people and models write, by their names in the API. */
export type Content = Record<string, unknown>;

export const VALIDATION_CODES = [
  'malformed',
  'unknown_table',
  'unknown_column',
  'does_not_compile',
  'nothing_to_compile_on',
  'not_checked',
] as const;
export type ValidationCode = (typeof VALIDATION_CODES)[number];

/** Validation error of a resource that does not prevent storing it. */
export interface ValidationError {
  /** Path of the field, such as `filters.1`. */
  field: string;
  code: ValidationCode;
  message: string;
}

/** Domain knowledge of a company. Data that differs between the types is in `content`. */
export const resources = sqliteTable(
  'knowledge_resources',
  {
    ...ownedColumns(),
    resourceType: text('resource_type', { enum: RESOURCE_TYPES }).notNull(),
    /** Key that is unique among the unarchived resources of a type: see `ResourceDefinition.makeUniqueKey`. */
    uniqueKey: text('unique_key').notNull(),
    /** Value that lists filter by: type of a concept, kind of a semantic item, type of a node, predicate of a relation. */
    facet: text('facet').notNull(),
    /** For a relation: id of the node that is its subject. */
    subjectId: text('subject_id'),
    /** For a relation: id of the node that is its object. */
    objectId: text('object_id'),
    status: text('status', { enum: STATUSES }).notNull(),
    content: jsonColumn<Content>('content').notNull(),
    /** Text that `search` searches: see `toSearchText`. */
    searchText: text('search_text').notNull(),
    validationErrors: jsonColumn<ValidationError[]>('validation_errors').notNull(),
    /** Version: 1 when new; each change that people make or accept adds 1. */
    version: integer('version').notNull(),
    /** Id of the suggestion that this version came from. */
    suggestionId: text('suggestion_id'),
    createdByUserId: text('created_by_user_id').notNull(),
    updatedByUserId: text('updated_by_user_id').notNull(),
    ...timestampColumns(),
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

/** All versions of resources, the current ones included. */
export const versions = sqliteTable(
  'knowledge_versions',
  {
    ...ownedColumns(),
    resourceId: text('resource_id').notNull(),
    version: integer('version').notNull(),
    change: text('change', { enum: CHANGES }).notNull(),
    status: text('status', { enum: STATUSES }).notNull(),
    content: jsonColumn<Content>('content').notNull(),
    changedByUserId: text('changed_by_user_id').notNull(),
    suggestionId: text('suggestion_id'),
    changedAt: timestampColumn('changed_at').notNull(),
  },
  (table) => [uniqueIndex('knowledge_versions_of_resource').on(table.companyId, table.resourceId, table.version)],
);

/** Area of a company's business, as its people name it. */
export interface BusinessDomain {
  /** Slug, unique in the company. */
  key: string;
  name: string;
  description: string;
}

/** All business domains of a company; they are written together. */
export const businessDomains = sqliteTable('knowledge_business_domains', {
  companyId: text('company_id').primaryKey(),
  domains: jsonColumn<BusinessDomain[]>('domains').notNull(),
  updatedAt: timestampColumn('updated_at').notNull(),
});
