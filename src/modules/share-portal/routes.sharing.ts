import { z } from 'zod';
import { accessDenied } from '../../access/failures.ts';
import { wantsFreshResult } from '../../http/cache-control.ts';
import { ok, prepared } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { portalEndpoint as endpoint, makeListSchema, toPageRequest, viewList } from '../../http/surfaces/sharing.ts';
import { makeView } from '../../http/wire.ts';
import { executionInput } from '../../sql-templates/fields.ts';
import { companyNotFound } from '../companies/failures.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { optionsQuery, optionsView } from '../dashboards/views.ts';
import { downloadFailures, executionFailures, optionFailures } from '../viewing/failures.ts';
import { viewSharedItem } from '../viewing/service.ts';
import {
  downloadMediaTypes,
  EXECUTION_DESCRIPTION,
  executionQuery,
  resultsView,
  sharedItemView,
} from '../viewing/views.ts';
import { invalidContextId } from './failures.ts';
import {
  executeInPortal,
  getPortalDashboard,
  listContextDashboards,
  listOwnContexts,
  listOwnDashboards,
  type PortalDashboard,
  readPortalOptions,
  requireCompanyOfCaller,
} from './service.ts';

const entryView = z
  .object({ id: z.string(), name: z.string(), slug: z.string(), description: z.string(), context_id: z.string() })
  .meta({ id: 'PortalEntry' });

const viewEntry = makeView(entryView);

const dashboardView = sharedItemView
  .extend({ context_id: z.string(), allow_downloads: z.boolean() })
  .meta({ id: 'PortalDashboard' });

const viewDashboard = ({ contextId, item, rules, accessFailures }: PortalDashboard): z.input<typeof dashboardView> => ({
  ...viewSharedItem(item, rules, accessFailures),
  context_id: contextId,
  allow_downloads: rules.allowsDownloads,
});

// Whatever is wrong with it is the same failure, so it is not for the schema to refuse.
const contextIdField = z
  .unknown()
  .optional()
  .meta({ type: 'string', maxLength: 24, description: 'The id of a share context that the caller is a member of.' });

const portalAccess = {
  access: { decidedBy: 'membership of the context' },
  credential: 'external',
  forPrograms: false,
} as const;
const dashboardFailures = [invalidContextId, dashboardNotFound, accessDenied];
const PORTAL_PATH = '/api/v1/share-portal';
const COMPANY_PATH = `${PORTAL_PATH}/{company_slug}` as const;
const pagesQuery = makePageQuery('per_page');
const contextQuery = z.object({ context_id: contextIdField });
const optionsContract = {
  ...portalAccess,
  method: 'get',
  query: optionsQuery.extend({ context_id: contextIdField }),
  returns: ok(optionsView),
} as const;
const executionContract = {
  ...portalAccess,
  method: 'post',
  safe: true,
  query: executionQuery,
  body: executionInput.extend({ context_id: contextIdField }),
  exactNumbers: true,
  returns: prepared(resultsView, ...downloadMediaTypes),
} as const;

