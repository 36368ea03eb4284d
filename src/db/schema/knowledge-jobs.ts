import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { AiUsage } from '../../platform/ai.ts';
import { companyId, id, json, timestamp, timestamps } from '../columns.ts';
import type { BusinessDomain } from './knowledge-resources.ts';
import { RESOURCE_TYPES } from './knowledge-resources.ts';

/** The text that a job reads, stored in R2 until the job ends. */
export interface JobSource {
  key: string;
  /** The byte at which each batch begins, and at which the last one ends. */
  offsets: number[];
}

/** The input of a job, as it was when the job was started. */
export interface JobInput {
  businessDomains?: BusinessDomain[];
  connectionId?: string;
  /** Base name of the file that was sent. */
  fileName?: string;
  source?: JobSource;
}

export const JOB_TYPES = ['enrichment', 'concept_generation', 'ontology_generation'] as const;
export type JobType = (typeof JOB_TYPES)[number];

export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Jobs that ask the model, batch by batch. */
export const jobs = sqliteTable(
  'knowledge_jobs',
  {
    id: id(),
    companyId: companyId(),
    type: text('type', { enum: JOB_TYPES }).notNull(),
    targetType: text('target_type', { enum: RESOURCE_TYPES }).notNull(),
    targetIds: json<string[]>('target_ids').notNull(),
    status: text('status', { enum: JOB_STATUSES }).notNull(),
    /** The number of finished batches, which is the index of the next one, and of all batches. */
    processedCount: integer('processed_count').notNull(),
    totalCount: integer('total_count').notNull(),
    suggestionCount: integer('suggestion_count').notNull(),
    /** The number of candidates of the model that were not valid. */
    rejectedCount: integer('rejected_count').notNull(),
    /** The number of existing concepts that the model was not told of, the most of any batch. */
    conceptsNotSent: integer('concepts_not_sent').notNull().default(0),
    usage: json<AiUsage>('usage').notNull(),
    lastError: text('last_error'),
    input: json<JobInput>('input').notNull(),
    requestId: text('request_id').notNull(),
    createdByUserId: text('created_by_user_id').notNull(),
    /** The end of the lease under which a delivery has the job for itself. */
    leasedUntil: timestamp('leased_until'),
    /** Deliveries since the last finished batch. */
    attempts: integer('attempts').notNull(),
    endedAt: timestamp('ended_at'),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('knowledge_jobs_one_at_a_time')
      .on(table.companyId, table.type)
      .where(sql`status in ('queued', 'running') and type <> 'enrichment'`),
    index('knowledge_jobs_by_creation').on(table.companyId, table.type, table.createdAt, table.id, table.status),
    index('knowledge_jobs_in_work').on(table.updatedAt).where(sql`status in ('queued', 'running')`),
  ],
);
