import { z } from 'zod';
import { accessDenied } from '../../access/failures.ts';
import { isAllowed } from '../../access/requirements.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok, prepared } from '../../http/endpoint.ts';
import { searchableListQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { filterNotFound } from '../../sharing/failures.ts';
import { executionInput } from '../../sql-templates/fields.ts';
import { tenantSqlFailures, userSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import { executionFailed, visualizationNotFound } from '../visualizations/failures.ts';
import {
  buildFile,
  executionSchema,
  fileMediaTypes,
  requireFormat,
  viewExecution,
  widgetQuery,
} from '../visualizations/views.ts';
import { dashboardChanges, newDashboard } from './definition.ts';
import { dashboardNotFound, dashboardSlugTaken } from './failures.ts';
import {
  changeDashboard,
  createDashboard,
  deleteDashboard,
  executeDashboard,
  executeWidget,
  getDashboard,
  getDashboardWithCharts,
  listDashboards,
  readDashboardOptions,
} from './service.ts';
import {
  dashboardRecord,
  dashboardWithCharts,
  optionsQuery,
  optionsView,
  viewDashboard,
  viewDashboardWithCharts,
} from './views.ts';

export const dashboardEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/dashboards',
      access: 'dashboards:list',
      operationId: 'listDashboards',
      summary: 'List dashboards',
      description: 'Without those that the caller is denied. Newest first.',
      query: searchableListQuery,
      returns: ok(makeListSchema(dashboardRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      viewList(await listDashboards(ctx, { page, perPage, search }), (record) => viewDashboard(ctx, record)),
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
      exactNumbers: 'text',
      shownPath: '/v1/dashboards/{id}',
      returns: created(dashboardRecord),
      fails: [visualizationNotFound, dashboardSlugTaken],
    },
    async ({ ctx, body }) => viewDashboard(ctx, await createDashboard(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/dashboards/{id}',
      access: 'dashboards:get',
      operationId: 'getDashboard',
      summary: 'Get a dashboard',
      description:
        'With `include=charts` it has all that is needed to draw its visualizations, besides their results. The version with charts is good for `If-Match` too, where the charts do not count.',
      query: z.object({ include: z.enum(['charts']).optional() }),
      returns: ok(dashboardWithCharts),
      versionDeclaration: { ...declareVersion(), optionalFields: ['charts'] },
      fails: [dashboardNotFound],
    },
    async ({ ctx, params: { id }, query: { include } }) =>
      include === 'charts'
        ? viewDashboardWithCharts(ctx, await getDashboardWithCharts(ctx, id))
        : viewDashboard(ctx, await getDashboard(ctx, id)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/dashboards/{id}/filters/{slug}/options',
      access: 'dashboards:get',
      operationId: 'listDashboardFilterOptions',
      summary: 'List the options of a filter of a dashboard',
      description:
        'For filters of kind `select` or `multi_select`. If their SQL fails, the answer is 422, with the message of the database for those who may update the dashboard.',
      query: optionsQuery,
      returns: ok(optionsView),
      fails: [
        dashboardNotFound,
        filterNotFound,
        executionFailed,
        databaseNotProvisioned,
        ...tenantSqlFailures,
        ...userSqlFailures,
      ],
    },
    ({ ctx, params: { id, slug }, query: { search } }) => readDashboardOptions(ctx, id, { slug, search }),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/dashboards/{id}',
      access: 'dashboards:update',
      operationId: 'updateDashboard',
      summary: 'Update a dashboard',
      description:
        'Changes only the fields that are sent. Where others see it, such as by a share, a context or an embed, changing its layout or filters also needs `dashboards:share`.',
      body: dashboardChanges,
      exactNumbers: 'text',
      shownPath: '/v1/dashboards/{id}',
      returns: ok(dashboardRecord),
      fails: [dashboardNotFound, visualizationNotFound, dashboardSlugTaken, concurrentChange],
    },
    async ({ ctx, params, body }) => viewDashboard(ctx, await changeDashboard(ctx, params.id, body)),
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
      body: executionInput,
      exactNumbers: true,
      returns: prepared(z.object({ results: z.array(executionSchema) }), ...fileMediaTypes),
      fails: [dashboardNotFound, executionFailed, accessDenied, databaseNotProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, params: { id }, query: { format, safe, visualization_id: widgetId }, body: { parameters } }) => {
      // Who may change the SQL is told what the database says about it.
      const canSeeSqlErrors = (visualizationId: string) =>
        isAllowed(ctx.actor, 'visualizations:update', visualizationId);
      if (format) {
        const { visualization, execution } = await executeWidget(ctx, id, widgetId, parameters);
        const file = { name: visualization.name, format, escapesFormulas: safe === 'true' };
        return buildFile(execution, file, canSeeSqlErrors(visualization.id));
      }
      requireFormat(widgetId);
      const executions = await executeDashboard(ctx, id, parameters);
      const { locale } = ctx.caller();
      const results = executions.map((execution) =>
        viewExecution(execution, canSeeSqlErrors(execution.visualizationId), locale),
      );
      return { results };
    },
  ),
];
