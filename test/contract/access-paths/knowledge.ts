import type { Action } from '../../../src/permissions/actions.ts';
import { REFUSAL } from '../../knowledge/ask/support.ts';
import { createModel, makeProposal } from '../../knowledge/model.ts';
import { createQuestion, createSumMetric, QUESTIONS_PATH } from '../../knowledge/questions/support.ts';
import { createSuggestion, SUGGESTIONS_PATH } from '../../knowledge/suggesting.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../../knowledge/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import type { Company } from '../../support/companies.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createTestQueue } from '../../uploads/support.ts';
import {
  type AccessPath,
  type AccessTarget,
  type ActionPattern,
  makeDeleteRequest,
  makeGetRequest,
  makePatchRequest,
  makePostRequest,
  makeResourceArn,
} from './access-path.ts';
import { hasToolAnswered, makeToolCall } from './tables.ts';

/** The status of created resources: an export leaves out drafts. */
const status = 'active';

/** For each kind of knowledge, the action that a GET checks, and a function that creates a resource. */
const KINDS = {
  concept: {
    readAction: 'concepts:get',
    createResource: (as: Caller, name: string) => createConcept(as, { name, status }),
  },
  item: { readAction: 'semantic:list', createResource: (as: Caller, name: string) => createItem(as, { name, status }) },
  node: { readAction: 'ontology:list', createResource: (as: Caller, name: string) => createNode(as, { name, status }) },
  relation: {
    readAction: 'ontology:list',
    async createResource(as: Caller, predicate: string) {
      const id = await createRelation(
        as,
        await createNode(as, { status }),
        predicate,
        await createNode(as, { status }),
      );
      await expectSuccess(as.patch(`${KNOWLEDGE_PATH}/ontology/relations/${id}`, { json: { status } }));
      return id;
    },
  },
} as const satisfies Record<
  string,
  { readAction: Action; createResource: (as: Caller, name: string) => Promise<string> }
>;
type KnowledgeKind = keyof typeof KINDS;
const ALL_KINDS = Object.keys(KINDS) as KnowledgeKind[];

/** Makes an access path to a knowledge resource that is open by default, and that a Deny closes. */
const makeKnowledgePath = (
  knowledgeKind: KnowledgeKind,
  label: string,
  route: string,
  otherActions: ActionPattern[],
  makeRequest: (company: Company, id: string, name: string) => Promise<AccessTarget['ask']>,
): AccessPath => ({
  resourceTitle: knowledgeKind,
  description: label,
  routes: [route],
  extraActions: otherActions,
  closingActions: [KINDS[knowledgeKind].readAction],
  async createTarget(company) {
    const name = makeName('matrix').replace(' ', '-');
    const id = await KINDS[knowledgeKind].createResource(company.as, name);
    return { arn: makeResourceArn(company, knowledgeKind, id), ask: await makeRequest(company, id, name) };
  },
});

/** Makes an access path through a request for a suggestion, to a model that answers with a proposal. */
const makeSuggestionPath = (
  knowledgeKind: KnowledgeKind,
  path: string,
  makePayload: () => Record<string, unknown>,
): AccessPath =>
  makeKnowledgePath(
    knowledgeKind,
    `sent to the model by ${path.split('/').at(-1)}`,
    `POST ${SUGGESTIONS_PATH}/${path}`,
    ['knowledge_reviews:generate'],
    async (_, id) => async (as) => {
      const { env } = await createModel(makeProposal(makePayload()));
      return as.post(`${SUGGESTIONS_PATH}/${path.replace('{id}', id)}`, { env });
    },
  );
const makePayload = () => ({ description: 'Better.' });

const TARGET_TYPES = { concept: 'concept', item: 'semantic', node: 'ontology_node', relation: 'ontology_relation' };
const makeEnrichRequest = (knowledgeKind: KnowledgeKind, id: string) => async (as: Caller) => {
  const { env } = await createModel();
  const heldQueueEnv = { ...env, MODEL_JOBS: createTestQueue().env.JOBS } as unknown as Record<string, string>;
  const json = { target_type: TARGET_TYPES[knowledgeKind], target_ids: [id] };
  return as.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env: heldQueueEnv });
};

/** Makes the access paths to a concept and to the suggestion about it, through a review of the suggestion. */
const makeReviewPaths = (
  label: string,
  route: string,
  makeRequest: (suggestion: string) => AccessTarget['ask'],
  isReached?: (answer: ApiResponse) => boolean,
): AccessPath[] =>
  (['concept', 'suggestion'] as const).map((resourceKind) => ({
    resourceTitle: resourceKind,
    description: resourceKind === 'concept' ? `about which a suggestion is ${label}` : label,
    routes: [route],
    extraActions: ['knowledge_reviews:review', 'concepts:update'],
    closingActions:
      resourceKind === 'concept' ? ['concepts:get'] : ['knowledge_reviews:list', 'knowledge_reviews:review'],
    async createTarget(company) {
      const { id, conceptId } = await createSuggestion(company.as);
      const arn = makeResourceArn(company, resourceKind, resourceKind === 'concept' ? conceptId : id);
      return { arn, ask: makeRequest(id) };
    },
    isReachedBy: isReached,
  }));

