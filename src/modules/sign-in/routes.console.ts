import { z } from 'zod';
import { companySuspended, invalidToken } from '../../access/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { email, tokenSchema } from '../../kernel/fields.ts';
import { companyNotFound, hasCompany } from '../companies/service.ts';
import { signInPasswordField } from '../users/fields.ts';
import { signInFailures, ssoRequired, tooManyAttempts, wrongCredentials } from './failures.ts';
import { companySlugField } from './fields.ts';
import { getPublicKeySet, logIn, logOut, refreshSession } from './service.ts';
import { signInResultView, tokenPairView, viewSignInResult, viewTokenPair } from './views.ts';

const loginInput = z
  .object({ company_slug: companySlugField, email, password: signInPasswordField })
  .transform(toBodyFields);

export const signInEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/validate-company',
      recordedAs: 'auth:validate-company',
      access: 'public',
      operationId: 'checkCompanySlug',
      summary: 'Check whether a company with this slug exists',
      description: 'For a page that asks for the company before the sign-in. It tells nothing else about the company.',
      query: z.object({ slug: companySlugField }),
      returns: ok(z.object({ exists: z.boolean() })),
      fails: [],
    },
    async ({ ctx, query }) => ({ exists: await hasCompany(ctx, query.slug) }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/login',
      recordedAs: 'auth:login',
      access: 'public',
      operationId: 'signInWithPassword',
      summary: 'Sign in with email and password',
      description:
        'Returns tokens; or, where a second factor is set up or the company requires one, the token for the step that follows. After too many wrong passwords, further tries are refused for some minutes.',
      body: loginInput,
      returns: ok(signInResultView),
      fails: [companyNotFound, ssoRequired, wrongCredentials, tooManyAttempts, ...signInFailures],
    },
    async ({ ctx, body }) => viewSignInResult(await logIn(ctx, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/refresh',
      recordedAs: 'auth:refresh',
      access: 'public',
      operationId: 'refreshSession',
      summary: 'Refresh a session',
      description:
        'Exchanges a refresh token, which works once, for new tokens. If the answer is lost, or two requests come at once, the same token is answered with the same successor for 10 seconds, until the successor is used; after that, presenting it ends the session. A session ends 30 days after the sign-in.',
      body: z.object({ refresh_token: tokenSchema }),
      returns: ok(tokenPairView),
      fails: [invalidToken, companySuspended],
    },
    async ({ ctx, body }) => viewTokenPair(await refreshSession(ctx, body.refresh_token)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/logout',
      recordedAs: 'auth:logout',
      access: 'optional',
      only: 'people',
      operationId: 'signOut',
      summary: 'Sign out',
      description: 'Ends the session of the token, if one is sent.',
      returns: ok(z.object({ success: z.literal(true) })),
      fails: [],
    },
    async ({ ctx }) => {
      if (ctx.actor.kind === 'user') await logOut({ ...ctx, actor: ctx.actor });
      return { success: true as const };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/.well-known/jwks.json',
      openQuery: true,
      access: 'public',
      operationId: 'getPublicKeys',
      summary: 'Get the public keys that verify session tokens',
      description:
        'A JSON Web Key Set (RFC 7517), with which other services can verify a token without asking the API. It cannot tell them whether the session has ended since.',
      returns: ok(z.object({ keys: z.array(z.record(z.string(), z.unknown())) })),
      fails: [],
    },
    async ({ ctx }) => ({ keys: (await getPublicKeySet(ctx)).keys as Record<string, unknown>[] }),
  ),
];
