import type { Action } from '../../../src/permissions/actions.ts';
import { REFUSAL } from '../../knowledge/ask/support.ts';
import { createModel, makeProposal } from '../../knowledge/model.ts';
import { createQuestion, createSum, QUESTIONS } from '../../knowledge/questions/support.ts';
import { createSuggestion, SUGGESTIONS } from '../../knowledge/suggesting.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../../knowledge/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import { must } from '../../support/signed.ts';
import type { Company } from '../../support/worlds.ts';
import { createHeldQueue } from '../../uploads/support.ts';
import { callTool, hasToolAnswered } from './tables.ts';
import {
  type AccessPath,
  type AccessTarget,
  type ActionPattern,
  get,
  makeResourceArn,
  patch,
  post,
  remove,
} from './way.ts';

/** Drafts are in no export. */
const status = 'active';

/** How each kind of knowledge is made, and what a GET of one asks. */
const KINDS = {
  concept: { gets: 'concepts:get', make: (as: Caller, name: string) => createConcept(as, { name, status }) },
  item: { gets: 'semantic:list', make: (as: Caller, name: string) => createItem(as, { name, status }) },
  node: { gets: 'ontology:list', make: (as: Caller, name: string) => createNode(as, { name, status }) },
  relation: {
    gets: 'ontology:list',
    async make(as: Caller, predicate: string) {
      const id = await createRelation(
        as,
        await createNode(as, { status }),
        predicate,
        await createNode(as, { status }),
      );
      await must(as.patch(`${KNOWLEDGE_PATH}/ontology/relations/${id}`, { json: { status } }));
      return id;
    },
  },
} as const satisfies Record<string, { gets: Action; make: (as: Caller, name: string) => Promise<string> }>;
type Kind = keyof typeof KINDS;
const ALL_KINDS = Object.keys(KINDS) as Kind[];

/** A way to knowledge that a Deny alone closes. */
const toKnowledge = (
  thing: Kind,
  way: string,
  route: string,
  besides: ActionPattern[],
  ask: (company: Company, id: string, name: string) => Promise<AccessTarget['ask']>,
): AccessPath => ({
  thing,
  way,
  routes: [route],
  besides,
  denied: [KINDS[thing].gets],
  async make(company) {
    const name = makeName('matrix').replace(' ', '-');
    const id = await KINDS[thing].make(company.as, name);
    return { arn: makeResourceArn(company, thing, id), ask: await ask(company, id, name) };
  },
});

/** The same, asking a model that answers with a proposal. */
const makeSuggestionWay = (thing: Kind, path: string, payload: () => Record<string, unknown>): AccessPath =>
  toKnowledge(
    thing,
    `sent to the model by ${path.split('/').at(-1)}`,
    `POST ${SUGGESTIONS}/${path}`,
    ['knowledge_reviews:generate'],
    async (_, id) => async (as) => {
      const { env } = await createModel(makeProposal(payload()));
      return as.post(`${SUGGESTIONS}/${path.replace('{id}', id)}`, { env });
    },
  );
const makeDescription = () => ({ description: 'Better.' });

const TARGET_TYPES = { concept: 'concept', item: 'semantic', node: 'ontology_node', relation: 'ontology_relation' };
const enrich = (thing: Kind, id: string) => async (as: Caller) => {
  const { env } = await createModel();
  const queued = { ...env, MODEL_JOBS: createHeldQueue().env.JOBS } as unknown as Record<string, string>;
  const json = { target_type: TARGET_TYPES[thing], target_ids: [id] };
  return as.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env: queued });
};

/** A suggestion about a concept, reviewed. */
const makeReviewWay = (
  way: string,
  route: string,
  ask: (suggestion: string) => AccessTarget['ask'],
  reached?: (answer: ApiResponse) => boolean,
): AccessPath[] =>
  (['concept', 'suggestion'] as const).map((thing) => ({
    thing,
    way: thing === 'concept' ? `about which a suggestion is ${way}` : way,
    routes: [route],
    besides: ['knowledge_reviews:review', 'concepts:update'],
    denied: thing === 'concept' ? ['concepts:get'] : ['knowledge_reviews:list', 'knowledge_reviews:review'],
    async make(company) {
      const { id, conceptId } = await createSuggestion(company.as);
      const arn = makeResourceArn(company, thing, thing === 'concept' ? conceptId : id);
      return { arn, ask: ask(id) };
    },
    ...(reached && { reached }),
  }));

