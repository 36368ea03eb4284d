import { z } from 'zod';
import { OUTCOMES } from '../../../db/schema/knowledge-questions.ts';
import { makeView } from '../../../http/wire.ts';
import { timestampSchema } from '../../../kernel/fields.ts';
import { metricQuery } from '../metrics/query.ts';
import { metricResult, usedItems, viewResult } from '../metrics/views.ts';
import { parseStoredQuery } from '../questions/question.ts';
import { usageView } from '../resources/views.ts';
import type { Answer } from './service.ts';
import type { AskedQuestionRow } from './store.ts';

const alternative = z.object({
  kind: z.enum(['query', 'metric', 'dimension', 'verified_question']),
  id: z.string().nullable().meta({ description: 'Null for a query.' }),
  name: z.string().meta({ description: 'The name; for a query, what it computes.' }),
  query: metricQuery.nullable(),
});

export const answerRecord = z
  .object({
    question_id: z.string().meta({ description: 'For `POST …/questions/{id}/accept`.' }),
    kind: z.enum(['answer', 'clarification', 'refusal']),
    query: metricQuery.nullable().meta({ description: 'The metric query that answers the question.' }),
    result: metricResult.nullable().meta({ description: 'Null where nothing was computed.' }),
    used: usedItems,
    verified_question_id: z.string().nullable().meta({ description: 'The verified question that answered it.' }),
    explanation: z.string().meta({
      description: 'What was computed, or why nothing was. Written from the query, never by a model.',
    }),
    alternatives: z.array(alternative).meta({
      description:
        'For a clarification, the queries that the question could mean; for a refusal, the metrics, dimensions and verified questions that exist.',
    }),
  })
  .meta({ id: 'Answer' });

const viewAnswerRecord = makeView(answerRecord);
export const viewAnswer = (answer: Answer) =>
  viewAnswerRecord({ ...answer, result: answer.result && viewResult(answer.result) });

export const askedQuestionRecord = z
  .object({
    _id: z.string(),
    question: z.string(),
    kind: z.enum(OUTCOMES).meta({ description: '`failed`: it could not be answered.' }),
    query: metricQuery.nullable(),
    explanation: z.string(),
    verified_question_id: z.string().nullable(),
    accepted_as: z.string().nullable().meta({ description: 'The verified question that it became.' }),
    asked_by: z.string().meta({ description: 'The user or service account.' }),
    asked_at: timestampSchema,
    model: z.string().nullable().meta({ description: 'The model that was asked, if any was.' }),
    usage: usageView,
  })
  .meta({ id: 'AskedQuestion' });

const viewAskedQuestionRecord = makeView(askedQuestionRecord);
export const viewAskedQuestion = (row: AskedQuestionRow) =>
  viewAskedQuestionRecord({ ...row, query: row.query && parseStoredQuery({ query: row.query }) });
