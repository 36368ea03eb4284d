import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { email } from '../../kernel/fields.ts';
import { newPassword } from '../users/fields.ts';
import { confirmReset, requestReset } from './service.ts';

const requestInput = z
  .object({ email, company_slug: z.string().min(1).max(63).optional() })
  .transform((body) => ({ email: body.email, companySlug: body.company_slug }));

export const passwordResetEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/reset-password/request',
      access: 'public',
      summary: 'Ask for a link that sets a new password, by mail',
      description:
        'Answers alike whether or not the email exists. Each active account of the email gets a mail, or only the one in the company that is named. After five requests for an email within an hour, further ones send nothing.',
      body: requestInput,
      returns: ok(z.object({ success: z.literal(true), message: z.string() })),
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
      access: 'public',
      summary: 'Set a new password with the token of a mailed link',
      description:
        'The token works once, for an hour. Setting the password ends all sessions of the user, who is told by mail. 403 SSO_REQUIRED where the company signs in with its identity provider alone.',
      body: z.object({ token: z.string().min(1), password: newPassword(12) }),
      returns: ok(z.object({ success: z.literal(true) })),
    },
    async ({ ctx, body }) => {
      await confirmReset(ctx, body);
      return { success: true as const };
    },
  ),
];