/** The routes of the portal. Every route exists by the dashboard's id, and by the slugs of company and dashboard. */
export const sharePortalEndpoints = [
  endpoint(
    {
      ...portalAccess,
      method: 'get',
      path: `${PORTAL_PATH}/contexts`,
      operationId: 'listPortalContexts',
      summary: "List the caller's portal contexts",
      description: 'Contexts that the caller is a member of. Newest first.',
      query: pagesQuery,
      returns: ok(makeListSchema(entryView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listOwnContexts(ctx, toPageRequest(query)), viewEntry),
  ),
  endpoint(
    {
      ...portalAccess,
      method: 'get',
      path: `${COMPANY_PATH}/contexts`,
      operationId: 'listPortalContextsBySlug',
      summary: "List the caller's portal contexts by company slug",
      description:
        'As GET /api/v1/share-portal/contexts, for addresses that name the company. Only that of the caller is found.',
      query: pagesQuery,
      returns: ok(makeListSchema(entryView)),
      fails: [companyNotFound],
    },
    async ({ ctx, params, query }) => {
      requireCompanyOfCaller(ctx, params.company_slug);
      return viewList(await listOwnContexts(ctx, toPageRequest(query)), viewEntry);
    },
  ),
  endpoint(
    {
      ...portalAccess,
      method: 'get',
      path: `${PORTAL_PATH}/dashboards`,
      operationId: 'listPortalContextDashboards',
      summary: 'List the dashboards of a portal context',
      description: 'What the context `context_id` shows its members, of whom the caller must be one.',
      query: pagesQuery.extend({ context_id: contextIdField }),
      returns: ok(makeListSchema(entryView)),
      fails: [invalidContextId],
    },
    async ({ ctx, query }) =>
      viewList(await listContextDashboards(ctx, query.context_id, toPageRequest(query)), viewEntry),
  ),
  endpoint(
    {
      ...portalAccess,
      method: 'get',
      path: `${COMPANY_PATH}/dashboards`,
      operationId: 'listPortalDashboards',
      summary: "List the caller's portal dashboards",
      description: 'A dashboard that several contexts show is listed once for each.',
      query: pagesQuery,
      returns: ok(makeListSchema(entryView)),
      fails: [companyNotFound],
    },
    async ({ ctx, params, query }) => {
      requireCompanyOfCaller(ctx, params.company_slug);
      return viewList(await listOwnDashboards(ctx, toPageRequest(query)), viewEntry);
    },
  ),
  endpoint(
    {
      ...portalAccess,
      method: 'get',
      path: `${PORTAL_PATH}/dashboards/{id}`,
      operationId: 'getPortalDashboard',
      summary: 'Get a portal dashboard',
      description:
        'All that is needed to draw it, besides the results: layout, charts, and the filters that the context leaves open.',
      query: contextQuery,
      returns: ok(dashboardView),
      fails: [...dashboardFailures],
    },
    async ({ ctx, params, query }) =>
      viewDashboard(await getPortalDashboard(ctx, { contextId: query.context_id, dashboard: { id: params.id } })),
  ),
  endpoint(
    {
      ...portalAccess,
      method: 'get',
      path: `${COMPANY_PATH}/dashboards/{dashboard_slug}`,
      operationId: 'getPortalDashboardBySlug',
      summary: 'Get a portal dashboard by slug',
      description: 'As by id, for addresses that people read: the company and the dashboard by their slugs.',
      query: contextQuery,
      returns: ok(dashboardView),
      fails: [companyNotFound, ...dashboardFailures],
    },
    async ({ ctx, params, query }) => {
      requireCompanyOfCaller(ctx, params.company_slug);
      const dashboard = { slug: params.dashboard_slug };
      return viewDashboard(await getPortalDashboard(ctx, { contextId: query.context_id, dashboard }));
    },
  ),
  endpoint(
    {
      ...optionsContract,
      path: `${PORTAL_PATH}/dashboards/{id}/filters/{filter_slug}/options`,
      operationId: 'listPortalFilterOptions',
      summary: 'List the options of a filter of a portal dashboard',
      description: 'Of a `select` or `multi_select`, only the values that the caller’s context lets them choose.',
      fails: [...dashboardFailures, ...optionFailures],
    },
    ({ ctx, params, query }) =>
      readPortalOptions(
        ctx,
        { contextId: query.context_id, dashboard: { id: params.id } },
        params.filter_slug,
        query.search,
      ),
  ),
  endpoint(
    {
      ...optionsContract,
      path: `${COMPANY_PATH}/dashboards/{dashboard_slug}/filters/{filter_slug}/options`,
      operationId: 'listPortalFilterOptionsBySlug',
      summary: 'List the options of a filter of a portal dashboard by slug',
      description:
        'Of a `select` or `multi_select`, as by id, for addresses that name the company and the dashboard by their slugs.',
      fails: [companyNotFound, ...dashboardFailures, ...optionFailures],
    },
    ({ ctx, params, query }) => {
      requireCompanyOfCaller(ctx, params.company_slug);
      const request = { contextId: query.context_id, dashboard: { slug: params.dashboard_slug } };
      return readPortalOptions(ctx, request, params.filter_slug, query.search);
    },
  ),
  endpoint(
    {
      ...executionContract,
      path: `${PORTAL_PATH}/dashboards/{id}/execute`,
      operationId: 'executePortalDashboard',
      summary: 'Execute a portal dashboard',
      description: `Runs the dashboard with values for the filters that the caller’s context leaves open. ${EXECUTION_DESCRIPTION}`,
      fails: [...dashboardFailures, ...executionFailures, ...downloadFailures],
    },
    ({ ctx, params, query, body, request }) =>
      executeInPortal(ctx, { contextId: body.context_id, dashboard: { id: params.id } }, body.parameters, {
        ...query,
        isFresh: wantsFreshResult(request),
      }),
  ),
  endpoint(
    {
      ...executionContract,
      path: `${COMPANY_PATH}/dashboards/{dashboard_slug}/execute`,
      operationId: 'executePortalDashboardBySlug',
      summary: 'Execute a portal dashboard by slug',
      description: `As by id, for addresses that name the company and the dashboard by their slugs. ${EXECUTION_DESCRIPTION}`,
      fails: [companyNotFound, ...dashboardFailures, ...executionFailures, ...downloadFailures],
    },
    ({ ctx, params, query, body, request }) => {
      requireCompanyOfCaller(ctx, params.company_slug);
      const dashboard = { contextId: body.context_id, dashboard: { slug: params.dashboard_slug } };
      return executeInPortal(ctx, dashboard, body.parameters, { ...query, isFresh: wantsFreshResult(request) });
    },
  ),
];
