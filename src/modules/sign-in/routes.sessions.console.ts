import { z } from 'zod';
import { noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import type { Session } from '../sessions/queries.ts';
import { makeNewPasswordField, signInPasswordField } from '../users/fields.ts';
import { userNotFound } from '../users/service.ts';
import { changePassword } from './change-password.ts';
import { sessionNotFound, tooManyAttempts, wrongCredentials } from './failures.ts';
import { endOtherSessions, endOwnSession, endSessionsOfUser, listOwnSessions } from './sessions.ts';

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
