import { z } from 'zod';
import { accessDenied } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { ENDPOINT_STATUSES } from '../../db/schema/viz-api-endpoints.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { searchableListQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { description, displayNameSchema, slugSchema, timestampSchema } from '../../kernel/fields.ts';
import { visualizationNotFound } from '../visualizations/failures.ts';
import { endpointNotFound, endpointSlugTaken } from './failures.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  type VizApiEndpoint,
} from './service.ts';

const fields = {
  name: displayNameSchema,
  slug: slugSchema,
  description,
  visualization_id: z.string().min(1).max(100),
  cache_seconds: z.int().min(0).max(3600).meta({ description: 'How long a result is cached, in seconds.' }),
  status: z.enum(ENDPOINT_STATUSES),
};

const endpointChanges = z.object(fields).partial().transform(toBodyFields);

const newEndpoint = z
  .object({
    ...fields,
    description: description.default(''),
    cache_seconds: fields.cache_seconds.default(60),
    status: fields.status.default('active'),
  })
  .transform(toBodyFields);

const endpointRecord = z
  .object({ _id: z.string(), ...fields, url: z.string(), created_at: timestampSchema, updated_at: timestampSchema })
  .meta({ id: 'VizApiEndpoint' });

const viewEndpointRecord = makeView(endpointRecord);
const viewEndpoint =
  ({ baseUrl }: { baseUrl: string }) =>
  (record: VizApiEndpoint) =>
    viewEndpointRecord({ ...record, url: `${baseUrl}/data/${record.slug}` });

const PUBLISH_PERMISSION_NOTE = 'Whoever publishes a visualization needs `visualizations:execute` on it.';

export const vizApiEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/viz-api-endpoints',
      access: 'viz_api_endpoints:list',
      operationId: 'listVizApiEndpoints',
      summary: 'List endpoints of the Data API',
      description: 'Active and inactive ones, newest first.',
      query: searchableListQuery,
      returns: ok(makeListSchema(endpointRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      viewList(await listEndpoints(ctx, { page, perPage, search }), viewEndpoint(ctx)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/viz-api-endpoints',
      access: 'viz_api_endpoints:create',
      operationId: 'createVizApiEndpoint',
      summary: 'Create an endpoint of the Data API',
      description: `Publishes a visualization at \`url\`, for service accounts with \`data_api:execute\`. ${PUBLISH_PERMISSION_NOTE}`,
      body: newEndpoint,
      returns: created(endpointRecord),
      fails: [visualizationNotFound, endpointSlugTaken, accessDenied, concurrentChange],
    },
    async ({ ctx, body }) => viewEndpoint(ctx)(await createEndpoint(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/viz-api-endpoints/{id}',
      access: 'viz_api_endpoints:get',
      operationId: 'getVizApiEndpoint',
      summary: 'Get an endpoint of the Data API',
      description: 'What is published at `url`, for how many seconds results are cached, and whether it is active.',
      versionDeclaration: declareVersion(),
      returns: ok(endpointRecord),
      fails: [endpointNotFound],
    },
    async ({ ctx, params }) => viewEndpoint(ctx)(await getEndpoint(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/viz-api-endpoints/{id}',
      access: 'viz_api_endpoints:update',
      operationId: 'updateVizApiEndpoint',
      summary: 'Update an endpoint of the Data API',
      description: `Changes only the fields that are sent. ${PUBLISH_PERMISSION_NOTE}`,
      body: endpointChanges,
      changers: { url: 'slug' },
      returns: ok(endpointRecord),
      fails: [endpointNotFound, visualizationNotFound, endpointSlugTaken, accessDenied, concurrentChange],
    },
    async ({ ctx, params, body }) => viewEndpoint(ctx)(await changeEndpoint(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/viz-api-endpoints/{id}',
      access: 'viz_api_endpoints:delete',
      operationId: 'deleteVizApiEndpoint',
      summary: 'Delete an endpoint of the Data API',
      description:
        'From the next request on its `url` answers 404, and so do its jobs and the links to their results. The visualization stays.',
      returns: noContent,
      fails: [endpointNotFound],
    },
    ({ ctx, params }) => deleteEndpoint(ctx, params.id),
  ),
];
