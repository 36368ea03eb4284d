import { z } from 'zod';
import { companySuspended } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { noContent, ok, raw } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { MAX_TOKEN_LENGTH, tokenSchema } from '../../kernel/fields.ts';
import { readBounded } from '../../platform/bounded.ts';
import { companyNotFound } from '../companies/service.ts';
import { signInFailures } from '../sign-in/service.ts';
import { signInResultView, viewSignInResult } from '../sign-in/views.ts';
import {
  makeServiceProvider,
  putCompanyConfiguration,
  readConfiguration,
  removeConfiguration,
} from './configuration.ts';
import {
  answerNotForm,
  answerTooLarge,
  invalidSsoCode,
  providerUnavailable,
  ssoNotConfigured,
  unknownState,
} from './failures.ts';
import { exchangeCode, finishSignIn, readMetadata, startSignIn } from './service.ts';
import { configurationInput, configurationView, viewConfiguration } from './views.ts';

const CALLBACK_DESCRIPTION =
  'Called by the identity provider. Redirects to the `redirect_uri` of the sign-in: with `code`, for POST /v1/auth/sso/exchange within 60 seconds, or with `error`: `access_denied`, `invalid_response`, `email_missing`, `email_not_verified` (with an `error_description`), `user_not_found`, `user_not_active`, `quota_exceeded` (the organization has no room for another user) or `provider_unavailable`.';

/** Redirects the browser. The URL holds the code: neither caches nor the next page may keep it. */
const makeRedirect = (url: string) =>
  new Response(null, {
    status: 302,
    headers: { Location: url, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' },
  });

/** The maximum size of the callback form: a SAML response of the largest size that is read, in percent-encoded base64. Bytes. */
const MAX_FORM_BYTES = 1024 * 1024;

/** Reads the fields of the form that the browser posts for the provider. */
async function readCallbackForm(request: Request): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '')) {
    throw answerNotForm();
  }
  const bytes = await readBounded(request.body, MAX_FORM_BYTES, { leavesRest: true });
  if (bytes === null) throw answerTooLarge(MAX_FORM_BYTES);
  return new URLSearchParams(new TextDecoder().decode(bytes));
}

/** A parameter from the provider, of any length: problems with it are reported to the client where the sign-in began. */
const providerParameter = z.string().optional();

