import { makeConceptCandidate, makeConceptsAnswer } from '../../knowledge/jobs.ts';
import { createModel, makeProposal } from '../../knowledge/model.ts';
import { createConcept, KNOWLEDGE_PATH } from '../../knowledge/support.ts';
import { createTable, createTableClient, makeColumn } from '../../managed-tables/support.ts';
import type { ScriptStep as Answered } from '../../support/ai-server.ts';
import { createProvisionedCompany } from '../../support/companies.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createTestQueue } from '../../uploads/support.ts';
import { type Step, type WalkState, walkRoutes } from '../walk.ts';

const storeIdAs = (name: string) => (body: { _id: string }) => ({ [name]: body._id });

/** A queue that holds its jobs, so that the walk always finds them unprocessed. */
const queue = createTestQueue();
let model: Awaited<ReturnType<typeof createModel>>;
const makeEnv = (): Record<string, string> => ({ ...model.env, MODEL_JOBS: queue.env.JOBS }) as never;
const setModelAnswer = (modelAnswer: Answered) => async () => {
  model = await createModel(modelAnswer);
};

const makeResourceSteps = (
  plural: string,
  idName: string,
  makeBody: (storedValues: WalkState['storedValues']) => object,
  changes: object,
): Step[] => [
  {
    route: `POST ${KNOWLEDGE_PATH}${plural}`,
    json: makeBody,
    getStoredValues: storeIdAs(idName),
    strangerStatus: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}${plural}` },
  { route: `GET ${KNOWLEDGE_PATH}${plural}/{id}`, params: { id: idName } },
  { route: `PATCH ${KNOWLEDGE_PATH}${plural}/{id}`, params: { id: idName }, json: () => changes },
  { route: `GET ${KNOWLEDGE_PATH}${plural}/{id}/versions`, params: { id: idName } },
];
const makeProposalStep = (path: string, params: Record<string, string>, payload: object, idName: string): Step => ({
  route: `POST ${KNOWLEDGE_PATH}/suggestions/${path}`,
  params,
  prepareStep: setModelAnswer(makeProposal(payload as Record<string, unknown>)),
  env: makeEnv,
  getStoredValues: storeIdAs(idName),
});
const concept = { id: 'concept' };
const JOB_PARAMS = { id: 'job' };

const RESOURCE_STEPS: Step[] = [
  { route: `GET ${KNOWLEDGE_PATH}/business-domains` },
  {
    route: `PUT ${KNOWLEDGE_PATH}/business-domains`,
    json: () => ({
      business_domains: [{ key: 'sales', name: 'Sales', description: 'Orders and what they bring in.' }],
    }),
  },
  ...makeResourceSteps(
    '/concepts',
    'concept',
    () => ({
      name: 'Revenue',
      description: 'What customers paid, net of refunds.',
      type: 'term',
      aliases: ['Receita'],
    }),
    { tags: ['finance'] },
  ),
  ...makeResourceSteps(
    '/semantic',
    'item',
    ({ concept }) => ({
      kind: 'metric',
      name: 'Revenue',
      description: 'Sum of what was paid.',
      formula: 'sum(orders.total)',
      mapped_tables: ['orders'],
      source_concept_ids: [concept],
    }),
    { grain: 'day' },
  ),
  {
    route: `POST ${KNOWLEDGE_PATH}/semantic/query`,
    prepareStep: async ({ company: { as }, storedValues }) => {
      const item = { status: 'active', description: 'x', source_concept_ids: [storedValues.concept] };
      const soldMetric = { kind: 'metric', name: 'Sold', formula: 'sum(orders.total)', mapped_tables: ['orders'] };
      await expectSuccess(as.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...item, ...soldMetric } }));
      const cityDimension = { kind: 'dimension', name: 'City', mapped_columns: ['orders.city'] };
      await expectSuccess(as.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...item, ...cityDimension } }));
    },
    json: () => ({
      metrics: ['Sold'],
      dimensions: ['City'],
      filters: [{ dimension: 'City', op: 'ne', values: ['Olinda'] }],
      order_by: [{ by: 'Sold', descending: true }],
    }),
    strangerStatus: 422,
  },
  {
    route: `POST ${KNOWLEDGE_PATH}/verified-questions`,
    json: () => ({
      question: 'How much did we sell in each city?',
      query: { metrics: ['Sold'], dimensions: ['City'] },
    }),
    getStoredValues: storeIdAs('question'),
  },
  { route: `GET ${KNOWLEDGE_PATH}/verified-questions` },
  { route: `GET ${KNOWLEDGE_PATH}/verified-questions/{id}`, params: { id: 'question' } },
  {
    route: `PATCH ${KNOWLEDGE_PATH}/verified-questions/{id}`,
    params: { id: 'question' },
    json: () => ({ question: 'What did we sell in each city?' }),
  },
  {
    route: `POST ${KNOWLEDGE_PATH}/ask`,
    prepareStep: setModelAnswer({
      answer: {
        kind: 'answer',
        query: {
          metrics: ['Sold'],
          dimensions: ['City'],
          filters: [],
          time_grain: null,
          order_by: [{ by: 'Sold', descending: true }],
          limit: 1,
        },
        alternatives: [],
      },
    }),
    env: makeEnv,
    json: () => ({ question: 'Which city bought the most?' }),
    getStoredValues: (body: { question_id: string }) => ({ asked: body.question_id }),
  },
  { route: `GET ${KNOWLEDGE_PATH}/questions` },
  { route: `POST ${KNOWLEDGE_PATH}/questions/{id}/accept`, params: { id: 'asked' } },
  ...makeResourceSteps(
    '/ontology/nodes',
    'node',
    () => ({ name: 'Customer', description: 'Who buys.', node_type: 'role', aliases: ['Cliente'] }),
    { attributes: ['email'] },
  ),
  {
    route: `POST ${KNOWLEDGE_PATH}/ontology/nodes`,
    json: () => ({ name: 'Order', description: 'What was bought.' }),
    getStoredValues: storeIdAs('order'),
  },
  ...makeResourceSteps(
    '/ontology/relations',
    'relation',
    ({ node, order }) => ({
      subject_node_id: node,
      predicate: 'places',
      object_node_id: order,
      description: 'A customer places orders.',
    }),
    { cardinality: '1:N' },
  ),
];

const SUGGESTION_STEPS: Step[] = [
  makeProposalStep('concepts/{id}/generate', concept, { description: 'What customers paid.' }, 'suggestion'),
  makeProposalStep(
    'concepts/{id}/promote-semantic',
    concept,
    { kind: 'entity', name: 'Sale', description: 'One sale.' },
    'promotion',
  ),
  makeProposalStep(
    'concepts/{id}/promote-ontology',
    concept,
    { name: 'Payment', description: 'Money that came in.' },
    'node2',
  ),
  makeProposalStep('semantic/{id}/generate', { id: 'item' }, { description: 'The sum of all payments.' }, 'improved'),
  makeProposalStep('ontology/nodes/{id}/generate', { id: 'node' }, { description: 'Who buys of us.' }, 'other'),
  makeProposalStep(
    'ontology/relations/{id}/generate',
    { id: 'relation' },
    { description: 'Who ordered what.' },
    'another',
  ),
  { route: `GET ${KNOWLEDGE_PATH}/suggestions`, query: () => ({ target_type: 'concept' }) },
  { route: `POST ${KNOWLEDGE_PATH}/suggestions/{id}/accept`, params: { id: 'suggestion' }, json: () => ({}) },
  {
    route: `POST ${KNOWLEDGE_PATH}/suggestions/{id}/reject`,
    params: { id: 'promotion' },
    json: () => ({ review_note: 'It is a metric already.' }),
  },
  {
    route: `POST ${KNOWLEDGE_PATH}/suggestions/bulk-accept`,
    json: ({ improved, other }) => ({ ids: [improved, other] }),
  },
];

const INTERCHANGE_STEPS: Step[] = [
  { route: `GET ${KNOWLEDGE_PATH}/export` },
  {
    route: `POST ${KNOWLEDGE_PATH}/import`,
    query: () => ({ dry_run: 'true' }),
    json: () => ({
      concepts: [
        { name: 'Refund', description: 'Money that was given back.', type: 'term', aliases: ['chargeback'] },
        { name: 'Broken', description: 'Of no type.', type: 'nonsense' },
      ],
    }),
  },
];

const JOB_STEPS: Step[] = [
  { route: `GET ${KNOWLEDGE_PATH}/concepts/generation/prerequisites` },
  {
    route: `POST ${KNOWLEDGE_PATH}/concepts/generation/jobs`,
    prepareStep: setModelAnswer(makeConceptsAnswer(makeConceptCandidate('Churn'))),
    env: makeEnv,
    json: () => ({ business_domains: ['sales'], text: 'Churn is when a customer stops buying.' }),
    getStoredValues: storeIdAs('job'),
    strangerStatus: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`, params: JOB_PARAMS },
  { route: `GET ${KNOWLEDGE_PATH}/ontology/generation/prerequisites` },
  {
    route: `POST ${KNOWLEDGE_PATH}/ontology/generation/jobs`,
    prepareStep: async ({ company: { as }, storedValues }) => {
      storedValues.connection = (await expectSuccess(as.get('/v1/managed-tables/status'))).connection_id;
    },
    env: makeEnv,
    json: ({ connection }) => ({ connection_id: connection }),
    getStoredValues: storeIdAs('ontologyJob'),
    strangerStatus: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`, params: { id: 'ontologyJob' } },
  {
    route: `POST ${KNOWLEDGE_PATH}/jobs/enrich`,
    env: makeEnv,
    json: ({ concept }) => ({ target_type: 'concept', target_ids: [concept] }),
    strangerStatus: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}/jobs`, query: () => ({ status: 'queued' }) },
  { route: `GET ${KNOWLEDGE_PATH}/jobs/{id}`, params: JOB_PARAMS },
  { route: `POST ${KNOWLEDGE_PATH}/jobs/{id}/cancel`, params: JOB_PARAMS },
];

