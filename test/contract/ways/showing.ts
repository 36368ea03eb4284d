import type { Action } from '../../../src/permissions/actions.ts';
import { ENDPOINTS_PATH } from '../../data-api/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import { call } from '../../support/api.ts';
import { must } from '../../support/signed.ts';
import type { Company } from '../../support/worlds.ts';
import { createHeldQueue, deliverMessage } from '../../uploads/support.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, parameter } from '../../visualizations/support.ts';
import { type AccessPath, get, makeArn, makeResourceArn, post, put } from './way.ts';

const SEE_ACTIONS = ['visualizations:get', 'visualizations:execute'] as const;

export const createVisibleVisualization = async ({ as }: Company, kind?: string) =>
  kind === undefined
    ? aVisualization(as, 'SELECT 1 AS one')
    : aVisualization(as, 'SELECT {{secret}} AS one', { parameters: [parameter('secret', kind)] });
export const makeLayout = ({ _id }: { _id: string }) => [{ visualization_id: _id, x: 0, y: 0, w: 4, h: 3 }];

/** A visualization that stands on a dashboard, with a parameter `secret` of a kind if one is named. */
export async function createPlacedVisualization(company: Company, kind?: string) {
  const visualization = await createVisibleVisualization(company, kind);
  return { visualization, dashboard: await aDashboard(company.as, [visualization]) };
}

/** Whether results hold rows: one that is denied holds an error in their place. */
export const hasRows = ({ status, body }: ApiResponse): boolean =>
  status === 200 && (body.result ?? body.results?.[0])?.rows !== undefined;

let slugs = 0;
const makeSlug = () => `matrix-${++slugs}`;
/** A visualization that is published. */
export const createPublishedVisualization = async (company: Company) => {
  const visualization = await createVisibleVisualization(company);
  const json = { name: 'Published', slug: makeSlug(), visualization_id: visualization._id };
  return { visualization, endpoint: await must(company.as.post(ENDPOINTS_PATH, { json })) };
};

/** A job of the Data API that has written its result. */
async function createJob(company: Company, signer: Caller) {
  const { visualization, endpoint } = await createPublishedVisualization(company);
  const { messages, env } = createHeldQueue();
  const queue = { DATA_JOBS: env.JOBS } as unknown as Record<string, string>;
  const { job_id } = await must(signer.post(`/data/${endpoint.slug}/jobs`, { json: {}, env: queue }));
  for (const message of messages.splice(0)) await deliverMessage(message);
  return { visualization, endpoint, path: `/data/jobs/${job_id}` };
}

const JOB_RESULT: Pick<AccessPath, 'routes' | 'signed' | 'reached'> = {
  routes: ['GET /data/jobs/{job_id}', 'GET /data/results/{token}'],
  signed: true,
  reached: ({ status, body }) => status === 200 && body.rows !== undefined,
};

/** @param arnFor the ARN of what a Deny is tried on */
const makeJobResult =
  (arnFor: (company: Company, made: Awaited<ReturnType<typeof createJob>>) => string): AccessPath['make'] =>
  async (company, caller) => {
    await caller.may([{ effect: 'Allow', actions: ['*'], resources: ['*'] }]);
    const made = await createJob(company, caller.as);
    return {
      arn: arnFor(company, made),
      async ask(as) {
        const told = await as.get(made.path);
        return told.body.url ? call('GET', told.body.url.replace('https://api.test', '')) : told;
      },
    };
  };

/** What the Data API shows, and the actions whose Deny keeps it from there. */
const PUBLISHED_THINGS: { thing: 'visualization' | 'endpoint'; denied: Action[] }[] = [
  { thing: 'visualization', denied: [...SEE_ACTIONS] },
  { thing: 'endpoint', denied: ['viz_api_endpoints:get'] },
];

const options = [{ ...parameter('region', 'select'), options: { sql: 'SELECT 1' } }];

