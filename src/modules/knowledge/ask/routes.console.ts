import { z } from 'zod';
import { concurrentChange, quotaExceeded } from '../../../db/failures.ts';
import { OUTCOMES } from '../../../db/schema/knowledge-questions.ts';
import { created, ok } from '../../../http/endpoint.ts';
import { endpoint, listOf, pagesQuery, viewList } from '../../../http/surfaces/knowledge.ts';
import { aiNotConfigured } from '../../../platform/ai-failures.ts';
import { tenantSqlFailures, userSqlFailures } from '../../../tenant-sql/failures.ts';
import { compileFailures } from '../metrics/failures.ts';
import { questionDuplicate, tooManyQuestions } from '../questions/failures.ts';
import { questionText } from '../questions/question.ts';
import { questionRecord, viewQuestionFor } from '../questions/views.ts';
import { askedQuestionNotFound, askedTooOften, nothingToAccept, providerFailed } from './failures.ts';
import { acceptAskedQuestion, answerQuestion, listAskedQuestions } from './service.ts';
import { answerRecord, askedQuestionRecord, viewAnswer, viewAskedQuestion } from './views.ts';

const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';

export const askEndpoints = [
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/ask`,
      access: 'semantic:list',
      operationId: 'askQuestion',
      summary: 'Ask a question',
      safe: true,
      description:
        'Answers a question with a metric query: that of the same verified question, or one that an AI model builds from the active metrics and dimensions and the values in the data. The query is checked and run as if the caller had sent it; one that fails the check is not run. Needs `managed-tables:data-read` on each table that is read.',
      body: z
        .object({
          question: questionText,
          execute: z.boolean().default(true).meta({ description: 'Whether the query is run.' }),
        })
        .meta({ id: 'NewQuestion' }),
      returns: ok(answerRecord),
      fails: [
        quotaExceeded,
        aiNotConfigured,
        providerFailed,
        askedTooOften,
        ...compileFailures,
        ...tenantSqlFailures,
        ...userSqlFailures,
        concurrentChange,
      ],
    },
    async ({ ctx, body }) => viewAnswer(await answerQuestion(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/questions`,
      access: 'knowledge_reviews:list',
      operationId: 'listAskedQuestions',
      summary: 'List asked questions',
      description:
        'The questions that users and service accounts asked and how they were answered, without results. Newest first.',
      query: pagesQuery.extend({ kind: z.enum(OUTCOMES).optional() }),
      returns: ok(listOf(askedQuestionRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, ...filter } }) =>
      viewList(await listAskedQuestions(ctx, filter, { page, perPage }), viewAskedQuestion),
  ),
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/questions/{id}/accept`,
      access: 'semantic:create',
      resource: 'none',
      operationId: 'acceptAskedQuestion',
      summary: 'Accept an asked question',
      description: 'Creates a verified question from it, with the query that answered it.',
      returns: created(questionRecord),
      createdUnder: `${KNOWLEDGE_PATH}/verified-questions`,
      fails: [
        askedQuestionNotFound,
        nothingToAccept,
        questionDuplicate,
        tooManyQuestions,
        ...compileFailures,
        ...tenantSqlFailures,
      ],
    },
    async ({ ctx, params }) => viewQuestionFor(ctx)(await acceptAskedQuestion(ctx, params.id)),
  ),
];
