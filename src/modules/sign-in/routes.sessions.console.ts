import { z } from 'zod';
import { noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { isoTimestamp, isoTimestampOrNull, timestamp } from '../../kernel/fields.ts';
import type { Session } from '../sessions/queries.ts';
import { newPassword, triedPassword } from '../users/fields.ts';
import { changePassword } from './change-password.ts';
import { endOtherSessions, endOwnSession, endSessionsOfUser, ownSessions } from './sessions.ts';

const sessionView = z
  .object({
    _id: z.string(),
    created_at: timestamp.meta({ description: 'When the person signed in.' }),
    last_used_at: timestamp.nullable().meta({ description: 'To the minute.' }),
    ip: z.string().nullable().meta({ description: 'Where the sign-in came from.' }),
    user_agent: z.string().nullable(),
    current: z.boolean().meta({ description: 'Whether it is the one that asks.' }),
  })
  .meta({ id: 'Session' });

const viewSession =
  (currentId: string) =>
  (session: Session): z.input<typeof sessionView> => ({
    _id: session.id,
    created_at: isoTimestamp(session.createdAt),
    last_used_at: isoTimestampOrNull(session.lastUsedAt),
    ip: session.ip,
    user_agent: session.userAgent,
    current: session.id === currentId,
  });

const passwordInput = z
  .object({ current_password: triedPassword, new_password: newPassword(12) })
  .transform((body) => ({ current: body.current_password, next: body.new_password }));

export const sessionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/sessions',
      access: 'authenticated',
      summary: 'Where the caller is signed in, the newest first',
      returns: ok(z.object({ records: z.array(sessionView) })),
    },
    async ({ ctx }) => ({ records: (await ownSessions(ctx)).map(viewSession(ctx.actor.sessionId)) }),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/sessions',
      access: 'authenticated',
      summary: 'Sign the caller out everywhere else',
      returns: noContent,
    },
    ({ ctx }) => endOtherSessions(ctx),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/sessions/{id}',
      access: 'authenticated',
      summary: 'End one of the caller’s sessions',
      returns: noContent,
    },
    ({ ctx, params }) => endOwnSession(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/password',
      access: 'authenticated',
      summary: 'Change the password',
      description:
        'A wrong current password counts as a failed sign-in. The person is told by mail, and their other sessions end.',
      body: passwordInput,
      returns: ok(z.object({ success: z.literal(true) })),
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
      summary: 'Sign a user out everywhere',
      returns: noContent,
    },
    ({ ctx, params }) => endSessionsOfUser(ctx, params.id),
  ),
];
