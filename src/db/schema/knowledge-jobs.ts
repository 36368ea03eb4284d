import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { AiUsage } from '../../platform/ai.ts';
import { jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';
import type { BusinessDomain } from './knowledge-resources.ts';
import { RESOURCE_TYPES } from './knowledge-resources.ts';

/** Text that a job reads, stored in R2 until the job ends. */
export interface JobSource {
  key: string;
  /** Offsets of the byte at which each batch begins, and of the end of the last batch. */
  offsets: number[];
}

/** Input of a job, as it was when the job was started. */
export interface JobInput {
  businessDomains?: BusinessDomain[];
  connectionId?: string;
  /** Base name of the uploaded file. */
  fileName?: string;
  source?: JobSource;
}

export const JOB_TYPES = ['enrichment', 'concept_generation', 'ontology_generation'] as const;
export type JobType = (typeof JOB_TYPES)[number];

export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Jobs that send requests to the model, batch by batch. */
export const jobs = sqliteTable(
  'knowledge_jobs',
  {
    ...ownedColumns(),
    type: text('type', { enum: JOB_TYPES }).notNull(),
    targetType: text('target_type', { enum: RESOURCE_TYPES }).notNull(),
    targetIds: jsonColumn<string[]>('target_ids').notNull(),
    status: text('status', { enum: JOB_STATUSES }).notNull(),
    /** Number of finished batches, which is the index of the next batch. */
    processedCount: integer('processed_count').notNull(),
    /** Number of all batches. */
    totalCount: integer('total_count').notNull(),
    suggestionCount: integer('suggestion_count').notNull(),
    /** Number of candidates from the model that were not valid. */
    rejectedCount: integer('rejected_count').notNull(),
    /** Number of existing concepts that did not fit into the model's prompt, the most of any batch. */
    conceptsNotSent: integer('concepts_not_sent').notNull().default(0),
    usage: jsonColumn<AiUsage>('usage').notNull(),
    lastError: text('last_error'),
    input: jsonColumn<JobInput>('input').notNull(),
    requestId: text('request_id').notNull(),
    createdByUserId: text('created_by_user_id').notNull(),
    /** End of the lease under which one delivery alone works on the job. */
    leasedUntil: timestampColumn('leased_until'),
    /** Number of deliveries since the last finished batch. */
    attempts: integer('attempts').notNull(),
    endedAt: timestampColumn('ended_at'),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('knowledge_jobs_one_at_a_time')
      .on(table.companyId, table.type)
      .where(sql`status in ('queued', 'running') and type <> 'enrichment'`),
    index('knowledge_jobs_by_creation').on(table.companyId, table.type, table.createdAt, table.id, table.status),
    index('knowledge_jobs_in_work').on(table.updatedAt).where(sql`status in ('queued', 'running')`),
  ],
);
