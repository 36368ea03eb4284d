import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { email } from '../../kernel/fields.ts';
import { companyNotFound } from '../companies/service.ts';
import { signInFailures, ssoRequired, wrongEmailedCode } from './failures.ts';
import { companySlugField, sixDigitsField } from './fields.ts';
import { logInWithCode, requestCode } from './passwordless.ts';
import { signInResultView, viewSignInResult } from './views.ts';

const requestInput = z.object({ company_slug: companySlugField, email }).transform(toBodyFields);

const verifyInput = z.object({ company_slug: companySlugField, email, code: sixDigitsField }).transform(toBodyFields);

export const passwordlessEndpoints = [
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
