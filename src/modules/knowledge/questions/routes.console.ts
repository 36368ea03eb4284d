import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { QUESTION_STATUSES } from '../../../db/schema/knowledge-questions.ts';
import { created, declareVersion, noContent, ok } from '../../../http/endpoint.ts';
import { endpoint, listOf, pagesQuery, viewList } from '../../../http/surfaces/knowledge.ts';
import { tenantSqlFailures } from '../../../tenant-sql/failures.ts';
import { compileFailures } from '../metrics/failures.ts';
import { metricQuery } from '../metrics/query.ts';
import { searchQuery } from '../resources/fields.ts';
import { questionArchived, questionDuplicate, questionNotFound, tooManyQuestions } from './failures.ts';
import { questionText, toStoredQuery } from './question.ts';
import { archiveQuestion, changeQuestion, createQuestion, getQuestion, listQuestions } from './service.ts';
import { questionRecord, viewQuestionFor } from './views.ts';

const QUESTIONS_PATH = '/api/v1/domain-knowledge/verified-questions';

/** The maximum length of a question's query as JSON, in characters: each answer keeps a copy of it. */
const MAX_QUERY_LENGTH = 50_000;

const verifiedQuery = metricQuery.refine(
  (query) => JSON.stringify(toStoredQuery(query)).length <= MAX_QUERY_LENGTH,
  `must have at most ${MAX_QUERY_LENGTH} characters as JSON`,
);

const input = z.object({ question: questionText, query: verifiedQuery });
const questionPatch = input.partial().extend({
  status: z.enum(['verified', 'archived']).optional().meta({
    description:
      '`verified` restores an archived question and verifies a stale one again; `archived` does the same as DELETE and needs the permission to delete too.',
  }),
});

export const questionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: QUESTIONS_PATH,
      access: 'semantic:list',
      operationId: 'listVerifiedQuestions',
      summary: 'List verified questions',
      description:
        'Questions that are answered by a query that somebody has checked; archived ones only if `status` asks for them. Newest first.',
      query: pagesQuery.extend({
        search: searchQuery,
        status: z.enum(QUESTION_STATUSES).optional().meta({ description: 'All but archived ones when not sent.' }),
      }),
      returns: ok(listOf(questionRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, ...filter } }) =>
      viewList(await listQuestions(ctx, filter, { page, perPage }), viewQuestionFor(ctx)),
  ),
  endpoint(
    {
      method: 'post',
      path: QUESTIONS_PATH,
      access: 'semantic:create',
      operationId: 'createVerifiedQuestion',
      summary: 'Create a verified question',
      description:
        'Records that a metric query answers a question. When the question is asked again, ignoring case, accents and punctuation, that query answers it. The query must compile, has at most 50,000 characters as JSON, and is compiled again whenever semantic items or tables change.',
      body: input.meta({ id: 'NewVerifiedQuestion' }),
      exactNumbers: true,
      returns: created(questionRecord),
      fails: [questionDuplicate, tooManyQuestions, ...compileFailures, ...tenantSqlFailures],
    },
    async ({ ctx, body }) => viewQuestionFor(ctx)(await createQuestion(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${QUESTIONS_PATH}/{id}`,
      access: 'semantic:list',
      operationId: 'getVerifiedQuestion',
      summary: 'Get a verified question',
      description: 'With the metric query that answers it, also when it is archived.',
      returns: ok(questionRecord),
      versionDeclaration: declareVersion('last_checked_at'),
      fails: [questionNotFound],
    },
    async ({ ctx, params }) => viewQuestionFor(ctx)(await getQuestion(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${QUESTIONS_PATH}/{id}`,
      access: 'semantic:update',
      operationId: 'updateVerifiedQuestion',
      summary: 'Update a verified question',
      description:
        'Changes only the fields that are sent, and verifies the question again: its query must compile. To restore an archived question, send `status: verified`.',
      body: questionPatch.meta({ id: 'VerifiedQuestionChanges' }),
      changers: { verified_by: 'question' },
      exactNumbers: true,
      returns: ok(questionRecord),
      fails: [
        questionNotFound,
        questionArchived,
        questionDuplicate,
        tooManyQuestions,
        ...compileFailures,
        ...tenantSqlFailures,
        concurrentChange,
      ],
    },
    async ({ ctx, params, body }) => viewQuestionFor(ctx)(await changeQuestion(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${QUESTIONS_PATH}/{id}`,
      access: 'semantic:delete',
      operationId: 'archiveVerifiedQuestion',
      summary: 'Archive a verified question',
      description: 'It disappears from lists and no longer answers questions; it can be verified again.',
      returns: noContent,
      fails: [questionNotFound, concurrentChange],
    },
    ({ ctx, params }) => archiveQuestion(ctx, params.id),
  ),
];
