import { defineFailure } from '../../kernel/failure.ts';

/** A link that is wrong, used or expired, and one of a user who is not active, are told alike. */
export const invalidResetToken = defineFailure('password_reset.invalid_token', {
  kind: 'invalid',
  detail: { message: 'The link is unknown, used or expired.' },
  says: { console: { status: 400, code: 'INVALID_RESET_TOKEN' } },
});
