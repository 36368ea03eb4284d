import { defineFailure } from '../../kernel/failure.ts';

/** The same for an unknown email and a wrong password. */
export const wrongCredentials = defineFailure('sign_in.wrong_credentials', {
  kind: 'invalid',
  detail: { message: 'The email or the password is wrong.' },
  says: { console: { status: 400, code: 'INVALID_CREDENTIALS' } },
});

export const userNotActive = defineFailure('sign_in.user_not_active', {
  kind: 'forbidden',
  detail: { message: 'This user may not sign in to the company.' },
  says: { console: 'FORBIDDEN' },
});

export const tooManyAttempts = defineFailure('sign_in.too_many_attempts', {
  kind: 'too_many',
  describes: 'Too many attempts.',
  detail: (seconds: number) => ({ retryAfter: seconds }),
  says: { console: 'RateLimitExceeded' },
});

export const sessionsEnded = defineFailure('sign_in.sessions_ended', {
  kind: 'unauthenticated',
  detail: { message: 'Your sessions were ended while you signed in. Sign in again.' },
  says: { console: 'UNAUTHORIZED' },
});

/** What every way to sign in can answer once the first factor is proved. */
export const signInFailures = [userNotActive, sessionsEnded] as const;

/** The same for a wrong, used or expired code, and one that was never sent. */
export const wrongEmailedCode = defineFailure('sign_in.wrong_emailed_code', {
  kind: 'invalid',
  detail: { message: 'The code is wrong or has expired.' },
  says: {
    console: { status: 400, code: 'INVALID_CODE' },
    sharing: { status: 400, code: 'INVALID_CODE' },
  },
});

export const reauthenticationRequired = defineFailure('sign_in.reauthentication_required', {
  kind: 'forbidden',
  detail: { message: 'This needs a sign-in of the last ten minutes. Sign in again.' },
  says: { console: 'REAUTHENTICATION_REQUIRED' },
});

export const ssoRequired = defineFailure('sign_in.sso_required', {
  kind: 'forbidden',
  detail: { message: 'Sign in with the identity provider of your company.' },
  says: { console: 'SSO_REQUIRED' },
});

export const wrongSecondFactor = defineFailure('second_factor.wrong_code', {
  kind: 'invalid',
  detail: { message: 'The code is wrong, or was used before.' },
  says: { console: { status: 400, code: 'INVALID_2FA_CODE' } },
});

export const pendingSignInEnded = defineFailure('second_factor.pending_ended', {
  kind: 'unauthenticated',
  detail: { message: 'This sign-in has expired, was finished, or had too many wrong codes. Sign in again.' },
  says: { console: 'UNAUTHORIZED' },
});

export const secondFactorEnabled = defineFailure('second_factor.enabled', {
  kind: 'conflict',
  detail: { message: 'The second factor is already enabled. Disable it first to set up another authenticator.' },
  says: { console: '2FA_ALREADY_ENABLED' },
});

export const secondFactorNotEnabled = defineFailure('second_factor.not_enabled', {
  kind: 'conflict',
  detail: { message: 'The second factor is not enabled.' },
  says: { console: '2FA_NOT_ENABLED' },
});

export const secondFactorNotSetUp = defineFailure('second_factor.not_set_up', {
  kind: 'conflict',
  detail: { message: 'There is no authenticator to enable. Set one up first.' },
  says: { console: '2FA_NOT_SET_UP' },
});

export const noSecondFactor = defineFailure('second_factor.none', {
  kind: 'missing',
  detail: { message: 'This user has no second factor.', field: 'id', reason: 'none' },
  says: { console: 'NOT_FOUND' },
});

/** Otherwise a stolen token could do without the password what its owner needs the password for. */
export const ownSecondFactor = defineFailure('second_factor.own', {
  kind: 'forbidden',
  detail: { message: 'You cannot reset your own second factor. Disable it, with your password or a code.' },
  says: { console: 'FORBIDDEN' },
});

export const ownersSecondFactor = defineFailure('second_factor.of_owner', {
  kind: 'forbidden',
  detail: { message: 'Only administrators may reset the second factor of the owner.' },
  says: { console: 'FORBIDDEN' },
});

export const sessionNotFound = defineFailure('session.not_found', {
  kind: 'missing',
  detail: { message: 'You have no such session, or it has ended.', field: 'id', reason: 'not_found' },
  says: { console: 'SESSION_NOT_FOUND' },
});
