import { z } from 'zod';
import { isAllowed } from '../../access/requirements.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok, prepared } from '../../http/endpoint.ts';
import { searchableListQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { executionInput } from '../../sql-templates/fields.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import {
  chartField,
  newVisualizationInput,
  parameterFields,
  previewInput,
  visualizationChangesInput,
} from './definition.ts';
import {
  executionFailed,
  previewFailed,
  visualizationInUse,
  visualizationNotFound,
  visualizationSlugTaken,
} from './failures.ts';
import { previewVisualization } from './preview.ts';
import {
  changeVisualization,
  createVisualization,
  deleteVisualization,
  executeVisualization,
  getVisualization,
  listVisualizations,
  requireNotDenied,
} from './service.ts';
import {
  buildFile,
  executionSchema,
  fileMediaTypes,
  fileQuery,
  previewSchema,
  viewExecution,
  viewPreview,
} from './views.ts';

const visualizationRecord = z
  .object({
    _id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    sql: z.string(),
    chart: chartField,
    parameters: z.array(z.object(parameterFields)),
    created_by_user_id: z.string(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Visualization' });

const executedView = z.object({ result: executionSchema });

const viewVisualization = makeView(visualizationRecord);

export const visualizationEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/visualizations',
      access: 'visualizations:list',
      operationId: 'listVisualizations',
      summary: 'List visualizations',
      description: 'Without those that the caller is denied, and without data. Newest first.',
      query: searchableListQuery,
      returns: ok(makeListSchema(visualizationRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      viewList(await listVisualizations(ctx, { page, perPage, search }), viewVisualization),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/visualizations',
      access: 'visualizations:create',
      operationId: 'createVisualization',
      summary: 'Create a visualization',
      description:
        '`sql` is one SELECT over the tables of schema `public`. `{{slug}}` is a bound parameter, `{{slug.from}}` and `{{slug.to}}` the ends of a `date_range`, `[[ … ]]` a clause that is dropped when one of its parameters has no value; `[[ {{slug}} -- ]] 1` has a default, which ends with its line. A `multi_select` is used as `= ANY({{slug}})`.',
      body: newVisualizationInput,
      exactNumbers: 'text',
      returns: created(visualizationRecord),
      fails: [visualizationSlugTaken],
    },
    async ({ ctx, body }) => viewVisualization(await createVisualization(ctx, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/visualizations/preview',
      access: 'visualizations:create',
      operationId: 'previewVisualization',
      summary: 'Preview a visualization',
      safe: true,
      description:
        'Runs SQL that is not saved as executing a visualization does: with a read-only login, within 10 s, 10,000 rows and 10 MiB. `parameters` are definitions, `values` their values. If the query fails, the answer is 422 with the message of the database, and `details.position` is the character of `sql` at which it failed, counted from 1 in Unicode code points; null where the database does not say.',
      body: previewInput,
      exactNumbers: true,
      returns: ok(z.object({ result: previewSchema })),
      fails: [previewFailed, databaseNotProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, body }) => ({ result: viewPreview(await previewVisualization(ctx, body)) }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/visualizations/{id}',
      access: 'visualizations:get',
      operationId: 'getVisualization',
      summary: 'Get a visualization',
      description: 'With its SQL, parameters and chart. Executing it returns the data.',
      returns: ok(visualizationRecord),
      versionDeclaration: declareVersion(),
      fails: [visualizationNotFound],
    },
    async ({ ctx, params }) => viewVisualization(await getVisualization(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/visualizations/{id}',
      access: 'visualizations:update',
      operationId: 'updateVisualization',
      summary: 'Update a visualization',
      description:
        'Changes only the fields that are sent. Where others see it, such as by a share, a context or an embed, changing its SQL or parameters also needs `visualizations:share`.',
      body: visualizationChangesInput,
      exactNumbers: 'text',
      returns: ok(visualizationRecord),
      fails: [visualizationNotFound, visualizationSlugTaken, concurrentChange],
    },
    async ({ ctx, params, body }) => viewVisualization(await changeVisualization(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/visualizations/{id}',
      access: 'visualizations:delete',
      operationId: 'deleteVisualization',
      summary: 'Delete a visualization',
      description: 'Refused while it stands on a dashboard or is published at the Data API.',
      returns: noContent,
      fails: [visualizationNotFound, visualizationInUse],
    },
    ({ ctx, params }) => deleteVisualization(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/visualizations/{id}/execute',
      access: 'visualizations:execute',
      operationId: 'executeVisualization',
      summary: 'Execute a visualization',
      safe: true,
      description:
        'Runs with a read-only login, within 10 s, 10,000 rows and 10 MiB. If the query fails, `result.error` says why, with the message of the database for those who may change the visualization. With `format`, the result is a file, and a query that fails is refused with 422.',
      query: fileQuery,
      body: executionInput,
      exactNumbers: true,
      returns: prepared(executedView, ...fileMediaTypes),
      fails: [visualizationNotFound, executionFailed, databaseNotProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, params, query: { format, safe }, body }) => {
      requireNotDenied(ctx, [params.id]);
      const { visualization, execution } = await executeVisualization(ctx, params.id, body.parameters);
      // Who may change the SQL is told what the database says about it.
      const showsDatabaseError = isAllowed(ctx.actor, 'visualizations:update', params.id);
      if (format)
        return buildFile(
          execution,
          { name: visualization.name, format, escapesFormulas: safe === 'true' },
          showsDatabaseError,
        );
      const result = viewExecution(execution, showsDatabaseError, ctx.caller().locale);
      return Response.json({ result } satisfies z.input<typeof executedView>);
    },
  ),
];