export const singleSignOnEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/{company_slug}/start',
      recordedAs: 'auth:sso_start',
      access: 'public',
      operationId: 'beginSsoSignIn',
      summary: "Begin a sign-in with the company's identity provider",
      description:
        'Returns the address to open in the browser, by OIDC or SAML, and a secret that the same browser needs to exchange the code at the end.',
      query: z.object({
        redirect_uri: z
          .string()
          .min(1)
          .max(2048)
          .meta({ description: 'One of the configured `redirect_uris`, exactly.' }),
      }),
      returns: ok(
        z.object({
          url: z.string().meta({ description: 'The address at the provider to open, within ten minutes.' }),
          exchange_secret: z.string().meta({
            description: 'For POST /v1/auth/sso/exchange. Keep it in the browser that began the sign-in.',
          }),
        }),
      ),
      fails: [companyNotFound, companySuspended, ssoNotConfigured, providerUnavailable],
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
      recordedAs: 'auth:sso_callback',
      access: 'public',
      operationId: 'completeSsoSignIn',
      summary: "Complete a sign-in with the identity provider's answer",
      description: CALLBACK_DESCRIPTION,
      query: z.object({
        state: providerParameter,
        code: providerParameter,
        iss: providerParameter,
        error: providerParameter,
        error_description: providerParameter,
      }),
      returns: raw(302, 'To the redirect_uri, with `code` or `error`.'),
      openQuery: true,
      fails: [companyNotFound, companySuspended, ssoNotConfigured, unknownState, concurrentChange],
    },
    async ({ ctx, params, request }) =>
      makeRedirect(await finishSignIn(ctx, params.company_slug, new URL(request.url).searchParams, 'GET')),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/sso/{company_slug}/callback',
      recordedAs: 'auth:sso_callback',
      access: 'public',
      operationId: 'completeSsoSignInByForm',
      summary: "Complete a sign-in with the identity provider's form",
      description: `${CALLBACK_DESCRIPTION} The body is a form (application/x-www-form-urlencoded) with \`SAMLResponse\` and \`RelayState\`, or with \`code\` and \`state\`.`,
      returns: raw(302, 'To the redirect_uri, with `code` or `error`.'),
      openQuery: true,
      fails: [
        companyNotFound,
        companySuspended,
        ssoNotConfigured,
        unknownState,
        answerNotForm,
        answerTooLarge,
        concurrentChange,
      ],
    },
    async ({ ctx, params, request }) =>
      makeRedirect(await finishSignIn(ctx, params.company_slug, await readCallbackForm(request), 'POST')),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/{company_slug}/metadata',
      recordedAs: 'auth:sso_metadata',
      access: 'public',
      operationId: 'getSamlMetadata',
      summary: 'Get the SAML metadata for the identity provider',
      description:
        'XML to import at a SAML provider: the entity id of the company and the address to which answers are sent.',
      returns: raw(200, 'An EntityDescriptor.', 'application/samlmetadata+xml'),
      fails: [companyNotFound, companySuspended, ssoNotConfigured],
    },
    async ({ ctx, params }) =>
      new Response(await readMetadata(ctx, params.company_slug), {
        headers: { 'Content-Type': 'application/samlmetadata+xml; charset=utf-8' },
      }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/sso/exchange',
      recordedAs: 'auth:sso_exchange',
      access: 'public',
      operationId: 'exchangeSsoCode',
      summary: 'Exchange the code of a completed sign-in for a session',
      description:
        'Takes the `code` from the end of the redirects, once and within 60 seconds, and answers as a sign-in with a password does.',
      body: z
        .object({
          code: tokenSchema,
          exchange_secret: z.string().max(MAX_TOKEN_LENGTH).optional().meta({
            description:
              'The `exchange_secret` that GET /v1/auth/sso/{company_slug}/start returned. Without it the code is not accepted.',
          }),
        })
        .transform(toBodyFields),
      returns: ok(signInResultView),
      fails: [invalidSsoCode, ...signInFailures],
    },
    async ({ ctx, body }) => viewSignInResult(await exchangeCode(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sso/config',
      access: 'company:update_sso',
      operationId: 'getSsoConfiguration',
      summary: 'Get the configuration of single sign-on',
      description:
        'Without the client secret, which is never shown. `callback_url` is the address to register at the provider.',
      returns: ok(configurationView),
      fails: [ssoNotConfigured],
    },
    async ({ ctx }) =>
      viewConfiguration(
        await readConfiguration(ctx, ctx.actor.companyId),
        makeServiceProvider(ctx, ctx.actor.companySlug),
      ),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/auth/sso/config',
      access: 'company:update_sso',
      only: 'administrators',
      operationId: 'replaceSsoConfiguration',
      summary: 'Replace the configuration of single sign-on',
      description:
        'The owner and the administrators are notified by email. Sign-ins in progress end. SAML: give the provider `{base_url}/v1/auth/sso/{company_slug}/callback` as assertion consumer service and `{base_url}/v1/auth/sso/{company_slug}/metadata` as entity id.',
      body: configurationInput,
      returns: ok(configurationView),
      fails: [concurrentChange],
    },
    async ({ ctx, body }) =>
      viewConfiguration(await putCompanyConfiguration(ctx, body), makeServiceProvider(ctx, ctx.actor.companySlug)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/sso/config',
      access: 'company:update_sso',
      only: 'administrators',
      operationId: 'deleteSsoConfiguration',
      summary: 'Delete the configuration of single sign-on',
      description:
        'Nobody can sign in by the identity provider from then on. The owner and the administrators are notified by email.',
      returns: noContent,
      fails: [ssoNotConfigured],
    },
    async ({ ctx }) => removeConfiguration(ctx),
  ),
];
