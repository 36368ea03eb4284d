import { concurrentChange } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makeSortedListQuery, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/sharing.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { shareContextNotFound } from '../share-contexts/failures.ts';
import { candidatesView } from '../viewing/views.ts';
import { shareNotFound, shareRevoked } from './failures.ts';
import {
  changeShare,
  createShare,
  getShare,
  listDashboardShares,
  listEmbedCandidates,
  listFilterCandidates,
  listShares,
  requireDashboardToShare,
  requireSharableShare,
  requireVisibleShare,
  revokeShare,
} from './service.ts';
import { newShareInput, shareChangesInput, shareView, viewShare } from './views.ts';

const DASHBOARD_AUTHORIZATION = {
  decidedBy: 'dashboards:share, of the dashboard that is shared',
  anyOf: ['dashboards:share'],
} as const;

const shareListQuery = makeSortedListQuery({
  searchedField: 'the name',
  fields: ['name', 'created_at'],
  defaultOrdering: '-created_at',
});

export const shareEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboards/{id}/shares',
      access: 'dashboards:share',
      operationId: 'listDashboardShares',
      summary: 'List the shares of a dashboard',
      description:
        'Active, expired and revoked shares, without their tokens. The newest first, unless `sort_by` says otherwise.',
      query: shareListQuery,
      returns: ok(makeListSchema(shareView)),
      fails: [dashboardNotFound],
    },
    async ({ ctx, params, query }) =>
      viewList(await listDashboardShares(ctx, params.id, toSortedRequest(query)), (share) => viewShare(ctx, share)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/dashboards/{id}/shares',
      access: 'dashboards:share',
      operationId: 'createShare',
      summary: 'Create a share of a dashboard',
      description:
        'A `link` to send to others, or an `embed` for another site. The token is shown in this answer only. With `share_context_id`, only members of that context may see the dashboard.',
      body: newShareInput,
      checkPath: (ctx, { id = '' }) => requireDashboardToShare(ctx, id),
      returns: created(shareView),
      createdUnder: '/api/v1/dashboard-shares',
      fails: [dashboardNotFound, shareContextNotFound, concurrentChange],
    },
    async ({ ctx, params, body }) => viewShare(ctx, await createShare(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboard-shares',
      access: 'dashboards:share',
      operationId: 'listShares',
      summary: 'List the shares of the company',
      description:
        'Of all dashboards, but for those that the caller is denied. The newest first, unless `sort_by` says otherwise.',
      query: shareListQuery,
      returns: ok(makeListSchema(shareView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listShares(ctx, toSortedRequest(query)), (share) => viewShare(ctx, share)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboard-shares/{shareId}',
      access: DASHBOARD_AUTHORIZATION,
      checkPath: (ctx, { shareId = '' }) => requireVisibleShare(ctx, shareId),
      operationId: 'getShare',
      summary: 'Get a share',
      description: 'Also when it is revoked or expired.',
      returns: ok(shareView),
      versionDeclaration: declareVersion('last_accessed_at', 'view_count'),
      fails: [shareNotFound],
    },
    async ({ ctx, params }) => viewShare(ctx, await getShare(ctx, params.shareId)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/api/v1/dashboard-shares/{shareId}',
      access: DASHBOARD_AUTHORIZATION,
      checkPath: (ctx, { shareId = '' }) => requireVisibleShare(ctx, shareId),
      operationId: 'updateShare',
      summary: 'Update a share',
      description:
        'Changes only the fields that are sent; the token stays the same. A share that is revoked cannot be changed.',
      body: shareChangesInput,
      changers: { requires_auth: 'share_context_id' },
      returns: ok(shareView),
      fails: [shareNotFound, shareRevoked, dashboardNotFound, shareContextNotFound, concurrentChange],
    },
    async ({ ctx, params, body }) => viewShare(ctx, await changeShare(ctx, params.shareId, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/api/v1/dashboard-shares/{shareId}',
      access: DASHBOARD_AUTHORIZATION,
      checkPath: (ctx, { shareId = '' }) => requireSharableShare(ctx, shareId),
      operationId: 'revokeShare',
      summary: 'Revoke a share',
      description: 'Its token stops working with the next request. The share stays in lists.',
      alsoChanges: ['status'],
      returns: noContent,
      fails: [shareNotFound],
    },
    ({ ctx, params }) => revokeShare(ctx, params.shareId),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboards/{id}/share-filter-candidates',
      access: 'dashboards:share',
      operationId: 'listShareFilterCandidates',
      summary: 'List the filters that a share can restrict',
      description: 'Its filters of kind `select` and `multi_select`, which `share_filter_policies` can name.',
      returns: ok(candidatesView),
      fails: [dashboardNotFound],
    },
    async ({ ctx, params }) => ({ records: await listFilterCandidates(ctx, params.id) }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboards/{id}/embed-parameter-candidates',
      access: 'dashboards:share',
      operationId: 'listEmbedParameterCandidates',
      summary: 'List the parameters that an embed token can fix or allow',
      description: 'The filters of the dashboard, and the parameters of its visualizations that no filter sets.',
      returns: ok(candidatesView),
      fails: [dashboardNotFound],
    },
    async ({ ctx, params }) => ({ records: await listEmbedCandidates(ctx, params.id) }),
  ),
];
