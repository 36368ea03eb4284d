import { Failure } from '../../kernel/failure.ts';

/** Unknown email and wrong password are the same fact to whoever asks. */
export const wrongCredentials = () =>
  new Failure('invalid', 'sign_in.wrong_credentials', { message: 'The email or the password is wrong.' });

export const userNotActive = () =>
  new Failure('forbidden', 'sign_in.user_not_active', { message: 'This user may not sign in to the company.' });

/** @param retryAfter seconds */
export const tooManyAttempts = (retryAfter: number) =>
  new Failure('too_many', 'sign_in.too_many_attempts', { retryAfter });
