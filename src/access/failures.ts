import { defineFailure } from '../kernel/failure.ts';
import type { Action } from '../permissions/actions.ts';

/** The same wherever a credential is missing, wrong or at its end: whoever asks learns no more. */
export const invalidToken = defineFailure('token.invalid', {
  kind: 'unauthenticated',
  detail: { message: 'The token is missing, invalid or expired.' },
  says: {
    organization: 'Unauthorized',
    console: 'UNAUTHORIZED',
    sharing: 'TOKEN_INVALID',
    'managed-tables': { message: 'Token ausente, inválido ou expirado.' },
  },
});

const FORBIDDEN = {
  organization: 'Forbidden',
  console: 'FORBIDDEN',
  sharing: 'FORBIDDEN',
  'managed-tables': { message: 'Você não tem permissão para realizar esta ação.' },
} as const;

/** `resource` is the ARN that was asked about, where one was. */
export const accessDenied = defineFailure('access.denied', {
  kind: 'forbidden',
  describes: 'The caller does not have the permission that this needs.',
  detail: (action: Action, resource?: string) => ({
    message: `This needs the permission ${action}.`,
    action,
    ...(resource !== undefined && { resource }),
  }),
  says: FORBIDDEN,
});

export const administratorsOnly = defineFailure('access.administrators_only', {
  kind: 'forbidden',
  detail: { message: 'Only administrators may do this.' },
  says: FORBIDDEN,
});

export const peopleOnly = defineFailure('access.people_only', {
  kind: 'forbidden',
  detail: { message: 'This is for people, with a session of their own. A service account has none.' },
  says: FORBIDDEN,
});

/** A grant of more than the caller has: nobody gives what they lack. */
export const grantExceeds = defineFailure('access.grant_exceeds', {
  kind: 'forbidden',
  describes: 'This would give more than the caller may do.',
  detail: ({ action, resource }: { action: Action; resource: string }) => ({
    message: `This would allow ${action} on ${resource}, which you are not allowed yourself.`,
    action,
    resource,
  }),
  says: FORBIDDEN,
});

/** Also of routes that exist, for those who are not to know. */
export const unknownRoute = defineFailure('request.unknown_route', {
  kind: 'missing',
  detail: { message: 'There is no such route.' },
  says: {
    organization: 'NotFound',
    console: 'NOT_FOUND',
    sharing: 'NOT_FOUND',
    'managed-tables': { message: 'Rota não encontrada.' },
  },
});
