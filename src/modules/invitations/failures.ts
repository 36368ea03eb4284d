import { defineFailure } from '../../kernel/failure.ts';

/** An invitation's token does not work. The answer is the same for every reason, so that nobody learns more by guessing. */
export const invalidInvitation = defineFailure('invitation.invalid_token', 'invalid', {
  message: 'The invitation is unknown, used or expired.',
  console: { status: 400, code: 'INVALID_INVITATION_TOKEN' },
});
