import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { wantsFreshResult } from '../../http/cache-control.ts';
import { createEndpointFunction, ok, prepared } from '../../http/endpoint.ts';
import { formatIsoTimestampOrNull, timestampSchema } from '../../kernel/fields.ts';
import { executionInput } from '../../sql-templates/fields.ts';
import { brandingView } from '../companies/views.ts';
import { optionsQuery, optionsView } from '../dashboards/views.ts';
import { downloadFailures, executionFailures, optionFailures, originNotAllowed } from '../viewing/failures.ts';
import { viewSharedItem } from '../viewing/service.ts';
import {
  downloadMediaTypes,
  EXECUTION_DESCRIPTION,
  embedOptionsView,
  executionQuery,
  resultsView,
  sharedItemView,
  viewEmbedOptions,
} from '../viewing/views.ts';
import { signInNeeded } from './failures.ts';
import { executeShare, readShareOptions, resolveShare, type ShareViewer } from './token.ts';

const shareEndpoint = createEndpointFunction<Principal, ShareViewer>();
const SHARE_TOKEN_ACCESS = { token: 'share' } as const;
const path = '/api/v1/public/shares/{token}';
const tokenFailures = [invalidToken, originNotAllowed];

const resolvedShareView = z.union([
  z.object({ requires_auth: z.literal(true), company_slug: z.string() }),
  z.object({
    requires_auth: z.literal(false),
    branding: brandingView,
    share_type: z.enum(['link', 'embed']),
    dashboard: sharedItemView,
    embed_options: embedOptionsView,
    expires_at: timestampSchema.nullable(),
  }),
]);

function viewResolvedShare(resolvedShare: ReturnType<typeof resolveShare>): z.input<typeof resolvedShareView> {
  if (resolvedShare.requiresAuth) return { requires_auth: true, company_slug: resolvedShare.companySlug };
  const { branding, share, item, rules } = resolvedShare;
  return {
    requires_auth: false,
    branding,
    share_type: share.shareType,
    dashboard: viewSharedItem(item, rules),
    embed_options: viewEmbedOptions(share.embedOptions),
    expires_at: formatIsoTimestampOrNull(share.expiresAt),
  };
}

/** The routes for holders of a share's link. */
export const publicShareEndpoints = [
  shareEndpoint(
    {
      method: 'get',
      path: `${path}/resolve`,
      access: SHARE_TOKEN_ACCESS,
      operationId: 'getSharedDashboard',
      summary: 'Get a shared dashboard',
      description: 'With `requires_auth`, only members of a context may see it: sign in to the portal first.',
      returns: ok(resolvedShareView),
      fails: [...tokenFailures],
    },
    ({ ctx }) => viewResolvedShare(resolveShare(ctx)),
  ),
  shareEndpoint(
    {
      method: 'get',
      path: `${path}/filters/{filter_slug}/options`,
      access: SHARE_TOKEN_ACCESS,
      operationId: 'listSharedFilterOptions',
      summary: 'List the options of a filter of a shared dashboard',
      description:
        'For filters of kind `select` or `multi_select`, only the values that the share lets the viewer choose.',
      query: optionsQuery,
      returns: ok(optionsView),
      fails: [...tokenFailures, signInNeeded, ...optionFailures],
    },
    ({ ctx, params, query }) => readShareOptions(ctx, params.filter_slug, query.search),
  ),
  shareEndpoint(
    {
      method: 'post',
      path: `${path}/execute`,
      access: SHARE_TOKEN_ACCESS,
      operationId: 'executeSharedDashboard',
      summary: 'Execute a shared dashboard',
      description: `Runs the dashboard with values for the filters that the share leaves open. ${EXECUTION_DESCRIPTION}`,
      safe: true,
      query: executionQuery,
      body: executionInput,
      exactNumbers: true,
      returns: prepared(resultsView, ...downloadMediaTypes),
      fails: [...tokenFailures, signInNeeded, ...executionFailures, ...downloadFailures],
    },
    ({ ctx, query, body, request }) =>
      executeShare(ctx, body.parameters, { ...query, isFresh: wantsFreshResult(request) }),
  ),
];
