import { z } from 'zod';
import { companySuspended } from '../../access/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { email, tokenSchema } from '../../kernel/fields.ts';
import { companySlugField } from '../sign-in/fields.ts';
import { ssoRequired } from '../sign-in/service.ts';
import { makeNewPasswordField } from '../users/fields.ts';
import { invalidResetToken } from './failures.ts';
import { confirmReset, requestReset } from './service.ts';

const requestInput = z.object({ email, company_slug: companySlugField.optional() }).transform(toBodyFields);

export const passwordResetEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/reset-password/request',
      recordedAs: 'auth:reset-password_request',
      access: 'public',
      operationId: 'requestPasswordReset',
      summary: 'Request a password reset by email',
      description:
        'The answer is the same whether or not such a user exists. Each active user with the email address is sent a link, or only the one in the named company. After five requests for an address within an hour, no more emails are sent.',
      body: requestInput,
      returns: ok(z.object({ success: z.literal(true), message: z.string() })),
      fails: [ssoRequired],
    },
    async ({ ctx, body }) => {
      await requestReset(ctx, body);
      return { success: true as const, message: 'If this email belongs to an active user, a link is on its way.' };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/reset-password/confirm',
      recordedAs: 'auth:reset-password_confirm',
      access: 'public',
      operationId: 'resetPassword',
      summary: 'Reset a password with the token of an emailed link',
      description:
        'The token works once, for an hour. All sessions of the user end, and the user is notified by email.',
      body: z.object({ token: tokenSchema, password: makeNewPasswordField(12) }),
      returns: ok(z.object({ success: z.literal(true) })),
      fails: [invalidResetToken, companySuspended, ssoRequired],
    },
    async ({ ctx, body }) => {
      await confirmReset(ctx, body);
      return { success: true as const };
    },
  ),
];
