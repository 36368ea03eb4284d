import { z } from 'zod';
import { noContent, ok, raw } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { signInResultView, viewSignInResult } from '../sign-in/views.ts';
import { readAnswerForm } from './answer-form.ts';
import { getConfiguration, putCompanyConfiguration, removeConfiguration, serviceProvider } from './configuration.ts';
import { exchangeCode, finishSignIn, metadataOf, startSignIn } from './service.ts';
import { configurationInput, configurationView, viewConfiguration } from './views.ts';

const CALLBACK =
  'Called by the identity provider. Sends the person on to the `redirect_uri` of the sign-in: with `code`, for POST /v1/auth/sso/exchange within 60 seconds, or with `error`: `access_denied`, `invalid_response`, `email_missing`, `email_not_verified`, `user_not_found`, `user_not_active` or `provider_unavailable`. An unknown, used or expired state (RelayState in SAML) is 400.';

/** Neither caches nor the next page may keep the address with the code. */
const sendOn = (url: string) =>
  new Response(null, {
    status: 302,
    headers: { Location: url, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' },
  });

const answered = z.string().max(8192).optional();

export const singleSignOnEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/{company_slug}/start',
      access: 'public',
      summary: 'Begin a sign-in with the company’s identity provider',
      query: z.object({ redirect_uri: z.string().min(1).max(2048) }),
      returns: ok(
        z.object({
          url: z.string().meta({ description: 'Where to send the person, within ten minutes.' }),
          exchange_secret: z.string().meta({
            description: 'For POST /v1/auth/sso/exchange. Keep it where only the browser that began has it.',
          }),
        }),
      ),
    },
    async ({ ctx, params, query }) => {
      const { url, exchangeSecret } = await startSignIn(ctx, params.company_slug, query.redirect_uri);
      return { url, exchange_secret: exchangeSecret };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/{company_slug}/callback',
      access: 'public',
      summary: 'Where an OpenID Connect provider answers',
      description: CALLBACK,
      query: z.object({ state: answered, code: answered, iss: answered, error: answered, error_description: answered }),
      returns: raw(302, 'To the redirect_uri, with `code` or `error`.'),
    },
    async ({ ctx, params, request }) =>
      sendOn(await finishSignIn(ctx, params.company_slug, new URL(request.url).searchParams, 'GET')),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/sso/{company_slug}/callback',
      access: 'public',
      summary: 'Where a SAML identity provider answers, or an OpenID Connect provider by form post',
      description: `${CALLBACK} The body is a form (application/x-www-form-urlencoded) with \`SAMLResponse\` and \`RelayState\`, or with \`code\` and \`state\`.`,
      returns: raw(302, 'To the redirect_uri, with `code` or `error`.'),
    },
    async ({ ctx, params, request }) =>
      sendOn(await finishSignIn(ctx, params.company_slug, await readAnswerForm(request), 'POST')),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/{company_slug}/metadata',
      access: 'public',
      summary: 'Our SAML metadata for the company’s identity provider',
      returns: raw(200, 'An EntityDescriptor.', 'application/samlmetadata+xml'),
    },
    async ({ ctx, params }) =>
      new Response(await metadataOf(ctx, params.company_slug), {
        headers: { 'Content-Type': 'application/samlmetadata+xml; charset=utf-8' },
      }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/sso/exchange',
      access: 'public',
      summary: 'Exchange the code of a finished sign-in for a session',
      body: z
        .object({
          code: z.string().min(1),
          exchange_secret: z.string().optional().meta({
            description: 'As the start of this sign-in answered it: without it, or with another, the code is no good.',
          }),
        })
        .transform(({ code, exchange_secret }) => ({ code, exchangeSecret: exchange_secret })),
      returns: ok(signInResultView),
    },
    async ({ ctx, body }) => viewSignInResult(await exchangeCode(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/config',
      access: 'company:update_sso',
      summary: 'The identity provider of the company',
      returns: ok(configurationView),
    },
    async ({ ctx }) => viewConfiguration(await getConfiguration(ctx), serviceProvider(ctx, ctx.actor.companySlug)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/auth/sso/config',
      access: 'company:update_sso',
      only: 'administrators',
      summary: 'Set the identity provider of the company, in place of the one before',
      description:
        'Only for the owner and administrators, who are told by mail. Sign-ins under way end. SAML: give the provider `{base_url}/v1/auth/sso/{company_slug}/callback` as assertion consumer service and `{base_url}/v1/auth/sso/{company_slug}/metadata` as entity id.',
      body: configurationInput,
      returns: ok(configurationView),
    },
    async ({ ctx, body }) =>
      viewConfiguration(await putCompanyConfiguration(ctx, body), serviceProvider(ctx, ctx.actor.companySlug)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/sso/config',
      access: 'company:update_sso',
      only: 'administrators',
      summary: 'End single sign-on of the company',
      description: 'Only for the owner and administrators, who are told by mail.',
      returns: noContent,
    },
    async ({ ctx }) => removeConfiguration(ctx),
  ),
];
