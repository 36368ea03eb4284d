import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { executeBody } from '../../http/execute-body.ts';
import { searchableList } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { isoTimestamp, timestamp } from '../../kernel/fields.ts';
import { isAuthor } from './access.ts';
import { chart, newVisualization, parameterMembers, visualizationChanges } from './definition.ts';
import { executionSchema, viewExecution } from './results.ts';
import {
  changeVisualization,
  createVisualization,
  deleteVisualization,
  executeVisualization,
  getVisualization,
  listVisualizations,
  type Visualization,
} from './service.ts';

const visualizationRecord = z
  .object({
    _id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    sql: z.string(),
    chart,
    parameters: z.array(z.object(parameterMembers)),
    created_by_user_id: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Visualization' });

const view = (visualization: Visualization): z.input<typeof visualizationRecord> => ({
  _id: visualization.id,
  name: visualization.name,
  slug: visualization.slug,
  description: visualization.description,
  sql: visualization.sql,
  chart: visualization.chart,
  parameters: visualization.parameters,
  created_by_user_id: visualization.createdByUserId,
  created_at: isoTimestamp(visualization.createdAt),
  updated_at: isoTimestamp(visualization.updatedAt),
});

export const visualizationEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/visualizations',
      access: 'visualizations:list',
      summary: 'List visualizations, newest first',
      query: searchableList,
      returns: ok(listOf(visualizationRecord)),
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      list(await listVisualizations(ctx, { page, perPage, search }), view),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/visualizations',
      access: 'visualizations:create',
      summary: 'Create a visualization',
      description:
        '`sql` is one SELECT over the tables of schema `public`. `{{slug}}` is a bound parameter, `{{slug.from}}` and `{{slug.to}}` the ends of a `date_range`, `[[ … ]]` a clause that is dropped when one of its parameters has no value. A `multi_select` is used as `= ANY({{slug}})`.',
      body: newVisualization,
      returns: created(visualizationRecord),
    },
    async ({ ctx, body }) => view(await createVisualization(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/visualizations/{id}',
      access: 'visualizations:get',
      summary: 'Get a visualization',
      returns: ok(visualizationRecord),
    },
    async ({ ctx, params }) => view(await getVisualization(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/visualizations/{id}',
      access: 'visualizations:update',
      summary: 'Change what is sent of a visualization',
      body: visualizationChanges,
      returns: ok(visualizationRecord),
    },
    async ({ ctx, params, body }) => view(await changeVisualization(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/visualizations/{id}',
      access: 'visualizations:delete',
      summary: 'Delete a visualization that stands on no dashboard',
      returns: noContent,
    },
    ({ ctx, params }) => deleteVisualization(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/visualizations/{id}/execute',
      access: 'visualizations:execute',
      summary: 'Run a visualization',
      description:
        'Under the read-only login: 10 s, 10,000 rows, 10 MiB. A query that fails is told in `result.error`; those who may change the visualization read the message of the database there.',
      body: executeBody,
      exactNumbers: true,
      returns: ok(z.object({ result: executionSchema })),
    },
    async ({ ctx, params, body }) => ({
      result: viewExecution(await executeVisualization(ctx, params.id, body.parameters), isAuthor(ctx, params.id)),
    }),
  ),
];
