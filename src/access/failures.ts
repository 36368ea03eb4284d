import { defineFailure, makeCodeWordings } from '../kernel/failure.ts';
import type { Action } from '../permissions/actions.ts';
import type { OAuthClient } from './actors.ts';

/** A credential is missing, wrong or expired: the answer is the same for all three, so that callers learn no more. */
export const invalidToken = defineFailure('token.invalid', 'unauthenticated', {
  message: 'The token is missing, invalid or expired.',
  sharing: 'TOKEN_INVALID',
});

/** The action is denied. `resource` is the ARN that was checked, if any. */
export const accessDenied = defineFailure('access.denied', 'forbidden', {
  message: 'The caller does not have the permission that this needs.',
  detail: (action: Action, resource?: string) => ({
    message: `This needs the permission ${action}.`,
    action,
    ...(resource !== undefined && { resource }),
  }),
});

export const administratorsOnly = defineFailure('access.administrators_only', 'forbidden', {
  message: 'Only administrators may do this.',
});

export const ownerOnly = defineFailure('access.owner_only', 'forbidden', {
  message: 'Only the owner of the company may do this.',
});

export const peopleOnly = defineFailure('access.people_only', 'forbidden', {
  message: 'This is for people, with a session of their own. A service account has none.',
});

/** An OAuth client called a route that requires no action: scopes consist of actions, so none allows it. */
export const clientsRefused = defineFailure('access.programs_refused', 'forbidden', {
  message: 'A program that somebody let in may not do this: sign in yourself.',
  detail: ({ grantId }: OAuthClient) =>
    grantId === null ? { message: 'A token by OAuth may not do this: get a service token with the key.' } : {},
});

/** The caller would grant more permissions than the caller has. */
export const grantExceeds = defineFailure('access.grant_exceeds', 'forbidden', {
  message: 'This would give more than the caller may do.',
  detail: ({ action, resource }: { action: Action; resource: string }) => ({
    message: `This would allow ${action} on ${resource}, which you are not allowed yourself.`,
    action,
    resource,
  }),
});

/** Comparing would take longer than a request may: a few hostile patterns can need an enormous number of search states. */
export const accessTooComplex = defineFailure('access.too_complex', 'invalid', {
  message: 'These policies hold patterns that are too complex to be compared. Use fewer wildcards.',
  portuguese: 'Estas políticas têm padrões complexos demais para serem comparados. Use menos curingas.',
  detail: { reason: 'too_complex' },
  ...makeCodeWordings('ACCESS_TOO_COMPLEX'),
});

/** The platform's operator has suspended the company of the credential or sign-in. */
export const companySuspended = defineFailure('company.suspended', 'forbidden', {
  message: 'This organization is suspended. Nothing of it is lost: ask whoever runs this platform.',
  portuguese: 'Esta organização está suspensa. Nada foi perdido: fale com quem opera esta plataforma.',
  detail: { reason: 'company_suspended' },
  console: 'COMPANY_SUSPENDED',
  sharing: 'COMPANY_SUSPENDED',
  'managed-tables': 'COMPANY_SUSPENDED',
});

/** The route does not exist, or its existence is hidden from the caller. */
export const unknownRoute = defineFailure('request.unknown_route', 'missing', {
  message: 'There is no such route.',
  portuguese: 'Rota não encontrada.',
});
