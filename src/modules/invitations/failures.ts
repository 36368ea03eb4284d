import { defineFailure } from '../../kernel/failure.ts';

/** The token of an invitation does not work. The response is the same for every reason, so that guessing reveals nothing. */
export const invalidInvitation = defineFailure('invitation.invalid_token', 'invalid', {
  message: 'The invitation is unknown, used or expired.',
  console: { status: 400, code: 'INVALID_INVITATION_TOKEN' },
});
