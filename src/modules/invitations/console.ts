import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { displayName } from '../../http/fields.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { newPassword } from '../users/password-rules.ts';
import { statusOf } from '../users/service.ts';
import { acceptInvitation } from './service.ts';

export const invitationEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/accept-invitation',
      access: 'public',
      summary: 'Join a company with the token of an invitation',
      description: 'The token works once, for seven days.',
      body: z.object({
        token: z.string().min(1),
        password: newPassword(12),
        name: displayName.optional().meta({ description: 'How the person wants to be named.' }),
      }),
      returns: ok(
        z.object({
          success: z.literal(true),
          user: z.object({ _id: z.string(), email: z.string(), status: z.enum(['invited', 'active', 'inactive']) }),
        }),
      ),
    },
    async ({ ctx, body }) => {
      const user = await acceptInvitation(ctx, body);
      return { success: true as const, user: { _id: user.id, email: user.email, status: statusOf(user) } };
    },
  ),
];