const isAccepted = ({ status, body }: ApiResponse): boolean => status === 200 && body.accepted.length === 1;

const makeQueryRequest = (sum: { query: object }) => makePostRequest(`${KNOWLEDGE_PATH}/semantic/query`, sum.query);
const makeQuestionRequest = (question: string) => async (as: Caller) => {
  const { env } = await createModel(REFUSAL);
  return as.post(`${KNOWLEDGE_PATH}/ask`, { json: { question }, env });
};
const isAnswered = ({ status, body }: ApiResponse): boolean => status === 200 && body.kind === 'answer';

/**
 * Makes the access paths by which a metric query reaches a metric, which may be denied, and the rows of its table, which must
 * be allowed.
 */
const makeMetricPaths = (
  label: string,
  route: string,
  otherActions: ActionPattern[],
  createMetricRequest: (company: Company) => Promise<{ item: string; table: { id: string }; ask: AccessTarget['ask'] }>,
  isReached?: (answer: ApiResponse) => boolean,
): AccessPath[] => [
  {
    resourceTitle: 'item',
    description: label,
    routes: [route],
    extraActions: [...otherActions, 'managed-tables:data-read'],
    closingActions: ['semantic:list'],
    async createTarget(company) {
      const metricRequest = await createMetricRequest(company);
      return { arn: makeResourceArn(company, 'item', metricRequest.item), ask: metricRequest.ask };
    },
    isReachedBy: isReached,
  },
  {
    resourceTitle: "table's rows",
    description: `of a metric that is ${label}`,
    routes: [route],
    extraActions: otherActions,
    neededActions: ['managed-tables:data-read'],
    closingActions: ['managed-tables:data-read'],
    async createTarget(company) {
      const metricRequest = await createMetricRequest(company);
      return { arn: makeResourceArn(company, 'table', metricRequest.table.id), ask: metricRequest.ask };
    },
    isReachedBy: isReached,
  },
];

/** Makes the access path to a verified question, which a Deny on its metric closes. */
const makeQuestionPath = (
  label: string,
  method: 'GET' | 'PATCH' | 'DELETE',
  makeRequest: (path: string) => AccessTarget['ask'],
): AccessPath => ({
  resourceTitle: 'item',
  description: `that answers a verified question, ${label}`,
  routes: [`${method} ${QUESTIONS_PATH}/{id}`],
  extraActions: ['semantic:*', 'managed-tables:data-read'],
  closingActions: ['semantic:list'],
  async createTarget(company) {
    const { id, item } = await createQuestion(company.as);
    return { arn: makeResourceArn(company, 'item', item), ask: makeRequest(`${QUESTIONS_PATH}/${id}`) };
  },
});

const makeExportPath = (knowledgeKind: KnowledgeKind): AccessPath => ({
  ...makeKnowledgePath(
    knowledgeKind,
    'exported',
    `GET ${KNOWLEDGE_PATH}/export`,
    ['concepts:list', 'semantic:list', 'ontology:list'],
    async (_, __, name) => async (as) => {
      const { body, ...answer } = await as.get(`${KNOWLEDGE_PATH}/export?format=json`);
      return { ...answer, body: JSON.stringify(body).includes(name) };
    },
  ),
  isReachedBy: ({ status, body }) => status === 200 && body === true,
});

const makeRelation = (end: 'subject_node_id' | 'object_node_id', id: string, other: string) => ({
  subject_node_id: other,
  object_node_id: other,
  predicate: makeName('leads').replace(' ', '_'),
  description: 'A way.',
  [end]: id,
});

