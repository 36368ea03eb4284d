import { answerConcepts, makeConceptCandidate } from '../../knowledge/jobs.ts';
import { createModel, makeProposal } from '../../knowledge/model.ts';
import { createConcept, KNOWLEDGE_PATH } from '../../knowledge/support.ts';
import { column, createTable, makeTableRoutes } from '../../managed-tables/support.ts';
import type { Step as Answered } from '../../support/ai-server.ts';
import { must } from '../../support/signed.ts';
import { aProvisionedCompany } from '../../support/worlds.ts';
import { createHeldQueue } from '../../uploads/support.ts';
import { type Step, type World, walkRoutes } from '../walk.ts';

const id = (name: string) => (body: { _id: string }) => ({ [name]: body._id });

/** Jobs that are queued and not worked on, so that the walk always finds them as they were. */
const queue = createHeldQueue();
let model: Awaited<ReturnType<typeof createModel>>;
const env = (): Record<string, string> => ({ ...model.env, MODEL_JOBS: queue.env.JOBS }) as never;
const says = (answered: Answered) => async () => {
  model = await createModel(answered);
};

const resource = (plural: string, kept: string, body: (kept: World['kept']) => object, changes: object): Step[] => [
  { route: `POST ${KNOWLEDGE_PATH}${plural}`, json: body, keep: id(kept), stranger: 'never' },
  { route: `GET ${KNOWLEDGE_PATH}${plural}` },
  { route: `GET ${KNOWLEDGE_PATH}${plural}/{id}`, params: { id: kept } },
  { route: `PATCH ${KNOWLEDGE_PATH}${plural}/{id}`, params: { id: kept }, json: () => changes },
  { route: `GET ${KNOWLEDGE_PATH}${plural}/{id}/versions`, params: { id: kept } },
];
const proposalStep = (path: string, params: Record<string, string>, payload: object, kept: string): Step => ({
  route: `POST ${KNOWLEDGE_PATH}/suggestions/${path}`,
  params,
  before: says(makeProposal(payload as Record<string, unknown>)),
  env,
  keep: id(kept),
});
const concept = { id: 'concept' };
const job = { id: 'job' };

const RESOURCES: Step[] = [
  { route: `GET ${KNOWLEDGE_PATH}/business-domains` },
  {
    route: `PUT ${KNOWLEDGE_PATH}/business-domains`,
    json: () => ({
      business_domains: [{ key: 'sales', name: 'Sales', description: 'Orders and what they bring in.' }],
    }),
  },
  ...resource(
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
  ...resource(
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
    before: async ({ company: { as }, kept }) => {
      const item = { status: 'active', description: 'x', source_concept_ids: [kept.concept] };
      const sold = { kind: 'metric', name: 'Sold', formula: 'sum(orders.total)', mapped_tables: ['orders'] };
      await must(as.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...item, ...sold } }));
      const city = { kind: 'dimension', name: 'City', mapped_columns: ['orders.city'] };
      await must(as.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...item, ...city } }));
    },
    json: () => ({
      metrics: ['Sold'],
      dimensions: ['City'],
      filters: [{ dimension: 'City', op: 'ne', values: ['Olinda'] }],
      order_by: [{ by: 'Sold', descending: true }],
    }),
    stranger: 422,
  },
  {
    route: `POST ${KNOWLEDGE_PATH}/verified-questions`,
    json: () => ({
      question: 'How much did we sell in each city?',
      query: { metrics: ['Sold'], dimensions: ['City'] },
    }),
    keep: id('question'),
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
    before: says({
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
    env,
    json: () => ({ question: 'Which city bought the most?' }),
    keep: (body: { question_id: string }) => ({ asked: body.question_id }),
  },
  { route: `GET ${KNOWLEDGE_PATH}/questions` },
  { route: `POST ${KNOWLEDGE_PATH}/questions/{id}/accept`, params: { id: 'asked' } },
  ...resource(
    '/ontology/nodes',
    'node',
    () => ({ name: 'Customer', description: 'Who buys.', node_type: 'role', aliases: ['Cliente'] }),
    { attributes: ['email'] },
  ),
  {
    route: `POST ${KNOWLEDGE_PATH}/ontology/nodes`,
    json: () => ({ name: 'Order', description: 'What was bought.' }),
    keep: id('order'),
  },
  ...resource(
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

const SUGGESTIONS: Step[] = [
  proposalStep('concepts/{id}/generate', concept, { description: 'What customers paid.' }, 'suggestion'),
  proposalStep(
    'concepts/{id}/promote-semantic',
    concept,
    { kind: 'entity', name: 'Sale', description: 'One sale.' },
    'promotion',
  ),
  proposalStep(
    'concepts/{id}/promote-ontology',
    concept,
    { name: 'Payment', description: 'Money that came in.' },
    'node2',
  ),
  proposalStep('semantic/{id}/generate', { id: 'item' }, { description: 'The sum of all payments.' }, 'improved'),
  proposalStep('ontology/nodes/{id}/generate', { id: 'node' }, { description: 'Who buys of us.' }, 'other'),
  proposalStep('ontology/relations/{id}/generate', { id: 'relation' }, { description: 'Who ordered what.' }, 'another'),
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

const INTERCHANGE: Step[] = [
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

const JOBS: Step[] = [
  { route: `GET ${KNOWLEDGE_PATH}/concepts/generation/prerequisites` },
  {
    route: `POST ${KNOWLEDGE_PATH}/concepts/generation/jobs`,
    before: says(answerConcepts(makeConceptCandidate('Churn'))),
    env,
    json: () => ({ business_domains: ['sales'], text: 'Churn is when a customer stops buying.' }),
    keep: id('job'),
    stranger: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`, params: job },
  { route: `GET ${KNOWLEDGE_PATH}/ontology/generation/prerequisites` },
  {
    route: `POST ${KNOWLEDGE_PATH}/ontology/generation/jobs`,
    before: async ({ company: { as }, kept }) => {
      kept.connection = (await must(as.get('/v1/managed-tables/status'))).connection_id;
    },
    env,
    json: ({ connection }) => ({ connection_id: connection }),
    keep: id('ontologyJob'),
    stranger: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`, params: { id: 'ontologyJob' } },
  {
    route: `POST ${KNOWLEDGE_PATH}/jobs/enrich`,
    env,
    json: ({ concept }) => ({ target_type: 'concept', target_ids: [concept] }),
    stranger: 'never',
  },
  { route: `GET ${KNOWLEDGE_PATH}/jobs`, query: () => ({ status: 'queued' }) },
  { route: `GET ${KNOWLEDGE_PATH}/jobs/{id}`, params: job },
  { route: `POST ${KNOWLEDGE_PATH}/jobs/{id}/cancel`, params: job },
];

const DELETIONS: Step[] = [
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
    const company = await aProvisionedCompany({ slug: 'acme' });
    const orders = await createTable(company.as, 'orders', [column('total', 'decimal'), column('city')]);
    const rows = [
      { total: 120.5, city: 'Recife' },
      { total: 80, city: 'Olinda' },
      { total: 30, city: 'Recife' },
    ];
    await must(makeTableRoutes(company.as, orders).insert(rows));
    await createConcept(company.as, { name: 'Customer', type: 'entity_hint' });
    return { company };
  },
  [...RESOURCES, ...SUGGESTIONS, ...INTERCHANGE, ...JOBS, ...DELETIONS],
);
