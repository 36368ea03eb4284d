import type { Context } from '../../context.ts';
import { raw } from '../../http/endpoint.ts';
import { choosePageLocale, makePageResponse } from '../../http/page.ts';
import { endpoint } from '../../http/surfaces/oauth.ts';
import type { AuthorizationView } from '../../presentation/authorization.ts';
import { type Company, selectCompany, selectCompanyBySlug, viewPageBranding } from '../companies/service.ts';
import { getPasskeyDomain } from '../passkeys/service.ts';
import { hasSingleSignOn } from '../single-sign-on/service.ts';
import { readIssuers } from '../social-sign-in/service.ts';
import { readAuthorization, viewConsentRequest } from './requests.ts';

const LANGUAGE_NOTE = '`locale=en|pt-BR|es` chooses the language, else `Accept-Language` does.';
const PAGE_RESPONSE = raw(200, 'HTML, which nobody may show in a frame.', 'text/html');

async function buildPage(
  ctx: Context,
  request: Request,
  company: Company | undefined,
  viewFields: Partial<AuthorizationView>,
): Promise<Response> {
  const { problem = null } = viewFields;
  const view: AuthorizationView = {
    asked: null,
    user_code: null,
    ...viewFields,
    problem,
    company: company
      ? {
          slug: company.slug,
          name: company.branding.name ?? company.name,
          sso: await hasSingleSignOn(ctx, company.id),
          sso_only: company.ssoOnly,
          social: await readIssuers(ctx, company.id),
          passkey_domain: getPasskeyDomain(ctx),
        }
      : null,
  };
  return makePageResponse(ctx.bindings.PAGES, 'authorization', {
    frameAncestors: [],
    locale: choosePageLocale(request),
    branding: company ? viewPageBranding(ctx.baseUrl, company) : {},
    data: view,
    ...(problem !== null && { status: 400 }),
  });
}

/** Returns the company that `company_slug` in the URL names; undefined before the user has specified one, or if none exists. */
async function findQueryCompany(ctx: Context, query: URLSearchParams): Promise<Company | undefined> {
  const slug = query.get('company_slug');
  return slug === null ? undefined : (await selectCompanyBySlug(ctx.db, slug))[0];
}

/** The consent pages, on which users authorize OAuth clients. They call console routes with the user's session. */
export const oauthPageEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/oauth/authorize',
      recordedAs: 'oauth:authorize',
      access: 'public',
      operationId: 'showAuthorizationPage',
      summary: 'Show the page to let a program in',
      description: `Where a program sends the browser (OAuth 2.1: \`response_type=code\` with PKCE by S256, \`resource\` by RFC 8707): somebody signs in by every way that the company has, and consents. Redirects to \`redirect_uri\` with \`code\`, \`state\` and \`iss\`, or with \`error\`. ${LANGUAGE_NOTE}`,
      returns: PAGE_RESPONSE,
      otherAnswers: {
        302: raw(302, 'To the `redirect_uri`, with `error`: the request is not good.'),
        400: raw(400, 'HTML: the client or its `redirect_uri` is not known.', 'text/html'),
      },
      openQuery: true,
      fails: [],
    },
    async ({ ctx, request }) => {
      const query = new URL(request.url).searchParams;
      const authorization = await readAuthorization(ctx, query);
      if (authorization.kind === 'refused') {
        return new Response(null, {
          status: 302,
          headers: {
            Location: authorization.redirectTo,
            'Cache-Control': 'no-store',
            'Referrer-Policy': 'no-referrer',
          },
        });
      }
      if (authorization.kind === 'unknown')
        return buildPage(ctx, request, undefined, { problem: authorization.problem });
      const { companyId } = authorization.client;
      const company =
        companyId === null ? await findQueryCompany(ctx, query) : (await selectCompany(ctx.db, companyId))[0];
      return buildPage(ctx, request, company, { asked: await viewConsentRequest(ctx, authorization.request) });
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/oauth/device',
      recordedAs: 'oauth:device',
      access: 'public',
      operationId: 'showDevicePage',
      summary: 'Show the page to let a device in',
      description: `Where somebody signs in and types the code that a program without a browser shows. ${LANGUAGE_NOTE}`,
      returns: PAGE_RESPONSE,
      openQuery: true,
      fails: [],
    },
    async ({ ctx, request }) => {
      const query = new URL(request.url).searchParams;
      return buildPage(ctx, request, await findQueryCompany(ctx, query), {
        user_code: query.get('user_code')?.slice(0, 20) ?? null,
      });
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/oauth/signed-in',
      recordedAs: 'oauth:signed_in',
      access: 'public',
      operationId: 'showSignedInPage',
      summary: 'Show the page after a sign-in at an identity provider',
      description: `Where the identity provider leads back to when somebody lets a program in: it goes on where they were. ${LANGUAGE_NOTE}`,
      returns: PAGE_RESPONSE,
      openQuery: true,
      fails: [],
    },
    ({ ctx, request }) => buildPage(ctx, request, undefined, {}),
  ),
];
