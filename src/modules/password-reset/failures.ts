import { Failure } from '../../kernel/failure.ts';

/** Wrong, used or expired, or its user is not active any more: whoever asks learns no more. */
export const invalidReset = () =>
  new Failure('invalid', 'password_reset.invalid_token', { message: 'The link is unknown, used or expired.' });
