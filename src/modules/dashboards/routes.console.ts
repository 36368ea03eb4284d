import { z } from 'zod';
import { accessDenied } from '../../access/failures.ts';
import { isAllowed } from '../../access/requirements.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, noContent, ok, prepared, versioned } from '../../http/endpoint.ts';
import { searchableList } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { viewBy } from '../../http/wire.ts';
import { timestamp } from '../../kernel/fields.ts';
import { executeBody } from '../../sql-templates/fields.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { notProvisioned } from '../managed-database/failures.ts';
import { executionFailed, visualizationNotFound } from '../visualizations/failures.ts';
import {
  executionSchema,
  fileMediaTypes,
  fileOf,
  requireFormat,
  viewExecution,
  widgetQuery,
} from '../visualizations/service.ts';
import { dashboardChanges, definitionFields, newDashboard } from './definition.ts';
import { dashboardNotFound, dashboardSlugTaken } from './failures.ts';
import {
  changeDashboard,
  createDashboard,
  deleteDashboard,
  executeDashboard,
  executeWidget,
  getDashboard,
  listDashboards,
} from './service.ts';

const dashboardRecord = z
  .object({
    _id: z.string(),
    ...definitionFields,
    name: z.string(),
    slug: z.string(),
    created_by_user_id: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Dashboard' });

const executed = z.object({ results: z.array(executionSchema) });

const view = viewBy(dashboardRecord);

export const dashboardEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/dashboards',
      access: 'dashboards:list',
      operationId: 'listDashboards',
      summary: 'List dashboards',
      description: 'Newest first.',
      query: searchableList,
      returns: ok(listOf(dashboardRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      list(await listDashboards(ctx, { page, perPage, search }), view),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/dashboards',
      access: 'dashboards:create',
      operationId: 'createDashboard',
      summary: 'Create a dashboard',
      description:
        'A filter sets the parameter with the same slug in the visualizations that it applies to. Both must be of the same kind, but `text`, `select` and `multi_select` can replace each other where the SQL compares with `= ANY`. The SQL of `options` returns the value in its first column and the label in its second.',
      body: newDashboard,
      returns: created(dashboardRecord),
      fails: [visualizationNotFound, dashboardSlugTaken],
    },
    async ({ ctx, body }) => view(await createDashboard(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/dashboards/{id}',
      access: 'dashboards:get',
      operationId: 'getDashboard',
      summary: 'Get a dashboard',
      returns: ok(dashboardRecord),
      versioned: versioned(),
      fails: [dashboardNotFound],
    },
    async ({ ctx, params }) => view(await getDashboard(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/dashboards/{id}',
      access: 'dashboards:update',
      operationId: 'updateDashboard',
      summary: 'Update a dashboard',
      description: 'Changes only the fields that are sent.',
      body: dashboardChanges,
      returns: ok(dashboardRecord),
      fails: [dashboardNotFound, visualizationNotFound, dashboardSlugTaken, concurrentChange],
    },
    async ({ ctx, params, body }) => view(await changeDashboard(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/dashboards/{id}',
      access: 'dashboards:delete',
      operationId: 'deleteDashboard',
      summary: 'Delete a dashboard',
      description: 'Its visualizations stay.',
      returns: noContent,
      fails: [dashboardNotFound],
    },
    ({ ctx, params }) => deleteDashboard(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/dashboards/{id}/execute',
      access: 'dashboards:get',
      operationId: 'executeDashboard',
      summary: 'Execute a dashboard',
      safe: true,
      description:
        'Runs its visualizations side by side, within 30 s and 20 MiB altogether. One that fails has `error` and does not fail the others. With `format`, only the visualization `visualization_id` runs and its result is a file; if it fails, the answer is 422.',
      query: widgetQuery,
      body: executeBody,
      exactNumbers: true,
      returns: prepared(executed, ...fileMediaTypes),
      fails: [dashboardNotFound, executionFailed, accessDenied, notProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, params: { id }, query: { format, safe, visualization_id: widgetId }, body: { parameters } }) => {
      // Who may change the SQL is told what the database says about it.
      const explains = (visualizationId: string) => isAllowed(ctx.actor, 'visualizations:update', visualizationId);
      if (format) {
        const { visualization, execution } = await executeWidget(ctx, id, widgetId, parameters);
        const file = { name: visualization.name, format, safe: safe === 'true' };
        return fileOf(execution, file, explains(visualization.id));
      }
      requireFormat(widgetId);
      const executions = await executeDashboard(ctx, id, parameters);
      const results = executions.map((execution) => viewExecution(execution, explains(execution.visualizationId)));
      return { results };
    },
  ),
];
