import { z } from 'zod';
import type { UserActor } from '../../access/actors.ts';
import { endpointFor, ok, prepared } from '../../http/endpoint.ts';
import { executeBody } from '../../http/execute-body.ts';
import { isoTimestamp, timestamp } from '../../kernel/fields.ts';
import {
  type Exhibit,
  embedOptionsView,
  optionsQuery,
  optionsView,
  resultsView,
  resultView,
  subjectView,
  viewSubject,
} from '../viewing/service.ts';
import { type Embedded, type EmbedViewer, embedOptions, executeEmbed, rulesOfEmbed } from './token.ts';

const dashboardEndpoint = endpointFor<'sharing', UserActor, EmbedViewer<Exhibit & { type: 'dashboard' }>>();
const visualizationEndpoint = endpointFor<'sharing', UserActor, EmbedViewer>();
const dashboardToken = { token: 'embed-dashboard' } as const;
const visualizationToken = { token: 'embed-visualization' } as const;

const members = { requires_auth: z.literal(false), embed_options: embedOptionsView, expires_at: timestamp };
const dashboardInfo = z.object({ ...members, dashboard: subjectView });
const visualizationInfo = z.object({ ...members, visualization: subjectView });

const infoOf = (shown: Embedded) => ({
  requires_auth: false as const,
  embed_options: {
    allowed_origins: [...shown.claims.allowedOrigins],
    hide_header: false,
    hide_controls: false,
  },
  expires_at: isoTimestamp(shown.claims.expiresAt),
});
const subject = (shown: Embedded) => viewSubject(shown.exhibit, rulesOfEmbed(shown));

/** What holders of an embed token may do. */
export const publicEmbedEndpoints = [
  dashboardEndpoint(
    {
      method: 'get',
      path: '/api/embed/d/{token}/info',
      access: dashboardToken,
      summary: 'What of a dashboard the token shows',
      returns: ok(dashboardInfo),
    },
    ({ ctx: { actor } }) => ({ ...infoOf(actor.shown), dashboard: subject(actor.shown) }),
  ),
  dashboardEndpoint(
    {
      method: 'get',
      path: '/api/embed/d/{token}/filters/{filter_slug}/options',
      access: dashboardToken,
      summary: 'The options of a filter of kind select or multi_select',
      query: optionsQuery,
      returns: ok(optionsView),
    },
    ({ ctx, params, query }) => embedOptions(ctx, params.filter_slug, query.search),
  ),
  dashboardEndpoint(
    {
      method: 'post',
      path: '/api/embed/d/{token}/execute',
      access: dashboardToken,
      summary: 'Execute the dashboard',
      description: 'A visualization that fails is told in its result, and does not fail the others.',
      body: executeBody,
      exactNumbers: true,
      returns: prepared(resultsView),
    },
    ({ ctx, body }) => executeEmbed(ctx, body.parameters),
  ),
  visualizationEndpoint(
    {
      method: 'get',
      path: '/api/embed/v/{token}/info',
      access: visualizationToken,
      summary: 'What of a visualization the token shows',
      returns: ok(visualizationInfo),
    },
    ({ ctx: { actor } }) => ({ ...infoOf(actor.shown), visualization: subject(actor.shown) }),
  ),
  visualizationEndpoint(
    {
      method: 'post',
      path: '/api/embed/v/{token}/execute',
      access: visualizationToken,
      summary: 'Execute the visualization',
      body: executeBody,
      exactNumbers: true,
      returns: prepared(resultView),
    },
    ({ ctx, body }) => executeEmbed(ctx, body.parameters),
  ),
];
