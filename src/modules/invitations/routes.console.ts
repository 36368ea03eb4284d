import { z } from 'zod';
import { created, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { displayName, email, idsInput, isoTimestamp } from '../../kernel/fields.ts';
import { newPassword } from '../users/fields.ts';
import { statusOf } from '../users/service.ts';
import { invitedUserView, viewConsoleUser } from '../users/views.ts';
import { inviteUser } from './invite.ts';
import { acceptInvitation } from './service.ts';

const invitation = z
  .object({
    email,
    team_ids: idsInput().optional(),
    group_ids: idsInput().default([]),
  })
  .transform(({ team_ids, group_ids, ...rest }) => ({ ...rest, teams: team_ids, groupIds: group_ids }));

export const invitationEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/invite',
      access: 'users:invite',
      summary: 'Invite an email, by mail',
      description:
        'The link works for seven days. Inviting somebody who has not accepted yet renews it: the earlier link stops working, the groups come on top. ' +
        '400 USER_EMAIL_DUPLICATE for anybody else of the company; 403 when a group may do more than the caller.',
      body: invitation,
      attaches: 'groupIds',
      madeUnder: '/v1/users',
      returns: created(invitedUserView),
    },
    async ({ ctx, body }) => {
      const invited = await inviteUser(ctx, body);
      return { ...viewConsoleUser(invited), invitation_expires_at: isoTimestamp(invited.expiresAt) };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/accept-invitation',
      recordedAs: 'auth:accept-invitation',
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
