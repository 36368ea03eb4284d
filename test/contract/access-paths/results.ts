import type { Action } from '../../../src/permissions/actions.ts';
import { ENDPOINTS_PATH } from '../../data-api/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import { callApi } from '../../support/api.ts';
import type { Company } from '../../support/companies.ts';
import type { TestPrincipal } from '../../support/principals.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createTestQueue, deliverMessage } from '../../uploads/support.ts';
import { DASHBOARDS_PATH, makeParameter, postDashboard, postVisualization } from '../../visualizations/support.ts';
import {
  type AccessPath,
  type AccessTarget,
  makeArn,
  makeGetRequest,
  makePostRequest,
  makePutRequest,
  makeResourceArn,
  VIEWING_ACTIONS,
} from './access-path.ts';

export const createVisibleVisualization = async ({ as }: Company, kind?: string) =>
  kind === undefined
    ? postVisualization(as, 'SELECT 1 AS one')
    : postVisualization(as, 'SELECT {{secret}} AS one', { parameters: [makeParameter('secret', kind)] });
export const makeLayout = ({ _id }: { _id: string }) => [{ visualization_id: _id, x: 0, y: 0, w: 4, h: 3 }];

/** Creates a visualization on a dashboard; with `kind`, it has a parameter `secret` of that kind. */
export async function createVisualizationOnDashboard(company: Company, kind?: string) {
  const visualization = await createVisibleVisualization(company, kind);
  return { visualization, dashboard: await postDashboard(company.as, [visualization]) };
}

type CreatedThings<Thing extends string> = Record<Thing, { _id: string; [member: string]: unknown }>;

/** An access path to something that is made for it. `kind`: the visualization has a parameter `secret` of that kind. */
type PathFields<Thing extends string> = Omit<AccessPath, 'resourceTitle' | 'createTarget'> & {
  /** What the Deny is about; a visualization by default. */
  resourceTitle?: Thing;
  kind?: string;
  ask(
    created: CreatedThings<Thing>,
    company: Company,
    caller: TestPrincipal,
  ): AccessTarget['ask'] | Promise<AccessTarget['ask']>;
};

const makePathMaker =
  <Thing extends string>(create: (company: Company, kind?: string) => Promise<CreatedThings<Thing>>) =>
  ({ resourceTitle = 'visualization' as Thing, kind, ask, ...path }: PathFields<Thing>): AccessPath => ({
    ...path,
    resourceTitle,
    async createTarget(company, caller) {
      const created = await create(company, kind);
      return {
        arn: makeResourceArn(company, resourceTitle, created[resourceTitle]._id),
        ask: await ask(created, company, caller),
      };
    },
  });

/** Makes the access path to a new visualization. */
export const makeVisualizationPath = makePathMaker<'visualization'>(async (company, kind) => ({
  visualization: await createVisibleVisualization(company, kind),
}));
/** Makes the access path to a new visualization on a new dashboard, or to that dashboard. */
export const makeDashboardPath = makePathMaker<'visualization' | 'dashboard'>(createVisualizationOnDashboard);

/** Returns true if the results contain rows: a denied visualization has an error instead. */
export const hasRows = ({ status, body }: ApiResponse): boolean =>
  status === 200 && (body.result ?? body.results?.[0])?.rows !== undefined;

let slugCount = 0;
const makeSlug = () => `matrix-${++slugCount}`;
/** Creates a visualization and publishes it as an endpoint of the Data API. */
export const createPublishedVisualization = async (company: Company) => {
  const visualization = await createVisibleVisualization(company);
  const json = { name: 'Published', slug: makeSlug(), visualization_id: visualization._id };
  return { visualization, endpoint: await expectSuccess(company.as.post(ENDPOINTS_PATH, { json })) };
};

/** Creates a Data API job, and has its result written. */
async function createJob(company: Company, signer: Caller) {
  const { visualization, endpoint } = await createPublishedVisualization(company);
  const { messages, env } = createTestQueue();
  const queue = { DATA_JOBS: env.JOBS } as unknown as Record<string, string>;
  const { job_id } = await expectSuccess(signer.post(`/data/${endpoint.slug}/jobs`, { json: {}, env: queue }));
  for (const message of messages.splice(0)) await deliverMessage(message);
  return { visualization, endpoint, path: `/data/jobs/${job_id}` };
}

const JOB_RESULT_PATH: Pick<AccessPath, 'routes' | 'isSigned' | 'isReachedBy'> = {
  routes: ['GET /data/jobs/{job_id}', 'GET /data/results/{token}'],
  isSigned: true,
  isReachedBy: ({ status, body }) => status === 200 && body.rows !== undefined,
};

/**
 * Makes a function that creates a job and the request of its result. @param makeTargetArn returns the ARN on which a Deny is
 * tested
 */
