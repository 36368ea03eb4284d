import { z } from 'zod';
import { administratorsOnly, companySuspended, grantExceeds } from '../../access/failures.ts';
import { noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { tokenSchema, webAddressSchema } from '../../kernel/fields.ts';
import { openIdFailures } from '../../platform/openid.ts';
import { companyNotFound } from '../companies/service.ts';
import { companySlugField, trustEmailField } from '../sign-in/fields.ts';
import { signInFailures, ssoRequired } from '../sign-in/service.ts';
import { signInResultView, viewSignInResult } from '../sign-in/views.ts';
import { userNotFound } from '../users/service.ts';
import {
  identityMismatch,
  invalidSocialToken,
  providerKeysUnreadable,
  providerNeedsClientSecret,
  socialProviderNotFound,
} from './failures.ts';
import {
  beginProviderSignIn,
  deleteUserIdentity,
  putSocialProviders,
  readProviders,
  type SocialProvider,
  signInWithIdToken,
} from './service.ts';

const MAX_PROVIDERS = 20;

const providerView = z.object({
  issuer: webAddressSchema.meta({ description: 'The `iss` of its tokens, exactly; https on a public address.' }),
  audience: z.string().min(1).max(1024).meta({ description: 'The client id that its tokens are issued to.' }),
  jwks_uri: webAddressSchema.optional().meta({ description: 'Where its keys are; found by discovery when left out.' }),
  trust_email: trustEmailField.optional(),
});

const socialConfigurationView = z
  .object({ providers: z.array(providerView).max(MAX_PROVIDERS) })
  .meta({ id: 'SocialConfiguration' });

const configurationInput = socialConfigurationView.transform(({ providers }) =>
  providers.map((provider) => ({ ...toBodyFields(provider), jwksUri: provider.jwks_uri ?? null })),
);

const viewProvider = makeView(providerView);
const viewConfiguration = (providers: SocialProvider[]) => ({
  providers: providers.map(({ jwksUri, trustEmail, ...provider }) =>
    viewProvider({ ...provider, jwksUri: jwksUri ?? undefined, trustEmail: trustEmail || undefined }),
  ),
});

const tokenInput = z
  .object({ company_slug: companySlugField, social_token: tokenSchema })
  .transform(({ company_slug, social_token }) => ({ companySlug: company_slug, idToken: social_token }));

export const socialSignInEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/social',
      recordedAs: 'auth:social',
      access: 'public',
      operationId: 'signInWithIdToken',
      summary: 'Sign in with an ID token of an identity provider',
      description:
        'The token is an OpenID Connect ID token of a provider configured for the company. It must be issued at most ten minutes ago, and works once. Its email must be verified and belong to a user. The first sign-in pins `iss` and `sub` to the user; another identity with the same email is then refused.',
      body: tokenInput,
      returns: ok(signInResultView),
      fails: [
        companyNotFound,
        invalidSocialToken,
        identityMismatch,
        ssoRequired,
        ...signInFailures,
        providerKeysUnreadable,
        ...openIdFailures,
      ],
    },
    async ({ ctx, body }) => viewSignInResult(await signInWithIdToken(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/social/{company_slug}/start',
      recordedAs: 'auth:social_start',
      access: 'public',
      operationId: 'beginSocialSignIn',
      summary: 'Begin a sign-in with an identity provider on the page of this API',
      description:
        'Returns the address to open in the browser. The provider leads back to `{base_url}/oauth/signed-in`, which it must know as a redirect address of the client id, with `state` and an `id_token` in the fragment. Whoever began compares `state`, and `nonce` with the token’s, and sends the token to POST /v1/auth/social. Of several audiences of an issuer the first is asked for.',
      query: z.object({
        issuer: z.string().min(1).max(2048).meta({ description: 'That of a configured provider, exactly.' }),
      }),
      returns: ok(
        z.object({
          url: z.string().meta({ description: 'The address at the provider to open.' }),
          state: z.string().meta({ description: 'What the provider’s answer must repeat.' }),
          nonce: z.string().meta({ description: 'What the ID token must contain.' }),
        }),
      ),
      fails: [companyNotFound, companySuspended, socialProviderNotFound, providerNeedsClientSecret, ...openIdFailures],
    },
    ({ ctx, params, query }) => beginProviderSignIn(ctx, params.company_slug, query.issuer),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/social/config',
      access: 'company:update_sso',
      operationId: 'getSocialProviders',
      summary: 'Get the providers whose ID tokens are accepted',
      description: 'In the form that PUT takes; the list is empty until some are set.',
      returns: ok(socialConfigurationView),
      fails: [],
    },
    async ({ ctx }) => viewConfiguration(await readProviders(ctx, ctx.actor.companyId)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/auth/social/config',
      access: 'company:update_sso',
      only: 'administrators',
      operationId: 'replaceSocialProviders',
      summary: 'Replace the providers whose ID tokens are accepted',
      description:
        'All of them at once: ID tokens of a provider that is left out are refused. The owner and the administrators are notified by email.',
      body: configurationInput,
      returns: ok(socialConfigurationView),
      fails: [],
    },
    async ({ ctx, body }) => viewConfiguration(await putSocialProviders(ctx, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}/identities',
      access: 'users:update',
      operationId: 'deleteUserIdentity',
      summary: "Delete a user's pinned identity",
      description:
        'The next social sign-in with the user’s email pins `iss` and `sub` again. Of a user who may do more than the caller it is refused; of the owner, to all but administrators.',
      returns: noContent,
      fails: [userNotFound, grantExceeds, administratorsOnly],
    },
    async ({ ctx, params }) => deleteUserIdentity(ctx, params.id),
  ),
];