const DELETION_STEPS: Step[] = [
  { route: `DELETE ${KNOWLEDGE_PATH}/verified-questions/{id}`, params: { id: 'question' } },
  { route: `DELETE ${KNOWLEDGE_PATH}/ontology/relations/{id}`, params: { id: 'relation' } },
  { route: `DELETE ${KNOWLEDGE_PATH}/ontology/nodes/{id}`, params: { id: 'node' } },
  { route: `DELETE ${KNOWLEDGE_PATH}/semantic/{id}`, params: { id: 'item' } },
  { route: `DELETE ${KNOWLEDGE_PATH}/concepts/{id}`, params: concept },
];

walkRoutes(
  ['Domain knowledge'],
  'knowledge',
  async () => {
    const company = await createProvisionedCompany({ slug: 'acme' });
    const ordersTableId = await createTable(company.as, 'orders', [makeColumn('total', 'decimal'), makeColumn('city')]);
    const rows = [
      { total: 120.5, city: 'Recife' },
      { total: 80, city: 'Olinda' },
      { total: 30, city: 'Recife' },
    ];
    await expectSuccess(createTableClient(company.as, ordersTableId).insert(rows));
    await createConcept(company.as, { name: 'Customer', type: 'entity_hint' });
    return { company };
  },
  [...RESOURCE_STEPS, ...SUGGESTION_STEPS, ...INTERCHANGE_STEPS, ...JOB_STEPS, ...DELETION_STEPS],
);
