import { sql } from 'drizzle-orm';
import { index, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';
import type { Content } from './knowledge-resources.ts';

export const EVIDENCE_SOURCES = ['text', 'catalog', 'concept', 'business_domain'] as const;

/** Evidence of a statement: words of a text, or a table and column. */
export interface Evidence {
  source: (typeof EVIDENCE_SOURCES)[number];
  /** Quoted words that the statement is based on. */
  quote: string | null;
  table: string | null;
  column: string | null;
}

export const TARGET_TYPES = [
  'concept',
  'concept_create',
  'semantic',
  'semantic_create',
  'ontology_node',
  'ontology_node_create',
  'ontology_relation',
  'ontology_relation_create',
] as const;
export type TargetType = (typeof TARGET_TYPES)[number];

export const SUGGESTION_STATUSES = ['pending', 'accepted', 'rejected', 'superseded'] as const;
export type SuggestionStatus = (typeof SUGGESTION_STATUSES)[number];

/** Changes that the model suggests and people review. */
export const suggestions = sqliteTable(
  'knowledge_suggestions',
  {
    ...ownedColumns(),
    targetType: text('target_type', { enum: TARGET_TYPES }).notNull(),
    /** Id of the resource to update; null for a creation. */
    targetId: text('target_id'),
    /** Version of the resource to update that the model read; null for a creation. */
    targetVersion: integer('target_version'),
    targetName: text('target_name').notNull(),
    /** Id of the concept that the suggestion comes from. */
    conceptId: text('concept_id'),
    conceptName: text('concept_name'),
    payload: jsonColumn<Content>('payload').notNull(),
    explanation: text('explanation').notNull(),
    evidence: jsonColumn<Evidence[]>('evidence').notNull(),
    confidence: real('confidence'),
    model: text('model').notNull(),
    promptVersion: text('prompt_version').notNull(),
    /** Status; `staged` until its job succeeds: nobody sees the suggestion until then. */
    status: text('status', { enum: ['staged', ...SUGGESTION_STATUSES] }).notNull(),
    requestId: text('request_id').notNull(),
    jobId: text('job_id'),
    /**
     * Key that is unique in a job, so that no candidate is stored twice; for imports, unique among the pending suggestions of
     * imports.
     */
    candidateKey: text('candidate_key'),
    reviewNote: text('review_note'),
    reviewedByUserId: text('reviewed_by_user_id'),
    reviewedAt: timestampColumn('reviewed_at'),
    /** Id of the resource that accepting the suggestion created or updated. */
    resourceId: text('resource_id'),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    index('knowledge_suggestions_by_creation').on(
      table.companyId,
      table.status,
      table.createdAt,
      table.id,
      table.targetType,
      table.jobId,
    ),
    uniqueIndex('knowledge_suggestions_of_job').on(table.jobId, table.candidateKey),
    uniqueIndex('knowledge_suggestions_of_import')
      .on(table.companyId, table.candidateKey)
      .where(sql`status = 'pending' and job_id is null`),
  ],
);
