import { z } from 'zod';
import { concurrentChange } from '../../db/failures.ts';
import { created, noContent, ok, versioned } from '../../http/endpoint.ts';
import { searchableList } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { executeBody, isoTimestamp, timestamp } from '../../kernel/fields.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { notProvisioned } from '../managed-database/failures.ts';
import { visualizationNotFound } from '../visualizations/failures.ts';
import { executionSchema, isAuthor, viewExecution } from '../visualizations/service.ts';
import { dashboardChanges, definitionFields, newDashboard } from './definition.ts';
import { dashboardNotFound, dashboardSlugTaken } from './failures.ts';
import {
  changeDashboard,
  createDashboard,
  type Dashboard,
  deleteDashboard,
  executeDashboard,
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

const view = (dashboard: Dashboard): z.input<typeof dashboardRecord> => ({
  _id: dashboard.id,
  name: dashboard.name,
  slug: dashboard.slug,
  description: dashboard.description,
  cache_seconds: dashboard.cacheSeconds,
  layout: dashboard.layout,
  filters: dashboard.filters,
  created_by_user_id: dashboard.createdByUserId,
  created_at: isoTimestamp(dashboard.createdAt),
  updated_at: isoTimestamp(dashboard.updatedAt),
});

export const dashboardEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/dashboards',
      access: 'dashboards:list',
      operationId: 'listDashboards',
      summary: 'List dashboards',
      description: 'The newest first.',
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
        'A filter gives its value to the parameter of its slug in the visualizations that it applies to, and must be of the same kind (`text`, `select` and `multi_select` can replace each other where SQL compares with `= ANY`). The SQL of `options` gives the value in its first column and the label in its second.',
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
      description: 'What is not sent stays.',
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
      description:
        'Runs its visualizations side by side, within 30 s and 20 MiB altogether. One that fails has `error` and does not fail the others.',
      body: executeBody,
      exactNumbers: true,
      returns: ok(z.object({ results: z.array(executionSchema) })),
      fails: [dashboardNotFound, notProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, params, body }) => ({
      results: (await executeDashboard(ctx, params.id, body.parameters)).map((execution) =>
        viewExecution(execution, isAuthor(ctx, execution.visualizationId)),
      ),
    }),
  ),
];
