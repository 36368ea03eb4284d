import type { AnonymousActor } from '../../access/actors.ts';
import type { Context } from '../../context.ts';
import { raw } from '../../http/endpoint.ts';
import { choosePageLocale, makePageResponse, type PageName } from '../../http/page.ts';
import { endpoint } from '../../http/surfaces/sharing.ts';
import type { FrameAncestors, ViewBranding } from '../../presentation/viewing.ts';
import type { Locale } from '../../texts/locales.ts';
import { readBrandingBySlug } from '../companies/service.ts';

/** The settings of a page by the token that opens it. Invalid tokens are no failure: no site may show their page in a frame. */
export interface PageSettings {
  frameAncestors: FrameAncestors;
  locale?: Locale;
  branding?: ViewBranding;
}

/** Functions that return the settings of pages by the tokens in their URLs. */
export interface PageOpeners {
  /** Opens the page of an embed token: its `allowed_origins` may frame it; any origin when it names none. */
  openEmbedPage(ctx: Context<AnonymousActor>, token: string): Promise<PageSettings>;
  /** Opens the page of a share: no origin may frame it, unless its `embed_options.allowed_origins` say otherwise. */
  openSharePage(ctx: Context<AnonymousActor>, token: string): Promise<PageSettings>;
}

const LANGUAGE_NOTE = '`locale=en|pt-BR|es` chooses the language, else `Accept-Language` does.';

const URL_FILTERS_NOTE = `The query may give values to filters: \`?region=South\`, a multi_select repeated, a date_range as \`?period.from=2024-01-01&period.to=2024-12-31\`, and \`theme=light|dark\`. ${LANGUAGE_NOTE}`;

/** Builds a page in the requested language. */
const buildPage = (
  ctx: Context,
  name: PageName,
  request: Request,
  { locale, ...opened }: PageSettings,
): Promise<Response> =>
  makePageResponse(ctx.bindings.PAGES, name, { ...opened, locale: choosePageLocale(request, locale) });

/**
 * Creates the endpoints of the pages that outsiders open. Their content comes from the sharing routes, with the token in their
 * URL.
 */
export const createPageEndpoints = (openers: PageOpeners) => [
  endpoint(
    {
      method: 'get',
      path: '/embed/d/{token}',
      access: 'public',
      operationId: 'showEmbeddedDashboardPage',
      summary: 'Show the page of an embedded dashboard',
      description: `For a frame on the sites that the token allows, with filters above the charts. ${URL_FILTERS_NOTE}`,
      returns: raw(200, 'HTML. `frame-ancestors` are the `allowed_origins` of the token.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    async ({ ctx, params, request }) => buildPage(ctx, 'view', request, await openers.openEmbedPage(ctx, params.token)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/embed/v/{token}',
      access: 'public',
      operationId: 'showEmbeddedVisualizationPage',
      summary: 'Show the page of an embedded visualization',
      description: `For a frame on the sites that the token allows: one chart, with its parameters above it. ${URL_FILTERS_NOTE}`,
      returns: raw(200, 'HTML. `frame-ancestors` are the `allowed_origins` of the token.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    async ({ ctx, params, request }) => buildPage(ctx, 'view', request, await openers.openEmbedPage(ctx, params.token)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/p/{token}',
      access: 'public',
      operationId: 'showSharedDashboardPage',
      summary: 'Show the page of a shared dashboard',
      description: `For whoever was sent the link; where the share is for members of a context, they sign in first. ${URL_FILTERS_NOTE}`,
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    async ({ ctx, params, request }) => buildPage(ctx, 'view', request, await openers.openSharePage(ctx, params.token)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/portal/{company_slug}',
      access: 'public',
      operationId: 'showPortalPage',
      summary: 'Show the page of the portal',
      description: `Outsiders sign in there and find what is shared with them. ${LANGUAGE_NOTE}`,
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    async ({ ctx, params, request }) =>
      buildPage(ctx, 'portal', request, {
        frameAncestors: [],
        branding: await readBrandingBySlug(ctx, params.company_slug),
      }),
  ),
];
