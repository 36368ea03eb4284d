import { defineFailure, invalidInput } from '../../kernel/failure.ts';

export const ssoNotConfigured = defineFailure('sso.not_configured', 'missing', {
  message: 'Single sign-on is not configured for this company.',
  console: 'SSO_NOT_CONFIGURED',
});

export const redirectUriNotAllowed = () =>
  invalidInput(
    [{ field: 'redirect_uri', message: 'must be one of the configured redirect_uris, exactly' }],
    'The redirect_uri is not one of those configured for the company.',
  );

export const providerUnavailable = defineFailure('sso.provider_unavailable', 'unavailable', {
  message: 'The identity provider could not be reached, or its answer was not valid.',
  console: 'SSO_PROVIDER_UNAVAILABLE',
});

export const unknownState = defineFailure('sso.unknown_state', 'malformed', {
  message: 'This sign-in is unknown, finished or expired. Start again from the console.',
  console: 'INVALID_SSO_STATE',
});

export const answerNotForm = defineFailure('sso.answer_not_form', 'malformed', {
  message: 'Send the answer as a form (application/x-www-form-urlencoded).',
});

export const answerTooLarge = defineFailure('sso.answer_too_large', 'too_large', {
  message: 'The body is larger than this route accepts.',
  detail: (limit: number) => ({ message: `The body is larger than ${limit} bytes.` }),
});

export const invalidSsoCode = defineFailure('sso.invalid_code', 'invalid', {
  message: 'The code is unknown, used or expired. Begin the sign-in again.',
  console: { status: 400, code: 'INVALID_SSO_CODE' },
});

/** The reason why a sign-in fails after the provider has responded. */
export type RefusalReason =
  | 'access_denied'
  | 'invalid_response'
  | 'email_missing'
  | 'email_not_verified'
  | 'user_not_found'
  | 'user_not_active'
  | 'quota_exceeded'
  | 'provider_unavailable';

/** Advice to an administrator whose provider does not say whether email addresses are verified. */
export const EMAIL_NOT_VERIFIED_ADVICE =
  'The provider does not say that the email address is verified. If it belongs to this organization alone and does not send `email_verified`, set `trust_email` in the single sign-on configuration.';

/** Thrown to reject a sign-in after the provider has responded. The redirect to the console has the reason as `error`. */
export class SignInRefusal extends Error {
  readonly reason: RefusalReason;

  /** Creates the error of a refused sign-in. @param cause for the log only */
  constructor(reason: RefusalReason, cause?: unknown) {
    super(reason, { cause });
    this.name = 'SignInRefusal';
    this.reason = reason;
  }
}
