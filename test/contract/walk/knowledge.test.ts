import { concepts, newConcept } from '../../knowledge/jobs.ts';
import { aModel, proposal } from '../../knowledge/model.ts';
import { aConcept, PREFIX } from '../../knowledge/support.ts';
import { aTable, column, tableRoutes } from '../../managed-tables/support.ts';
import type { Step as Answered } from '../../support/ai-server.ts';
import { must } from '../../support/signed.ts';
import { aProvisionedCompany } from '../../support/worlds.ts';
import { aHeldQueue } from '../../uploads/support.ts';
import { type Step, type World, walk } from '../walk.ts';

const id = (name: string) => (body: { _id: string }) => ({ [name]: body._id });

/** Jobs that are queued and not worked on, so that the walk always finds them as they were. */
const queue = aHeldQueue();
let model: Awaited<ReturnType<typeof aModel>>;
const env = (): Record<string, string> => ({ ...model.env, MODEL_JOBS: queue.env.JOBS }) as never;
const says = (answered: Answered) => async () => {
  model = await aModel(answered);
};

const resource = (plural: string, kept: string, body: (kept: World['kept']) => object, changes: object): Step[] => [
  { route: `POST ${PREFIX}${plural}`, json: body, keep: id(kept), stranger: 'never' },
  { route: `GET ${PREFIX}${plural}` },
  { route: `GET ${PREFIX}${plural}/{id}`, params: { id: kept } },
  { route: `PATCH ${PREFIX}${plural}/{id}`, params: { id: kept }, json: () => changes },
  { route: `GET ${PREFIX}${plural}/{id}/versions`, params: { id: kept } },
];
const asked = (path: string, params: Record<string, string>, payload: object, kept: string): Step => ({
  route: `POST ${PREFIX}/suggestions/${path}`,
  params,
  before: says(proposal(payload as Record<string, unknown>)),
  env,
  keep: id(kept),
});
const concept = { id: 'concept' };
const job = { id: 'job' };

