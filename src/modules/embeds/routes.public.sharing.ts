import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { wantsFreshResult } from '../../http/cache-control.ts';
import { createEndpointFunction, ok, prepared } from '../../http/endpoint.ts';
import { formatIsoTimestamp, timestampSchema } from '../../kernel/fields.ts';
import { executionInput } from '../../sql-templates/fields.ts';
import { brandingView, viewPageBranding } from '../companies/views.ts';
import { optionsQuery, optionsView } from '../dashboards/views.ts';
import { downloadFailures, executionFailures, optionFailures, originNotAllowed } from '../viewing/failures.ts';
import { type SharedItem, viewSharedItem } from '../viewing/service.ts';
import {
  downloadMediaTypes,
  EXECUTION_DESCRIPTION,
  embedOptionsView,
  executionQuery,
  resultsView,
  resultView,
  sharedItemView,
} from '../viewing/views.ts';
import { type EmbedViewer, executeEmbed, makeEmbedRules, type OpenedEmbed, readEmbedOptions } from './token.ts';

const dashboardEndpoint = createEndpointFunction<Principal, EmbedViewer<SharedItem & { type: 'dashboard' }>>();
const visualizationEndpoint = createEndpointFunction<Principal, EmbedViewer>();
const dashboardToken = { token: 'embed-dashboard' } as const;
const visualizationToken = { token: 'embed-visualization' } as const;
const tokenFailures = [invalidToken, originNotAllowed];

const fields = {
  requires_auth: z.literal(false),
  branding: brandingView,
  embed_options: embedOptionsView,
  expires_at: timestampSchema,
};
const dashboardInfo = z.object({ ...fields, dashboard: sharedItemView });
const visualizationInfo = z.object({ ...fields, visualization: sharedItemView });

const viewInfo = (baseUrl: string, openedEmbed: OpenedEmbed) => ({
  requires_auth: false as const,
  branding: viewPageBranding(baseUrl, openedEmbed.company, openedEmbed.claims.theme),
  embed_options: {
    allowed_origins: [...openedEmbed.claims.allowedOrigins],
    hide_header: false,
    hide_controls: false,
    allow_downloads: openedEmbed.claims.allowDownloads,
  },
  expires_at: formatIsoTimestamp(openedEmbed.claims.expiresAt),
});
const viewItem = (openedEmbed: OpenedEmbed) => viewSharedItem(openedEmbed.item, makeEmbedRules(openedEmbed));

/** The endpoints for holders of an embed token. */
export const publicEmbedEndpoints = [
  dashboardEndpoint(
    {
      method: 'get',
      path: '/api/embed/d/{token}/info',
      access: dashboardToken,
      operationId: 'getEmbeddedDashboard',
      summary: 'Get an embedded dashboard',
      description:
        'All that is needed to draw it, besides the results: layout, charts, the filters that the token leaves open, and the company’s branding.',
      returns: ok(dashboardInfo),
      fails: [...tokenFailures],
    },
    ({ ctx: { actor, baseUrl } }) => ({
      ...viewInfo(baseUrl, actor.tokenRecord),
      dashboard: viewItem(actor.tokenRecord),
    }),
  ),
  dashboardEndpoint(
    {
      method: 'get',
      path: '/api/embed/d/{token}/filters/{filter_slug}/options',
      access: dashboardToken,
      operationId: 'listEmbeddedFilterOptions',
      summary: 'List the options of a filter of an embedded dashboard',
      description: 'For filters of kind `select` or `multi_select` that the token lets the viewer set.',
      query: optionsQuery,
      returns: ok(optionsView),
      fails: [...tokenFailures, ...optionFailures],
    },
    ({ ctx, params, query }) => readEmbedOptions(ctx, params.filter_slug, query.search),
  ),
  dashboardEndpoint(
    {
      method: 'post',
      path: '/api/embed/d/{token}/execute',
      access: dashboardToken,
      operationId: 'executeEmbeddedDashboard',
      summary: 'Execute an embedded dashboard',
      description: `Runs the dashboard with what the token fixes, and values for what it leaves open. ${EXECUTION_DESCRIPTION}`,
      safe: true,
      query: executionQuery,
      body: executionInput,
      exactNumbers: true,
      returns: prepared(resultsView, ...downloadMediaTypes),
      fails: [...tokenFailures, ...executionFailures, ...downloadFailures],
    },
    ({ ctx, query, body, request }) =>
      executeEmbed(ctx, body.parameters, { ...query, isFresh: wantsFreshResult(request) }),
  ),
  visualizationEndpoint(
    {
      method: 'get',
      path: '/api/embed/v/{token}/info',
      access: visualizationToken,
      operationId: 'getEmbeddedVisualization',
      summary: 'Get an embedded visualization',
      description:
        'Its chart and the parameters that the token leaves open, with the company’s branding and the end of the token.',
      returns: ok(visualizationInfo),
      fails: [...tokenFailures],
    },
    ({ ctx: { actor, baseUrl } }) => ({
      ...viewInfo(baseUrl, actor.tokenRecord),
      visualization: viewItem(actor.tokenRecord),
    }),
  ),
  visualizationEndpoint(
    {
      method: 'post',
      path: '/api/embed/v/{token}/execute',
      access: visualizationToken,
      operationId: 'executeEmbeddedVisualization',
      summary: 'Execute an embedded visualization',
      safe: true,
      description: 'Where downloads are allowed, `format` downloads the result.',
      query: executionQuery,
      body: executionInput,
      exactNumbers: true,
      returns: prepared(resultView, ...downloadMediaTypes),
      fails: [...tokenFailures, ...executionFailures, ...downloadFailures],
    },
    ({ ctx, query, body, request }) =>
      executeEmbed(ctx, body.parameters, { ...query, isFresh: wantsFreshResult(request) }),
  ),
];
