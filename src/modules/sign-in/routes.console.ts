import { z } from 'zod';
import { companySuspended, invalidToken } from '../../access/failures.ts';
import { noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { email, timestampSchema, tokenSchema } from '../../kernel/fields.ts';
import { companyNotFound, hasCompany } from '../companies/service.ts';
import type { Session } from '../sessions/queries.ts';
import { makeNewPasswordField, signInPasswordField } from '../users/fields.ts';
import { userNotFound } from '../users/service.ts';
import { changePassword } from './change-password.ts';
import {
  sessionNotFound,
  signInFailures,
  ssoRequired,
  tooManyAttempts,
  wrongCredentials,
  wrongEmailedCode,
} from './failures.ts';
import { companySlugField, sixDigitsField } from './fields.ts';
import { logInWithCode, requestCode } from './passwordless.ts';
import { getPublicKeySet, logIn, logOut, refreshSession } from './service.ts';
import { endOtherSessions, endOwnSession, endSessionsOfUser, listOwnSessions } from './sessions.ts';
import { signInResultView, tokenPairView, viewSignInResult, viewTokenPair } from './views.ts';

const loginInput = z
  .object({ company_slug: companySlugField, email, password: signInPasswordField })
  .transform(toBodyFields);

const requestInput = z.object({ company_slug: companySlugField, email }).transform(toBodyFields);

const verifyInput = z.object({ company_slug: companySlugField, email, code: sixDigitsField }).transform(toBodyFields);

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
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/passwordless/request',
      recordedAs: 'auth:passwordless_request',
      access: 'public',
      operationId: 'requestSignInCode',
      summary: 'Request a sign-in code by email',
      description:
        'The answer is the same whether or not the email belongs to an active user. A new code replaces the old one. After five requests for an email address within an hour, no more emails are sent.',
      body: requestInput,
      returns: ok(z.object({ message: z.string() })),
      fails: [companyNotFound, ssoRequired],
    },
    async ({ ctx, body }) => {
      await requestCode(ctx, body);
      return { message: 'If this email belongs to an active user of the company, a code is on its way.' };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/passwordless/verify',
      recordedAs: 'auth:passwordless_verify',
      access: 'public',
      operationId: 'signInWithCode',
      summary: 'Sign in with an emailed code',
      description:
        'Answers as a sign-in with a password does. A code works once, for ten minutes, and stops working after five wrong tries.',
      body: verifyInput,
      returns: ok(signInResultView),
      fails: [companyNotFound, ssoRequired, wrongEmailedCode, ...signInFailures],
    },
    async ({ ctx, body }) => viewSignInResult(await logInWithCode(ctx, body)),
  ),
];

const sessionView = z
  .object({
    _id: z.string(),
    created_at: timestampSchema.meta({ description: 'When the user signed in.' }),
    last_used_at: timestampSchema.nullable().meta({ description: 'To the minute.' }),
    ip: z.string().nullable().meta({ description: 'Where the sign-in came from.' }),
    user_agent: z.string().nullable(),
    current: z.boolean().meta({ description: 'Whether it is the session of the request.' }),
  })
  .meta({ id: 'Session' });

const viewSessionRecord = makeView(sessionView);
const viewSession = (currentId: string) => (session: Session) =>
  viewSessionRecord({ ...session, current: session.id === currentId });

const passwordInput = z
  .object({ current_password: signInPasswordField, new_password: makeNewPasswordField(12) })
  .transform((body) => ({ currentPassword: body.current_password, newPassword: body.new_password }));

export const sessionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sessions',
      recordedAs: 'auth:sessions',
      access: 'authenticated',
      only: 'people',
      operationId: 'listSessions',
      summary: "List the caller's sessions",
      description: 'Where the caller is signed in, the newest first; `current` marks the session of the request.',
      returns: ok(z.object({ records: z.array(sessionView) })),
      fails: [],
    },
    async ({ ctx }) => ({ records: (await listOwnSessions(ctx)).map(viewSession(ctx.actor.sessionId)) }),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/sessions',
      recordedAs: 'auth:sessions',
      access: 'authenticated',
      only: 'people',
      operationId: 'endOtherSessions',
      summary: "End the caller's other sessions",
      description: 'All but that of the request. Their tokens are refused from the next request on.',
      returns: noContent,
      fails: [],
    },
    ({ ctx }) => endOtherSessions(ctx),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/sessions/{id}',
      recordedAs: 'auth:sessions_{id}',
      access: 'authenticated',
      only: 'people',
      operationId: 'endSession',
      summary: "End one of the caller's sessions",
      description: 'By its id in GET /v1/auth/sessions. Its tokens are refused from the next request on.',
      returns: noContent,
      fails: [sessionNotFound],
    },
    ({ ctx, params }) => endOwnSession(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/password',
      recordedAs: 'auth:password',
      access: 'authenticated',
      only: 'people',
      operationId: 'changePassword',
      summary: "Change the caller's password",
      description:
        'A wrong current password counts as a failed sign-in. The caller is notified by email, and their other sessions and what they let programs do end.',
      body: passwordInput,
      returns: ok(z.object({ success: z.literal(true) })),
      fails: [wrongCredentials, tooManyAttempts],
    },
    async ({ ctx, body }) => {
      await changePassword(ctx, body);
      return { success: true as const };
    },
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}/sessions',
      access: 'users:update',
      operationId: 'endUserSessions',
      summary: "End a user's sessions",
      description:
        'Signs the user out everywhere: tokens are refused from the next request on, and sign-ins that have begun must begin again.',
      returns: noContent,
      fails: [userNotFound],
    },
    ({ ctx, params }) => endSessionsOfUser(ctx, params.id),
  ),
];