const RESOURCES: Step[] = [
  { route: `GET ${PREFIX}/business-domains` },
  {
    route: `PUT ${PREFIX}/business-domains`,
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
    route: `POST ${PREFIX}/semantic/query`,
    before: async ({ company: { as }, kept }) => {
      const item = { status: 'active', description: 'x', source_concept_ids: [kept.concept] };
      const sold = { kind: 'metric', name: 'Sold', formula: 'sum(orders.total)', mapped_tables: ['orders'] };
      await must(as.post(`${PREFIX}/semantic`, { json: { ...item, ...sold } }));
      const city = { kind: 'dimension', name: 'City', mapped_columns: ['orders.city'] };
      await must(as.post(`${PREFIX}/semantic`, { json: { ...item, ...city } }));
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
    route: `POST ${PREFIX}/verified-questions`,
    json: () => ({
      question: 'How much did we sell in each city?',
      query: { metrics: ['Sold'], dimensions: ['City'] },
    }),
    keep: id('question'),
  },
  { route: `GET ${PREFIX}/verified-questions` },
  { route: `GET ${PREFIX}/verified-questions/{id}`, params: { id: 'question' } },
  {
    route: `PATCH ${PREFIX}/verified-questions/{id}`,
    params: { id: 'question' },
    json: () => ({ question: 'What did we sell in each city?' }),
  },
  {
    route: `POST ${PREFIX}/ask`,
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
  { route: `GET ${PREFIX}/questions` },
  { route: `POST ${PREFIX}/questions/{id}/accept`, params: { id: 'asked' } },
  ...resource(
    '/ontology/nodes',
    'node',
    () => ({ name: 'Customer', description: 'Who buys.', node_type: 'role', aliases: ['Cliente'] }),
    { attributes: ['email'] },
  ),
  {
    route: `POST ${PREFIX}/ontology/nodes`,
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
  asked('concepts/{id}/generate', concept, { description: 'What customers paid.' }, 'suggestion'),
  asked(
    'concepts/{id}/promote-semantic',
    concept,
    { kind: 'entity', name: 'Sale', description: 'One sale.' },
    'promotion',
  ),
  asked('concepts/{id}/promote-ontology', concept, { name: 'Payment', description: 'Money that came in.' }, 'node2'),
  asked('semantic/{id}/generate', { id: 'item' }, { description: 'The sum of all payments.' }, 'improved'),
  asked('ontology/nodes/{id}/generate', { id: 'node' }, { description: 'Who buys of us.' }, 'other'),
  asked('ontology/relations/{id}/generate', { id: 'relation' }, { description: 'Who ordered what.' }, 'another'),
  { route: `GET ${PREFIX}/suggestions`, query: () => ({ target_type: 'concept' }) },
  { route: `POST ${PREFIX}/suggestions/{id}/accept`, params: { id: 'suggestion' }, json: () => ({}) },
  {
    route: `POST ${PREFIX}/suggestions/{id}/reject`,
    params: { id: 'promotion' },
    json: () => ({ review_note: 'It is a metric already.' }),
  },
  {
    route: `POST ${PREFIX}/suggestions/bulk-accept`,
    json: ({ improved, other }) => ({ ids: [improved, other] }),
  },
];

const INTERCHANGE: Step[] = [
  { route: `GET ${PREFIX}/export` },
  {
    route: `POST ${PREFIX}/import`,
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
  { route: `GET ${PREFIX}/concepts/generation/prerequisites` },
  {
    route: `POST ${PREFIX}/concepts/generation/jobs`,
    before: says(concepts(newConcept('Churn'))),
    env,
    json: () => ({ business_domains: ['sales'], text: 'Churn is when a customer stops buying.' }),
    keep: id('job'),
    stranger: 'never',
  },
  { route: `GET ${PREFIX}/concepts/generation/jobs/{id}`, params: job },
  { route: `GET ${PREFIX}/ontology/generation/prerequisites` },
  {
    route: `POST ${PREFIX}/ontology/generation/jobs`,
    before: async ({ company: { as }, kept }) => {
      kept.connection = (await must(as.get('/v1/managed-tables/status'))).connection_id;
    },
    env,
    json: ({ connection }) => ({ connection_id: connection }),
    keep: id('ontologyJob'),
    stranger: 'never',
  },
  { route: `GET ${PREFIX}/ontology/generation/jobs/{id}`, params: { id: 'ontologyJob' } },
  {
    route: `POST ${PREFIX}/jobs/enrich`,
    env,
    json: ({ concept }) => ({ target_type: 'concept', target_ids: [concept] }),
    stranger: 'never',
  },
  { route: `GET ${PREFIX}/jobs`, query: () => ({ status: 'queued' }) },
  { route: `GET ${PREFIX}/jobs/{id}`, params: job },
  { route: `POST ${PREFIX}/jobs/{id}/cancel`, params: job },
];

const DELETIONS: Step[] = [
  { route: `DELETE ${PREFIX}/verified-questions/{id}`, params: { id: 'question' } },
  { route: `DELETE ${PREFIX}/ontology/relations/{id}`, params: { id: 'relation' } },
  { route: `DELETE ${PREFIX}/ontology/nodes/{id}`, params: { id: 'node' } },
  { route: `DELETE ${PREFIX}/semantic/{id}`, params: { id: 'item' } },
  { route: `DELETE ${PREFIX}/concepts/{id}`, params: concept },
];

walk(
  ['Domain knowledge'],
  'knowledge',
  async () => {
    const company = await aProvisionedCompany({ slug: 'acme' });
    const orders = await aTable(company.as, 'orders', [column('total', 'decimal'), column('city')]);
    const rows = [
      { total: 120.5, city: 'Recife' },
      { total: 80, city: 'Olinda' },
      { total: 30, city: 'Recife' },
    ];
    await must(tableRoutes(company.as, orders).insert(rows));
    await aConcept(company.as, { name: 'Customer', type: 'entity_hint' });
    return { company };
  },
  [...RESOURCES, ...SUGGESTIONS, ...INTERCHANGE, ...JOBS, ...DELETIONS],
);