/** Access paths to concepts, items, nodes and relations through other routes than their own, and through suggestions. */
export const KNOWLEDGE_PATHS: AccessPath[] = [
  makeSuggestionPath('concept', 'concepts/{id}/generate', makePayload),
  makeSuggestionPath('concept', 'concepts/{id}/promote-semantic', () => ({ name: makeName('Promoted') })),
  makeSuggestionPath('concept', 'concepts/{id}/promote-ontology', () => ({
    name: makeName('Promoted'),
    node_type: 'class',
  })),
  makeSuggestionPath('item', 'semantic/{id}/generate', makePayload),
  makeSuggestionPath('node', 'ontology/nodes/{id}/generate', makePayload),
  makeSuggestionPath('relation', 'ontology/relations/{id}/generate', makePayload),
  ...ALL_KINDS.map((knowledgeKind) =>
    makeKnowledgePath(
      knowledgeKind,
      'enriched',
      `POST ${KNOWLEDGE_PATH}/jobs/enrich`,
      ['knowledge_reviews:generate'],
      async (_, id) => makeEnrichRequest(knowledgeKind, id),
    ),
  ),
  ...ALL_KINDS.map((knowledgeKind) =>
    makeKnowledgePath(
      knowledgeKind,
      'job about it',
      `GET ${KNOWLEDGE_PATH}/jobs/{id}`,
      ['knowledge_reviews:list'],
      async ({ as }, id) =>
        makeGetRequest(`${KNOWLEDGE_PATH}/jobs/${(await expectSuccess(makeEnrichRequest(knowledgeKind, id)(as)))._id}`),
    ),
  ),
  ...ALL_KINDS.map((knowledgeKind) =>
    makeKnowledgePath(
      knowledgeKind,
      'job about it, cancelled',
      `POST ${KNOWLEDGE_PATH}/jobs/{id}/cancel`,
      ['knowledge_reviews:generate'],
      async ({ as }, id) =>
        makePostRequest(
          `${KNOWLEDGE_PATH}/jobs/${(await expectSuccess(makeEnrichRequest(knowledgeKind, id)(as)))._id}/cancel`,
        ),
    ),
  ),
  ...makeReviewPaths('accepted', `POST ${SUGGESTIONS_PATH}/{id}/accept`, (id) =>
    makePostRequest(`${SUGGESTIONS_PATH}/${id}/accept`),
  ),
  ...makeReviewPaths('rejected', `POST ${SUGGESTIONS_PATH}/{id}/reject`, (id) =>
    makePostRequest(`${SUGGESTIONS_PATH}/${id}/reject`),
  ),
  ...makeReviewPaths(
    'accepted in bulk',
    `POST ${SUGGESTIONS_PATH}/bulk-accept`,
    (id) => makePostRequest(`${SUGGESTIONS_PATH}/bulk-accept`, { ids: [id] }),
    isAccepted,
  ),
  ...(['accept', 'bulk-accept'] as const).map(
    (acceptRoute): AccessPath => ({
      resourceTitle: 'concept',
      description: `changed by a suggestion, ${acceptRoute}`,
      routes: [`POST ${SUGGESTIONS_PATH}/${acceptRoute === 'accept' ? '{id}/accept' : 'bulk-accept'}`],
      extraActions: ['knowledge_reviews:review'],
      neededActions: ['concepts:update'],
      closingActions: ['concepts:update'],
      async createTarget(company) {
        const { id, conceptId } = await createSuggestion(company.as);
        const path = acceptRoute === 'accept' ? `${SUGGESTIONS_PATH}/${id}/accept` : `${SUGGESTIONS_PATH}/bulk-accept`;
        return {
          arn: makeResourceArn(company, 'concept', conceptId),
          ask: makePostRequest(path, acceptRoute === 'accept' ? {} : { ids: [id] }),
        };
      },
      ...(acceptRoute === 'bulk-accept' && { isReachedBy: isAccepted }),
    }),
  ),
  ...makeMetricPaths('queried', `POST ${KNOWLEDGE_PATH}/semantic/query`, ['semantic:list'], async ({ as }) => {
    const sum = await createSumMetric(as);
    return { ...sum, ask: makeQueryRequest(sum) };
  }),
  ...makeMetricPaths(
    'used to answer a question',
    `POST ${KNOWLEDGE_PATH}/ask`,
    ['semantic:list'],
    async ({ as }) => {
      const question = await createQuestion(as);
      return { ...question, ask: makeQuestionRequest(question.question) };
    },
    isAnswered,
  ),
  // Verifying shows no rows: only the metric may be denied.
  ...makeMetricPaths('verified for a question', `POST ${QUESTIONS_PATH}`, ['semantic:create'], async ({ as }) => {
    const sum = await createSumMetric(as);
    return { ...sum, ask: makePostRequest(QUESTIONS_PATH, { question: `${makeName('How much')}?`, query: sum.query }) };
  }).slice(0, 1),
  ...makeMetricPaths(
    'used by a question that is accepted',
    `POST ${KNOWLEDGE_PATH}/questions/{id}/accept`,
    ['semantic:create'],
    async ({ as }) => {
      const question = await createQuestion(as);
      const json = { question: question.question, execute: false };
      const { question_id } = await expectSuccess(as.post(`${KNOWLEDGE_PATH}/ask`, { json }));
      // Else it would be there already.
      await expectSuccess(as.delete(`${QUESTIONS_PATH}/${question.id}`));
      return { ...question, ask: makePostRequest(`${KNOWLEDGE_PATH}/questions/${question_id}/accept`) };
    },
  ).slice(0, 1),
  ...makeMetricPaths(
    'queried by an agent',
    'POST /mcp',
    ['semantic:list'],
    async ({ as }) => {
      const sum = await createSumMetric(as);
      return { ...sum, ask: makeToolCall('query_metrics', sum.query) };
    },
    hasToolAnswered,
  ),
  ...makeMetricPaths(
    'used to answer an agent',
    'POST /mcp',
    ['semantic:list'],
    async ({ as }) => {
      const question = await createQuestion(as);
      return { ...question, ask: makeToolCall('ask', { question: question.question }) };
    },
    (answer) => hasToolAnswered(answer) && answer.body.result.structuredContent.data.kind === 'answer',
  ),
  makeQuestionPath('read', 'GET', makeGetRequest),
  makeQuestionPath(
    'changed',
    'PATCH',
    (path) => (as) => makePatchRequest(path, { question: `${makeName('Otherwise')}?` })(as),
  ),
  makeQuestionPath('archived', 'DELETE', makeDeleteRequest),
  makeKnowledgePath(
    'concept',
    'source of a new item',
    `POST ${KNOWLEDGE_PATH}/semantic`,
    ['semantic:create'],
    async (_, id) =>
      makePostRequest(`${KNOWLEDGE_PATH}/semantic`, {
        kind: 'mapping',
        ...makeResourceFields(),
        source_concept_ids: [id],
      }),
  ),
  makeKnowledgePath(
    'concept',
    'source of an item',
    `PATCH ${KNOWLEDGE_PATH}/semantic/{id}`,
    ['semantic:update'],
    async ({ as }, id) =>
      makePatchRequest(`${KNOWLEDGE_PATH}/semantic/${await createItem(as)}`, { source_concept_ids: [id] }),
  ),
  makeKnowledgePath(
    'node',
    'parent of a new node',
    `POST ${KNOWLEDGE_PATH}/ontology/nodes`,
    ['ontology:create'],
    async (_, id) =>
      makePostRequest(`${KNOWLEDGE_PATH}/ontology/nodes`, {
        node_type: 'class',
        ...makeResourceFields(),
        parent_node_id: id,
      }),
  ),
  makeKnowledgePath(
    'node',
    'parent of a node',
    `PATCH ${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    ['ontology:update'],
    async ({ as }, id) =>
      makePatchRequest(`${KNOWLEDGE_PATH}/ontology/nodes/${await createNode(as)}`, { parent_node_id: id }),
  ),
  ...(['subject_node_id', 'object_node_id'] as const).flatMap((end) => [
    makeKnowledgePath(
      'node',
      `${end} of a new relation`,
      `POST ${KNOWLEDGE_PATH}/ontology/relations`,
      ['ontology:create'],
      async ({ as }, id) =>
        makePostRequest(`${KNOWLEDGE_PATH}/ontology/relations`, makeRelation(end, id, await createNode(as))),
    ),
    makeKnowledgePath(
      'node',
      `${end} of a relation`,
      `PATCH ${KNOWLEDGE_PATH}/ontology/relations/{id}`,
      ['ontology:update'],
      async ({ as }, id) => {
        const relationId = await createRelation(as, await createNode(as), 'has', await createNode(as));
        return makePatchRequest(`${KNOWLEDGE_PATH}/ontology/relations/${relationId}`, { [end]: id });
      },
    ),
  ]),
  ...ALL_KINDS.map(makeExportPath),
  {
    ...makeKnowledgePath(
      'concept',
      'named in an imported document',
      `POST ${KNOWLEDGE_PATH}/import`,
      ['knowledge_reviews:generate'],
      async (_, __, name) =>
        makePostRequest(`${KNOWLEDGE_PATH}/import`, {
          format: 'data-console-knowledge/1',
          semantic: [{ kind: 'mapping', ...makeResourceFields(), source_concepts: [name] }],
        }),
    ),
    isReachedBy: ({ status, body }) => status === 200 && body.errors.length === 0,
  },
  {
    resourceTitle: 'concept',
    description: 'found by an agent',
    routes: ['POST /mcp'],
    extraActions: ['concepts:list'],
    closingActions: ['concepts:get', 'concepts:list'],
    async createTarget(company) {
      const name = makeName('Sought');
      const id = await createConcept(company.as, { name, status: 'active' });
      return { arn: makeResourceArn(company, 'concept', id), ask: makeToolCall('search_concepts', { search: name }) };
    },
    isReachedBy: (answer) => hasToolAnswered(answer) && answer.body.result.structuredContent.data.total === 1,
  },
];

function makeResourceFields() {
  return { name: makeName('Matrix'), description: 'Text.' };
}