const isAccepted = ({ status, body }: ApiResponse): boolean => status === 200 && body.accepted.length === 1;

const makeQuery = (sum: { query: object }) => post(`${KNOWLEDGE_PATH}/semantic/query`, sum.query);
const askQuestion = (question: string) => async (as: Caller) => {
  const { env } = await createModel(REFUSAL);
  return as.post(`${KNOWLEDGE_PATH}/ask`, { json: { question }, env });
};
const isAnswered = ({ status, body }: ApiResponse): boolean => status === 200 && body.kind === 'answer';

/** A metric and its table, asked for: the metric may be denied, and the rows of the table must be allowed. */
const makeMetricWay = (
  way: string,
  route: string,
  besides: ActionPattern[],
  askOf: (company: Company) => Promise<{ item: string; table: { id: string }; ask: AccessTarget['ask'] }>,
  reached?: (answer: ApiResponse) => boolean,
): AccessPath[] => [
  {
    thing: 'item',
    way,
    routes: [route],
    besides: [...besides, 'managed-tables:data-read'],
    denied: ['semantic:list'],
    async make(company) {
      const made = await askOf(company);
      return { arn: makeResourceArn(company, 'item', made.item), ask: made.ask };
    },
    ...(reached && { reached }),
  },
  {
    thing: "table's rows",
    way: `of a metric that is ${way}`,
    routes: [route],
    besides,
    needs: ['managed-tables:data-read'],
    denied: ['managed-tables:data-read'],
    async make(company) {
      const made = await askOf(company);
      return { arn: makeResourceArn(company, 'table', made.table.id), ask: made.ask };
    },
    ...(reached && { reached }),
  },
];

/** A verified question, by what its metric is denied. */
const makeQuestionWay = (
  way: string,
  method: 'GET' | 'PATCH' | 'DELETE',
  askOf: (path: string) => AccessTarget['ask'],
): AccessPath => ({
  thing: 'item',
  way: `that answers a verified question, ${way}`,
  routes: [`${method} ${QUESTIONS}/{id}`],
  besides: ['semantic:*', 'managed-tables:data-read'],
  denied: ['semantic:list'],
  async make(company) {
    const { id, item } = await createQuestion(company.as);
    return { arn: makeResourceArn(company, 'item', item), ask: askOf(`${QUESTIONS}/${id}`) };
  },
});

const makeExportWay = (thing: Kind): AccessPath => ({
  ...toKnowledge(
    thing,
    'exported',
    `GET ${KNOWLEDGE_PATH}/export`,
    ['concepts:list', 'semantic:list', 'ontology:list'],
    async (_, __, name) => async (as) => {
      const { body, ...answer } = await as.get(`${KNOWLEDGE_PATH}/export?format=json`);
      return { ...answer, body: JSON.stringify(body).includes(name) };
    },
  ),
  reached: ({ status, body }) => status === 200 && body === true,
});

const makeRelation = (end: 'subject_node_id' | 'object_node_id', id: string, other: string) => ({
  subject_node_id: other,
  object_node_id: other,
  predicate: makeName('leads').replace(' ', '_'),
  description: 'A way.',
  [end]: id,
});

