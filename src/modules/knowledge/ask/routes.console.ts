import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { OUTCOMES } from '../../../db/schema/knowledge-questions.ts';
import { created, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { aiNotConfigured } from '../../../platform/ai-failures.ts';
import { tenantSqlFailures, userSqlFailures } from '../../../tenant-sql/failures.ts';
import { compileFailures } from '../metrics/failures.ts';
import { questionDuplicate, tooManyQuestions } from '../questions/failures.ts';
import { questionText } from '../questions/fields.ts';
import { questionRecord, viewQuestion } from '../questions/views.ts';
import { askedQuestionNotFound, askedTooOften, nothingToAccept, providerFailed } from './failures.ts';
import { acceptAsked, ask, listAsked } from './service.ts';
import { answerRecord, askedRecord, viewAnswer, viewAsked } from './views.ts';

const PATH = '/api/v1/domain-knowledge';

export const askEndpoints = [
  endpoint(
    {
      method: 'post',
      path: `${PATH}/ask`,
      access: 'semantic:list',
      operationId: 'askQuestion',
      summary: 'Ask a question',
      description:
        'Answers a question by a metric query: that of an equal verified question, or one that a model chooses over the active metrics and dimensions and the values that the data has. What it chose is validated, compiled and run as if the caller had sent it; what does not validate is refused. Needs `managed-tables:data-read` on each table that is read.',
      body: z
        .object({
          question: questionText,
          execute: z.boolean().default(true).meta({ description: 'Whether the query is run.' }),
        })
        .meta({ id: 'NewQuestion' }),
      returns: ok(answerRecord),
      fails: [
        aiNotConfigured,
        providerFailed,
        askedTooOften,
        ...compileFailures,
        ...tenantSqlFailures,
        ...userSqlFailures,
        concurrentChange,
      ],
    },
    async ({ ctx, body }) => viewAnswer(await ask(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/questions`,
      access: 'knowledge_reviews:list',
      operationId: 'listAskedQuestions',
      summary: 'List asked questions',
      description: 'What the people and programs of the company asked and what came of it, newest first; no results.',
      query: pages.extend({ kind: z.enum(OUTCOMES).optional() }),
      returns: ok(listOf(askedRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, ...filter } }) =>
      list(await listAsked(ctx, filter, { page, perPage }), viewAsked),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/questions/{id}/accept`,
      access: 'semantic:create',
      resource: 'none',
      operationId: 'acceptAskedQuestion',
      summary: 'Accept an asked question',
      description: 'Verifies it with the query that answered it.',
      returns: created(questionRecord),
      madeUnder: `${PATH}/verified-questions`,
      fails: [
        askedQuestionNotFound,
        nothingToAccept,
        questionDuplicate,
        tooManyQuestions,
        ...compileFailures,
        ...tenantSqlFailures,
      ],
    },
    async ({ ctx, params }) => viewQuestion(await acceptAsked(ctx, params.id)),
  ),
];
