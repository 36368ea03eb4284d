import { companySuspended } from '../../access/failures.ts';
import { defineFailure, defineNotFoundFailureBy } from '../../kernel/failure.ts';

/** The email or the password is wrong. The answer is the same for an unknown email. */
export const wrongCredentials = defineFailure('sign_in.wrong_credentials', 'invalid', {
  message: 'The email or the password is wrong.',
  console: { status: 400, code: 'INVALID_CREDENTIALS' },
});

export const userNotActive = defineFailure('sign_in.user_not_active', 'forbidden', {
  message: 'This user may not sign in to the company.',
});

export const tooManyAttempts = defineFailure('sign_in.too_many_attempts', 'too_many', {
  message: 'Too many attempts.',
  detail: (seconds: number) => ({ retryAfter: seconds }),
});

export const sessionsEnded = defineFailure('sign_in.sessions_ended', 'unauthenticated', {
  message: 'Your sessions were ended while you signed in. Sign in again.',
});

/** The failures that every kind of sign-in can end with once the first factor is proved. */
export const signInFailures = [companySuspended, userNotActive, sessionsEnded] as const;

/** The emailed code is wrong, used or expired, or was never sent. The answer is the same for all of these. */
export const wrongEmailedCode = defineFailure('sign_in.wrong_emailed_code', 'invalid', {
  message: 'The code is wrong or has expired.',
  console: { status: 400, code: 'INVALID_CODE' },
  sharing: { status: 400, code: 'INVALID_CODE' },
});

export const reauthenticationRequired = defineFailure('sign_in.reauthentication_required', 'forbidden', {
  message: 'This needs a sign-in of the last ten minutes. Sign in again.',
  console: 'REAUTHENTICATION_REQUIRED',
});

export const ssoRequired = defineFailure('sign_in.sso_required', 'forbidden', {
  message: 'Sign in with the identity provider of your company.',
  console: 'SSO_REQUIRED',
});

export const wrongSecondFactor = defineFailure('second_factor.wrong_code', 'invalid', {
  message: 'The code is wrong, or was used before.',
  console: { status: 400, code: 'INVALID_2FA_CODE' },
});

export const pendingSignInEnded = defineFailure('second_factor.pending_ended', 'unauthenticated', {
  message: 'This sign-in has expired, was finished, or had too many wrong codes. Sign in again.',
});

export const secondFactorEnabled = defineFailure('second_factor.enabled', 'conflict', {
  message: 'The second factor is already enabled. Disable it first to set up another authenticator.',
  console: '2FA_ALREADY_ENABLED',
});

export const secondFactorNotEnabled = defineFailure('second_factor.not_enabled', 'conflict', {
  message: 'The second factor is not enabled.',
  console: '2FA_NOT_ENABLED',
});

export const secondFactorNotSetUp = defineFailure('second_factor.not_set_up', 'conflict', {
  message: 'There is no authenticator to enable. Set one up first.',
  console: '2FA_NOT_SET_UP',
});

export const noSecondFactor = defineFailure('second_factor.none', 'missing', {
  message: 'This user has neither a second factor nor a passkey.',
  detail: { field: 'id', reason: 'none' },
});

/** An administrator tries to reset their own second factor: a stolen token would suffice where its owner needs the password. */
export const cannotResetOwnFactor = defineFailure('second_factor.own', 'forbidden', {
  message: 'You cannot reset your own second factor. Disable it, with your password or a code.',
});

export const cannotResetOwnersFactor = defineFailure('second_factor.of_owner', 'forbidden', {
  message: 'Only administrators may reset the second factor of the owner.',
});

export const sessionNotFound = defineNotFoundFailureBy('session', ['id'], {
  message: 'You have no such session, or it has ended.',
});