const makeJobTargetCreator =
  (
    makeTargetArn: (company: Company, createdJob: Awaited<ReturnType<typeof createJob>>) => string,
  ): AccessPath['createTarget'] =>
  async (company, caller) => {
    await caller.setStatements([{ effect: 'Allow', actions: ['*'], resources: ['*'] }]);
    const createdJob = await createJob(company, caller.as);
    return {
      arn: makeTargetArn(company, createdJob),
      async ask(as) {
        const jobAnswer = await as.get(createdJob.path);
        return jobAnswer.body.url ? callApi('GET', jobAnswer.body.url.replace('https://api.test', '')) : jobAnswer;
      },
    };
  };

/** The resources that the Data API shows, with the actions whose Deny hides them there. */
const PUBLISHED_RESOURCES: { resourceKind: 'visualization' | 'endpoint'; closingActions: Action[] }[] = [
  { resourceKind: 'visualization', closingActions: VIEWING_ACTIONS },
  { resourceKind: 'endpoint', closingActions: ['viz_api_endpoints:get'] },
];

const options = [{ ...makeParameter('region', 'select'), options: { sql: 'SELECT 1' } }];

/** Access paths through the results of visualizations, dashboards and published endpoints. */
export const RESULT_PATHS: AccessPath[] = [
  makeVisualizationPath({
    description: 'placed on a new dashboard',
    routes: ['POST /v1/dashboards'],
    extraActions: ['dashboards:create'],
    neededActions: ['visualizations:execute'],
    closingActions: ['visualizations:execute'],
    async ask({ visualization }) {
      const json = { name: 'Made', layout: makeLayout(visualization) };
      return makePostRequest(DASHBOARDS_PATH, json);
    },
  }),
  makeVisualizationPath({
    description: 'placed on a dashboard',
    routes: ['PUT /v1/dashboards/{id}'],
    extraActions: ['dashboards:update'],
    neededActions: ['visualizations:execute'],
    closingActions: ['visualizations:execute'],
    async ask({ visualization }, company) {
      const { _id } = await postDashboard(company.as, []);
      return makePutRequest(`${DASHBOARDS_PATH}/${_id}`, { layout: makeLayout(visualization) });
    },
  }),
  makeDashboardPath({
    description: 'executed with its dashboard',
    routes: ['POST /v1/dashboards/{id}/execute'],
    extraActions: ['dashboards:get'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) => makePostRequest(`${DASHBOARDS_PATH}/${dashboard._id}/execute`),
    isReachedBy: hasRows,
  }),
  makeDashboardPath({
    description: 'downloaded from its dashboard',
    routes: ['POST /v1/dashboards/{id}/execute'],
    extraActions: ['dashboards:get'],
    closingActions: VIEWING_ACTIONS,
    async ask({ visualization, dashboard }) {
      const query = `?format=csv&visualization_id=${visualization._id}`;
      return makePostRequest(`${DASHBOARDS_PATH}/${dashboard._id}/execute${query}`);
    },
  }),
  makeDashboardPath({
    description: 'drawn on its dashboard',
    routes: ['GET /v1/dashboards/{id}'],
    extraActions: ['dashboards:get'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) => makeGetRequest(`${DASHBOARDS_PATH}/${dashboard._id}?include=charts`),
    isReachedBy: ({ body }) => body.charts?.length > 0,
  }),
  makeDashboardPath({
    kind: 'number',
    description: 'a parameter of it, told by the problem of a value',
    routes: ['POST /v1/dashboards/{id}/execute'],
    extraActions: ['dashboards:get'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) =>
      makePostRequest(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, {
        parameters: { secret: 'x' },
      }),
    isReachedBy: ({ body }) => body.details?.[0].message === 'must be a number',
  }),
  makeDashboardPath({
    kind: 'select',
    description: 'a parameter of it, told by its options',
    routes: ['GET /v1/dashboards/{id}/filters/{slug}/options'],
    extraActions: ['dashboards:get'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) => makeGetRequest(`${DASHBOARDS_PATH}/${dashboard._id}/filters/secret/options`),
  }),
  makeDashboardPath({
    kind: 'number',
    description: 'named by the problem of a filter',
    routes: ['PUT /v1/dashboards/{id}'],
    extraActions: ['dashboards:update'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) =>
      makePutRequest(`${DASHBOARDS_PATH}/${dashboard._id}`, {
        filters: [makeParameter('secret', 'text')],
      }),
    isReachedBy: ({ status, body }) => status === 422 && body.details[0].message.includes('"Sales"'),
  }),
  {
    resourceTitle: 'dashboard',
    description: 'the SQL of its options',
    routes: ['GET /v1/dashboards/{id}'],
    extraActions: ['dashboards:list'],
    neededActions: ['dashboards:get', 'dashboards:update'],
    closingActions: ['dashboards:get', 'dashboards:update'],
    async createTarget(company) {
      const { _id } = await postDashboard(company.as, [], { filters: options });
      return { arn: makeResourceArn(company, 'dashboard', _id), ask: makeGetRequest(`${DASHBOARDS_PATH}/${_id}`) };
    },
    isReachedBy: ({ body }) => body.filters?.[0].options.sql !== undefined,
  },
  {
    resourceTitle: 'all visualizations',
    description: 'previewed before it is saved',
    routes: ['POST /v1/visualizations/preview'],
    neededActions: ['visualizations:create'],
    closingActions: ['visualizations:create'],
    createTarget: async (company) => ({
      arn: makeResourceArn(company, 'visualization', '*'),
      ask: makePostRequest('/v1/visualizations/preview', { sql: 'SELECT region FROM sales' }),
    }),
    isReachedBy: hasRows,
  },
  {
    resourceTitle: 'all visualizations',
    description: 'options by SQL of a new dashboard',
    routes: ['POST /v1/dashboards'],
    extraActions: ['dashboards:create'],
    neededActions: ['visualizations:create'],
    closingActions: ['visualizations:create'],
    createTarget: async (company) => ({
      arn: makeResourceArn(company, 'visualization', '*'),
      ask: makePostRequest(DASHBOARDS_PATH, { name: 'Made', filters: options }),
    }),
  },
  {
    resourceTitle: 'all visualizations',
    description: 'options by SQL of a dashboard',
    routes: ['PUT /v1/dashboards/{id}'],
    extraActions: ['dashboards:update'],
    neededActions: ['visualizations:create'],
    closingActions: ['visualizations:create'],
    async createTarget(company) {
      const { _id } = await postDashboard(company.as, []);
      return {
        arn: makeResourceArn(company, 'visualization', '*'),
        ask: makePutRequest(`${DASHBOARDS_PATH}/${_id}`, { filters: options }),
      };
    },
  },
  makeVisualizationPath({
    description: 'published',
    routes: ['POST /v1/viz-api-endpoints'],
    extraActions: ['viz_api_endpoints:create'],
    neededActions: ['visualizations:execute'],
    closingActions: VIEWING_ACTIONS,
    async ask({ visualization }) {
      const json = { name: 'Published', slug: makeSlug(), visualization_id: visualization._id };
      return makePostRequest(ENDPOINTS_PATH, json);
    },
  }),
  {
    resourceTitle: 'visualization',
    description: 'published by an endpoint that showed another',
    routes: ['PUT /v1/viz-api-endpoints/{id}'],
    extraActions: ['viz_api_endpoints:update'],
    neededActions: ['visualizations:execute'],
    closingActions: VIEWING_ACTIONS,
    async createTarget(company) {
      const { endpoint } = await createPublishedVisualization(company);
      const { _id } = await createVisibleVisualization(company);
      const changeEndpoint = makePutRequest(`${ENDPOINTS_PATH}/${endpoint._id}`, { visualization_id: _id });
      return { arn: makeResourceArn(company, 'visualization', _id), ask: changeEndpoint };
    },
  },
  ...PUBLISHED_RESOURCES.flatMap(({ resourceKind, closingActions }): AccessPath[] => [
    {
      resourceTitle: resourceKind,
      description: 'executed by the Data API',
      routes: ['GET /data/{slug}'],
      isSigned: true,
      extraActions: ['data_api:execute'],
      closingActions,
      async createTarget(company) {
        const publishedVisualization = await createPublishedVisualization(company);
        return {
          arn: makeResourceArn(company, resourceKind, publishedVisualization[resourceKind]._id),
          ask: (as) => as.get(`/data/${publishedVisualization.endpoint.slug}`),
        };
      },
    },
    {
      resourceTitle: resourceKind,
      description: 'executed by a job of the Data API',
      routes: ['POST /data/{slug}/jobs'],
      isSigned: true,
      extraActions: ['data_api:execute'],
      closingActions,
      async createTarget(company) {
        const publishedVisualization = await createPublishedVisualization(company);
        return {
          arn: makeResourceArn(company, resourceKind, publishedVisualization[resourceKind]._id),
          ask: makePostRequest(`/data/${publishedVisualization.endpoint.slug}/jobs`),
        };
      },
    },
    {
      ...JOB_RESULT_PATH,
      resourceTitle: resourceKind,
      description: 'result of a job, by the link that the job tells',
      extraActions: ['data_api:execute', 'data_api:get_job'],
      closingActions,
      createTarget: makeJobTargetCreator((company, createdJob) =>
        makeResourceArn(company, resourceKind, createdJob[resourceKind]._id),
      ),
    },
  ]),
  {
    ...JOB_RESULT_PATH,
    resourceTitle: 'endpoint',
    description: 'result of a job, by what may be done with the endpoint',
    extraActions: ['data_api:get_job'],
    neededActions: ['data_api:execute'],
    closingActions: ['data_api:execute', 'data_api:get_job'],
    createTarget: makeJobTargetCreator((company, { endpoint }) => makeArn(company, 'data_api:endpoint', endpoint._id)),
  },
];