/** What visualizations, dashboards and published endpoints show. */
export const SHOWING_WAYS: AccessPath[] = [
  {
    thing: 'visualization',
    way: 'placed on a new dashboard',
    routes: ['POST /v1/dashboards'],
    besides: ['dashboards:create'],
    needs: ['visualizations:execute'],
    denied: ['visualizations:execute'],
    async make(company) {
      const made = await createVisibleVisualization(company);
      const json = { name: 'Made', layout: makeLayout(made) };
      return { arn: makeResourceArn(company, 'visualization', made._id), ask: post(DASHBOARDS_PATH, json) };
    },
  },
  {
    thing: 'visualization',
    way: 'placed on a dashboard',
    routes: ['PUT /v1/dashboards/{id}'],
    besides: ['dashboards:update'],
    needs: ['visualizations:execute'],
    denied: ['visualizations:execute'],
    async make(company) {
      const made = await createVisibleVisualization(company);
      const { _id } = await aDashboard(company.as, []);
      const ask = put(`${DASHBOARDS_PATH}/${_id}`, { layout: makeLayout(made) });
      return { arn: makeResourceArn(company, 'visualization', made._id), ask };
    },
  },
  {
    thing: 'visualization',
    way: 'executed with its dashboard',
    routes: ['POST /v1/dashboards/{id}/execute'],
    besides: ['dashboards:get'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company);
      const ask = post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`);
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: hasRows,
  },
  {
    thing: 'visualization',
    way: 'downloaded from its dashboard',
    routes: ['POST /v1/dashboards/{id}/execute'],
    besides: ['dashboards:get'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company);
      const query = `?format=csv&visualization_id=${visualization._id}`;
      const ask = post(`${DASHBOARDS_PATH}/${dashboard._id}/execute${query}`);
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
  },
  {
    thing: 'visualization',
    way: 'drawn on its dashboard',
    routes: ['GET /v1/dashboards/{id}'],
    besides: ['dashboards:get'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company);
      const ask = get(`${DASHBOARDS_PATH}/${dashboard._id}?include=charts`);
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: ({ body }) => body.charts?.length > 0,
  },
  {
    thing: 'visualization',
    way: 'a parameter of it, told by the problem of a value',
    routes: ['POST /v1/dashboards/{id}/execute'],
    besides: ['dashboards:get'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company, 'number');
      const ask = post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { parameters: { secret: 'x' } });
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: ({ body }) => body.details?.[0].message === 'must be a number',
  },
  {
    thing: 'visualization',
    way: 'a parameter of it, told by its options',
    routes: ['GET /v1/dashboards/{id}/filters/{slug}/options'],
    besides: ['dashboards:get'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company, 'select');
      const ask = get(`${DASHBOARDS_PATH}/${dashboard._id}/filters/secret/options`);
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
  },
  {
    thing: 'visualization',
    way: 'named by the problem of a filter',
    routes: ['PUT /v1/dashboards/{id}'],
    besides: ['dashboards:update'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company, 'number');
      const ask = put(`${DASHBOARDS_PATH}/${dashboard._id}`, { filters: [parameter('secret', 'text')] });
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: ({ status, body }) => status === 422 && body.details[0].message.includes('"Sales"'),
  },
  {
    thing: 'dashboard',
    way: 'the SQL of its options',
    routes: ['GET /v1/dashboards/{id}'],
    besides: ['dashboards:list'],
    needs: ['dashboards:get', 'dashboards:update'],
    denied: ['dashboards:get', 'dashboards:update'],
    async make(company) {
      const { _id } = await aDashboard(company.as, [], { filters: options });
      return { arn: makeResourceArn(company, 'dashboard', _id), ask: get(`${DASHBOARDS_PATH}/${_id}`) };
    },
    reached: ({ body }) => body.filters?.[0].options.sql !== undefined,
  },
  {
    thing: 'all visualizations',
    way: 'previewed before it is saved',
    routes: ['POST /v1/visualizations/preview'],
    needs: ['visualizations:create'],
    denied: ['visualizations:create'],
    make: async (company) => ({
      arn: makeResourceArn(company, 'visualization', '*'),
      ask: post('/v1/visualizations/preview', { sql: 'SELECT region FROM sales' }),
    }),
    reached: hasRows,
  },
  {
    thing: 'all visualizations',
    way: 'options by SQL of a new dashboard',
    routes: ['POST /v1/dashboards'],
    besides: ['dashboards:create'],
    needs: ['visualizations:create'],
    denied: ['visualizations:create'],
    make: async (company) => ({
      arn: makeResourceArn(company, 'visualization', '*'),
      ask: post(DASHBOARDS_PATH, { name: 'Made', filters: options }),
    }),
  },
  {
    thing: 'all visualizations',
    way: 'options by SQL of a dashboard',
    routes: ['PUT /v1/dashboards/{id}'],
    besides: ['dashboards:update'],
    needs: ['visualizations:create'],
    denied: ['visualizations:create'],
    async make(company) {
      const { _id } = await aDashboard(company.as, []);
      return {
        arn: makeResourceArn(company, 'visualization', '*'),
        ask: put(`${DASHBOARDS_PATH}/${_id}`, { filters: options }),
      };
    },
  },
  {
    thing: 'visualization',
    way: 'published',
    routes: ['POST /v1/viz-api-endpoints'],
    besides: ['viz_api_endpoints:create'],
    needs: ['visualizations:execute'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { _id } = await createVisibleVisualization(company);
      const json = { name: 'Published', slug: makeSlug(), visualization_id: _id };
      return { arn: makeResourceArn(company, 'visualization', _id), ask: post(ENDPOINTS_PATH, json) };
    },
  },
  {
    thing: 'visualization',
    way: 'published by an endpoint that showed another',
    routes: ['PUT /v1/viz-api-endpoints/{id}'],
    besides: ['viz_api_endpoints:update'],
    needs: ['visualizations:execute'],
    denied: [...SEE_ACTIONS],
    async make(company) {
      const { endpoint } = await createPublishedVisualization(company);
      const { _id } = await createVisibleVisualization(company);
      const ask = put(`${ENDPOINTS_PATH}/${endpoint._id}`, { visualization_id: _id });
      return { arn: makeResourceArn(company, 'visualization', _id), ask };
    },
  },
  ...PUBLISHED_THINGS.flatMap(({ thing, denied }): AccessPath[] => [
    {
      thing,
      way: 'executed by the Data API',
      routes: ['GET /data/{slug}'],
      signed: true,
      besides: ['data_api:execute'],
      denied,
      async make(company) {
        const published = await createPublishedVisualization(company);
        return {
          arn: makeResourceArn(company, thing, published[thing]._id),
          ask: (as) => as.get(`/data/${published.endpoint.slug}`),
        };
      },
    },
    {
      thing,
      way: 'executed by a job of the Data API',
      routes: ['POST /data/{slug}/jobs'],
      signed: true,
      besides: ['data_api:execute'],
      denied,
      async make(company) {
        const published = await createPublishedVisualization(company);
        return {
          arn: makeResourceArn(company, thing, published[thing]._id),
          ask: post(`/data/${published.endpoint.slug}/jobs`),
        };
      },
    },
    {
      ...JOB_RESULT,
      thing,
      way: 'result of a job, by the link that the job tells',
      besides: ['data_api:execute', 'data_api:get_job'],
      denied,
      make: makeJobResult((company, made) => makeResourceArn(company, thing, made[thing]._id)),
    },
  ]),
  {
    ...JOB_RESULT,
    thing: 'endpoint',
    way: 'result of a job, by what may be done with the endpoint',
    besides: ['data_api:get_job'],
    needs: ['data_api:execute'],
    denied: ['data_api:execute', 'data_api:get_job'],
    make: makeJobResult((company, { endpoint }) => makeArn(company, 'data_api:endpoint', endpoint._id)),
  },
];
