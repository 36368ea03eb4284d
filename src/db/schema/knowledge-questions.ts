import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { AiUsage } from '../../platform/ai.ts';
import { jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

export const QUESTION_STATUSES = ['verified', 'stale', 'archived'] as const;
export type QuestionStatus = (typeof QUESTION_STATUSES)[number];

/** Verified questions: people stated that the metric query answers the question. */
export const verifiedQuestions = sqliteTable(
  'knowledge_verified_questions',
  {
    ...ownedColumns(),
    question: text('question').notNull(),
    /** Question in the form by which questions are compared: see `makeQuestionKey`. */
    questionKey: text('question_key').notNull(),
    /** Metric query with its defaults filled in, by the fields of `metricQuery`; see `toStoredQuery`. */
    query: jsonColumn<Record<string, unknown>>('query').notNull(),
    status: text('status', { enum: QUESTION_STATUSES }).notNull(),
    /** Reason why the query does not compile any more. */
    staleReason: text('stale_reason'),
    /** Version: 1 when new; each change that people make adds 1. */
    version: integer('version').notNull(),
    verifiedBy: text('verified_by').notNull(),
    verifiedAt: timestampColumn('verified_at').notNull(),
    lastCheckedAt: timestampColumn('last_checked_at').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('knowledge_verified_questions_living_key')
      .on(table.companyId, table.questionKey)
      .where(sql`status <> 'archived'`),
    index('knowledge_verified_questions_by_creation').on(table.companyId, table.createdAt, table.id, table.status),
  ],
);

/** Outcomes of a question; `failed` if there is no answer. */
export const OUTCOMES = ['answer', 'clarification', 'refusal', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Questions that people asked, and their outcomes; results are not stored. */
export const askedQuestions = sqliteTable(
  'knowledge_asked_questions',
  {
    ...ownedColumns(),
    /** Sequence number of the question within the company. */
    number: integer('number').notNull(),
    question: text('question').notNull(),
    askedBy: text('asked_by').notNull(),
    askedAt: timestampColumn('asked_at').notNull(),
    kind: text('kind', { enum: OUTCOMES }).notNull(),
    /** Metric query of an answer, by the fields of `metricQuery`. */
    query: jsonColumn<Record<string, unknown>>('query'),
    explanation: text('explanation').notNull(),
    /** Id of the verified question whose query answered the asked question. */
    verifiedQuestionId: text('verified_question_id'),
    /** Id of the verified question that was created by accepting the asked question. */
    acceptedAs: text('accepted_as'),
    /** Model that answered; null if a verified question answered. */
    model: text('model'),
    usage: jsonColumn<AiUsage>('usage').notNull(),
  },
  (table) => [
    index('knowledge_asked_questions_number').on(table.companyId, table.number),
    index('knowledge_asked_questions_by_time').on(table.companyId, table.askedAt, table.id, table.kind, table.askedBy),
    index('knowledge_asked_questions_by_age').on(table.askedAt),
  ],
);
