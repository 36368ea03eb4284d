import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { endpointFor, ok, prepared } from '../../http/endpoint.ts';
import { asksFresh } from '../../http/freshness.ts';
import { isoTimestampOrNull, timestamp } from '../../kernel/fields.ts';
import { executeBody } from '../../sql-templates/fields.ts';
import { brandingView } from '../companies/views.ts';
import { downloadFailures, executionFailures, optionFailures, originNotAllowed } from '../viewing/failures.ts';
import {
  downloadMediaTypes,
  EXECUTION,
  embedOptionsView,
  executionQuery,
  optionsQuery,
  optionsView,
  resultsView,
  sharedItemView,
  viewEmbedOptions,
  viewSharedItem,
} from '../viewing/service.ts';
import { signInNeeded } from './failures.ts';
import { executeShare, readShareOptions, resolveShare, type ShareViewer } from './token.ts';

const endpoint = endpointFor<Principal, ShareViewer>();
const access = { token: 'share' } as const;
const path = '/api/v1/public/shares/{token}';
const tokenFailures = [invalidToken, originNotAllowed];

const resolvedView = z.union([
  z.object({ requires_auth: z.literal(true), company_slug: z.string() }),
  z.object({
    requires_auth: z.literal(false),
    branding: brandingView,
    share_type: z.enum(['link', 'embed']),
    dashboard: sharedItemView,
    embed_options: embedOptionsView,
    expires_at: timestamp.nullable(),
  }),
]);

function viewResolved(resolved: ReturnType<typeof resolveShare>): z.input<typeof resolvedView> {
  if (resolved.requiresAuth) return { requires_auth: true, company_slug: resolved.companySlug };
  const { branding, share, item, rules } = resolved;
  return {
    requires_auth: false,
    branding,
    share_type: share.shareType,
    dashboard: viewSharedItem(item, rules),
    embed_options: viewEmbedOptions(share.embedOptions),
    expires_at: isoTimestampOrNull(share.expiresAt),
  };
}

/** The routes for holders of a share's link. */
export const publicShareEndpoints = [
  endpoint(
    {
      method: 'get',
      path: `${path}/resolve`,
      access,
      operationId: 'getSharedDashboard',
      summary: 'Get a shared dashboard',
      description: 'With `requires_auth`, only members of a context may see it: sign in to the portal first.',
      returns: ok(resolvedView),
      fails: [...tokenFailures],
    },
    ({ ctx }) => viewResolved(resolveShare(ctx)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${path}/filters/{filter_slug}/options`,
      access,
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
  endpoint(
    {
      method: 'post',
      path: `${path}/execute`,
      access,
      operationId: 'executeSharedDashboard',
      summary: 'Execute a shared dashboard',
      description: `Runs the dashboard with values for the filters that the share leaves open. ${EXECUTION}`,
      safe: true,
      query: executionQuery,
      body: executeBody,
      exactNumbers: true,
      returns: prepared(resultsView, ...downloadMediaTypes),
      fails: [...tokenFailures, signInNeeded, ...executionFailures, ...downloadFailures],
    },
    ({ ctx, query, body, request }) => executeShare(ctx, body.parameters, { ...query, isFresh: asksFresh(request) }),
  ),
];
