import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { companyExists } from '../companies/service.ts';
import { triedPassword } from '../users/fields.ts';
import { getUser } from '../users/service.ts';
import { consoleUserView, viewConsoleUser } from '../users/views.ts';
import { logIn, logOut, publicKeySet, refreshSession } from './service.ts';
import { signInResultView, tokenPairView, viewSignInResult, viewTokenPair } from './views.ts';

const loginInput = z
  .object({ company_slug: z.string().min(1).max(63), email: z.email().max(254).toLowerCase(), password: triedPassword })
  .transform(({ company_slug, email, password }) => ({ companySlug: company_slug, email, password }));

export const signInEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/validate-company',
      access: 'public',
      summary: 'Tell whether a company of this slug exists',
      query: z.object({ slug: z.string().min(1).max(63) }),
      returns: ok(z.object({ exists: z.boolean() })),
    },
    async ({ ctx, query }) => ({ exists: await companyExists(ctx, query.slug) }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/login',
      access: 'public',
      summary: 'Sign in with email and password',
      body: loginInput,
      returns: ok(signInResultView),
    },
    async ({ ctx, body }) => viewSignInResult(await logIn(ctx, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/me',
      access: 'authenticated',
      summary: 'The caller',
      returns: ok(z.object({ user: consoleUserView, context: z.object({ company_id: z.string() }) })),
    },
    async ({ ctx }) => ({
      user: viewConsoleUser(await getUser(ctx, ctx.actor.id)),
      context: { company_id: ctx.actor.companyId },
    }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/refresh',
      access: 'public',
      summary: 'Exchange a refresh token for a new pair of tokens',
      description:
        'A refresh token is used once. Should the answer get lost, or two ask at once, it is answered the same successor again for 10 seconds, until that is used; after that, presenting it ends the session. A session ends 30 days after the sign-in.',
      body: z.object({ refresh_token: z.string().min(1) }),
      returns: ok(tokenPairView),
    },
    async ({ ctx, body }) => viewTokenPair(await refreshSession(ctx, body.refresh_token)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/logout',
      access: 'optional',
      summary: 'End the session of the token, if one is sent',
      returns: ok(z.object({ success: z.literal(true) })),
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
      access: 'public',
      summary: 'The public keys that verify session tokens',
      returns: ok(z.object({ keys: z.array(z.record(z.string(), z.unknown())) })),
    },
    async ({ ctx }) => ({ keys: (await publicKeySet(ctx)).keys as Record<string, unknown>[] }),
  ),
];
