import { Failure } from '../../kernel/failure.ts';

/** Unknown email and wrong password are the same fact to whoever asks. */
export const wrongCredentials = () =>
  new Failure('invalid', 'sign_in.wrong_credentials', { message: 'The email or the password is wrong.' });

export const userNotActive = () =>
  new Failure('forbidden', 'sign_in.user_not_active', { message: 'This user may not sign in to the company.' });

/** @param retryAfter seconds */
export const tooManyAttempts = (retryAfter: number) =>
  new Failure('too_many', 'sign_in.too_many_attempts', { retryAfter });

/** The user was deactivated, or all sessions were ended, while this sign-in was under way. */
export const overtaken = () =>
  new Failure('unauthenticated', 'sign_in.overtaken', {
    message: 'Your sessions were ended meanwhile. Sign in again.',
  });

/** Wrong, used, expired, tried too often, or never sent: whoever asks learns no more. */
export const wrongEmailedCode = () =>
  new Failure('invalid', 'sign_in.wrong_emailed_code', { message: 'The code is wrong or has expired.' });

export const wrongSecondFactor = () =>
  new Failure('invalid', 'second_factor.wrong_code', { message: 'The code is wrong, or was used before.' });

export const pendingEnded = () =>
  new Failure('unauthenticated', 'second_factor.pending_ended', {
    message: 'This sign-in has expired, was finished, or had too many wrong codes. Sign in again.',
  });

export const secondFactorEnabled = () =>
  new Failure('conflict', 'second_factor.enabled', {
    message: 'The second factor is enabled already. Disable it to enrol another authenticator.',
  });

export const secondFactorNotEnabled = () =>
  new Failure('conflict', 'second_factor.not_enabled', { message: 'The second factor is not enabled.' });

export const secondFactorNotSetUp = () =>
  new Failure('conflict', 'second_factor.not_set_up', {
    message: 'There is no authenticator to enable. Set one up first.',
  });

/** For people who have neither a password nor a second factor to show again. */
export const signInAgain = () =>
  new Failure('forbidden', 'sign_in.again', {
    message: 'This needs a sign-in of the last ten minutes. Sign in again.',
  });

/** Everybody but the owner comes by the company's identity provider. */
export const ssoRequired = () =>
  new Failure('forbidden', 'sign_in.sso_required', { message: 'Sign in with the identity provider of your company.' });

export const noSecondFactor = () =>
  new Failure('missing', 'second_factor.none', {
    message: 'This user has no second factor.',
    field: 'id',
    reason: 'none',
  });

/** A stolen token must not do to its person what they themselves need the password for. */
export const ownSecondFactor = () =>
  new Failure('forbidden', 'second_factor.own', {
    message: 'Disable your own second factor with your password or a code.',
  });

export const ownersSecondFactor = () =>
  new Failure('forbidden', 'access.grant_exceeds', {
    message: 'Only administrators may reset the second factor of the owner.',
  });

export const sessionNotFound = () =>
  new Failure('missing', 'session.not_found', {
    message: 'You have no such session, or it has ended.',
    field: 'id',
    reason: 'not_found',
  });