/** Concepts, items, nodes and relations, beside their own routes, and suggestions about them. */
export const KNOWLEDGE_WAYS: AccessPath[] = [
  makeSuggestionWay('concept', 'concepts/{id}/generate', makeDescription),
  makeSuggestionWay('concept', 'concepts/{id}/promote-semantic', () => ({ name: makeName('Promoted') })),
  makeSuggestionWay('concept', 'concepts/{id}/promote-ontology', () => ({
    name: makeName('Promoted'),
    node_type: 'class',
  })),
  makeSuggestionWay('item', 'semantic/{id}/generate', makeDescription),
  makeSuggestionWay('node', 'ontology/nodes/{id}/generate', makeDescription),
  makeSuggestionWay('relation', 'ontology/relations/{id}/generate', makeDescription),
  ...ALL_KINDS.map((thing) =>
    toKnowledge(
      thing,
      'enriched',
      `POST ${KNOWLEDGE_PATH}/jobs/enrich`,
      ['knowledge_reviews:generate'],
      async (_, id) => enrich(thing, id),
    ),
  ),
  ...ALL_KINDS.map((thing) =>
    toKnowledge(
      thing,
      'job about it',
      `GET ${KNOWLEDGE_PATH}/jobs/{id}`,
      ['knowledge_reviews:list'],
      async ({ as }, id) => get(`${KNOWLEDGE_PATH}/jobs/${(await must(enrich(thing, id)(as)))._id}`),
    ),
  ),
  ...ALL_KINDS.map((thing) =>
    toKnowledge(
      thing,
      'job about it, cancelled',
      `POST ${KNOWLEDGE_PATH}/jobs/{id}/cancel`,
      ['knowledge_reviews:generate'],
      async ({ as }, id) => post(`${KNOWLEDGE_PATH}/jobs/${(await must(enrich(thing, id)(as)))._id}/cancel`),
    ),
  ),
  ...makeReviewWay('accepted', `POST ${SUGGESTIONS}/{id}/accept`, (id) => post(`${SUGGESTIONS}/${id}/accept`)),
  ...makeReviewWay('rejected', `POST ${SUGGESTIONS}/{id}/reject`, (id) => post(`${SUGGESTIONS}/${id}/reject`)),
  ...makeReviewWay(
    'accepted in bulk',
    `POST ${SUGGESTIONS}/bulk-accept`,
    (id) => post(`${SUGGESTIONS}/bulk-accept`, { ids: [id] }),
    isAccepted,
  ),
  ...(['accept', 'bulk-accept'] as const).map(
    (how): AccessPath => ({
      thing: 'concept',
      way: `changed by a suggestion, ${how}`,
      routes: [`POST ${SUGGESTIONS}/${how === 'accept' ? '{id}/accept' : 'bulk-accept'}`],
      besides: ['knowledge_reviews:review'],
      needs: ['concepts:update'],
      denied: ['concepts:update'],
      async make(company) {
        const { id, conceptId } = await createSuggestion(company.as);
        const path = how === 'accept' ? `${SUGGESTIONS}/${id}/accept` : `${SUGGESTIONS}/bulk-accept`;
        return {
          arn: makeResourceArn(company, 'concept', conceptId),
          ask: post(path, how === 'accept' ? {} : { ids: [id] }),
        };
      },
      ...(how === 'bulk-accept' && { reached: isAccepted }),
    }),
  ),
  ...makeMetricWay('queried', `POST ${KNOWLEDGE_PATH}/semantic/query`, ['semantic:list'], async ({ as }) => {
    const sum = await createSum(as);
    return { ...sum, ask: makeQuery(sum) };
  }),
  ...makeMetricWay(
    'used to answer a question',
    `POST ${KNOWLEDGE_PATH}/ask`,
    ['semantic:list'],
    async ({ as }) => {
      const question = await createQuestion(as);
      return { ...question, ask: askQuestion(question.question) };
    },
    isAnswered,
  ),
  // Verifying shows no rows: only the metric may be denied.
  ...makeMetricWay('verified for a question', `POST ${QUESTIONS}`, ['semantic:create'], async ({ as }) => {
    const sum = await createSum(as);
    return { ...sum, ask: post(QUESTIONS, { question: `${makeName('How much')}?`, query: sum.query }) };
  }).slice(0, 1),
  ...makeMetricWay(
    'used by a question that is accepted',
    `POST ${KNOWLEDGE_PATH}/questions/{id}/accept`,
    ['semantic:create'],
    async ({ as }) => {
      const question = await createQuestion(as);
      const json = { question: question.question, execute: false };
      const { question_id } = await must(as.post(`${KNOWLEDGE_PATH}/ask`, { json }));
      // Else it would be there already.
      await must(as.delete(`${QUESTIONS}/${question.id}`));
      return { ...question, ask: post(`${KNOWLEDGE_PATH}/questions/${question_id}/accept`) };
    },
  ).slice(0, 1),
  ...makeMetricWay(
    'queried by an agent',
    'POST /mcp',
    ['semantic:list'],
    async ({ as }) => {
      const sum = await createSum(as);
      return { ...sum, ask: callTool('query_metrics', sum.query) };
    },
    hasToolAnswered,
  ),
  ...makeMetricWay(
    'used to answer an agent',
    'POST /mcp',
    ['semantic:list'],
    async ({ as }) => {
      const question = await createQuestion(as);
      return { ...question, ask: callTool('ask', { question: question.question }) };
    },
    (answer) => hasToolAnswered(answer) && answer.body.result.structuredContent.data.kind === 'answer',
  ),
  makeQuestionWay('read', 'GET', get),
  makeQuestionWay('changed', 'PATCH', (path) => (as) => patch(path, { question: `${makeName('Otherwise')}?` })(as)),
  makeQuestionWay('archived', 'DELETE', remove),
  toKnowledge(
    'concept',
    'source of a new item',
    `POST ${KNOWLEDGE_PATH}/semantic`,
    ['semantic:create'],
    async (_, id) =>
      post(`${KNOWLEDGE_PATH}/semantic`, { kind: 'mapping', ...newResourceFields(), source_concept_ids: [id] }),
  ),
  toKnowledge(
    'concept',
    'source of an item',
    `PATCH ${KNOWLEDGE_PATH}/semantic/{id}`,
    ['semantic:update'],
    async ({ as }, id) => patch(`${KNOWLEDGE_PATH}/semantic/${await createItem(as)}`, { source_concept_ids: [id] }),
  ),
  toKnowledge(
    'node',
    'parent of a new node',
    `POST ${KNOWLEDGE_PATH}/ontology/nodes`,
    ['ontology:create'],
    async (_, id) =>
      post(`${KNOWLEDGE_PATH}/ontology/nodes`, { node_type: 'class', ...newResourceFields(), parent_node_id: id }),
  ),
  toKnowledge(
    'node',
    'parent of a node',
    `PATCH ${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    ['ontology:update'],
    async ({ as }, id) => patch(`${KNOWLEDGE_PATH}/ontology/nodes/${await createNode(as)}`, { parent_node_id: id }),
  ),
  ...(['subject_node_id', 'object_node_id'] as const).flatMap((end) => [
    toKnowledge(
      'node',
      `${end} of a new relation`,
      `POST ${KNOWLEDGE_PATH}/ontology/relations`,
      ['ontology:create'],
      async ({ as }, id) => post(`${KNOWLEDGE_PATH}/ontology/relations`, makeRelation(end, id, await createNode(as))),
    ),
    toKnowledge(
      'node',
      `${end} of a relation`,
      `PATCH ${KNOWLEDGE_PATH}/ontology/relations/{id}`,
      ['ontology:update'],
      async ({ as }, id) => {
        const changed = await createRelation(as, await createNode(as), 'has', await createNode(as));
        return patch(`${KNOWLEDGE_PATH}/ontology/relations/${changed}`, { [end]: id });
      },
    ),
  ]),
  ...ALL_KINDS.map(makeExportWay),
  {
    ...toKnowledge(
      'concept',
      'named in an imported document',
      `POST ${KNOWLEDGE_PATH}/import`,
      ['knowledge_reviews:generate'],
      async (_, __, name) =>
        post(`${KNOWLEDGE_PATH}/import`, {
          format: 'data-console-knowledge/1',
          semantic: [{ kind: 'mapping', ...newResourceFields(), source_concepts: [name] }],
        }),
    ),
    reached: ({ status, body }) => status === 200 && body.errors.length === 0,
  },
  {
    thing: 'concept',
    way: 'found by an agent',
    routes: ['POST /mcp'],
    besides: ['concepts:list'],
    denied: ['concepts:get', 'concepts:list'],
    async make(company) {
      const name = makeName('Sought');
      const id = await createConcept(company.as, { name, status: 'active' });
      return { arn: makeResourceArn(company, 'concept', id), ask: callTool('search_concepts', { search: name }) };
    },
    reached: (answer) => hasToolAnswered(answer) && answer.body.result.structuredContent.data.total === 1,
  },
];

function newResourceFields() {
  return { name: makeName('Matrix'), description: 'Text.' };
}
