import { defineFailure } from '../../kernel/failure.ts';

/** The same for every token that does not work, so that nobody learns more by guessing. */
export const invalidInvitation = defineFailure('invitation.invalid_token', 'invalid', {
  message: 'The invitation is unknown, used or expired.',
  console: { status: 400, code: 'INVALID_INVITATION_TOKEN' },
});
