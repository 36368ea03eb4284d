import { defineFailure } from '../../kernel/failure.ts';

/** The link does not work. The response is the same for a wrong, used or expired token, and for an inactive user's. */
export const invalidResetToken = defineFailure('password_reset.invalid_token', 'invalid', {
  message: 'The link is unknown, used or expired.',
  console: { status: 400, code: 'INVALID_RESET_TOKEN' },
});
