import { created, noContent, ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf, pageRequest } from '../../http/surfaces/sharing.ts';
import { candidatesView } from '../viewing/service.ts';
import { embedCandidates, filterCandidates } from './candidates.ts';
import { changeShare, createShare, endShare, listDashboardShares, listShares } from './service.ts';
import { newShare, shareChanges, shareView, viewShare } from './views.ts';

const decided = {
  decidedBy: 'dashboards:share, of the dashboard that is shared',
  anyOf: ['dashboards:share'],
} as const;

export const shareEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboards/{id}/shares',
      access: 'dashboards:share',
      summary: 'List the shares of a dashboard, the newest first',
      query: pageQuery('per_page'),
      returns: ok(listOf(shareView)),
    },
    async ({ ctx, params, query }) =>
      list(await listDashboardShares(ctx, params.id, pageRequest(query)), (share) => viewShare(ctx, share)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/dashboards/{id}/shares',
      access: 'dashboards:share',
      summary: 'Share a dashboard by a link, or for a page of somebody else',
      description: 'The token is told only in this answer. With a context, only its members may see the dashboard.',
      body: newShare,
      returns: created(shareView),
    },
    async ({ ctx, params, body }) => viewShare(ctx, await createShare(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboard-shares',
      access: 'dashboards:share',
      summary: 'List the shares of the company, the newest first',
      query: pageQuery('per_page'),
      returns: ok(listOf(shareView)),
    },
    async ({ ctx, query }) => list(await listShares(ctx, pageRequest(query)), (share) => viewShare(ctx, share)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/api/v1/dashboard-shares/{shareId}',
      access: decided,
      summary: 'Change what is sent of a share',
      body: shareChanges,
      returns: ok(shareView),
    },
    async ({ ctx, params, body }) => viewShare(ctx, await changeShare(ctx, params.shareId, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/api/v1/dashboard-shares/{shareId}',
      access: decided,
      summary: 'Revoke a share; it stays listed',
      returns: noContent,
    },
    ({ ctx, params }) => endShare(ctx, params.shareId),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboards/{id}/share-filter-candidates',
      access: 'dashboards:share',
      summary: 'The filters that a policy may be about',
      returns: ok(candidatesView),
    },
    async ({ ctx, params }) => ({ records: await filterCandidates(ctx, params.id) }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/dashboards/{id}/embed-parameter-candidates',
      access: 'dashboards:share',
      summary: 'The filters and parameters that an embed may fix or allow',
      returns: ok(candidatesView),
    },
    async ({ ctx, params }) => ({ records: await embedCandidates(ctx, params.id) }),
  ),
];
