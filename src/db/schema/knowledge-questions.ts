import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { AiUsage } from '../../platform/ai.ts';
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
    /** The question as it is compared: see `makeQuestionKey`. */
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

/** The outcomes of a question; `failed` where there is no answer. */
export const OUTCOMES = ['answer', 'clarification', 'refusal', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Questions that were asked, and their outcomes; no results. */
export const askedQuestions = sqliteTable(
  'knowledge_asked_questions',
  {
    id: id(),
    companyId: companyId(),
    /** Counts the company's questions. */
    number: integer('number').notNull(),
    question: text('question').notNull(),
    askedBy: text('asked_by').notNull(),
    askedAt: timestamp('asked_at').notNull(),
    kind: text('kind', { enum: OUTCOMES }).notNull(),
    /** The query of an answer, by the fields of `metricQuery`. */
    query: json<Record<string, unknown>>('query'),
    explanation: text('explanation').notNull(),
    /** The verified question that answered it. */
    verifiedQuestionId: text('verified_question_id'),
    /** The verified question that it was accepted as. */
    acceptedAs: text('accepted_as'),
    /** The model that was asked; null where a verified question answered. */
    model: text('model'),
    usage: json<AiUsage>('usage').notNull(),
  },
  (table) => [
    index('knowledge_asked_questions_number').on(table.companyId, table.number),
    index('knowledge_asked_questions_by_time').on(table.companyId, table.askedAt, table.id, table.kind, table.askedBy),
    index('knowledge_asked_questions_by_age').on(table.askedAt),
  ],
);
