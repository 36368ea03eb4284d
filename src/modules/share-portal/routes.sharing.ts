import { z } from 'zod';
import { ok, prepared } from '../../http/endpoint.ts';
import { executeBody } from '../../http/execute-body.ts';
import { pageQuery } from '../../http/list-query.ts';
import { portalEndpoint as endpoint, list, listOf, pageRequest } from '../../http/surfaces/sharing.ts';
import { optionsQuery, optionsView, resultsView, subjectView, viewSubject } from '../viewing/service.ts';
import {
  contextDashboards,
  executeInPortal,
  type Listed,
  ownContexts,
  ownDashboards,
  type PortalDashboard,
  portalDashboard,
  portalOptions,
  requireOwnCompany,
} from './service.ts';

const listedView = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    context_id: z.string(),
  })
  .meta({ id: 'PortalEntry' });

const viewListed = ({ id, name, slug, description, contextId }: Listed): z.input<typeof listedView> => ({
  id,
  name,
  slug,
  description,
  context_id: contextId,
});

const dashboardView = subjectView.extend({ context_id: z.string() }).meta({ id: 'PortalDashboard' });

const viewDashboard = ({ contextId, exhibit, rules }: PortalDashboard): z.input<typeof dashboardView> => ({
  ...viewSubject(exhibit, rules),
  context_id: contextId,
});

// Whatever is wrong with it is the same failure, so it is not for the schema to refuse.
const contextId = z
  .unknown()
  .optional()
  .meta({ type: 'string', description: 'A context of which the caller is a member.' });

const credentials = {
  access: { decidedBy: 'membership of the context' },
  credential: 'external',
} as const;
const own = '/api/v1/share-portal';
const company = `${own}/{company_slug}` as const;
const pages = pageQuery('per_page');
const ofContext = z.object({ context_id: contextId });
const execution = executeBody.extend({ context_id: contextId });

/** Every route by the id of its dashboard, and by the slugs of company and dashboard. */
export const sharePortalEndpoints = [
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${own}/contexts`,
      summary: 'List the contexts of which the caller is a member',
      query: pages,
      returns: ok(listOf(listedView)),
    },
    async ({ ctx, query }) => list(await ownContexts(ctx, pageRequest(query)), viewListed),
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${company}/contexts`,
      summary: 'The same, by the slug of the company',
      query: pages,
      returns: ok(listOf(listedView)),
    },
    async ({ ctx, params, query }) => {
      requireOwnCompany(ctx, params.company_slug);
      return list(await ownContexts(ctx, pageRequest(query)), viewListed);
    },
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${own}/dashboards`,
      summary: 'List the dashboards of a context',
      query: pages.extend({ context_id: contextId }),
      returns: ok(listOf(listedView)),
    },
    async ({ ctx, query }) => list(await contextDashboards(ctx, query.context_id, pageRequest(query)), viewListed),
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${company}/dashboards`,
      summary: 'List the dashboards of all contexts of the caller, each once for each context',
      query: pages,
      returns: ok(listOf(listedView)),
    },
    async ({ ctx, params, query }) => {
      requireOwnCompany(ctx, params.company_slug);
      return list(await ownDashboards(ctx, pageRequest(query)), viewListed);
    },
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${own}/dashboards/{id}`,
      summary: 'Get a dashboard as a context shows it',
      query: ofContext,
      returns: ok(dashboardView),
    },
    async ({ ctx, params, query }) =>
      viewDashboard(await portalDashboard(ctx, { contextId: query.context_id, dashboard: { id: params.id } })),
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${company}/dashboards/{dashboard_slug}`,
      summary: 'The same, by slugs',
      query: ofContext,
      returns: ok(dashboardView),
    },
    async ({ ctx, params, query }) => {
      requireOwnCompany(ctx, params.company_slug);
      const dashboard = { slug: params.dashboard_slug };
      return viewDashboard(await portalDashboard(ctx, { contextId: query.context_id, dashboard }));
    },
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${own}/dashboards/{id}/filters/{filter_slug}/options`,
      summary: 'The options of a filter of kind select or multi_select',
      query: optionsQuery.extend({ context_id: contextId }),
      returns: ok(optionsView),
    },
    ({ ctx, params, query }) =>
      portalOptions(
        ctx,
        { contextId: query.context_id, dashboard: { id: params.id } },
        params.filter_slug,
        query.search,
      ),
  ),
  endpoint(
    {
      ...credentials,
      method: 'get',
      path: `${company}/dashboards/{dashboard_slug}/filters/{filter_slug}/options`,
      summary: 'The same, by slugs',
      query: optionsQuery.extend({ context_id: contextId }),
      returns: ok(optionsView),
    },
    ({ ctx, params, query }) => {
      requireOwnCompany(ctx, params.company_slug);
      const wanted = { contextId: query.context_id, dashboard: { slug: params.dashboard_slug } };
      return portalOptions(ctx, wanted, params.filter_slug, query.search);
    },
  ),
  endpoint(
    {
      ...credentials,
      method: 'post',
      path: `${own}/dashboards/{id}/execute`,
      summary: 'Execute a dashboard as a context shows it',
      body: execution,
      exactNumbers: true,
      returns: prepared(resultsView),
    },
    ({ ctx, params, body }) =>
      executeInPortal(ctx, { contextId: body.context_id, dashboard: { id: params.id } }, body.parameters),
  ),
  endpoint(
    {
      ...credentials,
      method: 'post',
      path: `${company}/dashboards/{dashboard_slug}/execute`,
      summary: 'The same, by slugs',
      body: execution,
      exactNumbers: true,
      returns: prepared(resultsView),
    },
    ({ ctx, params, body }) => {
      requireOwnCompany(ctx, params.company_slug);
      const wanted = { contextId: body.context_id, dashboard: { slug: params.dashboard_slug } };
      return executeInPortal(ctx, wanted, body.parameters);
    },
  ),
];
