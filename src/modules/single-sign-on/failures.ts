import { Failure } from '../../kernel/failure.ts';

export const notConfigured = () =>
  new Failure('missing', 'sso.not_configured', { message: 'Single sign-on is not configured for this company.' });

export const redirectUriNotAllowed = () =>
  new Failure('invalid', 'sso.redirect_uri_not_allowed', {
    message: 'The redirect_uri is not one of those configured for the company.',
    problems: [{ field: 'redirect_uri', message: 'must be one of the configured redirect_uris, exactly' }],
  });

/** Nobody knows where to send the person: the state is unknown, used or expired. */
export const unknownState = () =>
  new Failure('malformed', 'sso.unknown_state', {
    message: 'This sign-in is unknown, finished or expired. Start again from the console.',
  });

export const deadCode = () =>
  new Failure('invalid', 'sso.dead_code', { message: 'The code is unknown, used or expired.' });

/** Why a sign-in that came back from the provider ends; what follows `sso.` is told to the console as `error`. */
export type Refusal =
  | 'access_denied'
  | 'invalid_response'
  | 'email_missing'
  | 'email_not_verified'
  | 'user_not_found'
  | 'user_not_active'
  | 'provider_unavailable';

/** @param cause for the log; never shown */
export const refused = (refusal: Refusal, cause?: unknown) =>
  Object.assign(new Failure('forbidden', `sso.${refusal}`), { cause });
