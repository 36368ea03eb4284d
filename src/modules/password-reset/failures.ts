import { defineFailure } from '../../kernel/failure.ts';

/**
 * The link to reset a password does not work. The answer is the same for a wrong, used or expired token, and for one of an
 * inactive user.
 */
export const invalidResetToken = defineFailure('password_reset.invalid_token', 'invalid', {
  message: 'The link is unknown, used or expired.',
  console: { status: 400, code: 'INVALID_RESET_TOKEN' },
});
