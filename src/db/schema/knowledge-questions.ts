import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, id, json, timestamp, timestamps } from '../columns.ts';

export const QUESTION_STATUSES = ['verified', 'stale', 'archived'] as const;
export type QuestionStatus = (typeof QUESTION_STATUSES)[number];

/** Questions with the metric query that somebody says answers them. */
export const verifiedQuestions = sqliteTable(
  'knowledge_verified_questions',
  {
    id: id(),
    companyId: companyId(),
    question: text('question').notNull(),
    /** The question as it is compared: see `questionKey`. */
    questionKey: text('question_key').notNull(),
    /** As it was sent, by the fields of `metricQuery`. */
    query: json<Record<string, unknown>>('query').notNull(),
    status: text('status', { enum: QUESTION_STATUSES }).notNull(),
    /** Why the query does not compile any more. */
    staleReason: text('stale_reason'),
    /** 1 when new; each change that people make adds 1. */
    version: integer('version').notNull(),
    verifiedBy: text('verified_by').notNull(),
    verifiedAt: timestamp('verified_at').notNull(),
    lastCheckedAt: timestamp('last_checked_at').notNull(),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('knowledge_verified_questions_living_key')
      .on(table.companyId, table.questionKey)
      .where(sql`status <> 'archived'`),
    index('knowledge_verified_questions_by_creation').on(table.companyId, table.createdAt, table.id, table.status),
  ],
);
